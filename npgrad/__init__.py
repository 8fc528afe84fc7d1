"""npgrad: differentiate the NumPy code you already have.

``import numpy as np`` stays. Give a function written with NumPy to `grad`, `vjp` or `jvp`, or make
leaves with `array` and ask a result for its gradients.
"""

from . import errors as errors
from . import methods as _methods
from . import rules as _rules
from .graph.array import GradArray as GradArray
from .graph.modes import debug as debug
from .graph.modes import no_grad as no_grad
from .graph.store import GradStore as GradStore
from .tape import Tape as Tape
from .transforms.forward import jvp as jvp
from .transforms.forward import linearize as linearize
from .transforms.grad import array as array
from .transforms.grad import elementwise_grad as elementwise_grad
from .transforms.grad import grad as grad
from .transforms.grad import stop_gradient as stop_gradient
from .transforms.grad import value as value
from .transforms.grad import value_and_grad as value_and_grad
from .transforms.grad import vjp as vjp

__version__ = "0.1.0"
