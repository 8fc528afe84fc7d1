"""Every kernel on the GPU, against its reference in float64: the small shapes of the simulator and large ones."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from . import checks

pytestmark = pytest.mark.gpu

COLUMNS = [
    1,
    2,
    3,
    7,
    8,
    16,
    31,
    33,
    64,
    100,
    128,
    129,
    255,
    260,
    512,
    768,
    1000,
    1023,
    1024,
    2048,
    3000,
    4096,
    4100,
    8192,
    10001,
    16384,
    16388,
    20000,
    65536,
]
KINDS = ["float32", "float16", "bfloat16"]
ROWS = [(c, "float32") for c in COLUMNS] + [
    (c, k) for k in KINDS[1:] for c in (1, 7, 128, 1000, 1023, 4096, 16384, 20008)
]


def put(x: Any) -> Any:
    import cupy

    return cupy.asarray(x)


def get(x: Any) -> Any:
    import cupy

    return cupy.asnumpy(x)


@pytest.fixture(autouse=True)
def poison() -> None:
    """Fill CuPy's free memory with NaN, so that an element no kernel wrote is seen."""
    import cupy

    for size in (1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 26):
        kept = cupy.empty(size, cupy.uint8)
        kept[...] = 0xFF
        del kept


def rows_for(columns: int) -> int:
    return max(3, min(1037, (1 << 21) // columns))


@pytest.mark.parametrize(("columns", "kind"), ROWS)
def test_layer_norm(columns: int, kind: str) -> None:
    checks.check_layer_norm((rows_for(columns), columns), kind, put, get)


@pytest.mark.parametrize("columns", [5, 128, 1024, 4096, 16384, 20000])
def test_layer_norm_options(columns: int) -> None:
    checks.check_layer_norm((rows_for(columns), columns), "float32", put, get, weight=False)
    checks.check_layer_norm((rows_for(columns), columns), "float32", put, get, deterministic=True)
    checks.check_layer_norm((2, 3, columns), "float32", put, get)


@pytest.mark.parametrize(("columns", "kind"), ROWS)
def test_rms_norm(columns: int, kind: str) -> None:
    checks.check_rms_norm((rows_for(columns), columns), kind, put, get)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(("columns", "kind"), ROWS)
def test_softmax(columns: int, kind: str, log: bool) -> None:
    checks.check_softmax((rows_for(columns), columns), kind, put, get, log=log)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "groups"),
    [
        ((4, 64, 56, 56), 32),
        ((3, 256, 14, 14), 32),
        ((5, 6, 7, 3), 3),
        ((2, 12, 1), 4),
        ((2, 512, 7, 7), 1),
        ((2, 16, 64, 64), 2),
        ((300, 32, 5), 32),
    ],
)
def test_group_norm(shape: tuple[int, ...], groups: int, kind: str, deterministic: bool) -> None:
    checks.check_group_norm(shape, groups, kind, put, get, deterministic=deterministic)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape",
    [
        (1000, 100),
        (4097, 128),
        (7, 3),
        (100, 1023),
        (8, 64, 56, 56),
        (16, 30, 7, 7),
        (5, 3, 11),
        (2, 1, 100, 100),
        (3000, 4, 2),
    ],
)
def test_batch_norm(shape: tuple[int, ...], kind: str) -> None:
    checks.check_batch_norm(shape, kind, put, get)


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("spread", ["uniform", "skewed", "equal"])
@pytest.mark.parametrize(
    ("count", "width", "rows"),
    [
        (100000, 64, 5000),
        (30000, 256, 700),
        (4000, 1024, 500),
        (5000, 1028, 77),
        (200000, 0, 30000),
        (50000, 3, 100),
        (20000, 20, 999),
        (1, 8, 4),
        (70000, 4, 1),
    ],
)
def test_index_add(count: int, width: int, rows: int, spread: str, deterministic: bool) -> None:
    checks.check_index_add(count, width, rows, spread, put, get, deterministic=deterministic)


