"""GPU benchmarks: npgrad's device kernels beside torch/cuDNN and CuPy, in one process. `python -m benchmarks.gpu --help`."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)
