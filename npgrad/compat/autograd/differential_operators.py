"""``autograd.differential_operators``: derivatives by ``argnum``, in autograd's convention."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad

from .core import make_jvp as _make_jvp
from .core import make_vjp as _make_vjp
from .vspaces import conjugated, vspace
from .wrap_util import unary_to_nary

Function = Callable[..., Any]

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

make_vjp = unary_to_nary(_make_vjp)
make_jvp = unary_to_nary(_make_jvp)


def _of_one_number(fun: Function, x: Any, who: str) -> tuple[Any, Any]:
    """Value and gradient of a function that gives one real number."""
    vjp, ans = _make_vjp(fun, x)
    space = vspace(ans)
    if space.single and space.dtype.kind not in "fc":
        raise TypeError(f"{who} only applies to functions of real numbers; got {space.dtype}")
    if space.size != 1:
        raise TypeError(
            f"{who} only applies to real scalar-output functions. Try jacobian, elementwise_grad "
            "or holomorphic_grad."
        )
    return ans, vjp(space.ones())


@unary_to_nary
def grad(fun: Function, x: Any) -> Any:
    """The gradient of a function of one real output, an array of one entry included."""
    return _of_one_number(fun, x, "Grad")[1]


@unary_to_nary
def value_and_grad(fun: Function, x: Any) -> tuple[Any, Any]:
    """The value and the gradient."""
    return _of_one_number(fun, x, "value_and_grad")


@unary_to_nary
def elementwise_grad(fun: Function, x: Any) -> Any:
    """The gradient of the sum of the outputs: f' for an elementwise f."""
    vjp, ans = _make_vjp(fun, x)
    space = vspace(ans)
    if space.iscomplex:
        raise TypeError("Elementwise_grad only applies to real-output functions.")
    return vjp(space.ones())


@unary_to_nary
def deriv(fun: Function, x: Any) -> Any:
    """The derivative along the vector of ones, by forward mode."""
    return _make_jvp(fun, x)(vspace(x).ones())[1]


@unary_to_nary
def jacobian(fun: Function, x: Any) -> Any:
    """The Jacobian, of shape ``output.shape + input.shape``; many rows in one batched sweep.

    By a complex argument its rows are `grad`'s: du/dx - i du/dy.
    """
    return conjugated(npgrad.jacobian(fun)(x))


@unary_to_nary
def holomorphic_grad(fun: Function, x: Any) -> Any:
    """The complex derivative f'(z) of a holomorphic function."""
    if not vspace(x).iscomplex:
        warnings.warn("Input to holomorphic_grad is not complex", stacklevel=2)

    def real(z: Any) -> Any:
        return np.real(fun(z))

    real.__wrapped__ = fun  # type: ignore[attr-defined]
    return grad(real)(x)


def grad_named(fun: Function, argname: str) -> Function:
    """The gradient by the name of a positional argument."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))  # type: ignore[no-any-return]


@unary_to_nary
def hessian(fun: Function, x: Any) -> Any:
    """The Jacobian of the Jacobian."""
    return npgrad.jacobian(npgrad.jacobian(fun))(x)


@unary_to_nary
def make_hvp(fun: Function, x: Any) -> Any:
    """``(hvp, gradient)``: `hvp(v)` is the Hessian at `x` times v."""
    return _make_vjp(grad(fun), x)


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """``(*args, tensor) -> Hessian times tensor``."""
    gradient = grad(fun, argnum)

    def dotted(*args: Any, **kwargs: Any) -> Any:
        args, tensor = args[:-1], args[-1]
        return np.tensordot(gradient(*args, **kwargs), tensor, np.ndim(tensor))

    return grad(dotted, argnum)  # type: ignore[no-any-return]


hessian_vector_product = hessian_tensor_product


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """``(*args, tensor) -> tensor times Jacobian``."""

    def dotted(*args: Any, **kwargs: Any) -> Any:
        args, tensor = args[:-1], args[-1]
        return np.tensordot(tensor, fun(*args, **kwargs), axes=np.ndim(tensor))

    return jacobian(dotted, argnum)  # type: ignore[no-any-return]


vector_jacobian_product = tensor_jacobian_product


@unary_to_nary
def make_jvp_reversemode(fun: Function, x: Any) -> Function:
    """The tangent as a function of that of `x`: by `make_jvp` here, which costs less."""
    jvp = _make_jvp(fun, x)
    return lambda v: jvp(v)[1]


def _half_square(x: Any) -> Any:
    return 0.5 * np.sum(x**2, axis=-1)


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: int = 0) -> Function:
    """Products with the generalised Gauss-Newton matrix J^T H_g J of g(f(x))."""

    @unary_to_nary
    def gauss_newton(fun: Function, x: Any) -> Function:
        vjp, y = _make_vjp(fun, x)
        hvp, _ = _make_vjp(grad(g), y)
        jvp = _make_jvp(fun, x)
        return lambda v: vjp(hvp(jvp(v)[1]))

    return gauss_newton(f, f_argnum)  # type: ignore[no-any-return]


@unary_to_nary
def grad_and_aux(fun: Function, x: Any) -> tuple[Any, Any]:
    """The gradient of the first of two outputs, and the second as it is."""
    vjp, (ans, aux) = _make_vjp(fun, x)
    return vjp((vspace(ans).ones(), vspace(aux).zeros())), aux


def multigrad_dict(fun: Function) -> Function:
    """The gradient by every argument, as a dict by the arguments' names."""
    signature = inspect.signature(fun)

    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = dict(bound.arguments)

        def by_name(values: dict[str, Any]) -> Any:
            call = signature.bind_partial()
            call.arguments.update(values)
            return fun(*call.args, **call.kwargs)

        by_name.__wrapped__ = fun  # type: ignore[attr-defined]
        found: dict[str, Any] = grad(by_name)(given)
        return {name: found[name] for name in given}

    return gradients


def checkpoint(fun: Function) -> Function:
    """`npgrad.checkpoint`: compute again what backward needs instead of keeping it."""
    return npgrad.checkpoint(fun)