@pytest.mark.parametrize("spread", ["uniform", "skewed", "equal"])
@pytest.mark.parametrize(
    ("rows", "columns", "count"),
    [
        (500, 4096, 4096),
        (3000, 128, 128),
        (7, 33, 1000),
        (40, 20000, 777),
        (2, 100000, 5000),
        (1, 1, 5),
        (6, 1021, 31),
    ],
)
def test_scatter_add(rows: int, columns: int, count: int, spread: str) -> None:
    checks.check_scatter_add(rows, columns, count, spread, put, get)
    checks.check_scatter_add(rows, columns, count, spread, put, get, deterministic=True)


def test_gather_inner_axis_and_embedding() -> None:
    checks.check_gather_axis((5, 7, 6), 1, 9, put, get)
    checks.check_gather_axis((50, 70, 60), 0, 20, put, get)
    checks.check_embedding((13, 50), 1000, 64, put, get)
    checks.check_embedding((999,), 40, 0, put, get)


def test_empty_arrays() -> None:
    import cupy

    from npgrad.cuda.kernels import batch_norm, group_norm, index_add, layer_norm, softmax

    for shape in ((0, 5), (3, 0), (0, 0)):
        x = cupy.zeros(shape, np.float32)
        assert softmax.backward(x, softmax.forward(x)).shape == shape
        w = cupy.ones(shape[1], np.float32)
        y, mean, rstd = layer_norm.forward(x, w, w)
        dx, dw, db = layer_norm.backward(x, x, mean, rstd, w)
        assert y.shape == dx.shape == shape
        assert not get(dw).any() and not get(db).any()
    x = cupy.zeros((0, 4, 3), np.float32)
    _, mean, rstd = batch_norm.forward(x)
    assert batch_norm.backward(x, x, mean, rstd)[1].shape == (4,)
    assert group_norm.forward(x, 2)[0].shape == x.shape
    out = cupy.ones((4, 2), np.float32)
    index_add.add_into(out, cupy.zeros(0, np.int64), cupy.zeros((0, 2), np.float32))
    assert (get(out) == 1).all()


def test_indices_outside_are_skipped() -> None:
    import cupy

    from npgrad.cuda.kernels import index_add

    for deterministic in (False, True):
        out = cupy.zeros((3, 4), np.float32)
        index = cupy.asarray([0, 3, -4, 2, 1 << 40])
        source = cupy.ones((5, 4), np.float32)
        index_add.add_into(out, index, source, deterministic=deterministic)
        assert get(out).sum(1).tolist() == [4, 0, 4]


def test_follows_current_stream_and_unaligned_views() -> None:
    import cupy

    from npgrad.cuda.kernels import layer_norm, softmax

    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.random.standard_normal((64, 1024), dtype=np.float32)
        y = softmax.forward(x)
        stream.synchronize()
    want = softmax.reference_forward(get(x).astype(np.float64))
    assert checks.error(get(y), want) < 3e-6
    base = cupy.random.standard_normal(1 + 64 * 1024, dtype=np.float32)
    shifted = base[1:].reshape(64, 1024)  # contiguous, but not 16-byte aligned
    y, _, _ = layer_norm.forward(shifted)
    want, _, _ = layer_norm.reference_forward(get(shifted).astype(np.float64))
    assert checks.error(get(y), want) < 3e-6


def test_special_values_in_softmax() -> None:
    from npgrad.cuda.kernels import log_softmax, softmax

    x = np.array(
        [[0.0, -np.inf, 1.0, 2.0], [80.0, 90.0, -90.0, 100.0], [1e30, 0.0, -1e30, 1.0]], np.float32
    )
    with np.errstate(all="ignore"):
        for module in (softmax, log_softmax):
            found = get(module.forward(put(x)))
            want = module.reference_forward(x.astype(np.float64))
            # the largest log-probability of a row is log(1 + small): one rounding of a number near 1
            assert np.allclose(
                found, want, rtol=2e-6, atol=2e-7 if module is log_softmax else 1e-30
            )


