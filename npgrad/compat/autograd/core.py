"""``autograd.core``: vector products of functions of one argument, in autograd's convention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad
from npgrad.graph.array import GradArray
from npgrad.transforms.grad import pulled

from .extend import (
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from .vspaces import VSpace, conjugated, parts_of, vspace

Function = Callable[..., Any]

__all__ = [
    "VJPNode",
    "VSpace",
    "backward_pass",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "make_jvp",
    "make_vjp",
    "primitive",
    "vspace",
]


def make_vjp(fun: Function, x: Any) -> tuple[Function, Any]:
    """``(vjp, ans)``: `vjp` takes a cotangent of ``ans = fun(x)`` to one of `x`.

    For a holomorphic function it multiplies by f'(z): it is the transpose, and the gradient of a
    real function comes out as du/dx - i du/dy.
    """
    ans, pull = pulled(fun, (_numbers(x),), whole=True)  # its operators refuse integers

    def vjp(g: Any) -> Any:
        return conjugated(pull(conjugated(g))[0])

    return vjp, ans


def make_jvp(fun: Function, x: Any) -> Function:
    """``jvp(tangent) -> (ans, tangent of ans)``."""
    x = _numbers(x)

    def jvp(v: Any) -> tuple[Any, Any]:
        return npgrad.jvp(fun, (x,), (v,))

    return jvp


class VJPNode:
    """Where a recording starts, for ``tracer.new_box(x, 0, VJPNode.new_root())``."""

    @classmethod
    def new_root(cls) -> VJPNode:
        """A root."""
        return cls()


def backward_pass(g: Any, end_node: Any) -> Any:
    """The gradient of a recorded array of node `end_node` by the one leaf that it came from.

    As in autograd it can be asked for again, and is itself recorded if `g` is.

    Examples
    --------
    >>> from npgrad.compat.autograd.core import VJPNode, backward_pass
    >>> from npgrad.compat.autograd.tracer import new_box
    >>> x = new_box(3.0, 0, VJPNode.new_root())
    >>> y = x * x
    >>> backward_pass(1.0, y._node)
    np.float64(6.0)
    """
    recorded = type(g) is GradArray
    end = GradArray(np.asarray(npgrad.value(g))[()], end_node)
    store = end.backward(g, retain_graph=True, create_graph=recorded)
    found = list(store.values())
    if len(found) != 1:
        raise TypeError(f"backward_pass is for one leaf; this array came from {len(found)}")
    return found[0]


def _numbers(x: Any) -> Any:
    """`x` with NumPy's numbers for Python's; only arrays, numbers and containers of them pass."""
    if type(x) in (float, complex):
        return np.asarray(x)[()]
    parts, rebuild = parts_of(x)
    return rebuild([np.asarray(p)[()] if type(p) in (float, complex) else p for p in parts])
