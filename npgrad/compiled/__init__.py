"""Functions compiled by Numba that are met on the way: whose rule serves, or which error teaches.

``rules`` holds the rules given with `register_vjp` and `register_jvp`; ``python`` runs the Python
source of a compiled function on recorded arrays (`njit`); ``doors`` is what a compiled function
reaches when it is called with a recorded array. Numba is looked at only where a function of its
own brought it in.
"""

from npgrad.compiled import doors as doors
from npgrad.compiled.python import njit as njit
from npgrad.compiled.rules import register_jvp as register_jvp
from npgrad.compiled.rules import register_vjp as register_vjp

__all__ = ["njit", "register_jvp", "register_vjp"]
