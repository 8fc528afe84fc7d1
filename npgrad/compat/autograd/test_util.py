"""``autograd.test_util``: checks of derivatives against differences, to any order."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .core import make_jvp, make_vjp
from .vspaces import vspace
from .wrap_util import get_name, unary_to_nary

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check"]

Function = Callable[..., Any]
TOL = 1e-6
RTOL = 1e-6
EPS = 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers differ by less than `TOL`, or relatively by less than `RTOL`."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Function, x: Any) -> Function:
    """The derivative of `f` along a direction, by central differences."""
    space, out = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        ahead = f(space.add(x, space.scalar_mul(v, EPS / 2)))
        behind = f(space.add(x, space.scalar_mul(v, -EPS / 2)))
        return out.scalar_mul(out.add(ahead, out.scalar_mul(behind, -1.0)), 1 / EPS)

    return jvp


def check_vjp(f: Function, x: Any) -> None:
    """Reverse mode: ``<v, vjp(u)> == <u, difference along v>`` for random u and v."""
    vjp, y = make_vjp(f, x)
    space, out = vspace(x), vspace(y)
    v, u = space.randn(), out.randn()
    pulled = space.covector(vjp(out.covector(u)))
    assert vspace(pulled) == space, f"{vspace(pulled)} is not {space}"
    exact = space.inner_prod(v, pulled)
    numeric = out.inner_prod(u, make_numerical_jvp(f, x)(v))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {get_name(f)} failed with arg {x}:\n"
        f"analytic: {exact}\nnumeric:  {numeric}"
    )


def check_jvp(f: Function, x: Any) -> None:
    """Forward mode against the difference along the same direction."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Same space, and the same product with a random vector."""
    space = vspace(x)
    assert space == vspace(y), f"VSpace mismatch:\nx: {space}\ny: {vspace(y)}"
    v = space.randn()
    same = scalar_close(space.inner_prod(x, v), space.inner_prod(y, v))
    assert same, f"Value mismatch:\nx: {x}\ny: {y}"


@unary_to_nary
def check_grads(f: Function, x: Any, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> None:
    """Check `f` in the `modes`, and what they give, up to `order`."""
    assert all(mode in ("fwd", "rev") for mode in modes)
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:

            def pushed(x: Any, v: Any) -> Any:
                return make_jvp(f, x)(v)[1]

            pushed.__wrapped__ = f  # type: ignore[attr-defined]
            pushed.__name__ = f"jvp_{get_name(f)}"
            check_grads(pushed, (0, 1), modes, order=order - 1)(x, vspace(x).randn())
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:

            def pulled(x: Any, v: Any) -> Any:
                return make_vjp(f, x)[0](v)

            pulled.__wrapped__ = f  # type: ignore[attr-defined]
            pulled.__name__ = f"vjp_{get_name(f)}"
            check_grads(pulled, (0, 1), modes, order=order - 1)(x, vspace(f(x)).randn())


def combo_check(fun: Function, *argnums: Any, **options: Any) -> Function:
    """Check at every combination of the arguments and keywords given as lists."""

    def check(*args: Sequence[Any], **kwargs: Sequence[Any]) -> None:
        keywords = [[(name, value) for value in values] for name, values in kwargs.items()]
        for chosen in itertools.product(*args):
            for named in itertools.product(*keywords):
                check_grads(fun, *argnums, **options)(*chosen, **dict(named))

    return check
