"""Every exception that npgrad raises on purpose.

Each one also derives from the builtin that a NumPy user would expect::

    NpgradError
     +-- GradientLost (TypeError)         a float or complex value would leave a recording
     +-- NotDifferentiable (TypeError)    integer argument, complex or non-scalar output
     +-- NoDerivative (NotImplementedError)  a function, argument or keyword without a rule
     +-- InPlaceError (RuntimeError)      a write that would lose a gradient
     +-- OperandMutated (RuntimeError)    a plain operand changed between recording and backward
     +-- GraphFreed (RuntimeError)        backward through a graph whose kept values are gone
     +-- ShapeMismatch (ValueError)       something of the wrong shape or structure
     +-- DTypeMismatch (TypeError)        a cotangent or tangent of the wrong kind
     +-- RuleError (RuntimeError)         a derivative rule returned something impossible
     +-- OutOfRange (IndexError)          an index outside of its axis

A message says what was asked, where it was recorded, and what to do instead.
"""

from __future__ import annotations

__all__ = [
    "DTypeMismatch",
    "GradientLost",
    "GraphFreed",
    "InPlaceError",
    "NoDerivative",
    "NotDifferentiable",
    "NpgradError",
    "OperandMutated",
    "OutOfRange",
    "RuleError",
    "ShapeMismatch",
]


class NpgradError(Exception):
    """Base class of every error that npgrad raises on purpose."""


class GradientLost(NpgradError, TypeError):
    """A float or complex value was about to leave a recording.

    ``math.sin(x)``, ``float(x)``, ``np.asarray(x)`` or ``plain[0] = x`` of a recorded array would
    cut its gradient in silence. Use NumPy's own function (``np.sin(x)``), ``np.stack`` for a list
    of results, ``np.zeros(n, like=x)`` for a buffer, `npgrad.wrap` for code that makes its own
    buffers, or `npgrad.value` to cut the gradient on purpose.
    """


class NotDifferentiable(NpgradError, TypeError):
    """What was asked has no gradient: an integer argument, a complex or non-scalar output."""


class NoDerivative(NpgradError, NotImplementedError):
    """A function, an argument or a keyword has no derivative rule; nothing was computed."""


class InPlaceError(NpgradError, RuntimeError):
    """An in-place write would lose a gradient, so it was refused and nothing was written."""


class OperandMutated(NpgradError, RuntimeError):
    """A plain array that the backward pass needs was changed after it was recorded."""


class GraphFreed(NpgradError, RuntimeError):
    """A second backward through a graph that freed what it had kept; use ``retain_graph=True``."""


class ShapeMismatch(NpgradError, ValueError):
    """A cotangent, tangent or argument has the wrong shape or structure."""


class DTypeMismatch(NpgradError, TypeError):
    """A cotangent or tangent is of the wrong kind, such as complex for a real value."""


class RuleError(NpgradError, RuntimeError):
    """A derivative rule returned a result of impossible shape, kind or number."""


class OutOfRange(NpgradError, IndexError):
    """An index lies outside of its axis."""
