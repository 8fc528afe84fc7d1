"""GPU benchmarks: npgrad's device kernels beside torch/cuDNN and CuPy, in one process. `python -m benchmarks.gpu --help`."""

# ruff: noqa: E501  (a line of generated kernel text, or a table row, is not broken)