def test_foreign_arrays_are_taken_without_a_copy() -> None:
    import npgrad.cuda

    torch = pytest.importorskip("torch")
    tensor = torch.arange(6.0, device="cuda", requires_grad=True)
    taken = npgrad.cuda.array(tensor)
    assert taken.data.ptr == tensor.data_ptr()
    assert npgrad.cuda.to_host(taken).tolist() == [0, 1, 2, 3, 4, 5]
    npgrad.cuda.synchronize()
    with pytest.raises(TypeError, match="to_device"):
        npgrad.cuda.array(np.ones(2))


CONVOLUTIONS = [
    (2, (16, 14, 14), 32, (3, 3), {"padding": 1}),
    (3, (13, 9, 11), 21, (3, 3), {"padding": 1}),
    (2, (3, 30, 30), 16, (7, 7), {"stride": 2, "padding": 3}),
    (4, (64, 7, 7), 70, (1, 1), {}),
    (2, (40, 12, 10), 24, (3, 3), {"stride": 2, "padding": 1}),
    (2, (24, 15, 15), 24, (3, 3), {"padding": 2, "dilation": 2}),
    (2, (12, 10, 10), 12, (3, 3), {"padding": 1, "groups": 12}),
    (2, (12, 10, 8), 24, (5, 3), {"padding": (2, 0), "groups": 12}),
    (2, (32, 8, 8), 64, (3, 3), {"padding": 1, "groups": 8}),
    (2, (32, 9, 9), 32, (3, 3), {"padding": 1, "groups": 2}),
    (1, (5, 17, 6), 7, (4, 2), {"stride": (3, 1), "padding": (1, 2), "dilation": (1, 2)}),
    (2, (8, 6, 6), 9, (2, 2), {"stride": 3}),
    (1, (2, 40, 300), 3, (3, 3), {"padding": 1}),
    (1, (1, 20, 20), 1, (11, 11), {"padding": 5}),
    (1, (4, 5, 5), 4, (1, 1), {"stride": 2, "padding": 1}),
    (5, (8, 1, 1), 8, (1, 1), {}),
]


@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
def test_conv2d(case: Any) -> None:
    images, shape, outputs, kernel, options = case
    checks.check_conv2d(images, shape, outputs, kernel, put, get, **options)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(("groups", "stride"), [(1, 1), (1, 2), (2, 1), (16, 1)])
def test_conv2d_of_sixteen_bits(kind: str, groups: int, stride: int) -> None:
    checks.check_conv2d_sixteen(kind, put, get, groups=groups, stride=stride)


PRODUCTS = [
    (2, (8, 4, 5), 16, (3, 3), {"padding": (1, 1)}),
    (4, (128, 28, 28), 136, (3, 3), {"padding": (1, 1)}),
    (4, (136, 28, 28), 128, (3, 3), {"padding": (2, 2), "dilation": (2, 2)}),
    (32, (512, 7, 7), 256, (1, 1), {}),
    (3, (64, 20, 100), 72, (5, 3), {"padding": (0, 1), "dilation": (2, 1)}),
    (2, (200, 11, 9), 64, (2, 3), {"padding": (3, 0)}),
    (6, (64, 33, 17), 64, (3, 3), {"padding": (1, 1), "spread": 50}),
    (1, (8, 1, 1), 8, (1, 1), {}),
]


@pytest.mark.parametrize("mode", ["tf32x3", "tf32", "float16", "bfloat16"])
@pytest.mark.parametrize("case", PRODUCTS, ids=str)
def test_conv_products(case: Any, mode: str) -> None:
    images, shape, outputs, kernel, options = case
    if "spread" in options and mode != "tf32x3":
        pytest.skip("sizes of 2^-50 to 2^50 are outside of 16-bit types")
    checks.check_conv_products(images, shape, outputs, kernel, mode, put, get, **options)


