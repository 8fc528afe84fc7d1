"""Device kernels, one file an operation, each with its NumPy reference beside it; loaded by name on first use."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)
