"""Derivative rules for somebody else's function, kept beside it and not in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npgrad.errors import NoDerivative
from npgrad.graph.array import GradArray, unwrap
from npgrad.graph.refusals import user_frame
from npgrad.graph.results import assign
from npgrad.transforms.custom import Primitive, primitive
from npgrad.wrapping.plan import renew
from npgrad.wrapping.stand_ins import register

_PRIMITIVES: dict[Any, Primitive] = {}
_MET = ("numba.core.registry", "numba.np.ufunc")  # Numba's functions but for stencils


def registered(f: Any) -> Callable[..., Any] | None:
    """What to call in place of `f` with recorded arguments; None without a rule."""
    found = _PRIMITIVES.get(f)
    if found is None:
        return None
    return functools.partial(_elementwise_call, found) if is_elementwise(f) else found


def is_elementwise(f: Any) -> bool:
    """Whether `f` broadcasts its arguments: a ufunc without core dimensions, or a DUFunc."""
    inner = f if isinstance(f, np.ufunc) else getattr(f, "ufunc", None)
    return isinstance(inner, np.ufunc) and inner.signature is None


def _elementwise_call(rule: Primitive, *args: Any, **kwargs: Any) -> Any:
    """Spread the arguments first, so that the user's rules see arrays of one shape."""
    out = kwargs.pop("out", None)
    if kwargs:
        raise NoDerivative(
            f"npgrad: {rule.__name__} with {', '.join(kwargs)}= is not recorded; call it without, "
            "and write np.where or an assignment instead."
        )
    shape = np.broadcast_shapes(*[np.shape(unwrap(value)) for value in args])
    spread = [
        np.broadcast_to(value, shape)
        if type(value) is GradArray and value.shape != shape
        else value
        for value in args
    ]
    made = rule(*spread)
    return made if out is None else assign(out, made, rule.__name__, user_frame())


def _primitive_of(f: Any) -> Primitive:
    if f not in _PRIMITIVES:
        made = _PRIMITIVES[f] = primitive(f)
        met = isinstance(f, np.ufunc) or type(f).__module__.startswith(_MET)
        if not met:  # by no protocol: its name is replaced in wrapped code
            register(f, made)
            renew()
    return _PRIMITIVES[f]


def register_vjp(
    f: Callable[..., Any],
    *makers: Callable[..., Any] | None,
    argnums: int | str | Sequence[int | str] | None = None,
    **by_name: Callable[..., Any] | None,
) -> Any:
    """Give a function that somebody else wrote a reverse rule.

    From then on a call of `f` with a recorded argument is recorded as one operation, wherever it
    is written: nothing has to be replaced in the program. A function of Numba's, or a ufunc, is met
    everywhere. Any other (a C extension's, a solver in Python) is met as a transform's own
    function, among its arguments, and in wrapped code: as an attribute of a module, and by name in
    a wrapped package, ``npgrad.wrap(f, also=("its_package",))``. A function in Python that a
    transform's call reaches otherwise, with a recorded argument, raises `GradientLost`; where
    Python does not tell of calls (under a profiler, or outside of transforms) it runs as it is.

    Parameters
    ----------
    f : numba function, ``@vectorize`` or ``@guvectorize`` function, or numpy.ufunc
        The function as the program calls it.
    makers : callable or None
        ``maker(ans, *args, **kwargs) -> (g -> cotangent)``, as for ``npgrad.primitive(f).defvjp``:
        one for each argument from the first on, or for each of `argnums`; None: no gradient.
        For elementwise functions the arguments arrive broadcast.
    argnums : int, str, or a sequence of them, optional
        The arguments that `makers` are for.
    by_name : callable or None
        The same, by the name of the argument.

    Returns
    -------
    callable
        `f` itself.

    Examples
    --------
    >>> import numba, numpy as np, npgrad
    >>> @numba.njit
    ... def energy(x):
    ...     return (x * x).sum()
    >>> _ = npgrad.register_vjp(energy, lambda ans, x: lambda g: g * 2 * x)
    >>> npgrad.grad(lambda x: energy(x))(np.array([1.0, 3.0]))
    array([2., 6.])
    """
    _primitive_of(f).defvjp(*makers, argnums=argnums, **by_name)
    return f


def register_jvp(
    f: Callable[..., Any],
    *rules: Callable[..., Any] | None,
    argnums: int | str | Sequence[int | str] | None = None,
    **by_name: Callable[..., Any] | None,
) -> Any:
    """Give a function that somebody else wrote a forward rule.

    ``rule(g, ans, *args, **kwargs) -> tangent of the output``; parameters are those of
    `register_vjp`. Without one the transpose of the reverse rule serves, if it is written in NumPy.

    Examples
    --------
    >>> import numba, numpy as np, npgrad
    >>> @numba.vectorize
    ... def cube(x):
    ...     return x * x * x
    >>> _ = npgrad.register_jvp(cube, lambda g, ans, x: 3 * g * x * x)
    >>> npgrad.jvp(cube, (np.array([2.0]),), (np.array([1.0]),))[1]
    array([12.])
    """
    _primitive_of(f).defjvp(*rules, argnums=argnums, **by_name)
    return f
