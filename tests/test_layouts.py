"""Each sample in every precision and layout: NumPy's value, and a gradient of its argument's kind.

A sample's arrays are cast and laid out in six ways each. Where plain NumPy takes them, so must the
recording: the same value, a gradient of the argument's shape and dtype, and in double precision or
better ``<u, J t> == <J' u, t>``. Where NumPy refuses them, nothing is promised. Each sample takes
some of the combinations, different ones by its name; all together are each met many times.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from tests.harness import (
    LAYOUTS,
    SAMPLES,
    arguments,
    check_conforms,
    close,
    emptied,
    function,
    generator,
    inner,
    leaves,
    like,
    parameters,
    quiet,
    random_like,
    size_of,
)
from tests.samples.core import Sample

Arrays = tuple[Any, ...]


def first_entries(args: Arrays) -> Arrays:
    """0-d arrays."""
    return tuple(np.array(x.ravel()[0]) if x.size else x for x in args)


def shortened(args: Arrays) -> Arrays:
    """The first array of length 1 along its first axis: it broadcasts with the others."""
    return (args[0][:1] if args[0].ndim else args[0], *args[1:])


def repeated(args: Arrays) -> Arrays:
    """The first row again and again, without memory of its own."""
    return tuple(np.broadcast_to(x[:1], x.shape) if x.ndim and x.size else x for x in args)


def each(lay: Callable[[Any], Any]) -> Callable[[Arrays], Arrays]:
    """`lay` for every array that has an axis."""
    return lambda args: tuple(lay(x) if x.ndim else x for x in args)


SHAPES: dict[str, Callable[[Arrays], Arrays | None]] = {
    "0-d": first_entries,
    "empty": lambda args: emptied(args, 0),
    "length 1": shortened,
    "negative strides": each(LAYOUTS["negative strides"]),
    "Fortran order": each(LAYOUTS["Fortran order"]),
    "stride 0": repeated,
}
DTYPES = ("float16", "float32", "float64", "longdouble", "complex64", "complex128")
EXACT = ("float64", "longdouble", "complex128")
COMBINATIONS = list(itertools.product(DTYPES, SHAPES))
LEFT_OUT = {
    ("np.var mean", "length 1"),  # a mean of more entries than there are numbers
    ("np.std mean", "length 1"),
    ("np.polydiv short", "0-d"),  # 0, and 0 to rounding
}
EACH = 6  # combinations of one sample


def chosen(sample: Sample) -> list[tuple[str, str]]:
    """A sixth of the combinations, by the sample's name."""
    start = zlib.crc32(sample.name.encode())
    return [COMBINATIONS[(start + 7 * k) % len(COMBINATIONS)] for k in range(EACH)]


def check(sample: Sample, dtype: str, shape: str) -> bool:
    """The promise for one combination; False where NumPy refuses it."""
    f, originals = function(sample), arguments(sample)
    if dtype[0] != "c" and any(x.dtype.kind == "c" for x in originals):
        return False
    if dtype not in EXACT and "float32" not in sample.dtypes:  # some search without end there
        return False
    laid = SHAPES[shape](tuple(x.astype(dtype) for x in originals))
    if laid is None or (sample.name, shape) in LEFT_OUT:
        return False
    if shape == "stride 0" and "coordinates" in sample.name:  # no distance: inf or NaN
        return False
    # An out= larger than the result is refused, and ends the process of NumPy's own cumsum.
    if shape in ("0-d", "length 1") and "out" in sample.name.split():
        return False
    try:
        plain = f(*laid)
    except Exception:  # NumPy's own refusal, of whatever kind
        return False
    if not leaves(plain):
        return False
    where = f"{sample.name}, {dtype}, {shape}"
    out, pull = npgrad.vjp(f, *laid)
    for got, want in zip(leaves(out), leaves(plain), strict=True):
        assert (got.shape, got.dtype) == (want.shape, want.dtype), where
        if shape != "empty":  # what NumPy makes of nothing is at times not initialised
            eps = max(np.finfo(want.dtype).eps, np.finfo(dtype).eps)
            largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
            close(f"{where}: value", got, want, float(64 * eps * largest))
    rng = generator(sample, where)
    u = like(rng, out)
    grads = pull(u)
    check_conforms(sample, grads, laid)
    exact = dtype in EXACT and all(np.finfo(y.dtype).eps < 1e-15 for y in leaves(plain))
    if exact and sample.forward and not degenerate(sample, shape):
        t = tuple(random_like(rng, x) for x in laid)
        _, tangent = npgrad.jvp(f, laid, t)
        left, right = inner(u, tangent), inner(grads, t)
        scale = max(size_of(u, tangent), size_of(grads, t))
        if np.isfinite([scale, size_of(u, out)]).all():  # not at a singular point
            allowed = 1e-9 * scale + 1e-11 * size_of(u, out) + 1e-300
            assert abs(left - right) <= allowed, f"{where}: <u, J t> {left}, <J' u, t> {right}"
    return True


def degenerate(sample: Sample, shape: str) -> bool:
    """Equal rows make a matrix singular, where a decomposition has no derivative."""
    return shape == "stride 0" and sample.name.startswith(("np.linalg", "scipy.linalg"))


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_value_and_gradient_in_every_layout(sample: Sample) -> None:
    with quiet():
        for dtype, shape in chosen(sample):
            try:
                check(sample, dtype, shape)
            except (npgrad.errors.NoDerivative, np.linalg.LinAlgError):
                assert dtype[0] == "c" or degenerate(sample, shape), f"{sample.name}, {dtype}"
            except TypeError as error:
                if "imaginary part" not in str(error):  # which NumPy would drop
                    raise


def test_order_of_a_copied_argument() -> None:
    """order="A" asks whether the array is contiguous; the copy of one that is not, is not."""
    x = np.asfortranarray(np.arange(6.0).reshape(2, 3))[::-1]
    w = np.arange(1.0, 7.0)
    value, gradient = npgrad.value_and_grad(lambda x: np.sum(np.ravel(x, order="A") * w))(x)
    assert value == np.ravel(x, order="A") @ w
    np.testing.assert_array_equal(gradient, w.reshape(2, 3))
    column = np.arange(24.0).reshape(4, 6)[::2, ::3]
    for laid in (column, column.T, x, np.broadcast_to(x[:1], (4, 3))):
        out, _ = npgrad.vjp(lambda x: np.sum(np.sin(x), axis=0), laid)
        np.testing.assert_array_equal(out, np.sum(np.sin(laid), axis=0))
