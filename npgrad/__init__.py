"""npgrad: differentiate the NumPy code you already have.

``import numpy as np`` stays. Give a function written with NumPy to `grad`, `vjp` or `jvp`, or make
leaves with `array` and ask a result for its gradients.
"""

from typing import Any as _Any

from . import errors as errors
from . import implementations as _implementations  # noqa: F401 -- loading it is enough
from . import methods as _methods  # noqa: F401 -- after the rules, which it calls
from . import rules as _rules  # noqa: F401 -- fills the table
from .compiled import njit as njit
from .compiled import register_jvp as register_jvp
from .compiled import register_vjp as register_vjp
from .graph import doors as _doors
from .graph.array import GradArray as GradArray
from .graph.modes import debug as debug
from .graph.modes import no_grad as no_grad
from .graph.store import GradStore as GradStore
from .profile import profile as profile
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


def _advise(frame: _Any) -> _Any:
    """The stand-in for a SciPy function that asked a recorded array for plain numbers."""
    from .scipy._advice import advise

    return advise(frame)


_doors.advise = _advise

__version__ = "0.1.0"

# Parts that load when they are first asked for, so that `import npgrad` needs NumPy alone.
_PARTS = frozenset({"compat", "cuda", "kernels", "nn", "scipy", "testing"})


def __getattr__(name: str) -> _Any:
    if name in _PARTS:
        import importlib

        return importlib.import_module(f"npgrad.{name}")
    raise AttributeError(f"module 'npgrad' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS})
