"""``math`` and ``cmath`` for recorded numbers: NumPy's functions where an argument is recorded."""

from __future__ import annotations

import cmath
import functools
import math
import types
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.graph.array import GradArray, unwrap
from npgrad.graph.stacking import has_recorded
from npgrad.methods import in_double
from npgrad.transforms.custom import primitive
from npgrad.wrapping.lists import Maker, vector

_SEQUENCES = (GradArray, np.ndarray, list, tuple)
_OF_DOUBLES = frozenset({"fsum", "dist"})  # the others multiply and add what they are given
_OF_SEQUENCES = frozenset({"fsum", "prod", "dist", "sumprod"})


_SAME = "sin cos tan sinh cosh tanh exp exp2 expm1 log1p log2 log10 sqrt cbrt isnan isinf isfinite"
_UFUNCS = {
    "acos": "arccos", "asin": "arcsin", "atan": "arctan", "atan2": "arctan2",
    "acosh": "arccosh", "asinh": "arcsinh", "atanh": "arctanh", "pow": "power",
    "fmod": "fmod", "degrees": "degrees", "radians": "radians", "fabs": "fabs",
    "copysign": "copysign", "hypot": "hypot", "ldexp": "ldexp", "phase": "angle",
    **{name: name for name in _SAME.split()},
}  # fmt: skip


def _recording(module: types.ModuleType) -> types.ModuleType:
    """`math` or `cmath` with NumPy's functions for recorded arguments."""
    made = types.ModuleType(module.__name__, module.__doc__)
    made.__dict__.update(module.__dict__)
    complexes = module is cmath
    for name, ufunc in _UFUNCS.items():
        if hasattr(module, name):
            made.__dict__[name] = _dispatched(getattr(module, name), getattr(np, ufunc), complexes)
    special = {
        "log": _log, "fsum": np.sum, "prod": _prod, "dist": _dist, "hypot": _hypot,
        "gamma": _special("gamma"), "lgamma": _special("gammaln"), "erf": _special("erf"),
        "erfc": _special("erfc"), "sumprod": np.dot, "isclose": np.isclose,
        "polar": _polar, "rect": _rect, "modf": np.modf, "frexp": _frexp,
        **{name: _of_python(name) for name in ("nextafter", "remainder", "ulp", "fma")},
    }  # fmt: skip
    for name, function in special.items():
        if hasattr(module, name):
            if name in _OF_SEQUENCES:
                made.__dict__[name] = _over_sequences(getattr(module, name), function)
            else:
                made.__dict__[name] = _dispatched(getattr(module, name), function, complexes)
    for name, function in vars(module).items():
        if isinstance(function, types.BuiltinFunctionType) and made.__dict__[name] is function:
            made.__dict__[name] = _naming(f"{module.__name__}.{name}", function)
    return made


def _of_python(name: str) -> Maker:
    """What NumPy has no function for, or another one: Python's own, with a rule."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return _ruled()[name](*args, **kwargs)

    return call


@functools.cache
def _ruled() -> dict[str, Any]:
    """Python's functions with their rules, made on use: to read their signatures takes 4 ms."""
    made = {
        "nextafter": primitive(math.nextafter).defvjp(lambda *_, **steps: lambda g: g, None),
        "remainder": primitive(math.remainder),
        "ulp": primitive(math.ulp).defvjp(None),
    }
    made["remainder"].defvjp(
        lambda ans, x, y: lambda g: g,
        lambda ans, x, y: lambda g: -g * np.round((x - ans) / y),  # how often y was taken away
    )
    if hasattr(math, "fma"):
        made["fma"] = primitive(math.fma).defvjp(
            lambda ans, x, y, z: lambda g: g * y,
            lambda ans, x, y, z: lambda g: g * x,
            lambda ans, x, y, z: lambda g: g,
        )
    return made


