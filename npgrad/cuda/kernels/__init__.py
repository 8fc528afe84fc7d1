"""Device kernels, one file an operation, each with its NumPy reference beside it; loaded by name on first use."""

# ruff: noqa: E501  (a line of generated kernel text, or a table row, is not broken)
