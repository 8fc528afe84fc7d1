"""Numba kernels for the CPU, one file an operation, each beside its NumPy reference.

A file holds, in this order: the reference (NumPy, obvious, the specification and the oracle of the
tests), the kernel (a serial loop over a range of items, compiled on first use), and the launcher,
which decides by size between the two and spreads the kernel over threads. Matrix products are left
to NumPy's BLAS. Nothing here knows of recording: plain arrays in, plain arrays out; no input is
ever written to, and results do not depend on the number of threads.

Importing this package does not import Numba.
"""

from npgrad.kernels._compile import available as available
from npgrad.kernels._compile import disabled as disabled
from npgrad.kernels._threads import thread_count as thread_count

__all__ = ["available", "disabled", "thread_count"]
