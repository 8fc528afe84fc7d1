"""npgrad: differentiate the NumPy code you already have.

``import numpy as np`` stays. Give a function written with NumPy to `grad`, `vjp` or `jvp`, or make
leaves with `array` and ask a result for its gradients.

``import npgrad`` loads what a recorded array is. A public name loads its part when it is first
asked for, the first recorded call loads the rules, the first function that is differentiated loads
what `wrap` needs (docs/decisions/0004).
"""

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import errors as errors
from . import implementations as _implementations  # noqa: F401 -- loading it is enough
from . import methods as _methods  # noqa: F401 -- puts them on the class
from . import table as _table
from .graph import backend as _backend
from .graph import doors as _doors
from .graph.array import GradArray as GradArray
from .graph.modes import debug as debug
from .graph.modes import no_grad as no_grad
from .graph.store import GradStore as GradStore

if TYPE_CHECKING:
    from .compiled import njit as njit
    from .compiled import register_jvp as register_jvp
    from .compiled import register_vjp as register_vjp
    from .profiling import profile as profile
    from .tape import Tape as Tape
    from .transforms.checkpoint import checkpoint as checkpoint
    from .transforms.custom import primitive as primitive
    from .transforms.forward import jvp as jvp
    from .transforms.forward import linearize as linearize
    from .transforms.grad import elementwise_grad as elementwise_grad
    from .transforms.grad import grad as grad
    from .transforms.grad import value_and_grad as value_and_grad
    from .transforms.grad import vjp as vjp
    from .transforms.jacobian import hessian as hessian
    from .transforms.jacobian import hvp as hvp
    from .transforms.jacobian import jacfwd as jacfwd
    from .transforms.jacobian import jacobian as jacobian
    from .transforms.jacobian import jacrev as jacrev
    from .transforms.values import array as array
    from .transforms.values import stop_gradient as stop_gradient
    from .transforms.values import value as value
    from .wrapping import wrap as wrap

__version__ = "0.1.0"

# Where the public names live that are loaded when they are first asked for.
_HOMES = {
    "compiled": "njit register_jvp register_vjp",
    "profiling": "profile",
    "tape": "Tape",
    "transforms.checkpoint": "checkpoint",
    "transforms.custom": "primitive",
    "transforms.forward": "jvp linearize",
    "transforms.grad": "elementwise_grad grad value_and_grad vjp",
    "transforms.jacobian": "hessian hvp jacfwd jacobian jacrev",
    "transforms.values": "array stop_gradient value",
    "wrapping": "wrap",
}
_LATE = {name: home for home, names in _HOMES.items() for name in names.split()}
_PARTS = frozenset({"compat", "cuda", "kernels", "nn", "scipy", "testing"})

__all__ = ["GradArray", "GradStore", "debug", "errors", "no_grad", *_LATE]  # noqa: PLE0604


def __getattr__(name: str) -> _Any:
    if name in _LATE:
        found = getattr(_importlib.import_module(f"npgrad.{_LATE[name]}"), name)
        globals()[name] = found  # the next time, Python finds it by itself
        return found
    if name in _PARTS:
        return _importlib.import_module(f"npgrad.{name}")
    raise AttributeError(f"module 'npgrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATE, *_PARTS})


def _advise(frame: _Any) -> _Any:
    """The stand-in for a SciPy function that asked a recorded array for plain numbers."""
    from .scipy._advice import advise

    return advise(frame)


_doors.advise = _advise


def _beside_sparse(name: str, a: _Any, b: _Any) -> _Any:
    """The operator `name` of a recorded operand and a sparse matrix."""
    from .scipy.sparse import beside

    return beside(name, a, b)


_backend.sparse = _beside_sparse


@_table.on_missing
def _of_numba(fun: _Any) -> bool:
    """Nothing yet: `npgrad.compiled` is asked next, which is loaded once there is Numba."""
    if "numba" in _sys.modules:
        _importlib.import_module("npgrad.compiled")
    return False
