"""Functions made of pieces: absolute, maximum, clip, where, select, ...

What is promised at a kink, each with its principle:

* ``maximum``, ``minimum``, ``fmax``, ``fmin``: symmetric functions have a symmetric gradient, so
  a tie is shared equally; an operand that is NaN and was passed over gets nothing.
* ``absolute``, ``fabs``, ``sign``, ``copysign`` at 0: 0, the middle of the subdifferential.
* ``clip``: min(max(x, low), high). At a bound x takes the whole gradient and the bound none; where
  low > high the result is high. The three parts add up to 1 everywhere, so ``clip(x, 0, x)`` has
  derivative 1.
* ``where``, ``select``, ``choose``, ``piecewise``: what was not chosen gets an exact 0, whatever
  the cotangent is.
* rounding is flat, comparisons and classifications are constant.

The names that a rule may use stand at the top of ``elementwise``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.graph.array import GradArray
from npgrad.implementations import one_pass
from npgrad.primitives import primitive
from npgrad.rules.elementwise import any_of, zero
from npgrad.rules.indexing import in_order
from npgrad.table import composed, constant, elementwise, flat, linear, lookup, reverse

# ------------------------------------------------------------------------------- choosing by masks
# An unsigned integer of the same width: a float times True, False as bits is exact, inf included.
WORDS = {np.dtype("f2"): np.int16, np.dtype("f4"): np.int32, np.dtype("f8"): np.int64}
FEW = 4096


def level(x: Any, ndim: int) -> Any:
    """`x` with axes of length one in front, up to `ndim`.

    A function of several arrays that broadcast can take batches of tangents only if none of them
    has fewer axes than the result: otherwise the batch axis would meet one of the others.
    """
    missing = ndim - getattr(x, "ndim", ndim)
    return np.reshape(x, (1,) * missing + x.shape) if missing > 0 else x


def pick(mask: Any, values: Any) -> Any:
    """`values` where `mask` holds and 0 elsewhere, also where `values` are infinite or NaN."""
    return picked(mask, level(values, getattr(mask, "ndim", 0)))


@primitive
def picked(mask: Any, values: Any) -> Any:
    """`pick` of values with as many axes as the mask.

    ``np.where`` with a random mask takes 4.1 ms a million (branches mispredicted); multiplying the
    bits of the numbers by the mask takes 0.8, and ``values * mask`` would turn inf to NaN.
    """
    word = WORDS.get(getattr(values, "dtype", None))
    if word is None or values.size < FEW:
        return np.where(mask, values, 0)
    return np.multiply(values.view(word), mask).view(values.dtype)


linear(
    picked,
    transpose={"values": lambda g, mask: pick(mask, g)},
    forward={"values": lambda g, mask: pick(mask, g)},
    batched=True,
)


@primitive
def chosen(condition: Any, x1: Any, x2: Any) -> Any:
    """``np.where`` of a plain condition and arrays of as many axes as the result."""
    return np.where(condition, x1, x2)


CHOSEN_RULES = {
    "x1": lambda g, condition: pick(condition, g),
    "x2": lambda g, condition: pick(np.logical_not(condition), g),
}
where_rule = linear(chosen, transpose=CHOSEN_RULES, forward=CHOSEN_RULES, batched=True)
where_rule.name = "np.where"
where_rule.by_entry = True


def is_text(value: Any) -> bool:
    """Whether `value` is text, or an array of it."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return isinstance(value, (str, bytes)) or kind in ("U", "S", "T")


def where_body(condition: Any, x: Any = None, y: Any = None) -> Any:
    """A recorded condition only decides; with nothing to choose from, where it holds."""
    decided = condition if type(condition) is np.ndarray else np.not_equal(condition, 0)
    if (x is None) != (y is None):
        raise ValueError("either both or neither of x and y should be given")
    if x is None and y is None:
        return np.nonzero(decided)
    if any(map(is_text, (x, y))) and GradArray in (type(x), type(y)):
        raise GradientLost(
            "npgrad: np.where of a recorded array and text gives text, which would cut the "
            "gradient. npgrad.value(x) cuts it on purpose; np.nan marks an entry as well."
        )
    ndim = max(decided.ndim, getattr(x, "ndim", 0), getattr(y, "ndim", 0))
    return chosen(decided, level(x, ndim), level(y, ndim))


composed(np.where, where_body)