def test_conv_products_of_planes() -> None:
    checks.check_conv_of_planes(put, get)


def test_conv_products_in_a_captured_step() -> None:
    """cuBLAS is called on its own while a graph is recorded: the same bits as without."""
    import cupy

    import npgrad

    random = cupy.random.default_rng(5)
    x = random.standard_normal((16, 128, 28, 28), dtype=np.float32)
    w = random.standard_normal((128, 128, 3, 3), dtype=np.float32)
    step = npgrad.value_and_grad(
        lambda x, w: np.sum(npgrad.nn.conv2d(x, w, padding=1) ** 2), argnums=(0, 1)
    )
    replayed = npgrad.cuda.captured(step)
    for factor in (1, 3):
        value, (gx, gw) = step(x * factor, w)
        again, (again_x, again_w) = replayed(x * factor, w)
        assert (gx == again_x).all()
        assert (gw == again_w).all()
        assert abs(float(value) - float(again)) <= 1e-6 * abs(float(value))


@pytest.mark.parametrize("tf32", [False, True])
@pytest.mark.parametrize(
    ("shape", "outputs", "kernel", "padding"),
    [
        ((128, 28, 28), 128, (3, 3), 1),
        ((256, 14, 14), 256, (3, 3), 1),
        ((256, 28, 28), 64, (1, 1), 0),
    ],
)
def test_large_conv2d(shape: Any, outputs: int, kernel: Any, padding: int, tf32: bool) -> None:
    """As it is called; the reference, a product a tap in float64, would take minutes on the host."""
    import cupy

    random = cupy.random.default_rng(3)
    x = random.standard_normal((32, *shape), dtype=np.float32)
    g = random.standard_normal((32, outputs, *shape[1:]), dtype=np.float32)
    w = random.standard_normal((outputs, shape[0], *kernel), dtype=np.float32)
    pairs, limit = (1, padding, 1), 1e-3 if tf32 else 2e-6
    found = (
        checks.conv2d_grad_weight.backward(g, x, kernel, *pairs, tf32=tf32),
        checks.conv2d_grad_input.backward(g, w, x.shape, *pairs, tf32=tf32),
        checks.conv2d.forward(x, w, *pairs, tf32=tf32),
    )
    wide = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    x64, g64, w64 = cupy.pad(x.astype(np.float64), wide), g.astype(np.float64), w.astype(np.float64)
    want = cupy.zeros(w.shape), cupy.zeros(x64.shape), cupy.zeros(g.shape)
    height, width = shape[1:]
    for r in range(kernel[0]):
        for s in range(kernel[1]):
            tap, seen = w64[:, :, r, s], np.s_[:, :, r : r + height, s : s + width]
            want[0][:, :, r, s] = cupy.tensordot(g64, x64[seen], ([0, 2, 3], [0, 2, 3]))
            want[1][seen] += cupy.moveaxis(cupy.tensordot(g64, tap, ([1], [0])), 3, 1)
            want[2][...] += cupy.moveaxis(cupy.tensordot(x64[seen], tap, ([1], [1])), 3, 1)
    inside = want[1][:, :, padding : padding + height, padding : padding + width]
    for mine, exact in zip(found, (want[0], inside, want[2]), strict=True):
        assert float(cupy.linalg.norm(mine - exact) / cupy.linalg.norm(exact)) < limit


@pytest.mark.parametrize("shape", [(1, 1), (3, 10), (1797, 10), (4096, 1000), (5, 70000)])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_cross_entropy(shape: tuple[int, int], dtype: str) -> None:
    checks.check_cross_entropy(*shape, put, get, dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", [*checks.UNARY, *checks.BINARY, *checks.TESTS])
def test_fuse(name: str, dtype: str) -> None:
    checks.check_fuse(name, dtype, put, get, size=4000)


def test_fuse_broadcast_and_nan() -> None:
    checks.check_fuse_broadcast(put, get)
    checks.check_fuse_nan(put, get)
