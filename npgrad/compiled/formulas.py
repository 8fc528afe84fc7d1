"""Partial derivatives of the scalar functions that Numba compiles, as source text.

A text names the arguments ``a`` and ``b``, the result ``y``, NumPy ``_np`` and the helpers below.
It is put into generated code, which is differentiated again for higher orders: so it may use only
what is in this table itself. The helpers are compiled, and differentiated, as the user's functions.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_LN2, _LN10, _DEGREE = repr(math.log(2.0)), repr(math.log(10.0)), repr(math.pi / 180.0)
_ERF = repr(2.0 / math.sqrt(math.pi))


def ng_sign(a: Any) -> Any:
    """1, -1, and 0 at 0."""
    return 1.0 if a > 0.0 else (-1.0 if a < 0.0 else 0.0)


def ng_share(a: Any, b: Any) -> Any:
    """1 where a is the larger, half at a tie."""
    return 1.0 if a > b else (0.5 if a == b else 0.0)


def ng_over(a: Any, y: Any) -> Any:
    """``a / y``, 0 where y is 0: the gradient of a norm at its kink."""
    return 0.0 if y == 0.0 else a / y


def ng_power_base(a: Any, b: Any) -> Any:
    """The derivative of ``a**b`` by a; a zero exponent has none, even at 0."""
    return 0.0 * a if b == 0 else b * a ** (b - 1)


def ng_power_exponent(a: Any, b: Any) -> Any:
    """The derivative of ``a**b`` by b; 0 at a = 0."""
    return 0.0 * b if a == 0 else a**b * np.log(a)


HELPERS = {f.__name__: f for f in (ng_sign, ng_share, ng_over, ng_power_base, ng_power_exponent)}

_TEXTS: dict[str, tuple[str, ...]] = {
    "sin": ("_np.cos(a)",),
    "cos": ("-_np.sin(a)",),
    "tan": ("(1 + y * y)",),
    "arcsin asin": ("1 / _np.sqrt(1 - a * a)",),
    "arccos acos": ("-1 / _np.sqrt(1 - a * a)",),
    "arctan atan": ("1 / (1 + a * a)",),
    "sinh": ("_np.cosh(a)",),
    "cosh": ("_np.sinh(a)",),
    "tanh": ("(1 - y * y)",),
    "arcsinh asinh": ("1 / _np.sqrt(a * a + 1)",),
    "arccosh acosh": ("1 / _np.sqrt(a * a - 1)",),
    "arctanh atanh": ("1 / (1 - a * a)",),
    "exp": ("y",),
    "exp2": (f"y * {_LN2}",),
    "expm1": ("(y + 1)",),
    "log": ("1 / a",),
    "log2": (f"1 / (a * {_LN2})",),
    "log10": (f"1 / (a * {_LN10})",),
    "log1p": ("1 / (1 + a)",),
    "sqrt": ("0.5 / y",),
    "cbrt": ("1 / (3 * y * y)",),
    "square": ("2 * a",),
    "reciprocal": ("-y * y",),
    "erf": (f"{_ERF} * _np.exp(-a * a)",),
    "erfc": (f"-{_ERF} * _np.exp(-a * a)",),
    "fabs absolute": ("ng_sign(a)",),
    "degrees rad2deg": (f"1 / {_DEGREE}",),
    "radians deg2rad": (_DEGREE,),
    "negative": ("-1",),
    "positive": ("1",),
    "add": ("1", "1"),
    "subtract": ("1", "-1"),
    "multiply": ("b", "a"),
    "divide true_divide": ("1 / b", "-y / b"),
    "hypot": ("ng_over(a, y)", "ng_over(b, y)"),
    "arctan2 atan2": ("b / (a * a + b * b)", "-a / (a * a + b * b)"),
    "maximum fmax": ("ng_share(a, b)", "ng_share(b, a)"),
    "minimum fmin": ("ng_share(b, a)", "ng_share(a, b)"),
    "logaddexp": ("_np.exp(a - y)", "_np.exp(b - y)"),
    "fmod": ("1", "-_np.trunc(a / b)"),
    "copysign": ("ng_sign(a) * _np.copysign(1, b)", "0"),
    "power pow": ("ng_power_base(a, b)", "ng_power_exponent(a, b)"),
}

_FLAT = """floor ceil trunc rint sign isnan isinf isfinite signbit greater less equal not_equal
greater_equal less_equal logical_and logical_or logical_not floor_divide"""
# Linear functions of one argument: what they do to the value they do to the tangent.
_LINEAR = "float64 float32 complex128 complex64 conj conjugate real imag"


def _named(names: str) -> list[Any]:
    found = [
        getattr(module, n) for n in names.split() for module in (np, math) if hasattr(module, n)
    ]
    return list(dict.fromkeys(found))


PARTIALS: dict[Any, tuple[str, ...]] = {
    function: texts for names, texts in _TEXTS.items() for function in _named(names)
}
PARTIALS.update({abs: ("ng_sign(a)",), max: PARTIALS[np.maximum], min: PARTIALS[np.minimum]})
PARTIALS[pow] = PARTIALS[np.power]
FLAT = {*_named(_FLAT), int, bool, round, len, range}
LINEAR = {*_named(_LINEAR), float, complex}
