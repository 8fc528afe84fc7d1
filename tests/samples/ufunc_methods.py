"""Samples of ufunc methods (reduce, accumulate, reduceat, outer, at) of every ufunc with them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad
from tests.samples.core import Arrays, Sample

# Binary ufuncs of inexact numbers with a derivative; each folds from the left.
BINARY = [
    *["add", "subtract", "multiply", "divide", "power", "float_power", "remainder", "fmod"],
    *["maximum", "minimum", "fmax", "fmin", "hypot", "arctan2", "logaddexp", "logaddexp2"],
    *["copysign", "heaviside", "nextafter"],
]
# Folds that NumPy reorders at will, so that several axes at once are allowed.
REORDERABLE = ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp"]
UNARY = [
    *["absolute", "arccos", "arcsin", "arctan", "arcsinh", "arctanh", "cbrt", "conjugate", "cos"],
    *["cosh", "deg2rad", "degrees", "exp", "exp2", "expm1", "fabs", "log", "log10", "log1p"],
    *["log2", "negative", "positive", "rad2deg", "radians", "reciprocal", "sin", "sinh", "sqrt"],
    *["square", "tan", "tanh"],
]


# On processors with AVX-512, NumPy's loops of these two ignore that a fold's output is its input:
# np.power.reduce([1.1, 1.3, 0.7, 1.6]) is 1.1**1.6 there, and right in long doubles. The plain side
# of a sample folds by hand; recorded arrays go through the method.
MISFOLDED = {"power", "arctan2"}


def recorded(a: Any) -> bool:
    """Whether `a` is recorded: samples run wrapped, where its type is ndarray."""
    return isinstance(a, npgrad.GradArray)


def reducing(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduce``, right for plain arrays too."""

    def reduce(a: Any, axis: int = 0, keepdims: bool = False) -> Any:
        if recorded(a) or ufunc.__name__ not in MISFOLDED:
            return ufunc.reduce(a, axis=axis, keepdims=keepdims)
        y = functools.reduce(ufunc, np.moveaxis(a, axis, 0))
        return np.expand_dims(y, axis) if keepdims else y

    return reduce


def reducing_segments(ufunc: np.ufunc) -> Callable[..., Any]:
    """``ufunc.reduceat``, right for plain arrays too."""
    reduce = reducing(ufunc)

    def reduceat(a: Any, starts: list[int], axis: int = 0) -> Any:
        if recorded(a) or ufunc.__name__ not in MISFOLDED:
            return ufunc.reduceat(a, starts, axis=axis)
        line = np.moveaxis(a, axis, 0)
        ends = [*starts[1:], len(line)]
        parts = [reduce(line[s : max(e, s + 1)]) for s, e in zip(starts, ends, strict=True)]
        return np.stack(parts, axis=axis)

    return reduceat


def positive(*shape: int) -> Callable[[np.random.Generator], Arrays]:
    """One array of distinct numbers about 1, away from every kink of the folds."""
    return lambda rng: (rng.uniform(0.6, 1.9, size=shape),)


def pair(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], Arrays]:
    """Arrays of distinct numbers about 1."""
    return lambda rng: tuple(rng.uniform(0.6, 1.9, size=shape) for shape in shapes)


def inside(rng: np.random.Generator) -> Arrays:
    """Numbers where every unary ufunc is smooth, and stays so after a second application."""
    return (rng.uniform(0.15, 0.8, size=(4,)),)


def rows_of(name: str) -> list[Sample]:
    """Reduce, accumulate, reduceat, outer and at of one binary ufunc."""
    ufunc = getattr(np, name)
    reduce, reduceat = reducing(ufunc), reducing_segments(ufunc)
    single = ("float64",) if name == "float_power" else ("float64", "float32")

    def at(a: Any, b: Any) -> Any:
        y = a * 1.0
        ufunc.at(y, [0, 2, 0], b)
        return y

    def row(what: str, call: Callable[..., Any], args: Any) -> Sample:
        return Sample(f"np.{name}.{what}", call, args, dtypes=single)

    found = [
        row("reduce", reduce, positive(4)),
        row("reduce negative axis", lambda a: reduce(a, axis=-1), positive(2, 3)),
        row("reduce keepdims", lambda a: reduce(a, axis=1, keepdims=True), positive(2, 3)),
        row("reduce one entry", reduce, positive(1)),
        row("accumulate", ufunc.accumulate, positive(4)),
        row("accumulate axis", lambda a: ufunc.accumulate(a, axis=1), positive(2, 3)),
        row("reduceat", lambda a: reduceat(a, [0, 3, 1, 4]), positive(6)),
        row("reduceat axis", lambda a: reduceat(a, [0, 2], axis=-1), positive(2, 4)),
        row("outer", ufunc.outer, pair((2,), (3,))),
        row("outer of matrices", ufunc.outer, pair((2, 2), (2,))),
        row("at", at, pair((3,), (3,))),
    ]
    if name in REORDERABLE:
        mask = np.array([[True, False, True], [True, True, False]])
        found += [
            row("reduce all axes", lambda a: ufunc.reduce(a, axis=None), positive(2, 3)),
            row("reduce axis tuple", lambda a: ufunc.reduce(a, axis=(0, 2)), positive(2, 2, 2)),
            row("reduce initial", lambda a: ufunc.reduce(a, axis=0, initial=1.25), positive(2, 3)),
            row(
                "reduce where",
                lambda a: ufunc.reduce(a, axis=1, where=mask, initial=0.5),
                positive(2, 3),
            ),
        ]
    return found


def unary_at(name: str) -> Sample:
    """``ufunc.at``, twice for one entry where its result is in the domain again."""
    ufunc = getattr(np, name)
    index = [1, 3] if name in {"arccos", "arctanh", "log", "log2", "log10"} else [1, 3, 1]

    def at(a: Any) -> Any:
        y = a * 1.0
        ufunc.at(y, np.array(index))
        return y

    return Sample(f"np.{name}.at", at, inside)


SAMPLES = [
    *(row for name in BINARY for row in rows_of(name)),
    *(unary_at(name) for name in UNARY),
    Sample(
        "np.divmod.outer",
        lambda a, b: np.divmod.outer(a, b)[1],
        pair((2,), (3,)),
    ),
    Sample("np.ldexp.outer", lambda a: np.ldexp.outer(a, np.array([1, -2])), positive(3)),
]