def _naming(name: str, function: Any) -> Maker:
    """A function of whole numbers, or one that is new in Python; a refusal names it."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except GradientLost as error:
            raise GradientLost(
                f"npgrad: {name} takes plain numbers, and was given a recorded one, whose gradient "
                "would be lost. Write it with NumPy, or give npgrad.value(x) to cut the gradient "
                "on purpose."
            ) from error

    return call


def _special(name: str) -> Maker:
    """A function of ``scipy.special``, loaded on use."""

    def call(x: Any) -> Any:
        import scipy.special

        return getattr(scipy.special, name)(x)

    return call


def _dist(p: Any, q: Any) -> Any:
    return _hypot(*[a - b for a, b in zip(p, q, strict=True)])


def _hypot(*coordinates: Any) -> Any:
    return functools.reduce(np.hypot, coordinates) if coordinates else 0.0


def _frexp(x: Any) -> Any:
    mantissa, exponent = np.frexp(x)
    return mantissa, int(exponent)


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _prod(items: Any, start: Any = 1) -> Any:
    return np.prod(items) * start


def _polar(z: Any) -> Any:
    return np.abs(z), np.angle(z)


def _rect(r: Any, phi: Any) -> Any:
    return r * np.exp(1j * phi)


def number(a: Any, complex_too: bool = False) -> Any:
    """A recorded array of one element as the number that ``float(a)``, ``complex(a)`` would be."""
    if type(a) is not GradArray:
        return a
    a = in_double(a.reshape(())[()] if a.shape else a)
    return a.astype(complex)[()] if complex_too and a.dtype.kind != "c" else a


def _dispatched(function: Any, ufunc: Any, complex_too: bool = False) -> Maker:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if type(value) is GradArray:
                answer = function(*[unwrap(a) for a in args], **kwargs)  # or what Python raises
                if type(answer) is bool:
                    return answer
                return ufunc(*[number(a, complex_too) for a in args], **kwargs)
        return function(*args, **kwargs)

    return call


def _over_sequences(function: Any, body: Any) -> Maker:
    """A function of iterables: fsum, prod, dist, sumprod."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [
            a if isinstance(a, _SEQUENCES) or not hasattr(a, "__iter__") else list(a) for a in args
        ]
        if any(
            type(a) is GradArray or (isinstance(a, (list, tuple)) and has_recorded(a))
            for a in (*given, *kwargs.values())
        ):
            named = {key: unwrap(a) for key, a in kwargs.items()}
            function(*[unwrap(vector(a)) for a in given], **named)  # raises what Python raises
            arrays = [vector(a) for a in given]
            if function.__name__ in _OF_DOUBLES:
                arrays = [in_double(a) if type(a) is GradArray else a for a in arrays]
            return body(*arrays, **kwargs)
        return function(*given, **kwargs)

    return call


MATH = _recording(math)
CMATH = _recording(cmath)


def _quiet() -> dict[int, Any]:
    """`math` and its functions, by identity, giving inf and NaN where Python's raise.

    So does what Numba compiles them to.
    """
    made = types.ModuleType(math.__name__, math.__doc__)
    made.__dict__.update(vars(MATH))
    special = {
        "log": _log,
        "hypot": _hypot,
        "gamma": _special("gamma"),
        "lgamma": _special("gammaln"),
    }
    plainly = {**{name: getattr(np, ufunc) for name, ufunc in _UFUNCS.items()}, **special}
    found: dict[int, Any] = {id(math): made}
    for name, function in plainly.items():
        if hasattr(math, name):
            made.__dict__[name] = found[id(vars(math)[name])] = _quietly(vars(math)[name], function)
    return found


def _quietly(function: Any, plainly: Any) -> Maker:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        recorded = any(type(a) is GradArray for a in args)
        if not recorded:
            try:
                return function(*args, **kwargs)
            except (OverflowError, ValueError):
                pass
        with np.errstate(all="ignore"):
            made = plainly(*[number(a) for a in args], **kwargs)
        return made if recorded or type(made) is np.bool_ else float(made)

    return call


# What stands for `math` and its functions in the source of a compiled function, by identity.
QUIET = _quiet()
