"""Device kernels, one file an operation, each with its NumPy reference beside it; loaded by name on first use."""