def select_body(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """The first condition that holds chooses: a chain of ``where`` from the last to the first."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    for i, condition in enumerate(condlist):
        if getattr(condition, "dtype", np.dtype(type(condition))) != np.bool_:
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    values = [as_array(choice) for choice in (*choicelist, default)]
    # Python numbers are weak among the choices, so the dtype is found before any two are combined.
    dtype = np.result_type(*(getattr(value, "dtype", value) for value in values))
    values = [value if hasattr(value, "dtype") else dtype.type(value) for value in values]
    result = values.pop()
    for condition, value in zip(reversed(condlist), reversed(values), strict=True):
        result = np.where(condition, value, result)
    return in_order(result)


def as_array(x: Any) -> Any:
    """`x` as it is if it is an array or a Python number; lists and the like as an array."""
    return x if hasattr(x, "dtype") or type(x) in (int, float, complex) else np.asarray(x)


def choose_body(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """One choice for each index: a chain of ``where``."""
    count = len(choices)
    index = as_array(a)
    if np.dtype(getattr(index, "dtype", type(index))).kind not in "iub":
        raise TypeError("npgrad: np.choose takes integers to choose by")
    if mode == "wrap":
        index = index % count
    elif mode == "clip":
        index = np.clip(index, 0, count - 1)
    elif np.any((index < 0) | (index >= count)):
        raise ValueError("invalid entry in choice array")
    result = as_array(choices[count - 1])
    for i in reversed(range(max(count - 1, 1))):
        result = np.where(index == i, as_array(choices[i]), result)
    if out is None:
        return in_order(result) if result.ndim else result[()]  # a number, unlike np.where
    out[...] = result
    return out


def piecewise_body(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Each function on the elements where its condition holds, written into a buffer of zeros."""
    if np.isscalar(condlist) or (
        not isinstance(condlist[0], (list, np.ndarray)) and np.ndim(x) != 0
    ):
        condlist = [condlist]
    conditions = np.asarray(condlist, dtype=bool)
    count = len(conditions)
    if count == len(funclist) - 1:  # one function more: for where no condition holds
        rest = ~np.any(conditions, axis=0, keepdims=True)
        conditions = np.concatenate([conditions, rest], axis=0)
    elif count != len(funclist):
        raise ValueError(
            f"with {count} condition(s), either {count} or {count + 1} functions are expected"
        )
    shape = np.shape(x)
    flat_x = np.reshape(x, (1,)) if shape == () else x
    conditions = conditions.reshape((len(funclist), *np.shape(flat_x)))
    result = np.zeros_like(flat_x)
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            result[condition] = function
        elif condition.any():
            result[condition] = function(flat_x[condition], *args, **kw)
    return result if shape else np.reshape(result, ())


composed(np.select, select_body)
composed(np.choose, choose_body)
composed(np.piecewise, piecewise_body)


# ------------------------------------------------------------------------------ larger and smaller
def larger(g: Any, x1: Any, x2: Any) -> Any:
    """`g` where x1 > x2, half of it where they are equal, 0 elsewhere."""
    kernels = one_pass(g, x1, x2)
    if kernels is not None:
        return kernels.larger(g, x1, x2)
    won = pick(x1 > x2, g)
    ties = x1 == x2
    return won + pick(ties, 0.5 * g) if any_of(ties) else won


def smaller(g: Any, x1: Any, x2: Any) -> Any:
    """`g` where x1 < x2, half of it where they are equal, 0 elsewhere."""
    return larger(g, x2, x1)


def divided(g: Any, out: Any, x1: Any, x2: Any) -> Any:
    """`larger` and `smaller` in one pass, if it can be done."""
    kernels = one_pass(g, x1, x2, *out)
    return kernels is not None and kernels.divided(g, x1, x2, *out)


def divided_other(g: Any, out: Any, x1: Any, x2: Any) -> Any:
    """`smaller` and `larger` in one pass."""
    return divided(g, out, x2, x1)


def taken(g: Any, x1: Any, x2: Any, y: Any) -> Any:
    """`g` where y is x1, half of it where y is x2 as well: right where the other one is NaN."""
    ties = x1 == x2
    return pick(x1 == y, np.where(ties, 0.5 * g, g) if any_of(ties) else g)


elementwise(np.maximum, larger, smaller, both=divided, tame=True)
elementwise(np.minimum, smaller, larger, both=divided_other, tame=True)
for name in ("fmax", "fmin"):
    elementwise(getattr(np, name), taken, lambda g, x1, x2, y: taken(g, x2, x1, y))


# -------------------------------------------------------------------------------------------- clip
# What np.clip and ndarray.clip call; private, but ``plain.clip(recorded, ...)`` arrives here.
CLIP = getattr(np, "_core").umath.clip  # noqa: B009 -- not in the stubs


def clip_value(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """`g` where x2 <= x1 <= x3: the bounds themselves included."""
    if type(x2) in (int, float) and type(x3) in (int, float):
        kernels = one_pass(g, x1)
        if kernels is not None:
            return kernels.inside(g, x1, x2, x3)
    return pick((x1 >= x2) & (x1 <= x3), g)


def clip_low(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """`g` where the lower bound is the result."""
    return pick((x1 < x2) & (x2 <= x3), g)


def clip_high(g: Any, x1: Any, x2: Any, x3: Any) -> Any:
    """`g` where the upper bound is the result: it is applied last."""
    return pick((x1 > x3) | (x2 > x3), g)


elementwise(CLIP, clip_value, clip_low, clip_high, tame=True).name = "np.clip"


def clip_body(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    **kwargs: Any,
) -> Any:
    """The ufunc; an absent bound is infinite, which keeps the promise at the other one."""
    low, high = min if a_min is np._NoValue else a_min, max if a_max is np._NoValue else a_max
    low = None if low is np._NoValue else low
    high = None if high is np._NoValue else high
    if low is None and high is None:
        return np.positive(a, out=out, **kwargs)
    low = -math.inf if low is None else low
    return CLIP(a, low, math.inf if high is None else high, out=out, **kwargs)


composed(np.clip, clip_body)


# -------------------------------------------------------------------------- absolute value, sign
def absolute_tangent(g: Any, x: Any, dtype: Any) -> Any:
    """d|z| = Re(conj(z) dz) / |z|; for real numbers the sign."""
    slope = np.sign(x)
    return np.real(np.conjugate(slope) * g) if dtype.kind == "c" else g * slope


def sign_change(g: Any, x: Any, y: Any, dtype: Any) -> Any:
    """Flat for real numbers; the part of dz across z, over |z|, for complex ones (0 at 0).

    A projection is its own adjoint, so this is the VJP and the JVP.
    """
    if dtype.kind != "c":
        return np.zeros_like(g)
    size = np.absolute(x)
    return (g - y * np.real(np.conjugate(y) * g)) / np.where(size == 0, 1, size) * (size != 0)


elementwise(
    np.absolute,
    lambda g, x: g * np.sign(x),  # z / |z| for complex z: the direction of steepest ascent
    forward=(absolute_tangent,),
    holomorphic=False,
    shows=("x",),
    tame=True,
)
elementwise(np.fabs, lambda g, x: g * np.sign(x), shows=("x",), tame=True)
elementwise(np.sign, sign_change, forward=(sign_change,), holomorphic=False)
elementwise(np.copysign, lambda g, x1, x2: g * np.sign(x1) * np.copysign(1, x2), zero)
elementwise(np.heaviside, zero, lambda g, x1: pick(x1 == 0, g))


# ------------------------------------------------------------------------ replaced and corrected
@primitive
def replace_non_finite(x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    """``np.nan_to_num`` with every parameter given."""
    return np.nan_to_num(x, True, nan, posinf, neginf)


def finite_change(g: Any, x: Any, dtype: Any) -> Any:
    """Numbers that were kept pass, replaced ones are constants; part by part if complex."""
    if dtype.kind != "c":
        return pick(np.isfinite(x), g)
    parts = pick(np.isfinite(np.real(x)), np.real(g)), pick(np.isfinite(np.imag(x)), np.imag(g))
    return parts[0] + np.multiply(1j, parts[1])


def replaced_change(where: Callable[[Any], Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """VJP and JVP of the number that stands where `where` holds; of complex numbers, in parts."""

    def masks(x: Any) -> Any:
        return where(np.real(x)), where(np.imag(x))

    def pull(g: Any, x: Any) -> Any:
        if x.dtype.kind != "c":
            return pick(where(x), g)
        real, imaginary = masks(x)
        return pick(real, np.real(g)) + pick(imaginary, np.imag(g))

    def push(g: Any, x: Any) -> Any:
        g = np.reshape(g, np.shape(g) + (1,) * x.ndim)
        if x.dtype.kind != "c":
            return g * where(x)
        real, imaginary = masks(x)
        return g * real + np.multiply(1j, g) * imaginary

    return pull, push


REPLACED: dict[str, Callable[[Any], Any]] = {
    "nan": np.isnan,
    "posinf": np.isposinf,
    "neginf": np.isneginf,
}
CHANGES = {name: replaced_change(where) for name, where in REPLACED.items()}
reverse(
    replace_non_finite,
    {"x": finite_change, **{name: pull for name, (pull, _) in CHANGES.items()}},
    {"x": finite_change, **{name: push for name, (_, push) in CHANGES.items()}},
    holomorphic=False,
    batched=True,
).name = "np.nan_to_num"


def nan_to_num_body(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace in a copy; with ``copy=False`` write that copy into x, as NumPy does."""
    result = replace_non_finite(x, nan, posinf, neginf)
    if copy or np.ndim(x) == 0:
        return result
    x[...] = result
    return x


composed(np.nan_to_num, nan_to_num_body)


def turns(g: Any, p: Any, y: Any, period: Any) -> Any:
    """How many periods were added is locally constant."""
    return g * np.rint((y - p) / period)


UNWRAP_RULES: dict[str, Callable[..., Any]] = {"p": lambda g: g, "period": turns}
reverse(np.unwrap, UNWRAP_RULES, UNWRAP_RULES, ignores=("discont", "axis"))


# ------------------------------------------------------------------------------ flat and constant
for name in ("floor", "ceil", "trunc", "rint", "floor_divide"):
    flat(getattr(np, name), "a rounded number is constant between two jumps")
flat(np.spacing, "the spacing of floats is constant between two powers of two")

for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    constant(getattr(np, name), "a comparison is true or false")
for name, verdict in (("equal", True), ("not_equal", False)):
    decision = lookup(getattr(np, name))
    assert decision is not None
    decision.verdict = verdict
for name in ("logical_and", "logical_or", "logical_xor", "logical_not"):
    constant(getattr(np, name), "truth values have no derivative")
for name in ("isfinite", "isinf", "isnan", "signbit"):
    constant(getattr(np, name), "the class of a number is true or false")
