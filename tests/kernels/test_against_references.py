"""Every kernel against its NumPy reference in float64, over shapes, dtypes and layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from npgrad import kernels
from npgrad.kernels import (
    activations,
    batch_norm,
    conv2d,
    group_norm,
    layer_norm,
    log_softmax,
    max_pool2d,
    pool2d,
    rms_norm,
    softmax,
    take_along,
)
from npgrad.kernels.scatter_add import check_index

pytest.importorskip("numba")

DTYPES = ["f4", "f8"]
# error in units of eps, relative to the largest entry of the reference
LIMIT = 200


def arrays(rng: np.random.Generator, dtype: str, *shapes: Any) -> list[Any]:
    """Normal numbers of some spread and offset."""
    return [(rng.normal(size=shape) * 2 + 0.5).astype(dtype) for shape in shapes]


def wide(values: Any) -> Any:
    return [
        v.astype("f8") if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for v in values
    ]


def check(kernel: Callable[..., Any], reference: Callable[..., Any], *args: Any) -> None:
    """Same result up to rounding, right dtype, nothing overwritten, the same bits again."""
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    got, want = kernel(*args), reference(*wide(args))
    again = kernel(*args)
    if not isinstance(got, tuple):
        got, want, again = (got,), (want,), (again,)
    dtype = next(a.dtype for a in args if isinstance(a, np.ndarray))
    for a, b, c in zip(got, want, again, strict=True):
        assert a.dtype == dtype
        assert a.shape == b.shape
        scale = np.abs(b[np.isfinite(b)]).max(initial=1e-30)
        with np.errstate(invalid="ignore"):
            same = np.where(
                np.isfinite(b), np.abs(a - b) <= LIMIT * np.finfo(dtype).eps * scale, a == b
            )
        assert (same | (np.isnan(a) & np.isnan(b))).all(), np.abs(a - b).max() / scale
        np.testing.assert_array_equal(a, c)
    for before, after in zip(kept, args, strict=True):
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(before, after)


@contextmanager
def threads(monkeypatch: pytest.MonkeyPatch, count: int) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr("npgrad.kernels._threads._count", count)
        patch.setattr("npgrad.kernels._threads.GRAIN_NS", 1.0)
        yield


ROWS = [(5000,), (70, 60), (3, 2, 801), (4500, 1), (1, 4100), (260, 4, 5)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(activations.references()))
def test_activations(name: str, dtype: str) -> None:
    kernel, reference = activations.references()[name]
    rng = np.random.default_rng(3)
    extra = (0.1,) if name.startswith("leaky") else ()
    for shape in ((5000,), (64, 65), (2, 50, 51)):
        x, g = arrays(rng, dtype, shape, shape)
        x.reshape(-1)[:3] = [0.0, -0.0, 30.0]
        if name in ("relu_grad", "sigmoid_grad"):
            x = np.abs(np.tanh(x))
        given = (g, x) if name.endswith("_grad") else (x,)
        check(kernel, reference, *given, *extra)
        check(kernel, reference, *(a.T for a in given), *extra)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ROWS)
def test_softmax(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(4)
    x, g = arrays(rng, dtype, shape, shape)
    check(softmax.softmax, softmax.softmax_reference, x)
    check(softmax.softmax_grad, softmax.softmax_grad_reference, g, softmax.softmax(x))
    check(log_softmax.log_softmax, log_softmax.log_softmax_reference, x)
    y = log_softmax.log_softmax(x)
    check(log_softmax.log_softmax_grad, log_softmax.log_softmax_grad_reference, g, y)
    check(log_softmax.logsumexp, log_softmax.logsumexp_reference, x)
    y = log_softmax.logsumexp(x)
    (g,) = arrays(rng, dtype, y.shape)
    check(log_softmax.logsumexp_grad, log_softmax.logsumexp_grad_reference, np.asarray(g), x, y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_softmax_of_infinities(dtype: str) -> None:
    x = np.random.default_rng(0).normal(size=(90, 50)).astype(dtype)
    x[0] = -np.inf
    x[1, 7] = np.inf
    x[2, 3] = np.nan
    x[3, :40] = -np.inf
    x[4, :2] = np.inf
    x[5] = 1e30
    with np.errstate(invalid="ignore"):
        check(softmax.softmax, softmax.softmax_reference, x)
        check(log_softmax.log_softmax, log_softmax.log_softmax_reference, x)
        check(log_softmax.logsumexp, log_softmax.logsumexp_reference, x)
        y = log_softmax.logsumexp(x)
        g = np.ones_like(y)
        check(log_softmax.logsumexp_grad, log_softmax.logsumexp_grad_reference, g, x, y)
    np.testing.assert_array_equal(y[:2], [-np.inf, np.inf])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [s for s in ROWS if s[-1] > 4])
def test_layer_and_rms_norm(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(5)
    x, g, w, b = arrays(rng, dtype, shape, shape, shape[-1:], shape[-1:])
    check(layer_norm.layer_norm, layer_norm.layer_norm_reference, x, w, b, 1e-2)
    check(layer_norm.layer_norm_grad, layer_norm.layer_norm_grad_reference, g, x, w, 1e-2)
    check(rms_norm.rms_norm, rms_norm.rms_norm_reference, x, w, 1e-2)
    check(rms_norm.rms_norm_grad, rms_norm.rms_norm_grad_reference, g, x, w, 1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("shape", "groups"),
    [((700, 12), 3), ((65, 8, 3, 4), 2), ((3, 8, 30, 31), 4), ((5, 4, 300), 1), ((70, 64), 4)],
)
def test_group_and_batch_norm(shape: tuple[int, ...], groups: int, dtype: str) -> None:
    rng = np.random.default_rng(6)
    x, g, w, b = arrays(rng, dtype, shape, shape, shape[1:2], shape[1:2])
    group, grad = group_norm.group_norm, group_norm.group_norm_grad
    check(group, group_norm.group_norm_reference, x, groups, w, b, 1e-2)
    check(grad, group_norm.group_norm_grad_reference, g, x, groups, w, 1e-2)
    check(batch_norm.batch_norm, batch_norm.batch_norm_reference, x, w, b, 1e-2)
    check(batch_norm.batch_norm_grad, batch_norm.batch_norm_grad_reference, g, x, w, 1e-2)


def test_variance_does_not_cancel() -> None:
    # float32 holds x itself to 5e-4 here; E[x**2] - E[x]**2 would be off by more than the variance
    x = (np.random.default_rng(7).normal(size=(400, 30)) + 4096).astype("f4")
    one, zero = np.ones(30, "f4"), np.zeros(30, "f4")
    want = batch_norm.batch_norm_reference(x.astype("f8"), one, zero, 0.0)
    np.testing.assert_allclose(batch_norm.batch_norm(x, one, zero, 0.0), want, atol=5e-3)
    want = layer_norm.layer_norm_reference(x.astype("f8"), one, zero, 0.0)
    np.testing.assert_allclose(layer_norm.layer_norm(x, one, zero, 0.0), want, atol=5e-3)


def geometries() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], conv2d.Geometry]]:
    """Cases of all four ways: with strides that do not divide, odd borders, dilations, groups."""
    make = conv2d.Geometry
    yield (2, 40, 13, 14), (40, 40, 3, 3), make((1, 1), 1, 1, 1, 1)
    yield (1, 41, 9, 30), (43, 41, 3, 3), make((1, 1), 0, 2, 1, 0)
    yield (2, 40, 17, 15), (40, 40, 3, 3), make((1, 1), 2, 2, 2, 2, (2, 2))
    yield (2, 40, 16, 19), (40, 40, 3, 3), make((1, 1), 3, 0, 1, 3, (3, 3))
    yield (2, 16, 13, 14), (16, 16, 3, 3), make((1, 1), 1, 1, 1, 1)
    yield (1, 17, 9, 30), (20, 17, 3, 3), make((1, 1), 0, 2, 1, 0)
    yield (2, 3, 16, 19), (5, 3, 5, 4), make((1, 1), 3, 0, 1, 3, (2, 1))
    yield (5, 13, 8, 9), (3, 13, 7, 7), make((1, 1), 3, 3, 3, 3)
    yield (3, 8, 9, 70), (70, 8, 1, 3), make((2, 1), 0, 1, 2, 0)
    yield (2, 6, 30, 30), (6, 6, 26, 26), make()  # few places
    yield (2, 3, 30, 31), (16, 3, 7, 7), make((2, 2), 3, 3, 3, 3)
    yield (2, 12, 15, 14), (18, 12, 3, 3), make((2, 3), 1, 0, 2, 1)
    yield (9, 12, 14, 14), (10, 12, 1, 1), make()
    yield (2, 12, 15, 14), (10, 12, 1, 1), make((2, 2))
    yield (2, 12, 15, 14), (10, 12, 1, 1), make((1, 1), 1, 1, 0, 2)
    yield (3, 8, 21, 20), (8, 1, 3, 3), make((1, 1), 1, 1, 1, 1, (1, 1), 8)
    yield (3, 8, 21, 20), (16, 1, 3, 5), make((2, 2), 1, 1, 2, 2, (1, 1), 8)
    yield (3, 8, 21, 20), (12, 2, 3, 3), make((1, 2), 2, 1, 0, 3, (2, 1), 4)
    yield (2, 64, 12, 12), (64, 32, 3, 3), make((1, 1), 1, 1, 1, 1, (1, 1), 2)
    yield (2, 3, 64, 200), (8, 3, 7, 7), make((1, 2), 3, 1, 0, 2)  # columns made in strips
    yield (2, 4, 40, 1), (40, 4, 5, 1), make((4, 1), 2, 0, 0, 0, (3, 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "case", list(geometries()), ids=lambda case: f"{case[0]}{case[1]}{case[2].groups}"
)
def test_conv2d(case: Any, dtype: str) -> None:
    shape, filters, geometry = case
    rng = np.random.default_rng(8)
    size = conv2d.out_size(shape, filters, geometry)
    x, w, g = arrays(rng, dtype, shape, filters, (shape[0], filters[0], *size))
    check(conv2d.conv2d, conv2d.conv2d_reference, x, w, geometry)
    check(conv2d.conv2d_grad_input, conv2d.conv2d_grad_input_reference, g, w, shape, geometry)
    check(conv2d.conv2d_grad_weight, conv2d.conv2d_grad_weight_reference, g, x, filters, geometry)


def test_conv2d_takes_every_way() -> None:
    ways = {conv2d._way(shape, filters, geo).__name__ for shape, filters, geo in geometries()}
    assert {name.rpartition(".")[2] for name in ways} == {
        "_columns",
        "_direct",
        "_tiles",
        "_winograd",
    }


@pytest.mark.parametrize("case", list(geometries()))
def test_an_infinity_reaches_what_it_reaches_in_the_reference(case: Any) -> None:
    shape, filters, geometry = case
    rng = np.random.default_rng(12)
    size = conv2d.out_size(shape, filters, geometry)
    x, w, g = arrays(rng, "f8", shape, filters, (shape[0], filters[0], *size))
    x[0, 0, 3, -1], g[-1, -1, -1, 0] = np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        pairs = (
            (conv2d.conv2d, conv2d.conv2d_reference, (x, w, geometry)),
            (
                conv2d.conv2d_grad_input,
                conv2d.conv2d_grad_input_reference,
                (g, w, shape, geometry),
            ),
            (
                conv2d.conv2d_grad_weight,
                conv2d.conv2d_grad_weight_reference,
                (np.where(np.isinf(g), 0, g), x, filters, geometry),
            ),
        )
        for kernel, reference, args in pairs:
            got, want = kernel(*args), reference(*args)
            np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "window",
    [
        pool2d.Window((2, 2), (2, 2)),
        pool2d.Window((3, 3), (2, 2), (1, 1)),
        pool2d.Window((3, 2), (1, 3), (1, 0)),
        pool2d.Window((2, 5), (3, 1), (0, 2)),
        pool2d.Window((1, 1), (2, 2)),
        pool2d.Window((5, 5), (2, 1), (2, 1)),
        pool2d.Window((8, 8), (3, 8), (0, 4)),
        pool2d.Window((9, 8), (2, 3), (4, 1)),
        pool2d.Window((31, 30), (31, 30)),
        pool2d.Window((1, 29), (2, 1), (0, 14)),
        pool2d.Window((20, 4), (5, 4)),
    ],
)
def test_pooling(window: pool2d.Window, dtype: str) -> None:
    rng = np.random.default_rng(9)
    (x,) = arrays(rng, dtype, (2, 3, 31, 30))
    x = np.round(x)  # many ties
    check(max_pool2d.max_pool2d, max_pool2d.max_pool2d_reference, x, window)
    y = max_pool2d.max_pool2d(x, window)
    (g,) = arrays(rng, dtype, y.shape)
    x[0, 0, 3:7, 2:9], x[1, 1, ::3, ::2] = -np.inf, np.nan
    top, places = max_pool2d.max_pool2d_places(x, window)
    y = max_pool2d.max_pool2d_reference(x, window)
    np.testing.assert_array_equal(top, y)
    want = max_pool2d.max_pool2d_grad_reference(g.astype("f8"), x, y, window)
    got = max_pool2d.max_pool2d_grad(g, x, y, window, places)
    few = not max_pool2d._compared(window)
    assert got.dtype == x.dtype and places.shape == (y.shape if few else (0,))
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-12 if dtype == "f8" else 2e-6)
    x = np.nan_to_num(x, neginf=0)
    check(pool2d.avg_pool2d, pool2d.avg_pool2d_reference, x, window)
    check(
        pool2d.avg_pool2d_grad,
        pool2d.avg_pool2d_grad_reference,
        np.tile(g, (3, 1, 1, 1)),
        window,
        (6, 3, 31, 30),
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_add_along(axis: int, dtype: str) -> None:
    rng = np.random.default_rng(10)
    for shape in ((40, 30, 20), (1, 200, 1), (3, 300, 5), (300, 1, 7)):
        length = 1 + shape[axis] // 2
        (g,) = arrays(rng, dtype, shape)
        index = rng.integers(-length, length, shape)
        if axis == 2:
            index[..., : shape[2] // 2 * 2] = length // 2
        extent = shape[:axis] + (length,) + shape[axis + 1 :]
        (base,) = arrays(rng, dtype, extent)
        row = rng.integers(-length, length, shape[axis])
        tolerance = 1e-4 if dtype == "f4" else 1e-12
        for x in (None, base):
            wide = None if x is None else x.astype("f8")
            want = take_along.added_along_reference(wide, extent, index, g.astype("f8"), axis)
            checked = check_index(index, length)
            got = take_along.added_along(x, extent, checked, g, axis)
            np.testing.assert_allclose(got, want, atol=tolerance)
            got, seen = take_along.check_and_add_along(x, extent, index, g, axis)
            np.testing.assert_allclose(got, want, atol=tolerance)
            np.testing.assert_array_equal(seen, checked)
            want = take_along.added_rows_reference(wide, extent, row, g.astype("f8"), axis)
            got = take_along.added_rows(x, extent, check_index(row, length), g, axis)
            np.testing.assert_allclose(got, want, atol=tolerance)
        assert got.dtype == np.dtype(dtype)


@pytest.mark.parametrize("bad", [9, -10, 2**40, -(2**40)])
def test_an_index_out_of_range_is_named_by_the_kernels_that_check(bad: int) -> None:
    x = np.ones((700, 9), "f4")
    index = np.zeros((700, 8), np.int64)
    index[600, 3] = bad
    message = f"index {bad} is out of bounds for axis 1 with size 9"
    with pytest.raises(IndexError, match=message):
        take_along.check_and_take_along(x, index, 1)
    with pytest.raises(IndexError, match=message):
        take_along.check_and_add_along(x, x.shape, index, np.ones((700, 8), "f4"), 1)


def everything(rng: np.random.Generator) -> list[Any]:
    """One result of each kernel that sums over what threads divide."""
    x, g, w = arrays(rng, "f4", (3000, 100), (3000, 100), (100,))
    images, filters = arrays(rng, "f4", (3, 16, 20, 20), (16, 16, 3, 3))
    large, wide = arrays(rng, "f4", (2, 48, 12, 12), (48, 48, 3, 3))
    given = arrays(rng, "f4", images.shape)[0]
    geometry = conv2d.Geometry((1, 1), 1, 1, 1, 1)
    grouped = conv2d.Geometry((1, 1), 1, 1, 1, 1, (1, 1), 16)
    strided = conv2d.Geometry((2, 2), 1, 1, 1, 1)
    out = [*layer_norm.layer_norm_grad(g, x, w, 1e-5), *rms_norm.rms_norm_grad(g, x, w, 1e-5)]
    out += [
        *group_norm.group_norm_grad(g, x, 4, w, 1e-5),
        *batch_norm.batch_norm_grad(g, x, w, 1e-5),
    ]
    out += [*batch_norm.batch_norm_grad(given, images, filters[0, :, 0, 0], 1e-5)]
    out += [conv2d.conv2d_grad_weight(given, images, filters.shape, geometry)]
    out += [conv2d.conv2d_grad_weight(large, large, wide.shape, geometry)]
    out += [conv2d.conv2d(large, wide, geometry), conv2d.conv2d(images, filters, geometry)]
    out += [conv2d.conv2d(large[:1], wide[:, :, :2], geometry)]
    out += [conv2d.conv2d_grad_weight(given, images, (16, 1, 3, 3), grouped)]
    out += [conv2d.conv2d_grad_input(given[:, :, ::2, ::2], filters, images.shape, strided)]
    out += [softmax.softmax(x), log_softmax.log_softmax(x), activations.gelu(x)]
    window = pool2d.Window((3, 3), (2, 2), (1, 1))
    out += [
        softmax.softmax_grad(g, x),
        log_softmax.log_softmax_grad(g, x),
        max_pool2d.max_pool2d(images, window),
        pool2d.avg_pool2d(images, window),
    ]
    lines, along = np.ascontiguousarray(g.T), rng.integers(0, 100, g.shape)
    some, few = check_index(rng.integers(0, 40, 3000), 40), check_index(along[0] % 7, 7)
    out += [
        take_along.added_rows(None, (100, 40), some, lines, 1),
        take_along.added_rows(None, (40, 100), some, g, 0),
        take_along.added_rows(None, (30, 7, 100), few, g.reshape(30, 100, 100), 1),
        take_along.take_rows(g, some, 0),
        take_along.take_rows(g, some, 1),
        take_along.check_and_add_along(None, g.shape, along, g, 1)[0],
        take_along.check_and_add_along(None, g.shape, along, g, 0)[0],
        take_along.check_and_take_along(g, along, 1)[0],
    ]
    return out


def test_same_bits_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for count in (1, 2, 3, 7):
        with threads(monkeypatch, count):
            results.append(everything(np.random.default_rng(11)))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_disabled_gives_the_references() -> None:
    x = np.random.default_rng(12).normal(size=(100, 100))
    with kernels.disabled():
        np.testing.assert_array_equal(softmax.softmax(x), softmax.softmax_reference(x))
        np.testing.assert_array_equal(activations.erf(x), activations.erf_reference(x))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_picking(axis: int) -> None:
    rng = np.random.default_rng(13)
    for shape in ((40, 30, 20), (1, 5000, 1), (3, 300, 9), (300, 2, 17)):
        (x,) = arrays(rng, "f4", shape)
        length = shape[axis] + 3
        index = rng.integers(
            -shape[axis], shape[axis], shape[:axis] + (length,) + shape[axis + 1 :]
        )
        want = np.take_along_axis(x, index, axis)
        got = take_along.take_along(x, check_index(index, shape[axis]), axis)
        np.testing.assert_array_equal(got, want)
        got, checked = take_along.check_and_take_along(x, index, axis)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(checked, check_index(index, shape[axis]))
        row = rng.integers(-shape[axis], shape[axis], length)
        want = np.take(x, row, axis)
        got = take_along.take_rows(x, check_index(row, shape[axis]), axis)
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", sorted(activations.references()))
def test_activations_leave_their_input_as_it_lies(name: str) -> None:
    """A result has its input's memory order, as a ufunc's; of what has gaps, rows first."""
    function, reference = activations.references()[name]
    rng = np.random.default_rng(51)
    slope = (0.1,) if name.startswith("leaky") else ()
    count = 2 if name.endswith("_grad") else 1
    whole = rng.normal(size=(8, 9, 10, 11))
    dense = (
        lambda x: x.transpose(0, 3, 1, 2),
        lambda x: x.T,
        lambda x: x.transpose(2, 0, 1, 3)[:, None],
        lambda x: np.asfortranarray(x[:, :, :, :9]),
    )
    odd = (
        lambda x: x[:, ::2].transpose(0, 3, 1, 2),
        lambda x: x[::-1].T,
        lambda x: np.broadcast_to(x[:, :1], x.shape).T,
    )
    for lie in (*dense, *odd):
        x = lie(whole)
        axes = np.argsort([-stride for stride in x.strides], kind="stable")
        for order in "CFK"[: 1 if count == 1 else 3]:
            arrays = (x,) if count == 1 else (rng.normal(size=x.shape).copy(order), x)
            kept = [a.copy() for a in arrays]
            found = function(*arrays, *slope)
            np.testing.assert_allclose(found, reference(*arrays, *slope), rtol=1e-12, atol=1e-14)
            turned = found.transpose(axes) if lie in dense else found
            assert turned.flags.c_contiguous and found.base is None
            for a, before in zip(arrays, kept, strict=True):
                np.testing.assert_array_equal(a, before)
