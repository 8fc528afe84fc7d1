"""``autograd.core``: vector products of functions of one argument, in autograd's convention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad

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
    "VSpace",
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
    ans, pull = npgrad.vjp(fun, _numbers(x))

    def vjp(g: Any) -> Any:
        return conjugated(pull(conjugated(g))[0])

    return vjp, ans


def make_jvp(fun: Function, x: Any) -> Function:
    """``jvp(tangent) -> (ans, tangent of ans)``."""
    x = _numbers(x)

    def jvp(v: Any) -> tuple[Any, Any]:
        return npgrad.jvp(fun, (x,), (v,))

    return jvp


def _numbers(x: Any) -> Any:
    """`x` with NumPy's numbers for Python's; only arrays, numbers and containers of them pass."""
    if type(x) in (float, complex):
        return np.asarray(x)[()]
    parts, rebuild = parts_of(x)
    return rebuild([np.asarray(p)[()] if type(p) in (float, complex) else p for p in parts])
