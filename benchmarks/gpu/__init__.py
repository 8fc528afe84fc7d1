"""GPU benchmarks: npgrad's device kernels beside torch/cuDNN and CuPy, in one process. `python -m benchmarks.gpu --help`."""
