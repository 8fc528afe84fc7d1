"""Functions of functions: gradients, vector products, Jacobians."""
