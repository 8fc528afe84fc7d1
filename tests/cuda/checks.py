"""One check a kernel: run it on given sizes and compare with its NumPy reference in float64.

The checks do not know where they run: `put` moves a NumPy array to the device under test, `get` brings one back. The simulator runs
them on small sizes, the GPU on the same and on large ones.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.cuda import twins
from npgrad.cuda.fuse import Chain, Operation
from npgrad.cuda.kernels import (
    batch_norm,
    conv2d,
    conv2d_grad_bias,
    conv2d_grad_input,
    conv2d_grad_weight,
    conv_products,
    cross_entropy,
    embedding,
    gather,
    group_norm,
    index_add,
    layer_norm,
    log_softmax,
    rms_norm,
    scatter_add,
    softmax,
)
from npgrad.cuda.launch import backend_of
from npgrad.kernels.conv2d import Geometry, conv2d_reference

Move = Callable[[Any], Any]
# relative error in the 2-norm: float32 rounding of sums of up to 10^5 terms; 16-bit types round their inputs and outputs
TOLERANCE = {"float32": 3e-6, "float16": 2e-3, "bfloat16": 1.2e-2}


def error(found: Any, wanted: Any) -> float:
    """||found - wanted|| / ||wanted||; NaN and inf count as errors unless both have them in the same place."""
    found, wanted = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    difference = np.where(same, 0.0, found - wanted)
    if not np.isfinite(difference).all():
        return float("inf")
    scale = np.linalg.norm(np.where(np.isfinite(wanted), wanted, 0.0))
    return float(np.linalg.norm(difference) / max(scale, 1e-30)) if difference.any() else 0.0


def encode(values: np.ndarray, kind: str) -> np.ndarray:
    """float64 values as the storage of a kind (bfloat16: uint16 words)."""
    if kind == "bfloat16":
        return twins.f32_to_bf16(values.astype(np.float32))
    return values.astype(kind)


def decode(words: np.ndarray, kind: str) -> np.ndarray:
    """Storage back to float64."""
    if kind == "bfloat16":
        return twins.bf16_to_f32(words).astype(np.float64)
    return words.astype(np.float64)


class Inputs:
    """Random inputs of one kind: `new` gives (storage, exact float64 value of the storage)."""

    def __init__(self, seed: int, kind: str, put: Move) -> None:
        self.random, self.kind, self.put = np.random.default_rng(seed), kind, put

    def new(
        self, *shape: int, shift: float = 0.0, kind: str | None = None
    ) -> tuple[Any, np.ndarray]:
        kind = kind or self.kind
        words = encode(self.random.standard_normal(shape) + shift, kind)
        return self.put(words), decode(words, kind)


def check_layer_norm(
    shape: tuple[int, ...],
    kind: str,
    put: Move,
    get: Move,
    *,
    weight: bool = True,
    deterministic: bool = False,
) -> None:
    inputs = Inputs(1, kind, put)
    x, x64 = inputs.new(*shape, shift=0.5)
    g, g64 = inputs.new(*shape)
    w, w64 = inputs.new(shape[-1]) if weight else (None, None)
    b, b64 = inputs.new(shape[-1]) if weight else (None, None)
    y, mean, rstd = layer_norm.forward(x, w, b, kind=kind)
    want_y, want_mean, want_rstd = layer_norm.reference_forward(x64, w64, b64)
    tolerance = TOLERANCE[kind]
    assert error(decode(get(y), kind), want_y) < tolerance
    if shape[-1] > 1:  # one column: variance 0, rstd is 1/sqrt(eps) and dx is 0/0 in spirit
        assert error(get(mean), want_mean) < 1e-5
        assert error(get(rstd), want_rstd) < 1e-5
    dx, dw, db = layer_norm.backward(g, x, mean, rstd, w, kind=kind, deterministic=deterministic)
    want = layer_norm.reference_backward(g64, x64, want_mean, want_rstd, w64)
    if shape[-1] > 2:  # two columns: h is +-1 and dx the rest of a cancellation
        assert error(decode(get(dx), kind), want[0]) < tolerance
    if weight:
        if shape[-1] > 1:
            assert error(get(dw), want[1]) < 1e-5
        assert error(get(db), want[2]) < 1e-5
    else:
        assert dw is None and db is None


def check_rms_norm(
    shape: tuple[int, ...],
    kind: str,
    put: Move,
    get: Move,
    *,
    weight: bool = True,
    deterministic: bool = False,
) -> None:
    inputs = Inputs(2, kind, put)
    x, x64 = inputs.new(*shape)
    g, g64 = inputs.new(*shape)
    w, w64 = inputs.new(shape[-1]) if weight else (None, None)
    y, rstd = rms_norm.forward(x, w, kind=kind)
    want_y, want_rstd = rms_norm.reference_forward(x64, w64)
    assert error(decode(get(y), kind), want_y) < TOLERANCE[kind]
    dx, dw = rms_norm.backward(g, x, rstd, w, kind=kind, deterministic=deterministic)
    want_dx, want_dw = rms_norm.reference_backward(g64, x64, want_rstd, w64)
    if shape[-1] > 1:  # one column: dx is 1e-5 of its terms
        assert error(decode(get(dx), kind), want_dx) < TOLERANCE[kind]
    if weight:
        assert error(get(dw), want_dw) < 1e-5


def check_softmax(
    shape: tuple[int, ...], kind: str, put: Move, get: Move, *, log: bool = False
) -> None:
    module = log_softmax if log else softmax
    inputs = Inputs(3, kind, put)
    x, x64 = inputs.new(*shape)
    g, g64 = inputs.new(*shape)
    y = module.forward(x, kind=kind)
    y64 = decode(get(y), kind)
    assert error(y64, module.reference_forward(x64)) < TOLERANCE[kind]
    dx = module.backward(g, y, kind=kind)
    if shape[-1] > 1:
        assert error(decode(get(dx), kind), module.reference_backward(g64, y64)) < TOLERANCE[kind]


def check_group_norm(
    shape: tuple[int, ...],
    groups: int,
    kind: str,
    put: Move,
    get: Move,
    *,
    weight: bool = True,
    deterministic: bool = False,
) -> None:
    inputs = Inputs(4, kind, put)
    x, x64 = inputs.new(*shape, shift=0.5)
    g, g64 = inputs.new(*shape)
    w, w64 = inputs.new(shape[1]) if weight else (None, None)
    b, b64 = inputs.new(shape[1]) if weight else (None, None)
    y, mean, rstd = group_norm.forward(x, groups, w, b, kind=kind)
    want_y, want_mean, want_rstd = group_norm.reference_forward(x64, groups, w64, b64)
    assert error(decode(get(y), kind), want_y) < TOLERANCE[kind]
    dx, dw, db = group_norm.backward(
        g, x, mean, rstd, groups, w, kind=kind, deterministic=deterministic
    )
    want = group_norm.reference_backward(g64, x64, want_mean, want_rstd, groups, w64)
    assert error(decode(get(dx), kind), want[0]) < TOLERANCE[kind]
    assert error(get(dw), want[1]) < 1e-5
    assert error(get(db), want[2]) < 1e-5


def check_batch_norm(
    shape: tuple[int, ...], kind: str, put: Move, get: Move, *, weight: bool = True
) -> None:
    inputs = Inputs(5, kind, put)
    x, x64 = inputs.new(*shape, shift=0.5)
    g, g64 = inputs.new(*shape)
    w, w64 = inputs.new(shape[1], kind="float32") if weight else (None, None)
    b, b64 = inputs.new(shape[1], kind="float32") if weight else (None, None)
    y, mean, rstd = batch_norm.forward(x, w, b, kind=kind)
    want_y, want_mean, want_rstd = batch_norm.reference_forward(x64, w64, b64)
    assert error(decode(get(y), kind), want_y) < TOLERANCE[kind]
    assert error(get(mean), want_mean) < 1e-5
    assert error(get(rstd), want_rstd) < 1e-5
    dx, dw, db = batch_norm.backward(g, x, mean, rstd, w, kind=kind)
    want = batch_norm.reference_backward(g64, x64, want_mean, want_rstd, w64)
    assert error(decode(get(dx), kind), want[0]) < TOLERANCE[kind]
    assert error(get(dw), want[1]) < 2e-5
    assert error(get(db), want[2]) < 2e-5


def check_cross_entropy(
    rows: int, classes: int, put: Move, get: Move, dtype: str = "int64"
) -> None:
    inputs = Inputs(13, "float32", put)
    x, x64 = inputs.new(rows, classes, shift=2.0)
    labels = inputs.random.integers(0, classes, rows).astype(dtype)
    g = np.array([1.7], np.float32)
    loss, bad = cross_entropy.forward(x, put(labels))
    assert not get(bad).any()
    wanted = cross_entropy.reference_forward(x64, labels)
    assert np.abs(get(loss) - wanted).max() < 3e-6 * max(1.0, np.abs(x64).max())
    dx = cross_entropy.backward(put(g), x, put(labels))
    if classes > 1:  # one class: a loss and a gradient of zero
        wanted = cross_entropy.reference_backward(float(g[0]), x64, labels)
        assert error(get(dx), wanted) < 3e-6
    for worst in (-1, classes):
        labels[rows // 2] = worst
        loss, bad = cross_entropy.forward(x, put(labels))
        assert get(bad).all()
        assert np.isnan(get(loss)).tolist() == [i == rows // 2 for i in range(rows)]


def make_index(random: Any, kind: str, limit: int, shape: Any) -> np.ndarray:
    """Indices in [-limit, limit): uniform, skewed (60 % one value) or all equal."""
    if kind == "equal":
        return np.full(shape, limit // 2, np.int64)
    index = random.integers(-limit, limit, shape)
    return np.where(random.random(shape) < 0.6, limit // 2, index) if kind == "skewed" else index


def check_index_add(
    count: int,
    width: int,
    rows: int,
    spread: str,
    put: Move,
    get: Move,
    *,
    deterministic: bool = False,
) -> None:
    random = np.random.default_rng(6)
    index = make_index(random, spread, rows, count)
    source = random.standard_normal((count, width) if width else count).astype(np.float32)
    out = random.standard_normal((rows, width) if width else rows).astype(np.float32)
    want = index_add.reference(out.astype(np.float64), index, source.astype(np.float64))
    found = get(
        index_add.add_into(put(out.copy()), put(index), put(source), deterministic=deterministic)
    )
    # all equal: a sum of `count` float32 numbers in blocks
    assert error(found, want) < 1e-5
    if deterministic:
        again = get(
            index_add.add_into(put(out.copy()), put(index), put(source), deterministic=True)
        )
        assert np.array_equal(found, again)
    small = get(index_add.add_into(put(out.copy()), put(index.astype(np.int32)), put(source)))
    assert error(small, want) < 1e-5


def check_scatter_add(
    rows: int,
    columns: int,
    count: int,
    spread: str,
    put: Move,
    get: Move,
    *,
    deterministic: bool = False,
) -> None:
    random = np.random.default_rng(7)
    index = make_index(random, spread, columns, (rows, count))
    source = random.standard_normal((rows, count)).astype(np.float32)
    out = random.standard_normal((rows, columns)).astype(np.float32)
    want = scatter_add.reference(out.astype(np.float64), index, source.astype(np.float64))
    found = scatter_add.add_into(
        put(out.copy()), put(index), put(source), deterministic=deterministic
    )
    assert error(get(found), want) < 1e-5
    want = gather.reference_backward(source.astype(np.float64), index, (rows, columns))
    assert error(get(gather.backward(put(source), put(index), (rows, columns))), want) < 1e-5


def check_gather_axis(shape: tuple[int, ...], axis: int, length: int, put: Move, get: Move) -> None:
    random = np.random.default_rng(8)
    full = list(shape)
    full[axis] = length
    index = random.integers(-shape[axis], shape[axis], full)
    g = random.standard_normal(full).astype(np.float32)
    want = gather.reference_backward(g.astype(np.float64), index, shape, axis)
    assert error(get(gather.backward(put(g), put(index), shape, axis)), want) < 1e-5


def check_embedding(tokens: tuple[int, ...], rows: int, width: int, put: Move, get: Move) -> None:
    random = np.random.default_rng(9)
    index = random.integers(0, rows, tokens)
    g = random.standard_normal((*tokens, width) if width else tokens).astype(np.float32)
    want = embedding.reference_backward(g.astype(np.float64), index, rows)
    assert error(get(embedding.backward(put(g), put(index), rows)), want) < 1e-5


def check_conv2d(
    images: int,
    shape: tuple[int, int, int],
    outputs: int,
    kernel: tuple[int, int],
    put: Move,
    get: Move,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    which: str = "input weight bias",
) -> None:
    """grad-input, grad-weight and grad-bias; float32-accurate to 2e-6, TF32 to 1e-3."""
    random = np.random.default_rng(10)
    pairs = [conv2d_grad_input.pair(v) for v in (stride, padding, dilation)]
    size = conv2d_grad_input.output_size(shape[1:], kernel, *pairs)
    x = random.standard_normal((images, *shape)).astype(np.float32)
    w = random.standard_normal((outputs, shape[0] // groups, *kernel)).astype(np.float32)
    g = random.standard_normal((images, outputs, *size)).astype(np.float32)
    x64, w64, g64 = (v.astype(np.float64) for v in (x, w, g))
    for tf32, tolerance in ((False, 2e-6), (True, 1e-3)):
        if "input" in which:
            want = conv2d_grad_input.reference(g64, w64, x.shape, *pairs, groups)
            found = conv2d_grad_input.backward(put(g), put(w), x.shape, *pairs, groups, tf32=tf32)
            assert error(get(found), want) < tolerance
        if "weight" in which:
            want = conv2d_grad_weight.reference(g64, x64, kernel, *pairs, groups)
            found = conv2d_grad_weight.backward(put(g), put(x), kernel, *pairs, groups, tf32=tf32)
            assert error(get(found), want) < tolerance
    if "bias" in which:
        assert error(get(conv2d_grad_bias.backward(put(g))), conv2d_grad_bias.reference(g64)) < 3e-6


def check_conv2d_sixteen(
    kind: str, put: Move, get: Move, *, groups: int = 1, stride: int = 1
) -> None:
    """All four convolutions of 16-bit arrays: the sums are float32's, only the result is rounded.

    The inputs are exact in float64, so the weights' gradient, which stays float32, is off by the
    rounding of sums alone; 2e-5 is what a tensor core that truncates leaves of 576 terms.
    """
    inputs = Inputs(14, kind, put)
    per, outputs, size = 16 // groups, 16, 11
    rows = (size + 2 - 3) // stride + 1
    x, x64 = inputs.new(2, 16, size, size)
    w, w64 = inputs.new(outputs, per, 3, 3)
    g, g64 = inputs.new(2, outputs, rows, rows)
    geometry = (stride, 1, 1, groups)
    name = kind if kind == "bfloat16" else None
    pairs = [conv2d_grad_input.pair(v) for v in geometry[:3]]
    gx = conv2d_grad_input.backward(g, w, (2, 16, size, size), *geometry, kind=name)
    want = conv2d_grad_input.reference(g64, w64, (2, 16, size, size), *pairs, groups)
    assert gx.dtype == x.dtype
    assert error(decode(get(gx), kind), want) < TOLERANCE[kind] / 2
    gw = conv2d_grad_weight.backward(g, x, (3, 3), *geometry, kind=name)
    assert gw.dtype == np.float32
    want = conv2d_grad_weight.reference(g64, x64, (3, 3), *pairs, groups)
    assert error(get(gw), want) < 2e-5
    gb = get(conv2d_grad_bias.backward(g, kind=name))
    assert error(gb, conv2d_grad_bias.reference(g64)) < 3e-6
    y = conv2d.forward(x, w, *geometry, kind=name)
    if y is not None:  # some groups take another way
        want = conv2d_reference(x64, w64, Geometry(pairs[0], 1, 1, 1, 1, (1, 1), groups))
        assert error(decode(get(y), kind), want) < TOLERANCE[kind] / 2


def check_conv_products(
    images: int,
    shape: tuple[int, int, int],
    outputs: int,
    kernel: tuple[int, int],
    mode: str,
    put: Move,
    get: Move,
    *,
    padding: tuple[int, int] = (0, 0),
    dilation: tuple[int, int] = (1, 1),
    spread: int = 0,
) -> None:
    """The way by products of matrices, whatever the sizes; channels and images of sizes 2^-spread..2^spread.

    Each entry is compared in the scale of its own channels, or image: 2e-6 float32-accurate, 1e-3
    for TF32, and the rounding of the result for 16-bit types.
    """
    kind = mode if mode in ("float16", "bfloat16") else "float32"
    random = np.random.default_rng(20)
    rows, columns = conv2d_grad_input.output_size(shape[1:], kernel, (1, 1), padding, dilation)
    sizes = [(images, *shape), (images, outputs, rows, columns), (outputs, shape[0], *kernel)]
    values = [random.standard_normal(size) for size in sizes]

    def powers(*size: int) -> np.ndarray:
        return 2.0 ** random.integers(-spread, spread + 1, size) if spread else np.ones(size)

    def norms(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        return np.sqrt(np.sum(values**2, axes, keepdims=True))

    def compare(found: Any, wanted: np.ndarray, scale: np.ndarray, limit: float) -> None:
        found = decode(get(found), kind) if found.dtype != np.float32 else get(found)
        assert found.shape == wanted.shape
        assert error(found / scale, wanted / scale) < limit

    limit = {"tf32x3": 2e-6, "tf32": 1e-3}.get(mode, 2e-5)
    rounding = limit if kind == "float32" else TOLERANCE[kind] / 2
    backend = backend_of(put(np.zeros(1, np.float32)))
    options = padding, dilation, mode
    # grad-weight: channels of x and of g have sizes of their own
    of_x, of_g = powers(1, shape[0], 1, 1), powers(1, outputs, 1, 1)
    x, g = encode(values[0] * of_x, kind), encode(values[1] * of_g, kind)
    gw = backend.empty(sizes[2], np.float32)
    conv_products.weight_gradient(backend, put(g), put(x), gw, *options)
    wanted = conv2d_grad_weight.reference(
        decode(g, kind), decode(x, kind), kernel, 1, padding, dilation
    )
    scale = of_g.reshape(-1, 1, 1, 1) * of_x.reshape(1, -1, 1, 1)
    compare(gw, wanted, scale, limit)
    # the others: images, and the channels of w that are not summed over
    of_image = powers(images, 1, 1, 1)
    for transposed in (True, False):
        of_w = powers(1, shape[0], 1, 1) if transposed else powers(outputs, 1, 1, 1)
        source = encode(values[transposed] * of_image, kind)
        w = encode(values[2] * of_w, kind)
        out = backend.empty(sizes[not transposed], source.dtype)
        conv_products.correlate(backend, put(source), put(w), out, *options, transposed)
        exact = decode(source, kind), decode(w, kind)
        if transposed:
            wanted = conv2d_grad_input.reference(*exact, sizes[0], 1, padding, dilation)
        else:
            edges = padding[0], padding[0], padding[1], padding[1]
            wanted = conv2d_reference(*exact, Geometry((1, 1), *edges, dilation, 1))
        compare(out, wanted, of_image * of_w.reshape(1, -1, 1, 1), rounding)


def check_conv_of_planes(put: Move, get: Move) -> None:
    """1 x 1 convolutions in TF32 as one product an image."""
    random = np.random.default_rng(21)
    x, g, w = (random.standard_normal(n) for n in ((3, 12, 2, 6), (3, 8, 2, 6), (8, 12, 1, 1)))
    sources = [put(v.astype(np.float32)) for v in (x, g, w)]
    backend = backend_of(sources[0])
    x, g, w = (np.asarray(get(v), np.float64) for v in sources)
    out = [backend.empty(v.shape, np.float32) for v in (w, x, g)]
    conv_products.weight_of_planes(backend, sources[1], sources[0], out[0])
    conv_products.planes_of_planes(backend, sources[1], sources[2], out[1], True)
    conv_products.planes_of_planes(backend, sources[0], sources[2], out[2], False)
    assert error(get(out[0]), conv2d_grad_weight.reference(g, x, (1, 1))) < 1e-3
    assert error(get(out[1]), conv2d_grad_input.reference(g, w, x.shape)) < 1e-3
    assert error(get(out[2]), np.einsum("nchw,kc->nkhw", x, w[:, :, 0, 0])) < 1e-3


# one line a ufunc: dtype of the result, and operands in its domain
UNARY = {
    "absolute": (-2, 2), "arccos": (-0.9, 0.9), "arccosh": (1.1, 5), "arcsin": (-0.9, 0.9), "arcsinh": (-3, 3), "arctan": (-3, 3),
    "arctanh": (-0.9, 0.9), "ceil": (-5, 5), "cos": (-6, 6), "cosh": (-2, 2), "exp": (-5, 5), "expm1": (-1, 1), "floor": (-5, 5),
    "log": (0.1, 9), "log10": (0.1, 9), "log1p": (-0.5, 3), "log2": (0.1, 9), "negative": (-2, 2), "positive": (-2, 2),
    "reciprocal": (0.2, 4), "sign": (-1, 1), "sin": (-6, 6), "sinh": (-2, 2), "sqrt": (0, 9), "square": (-3, 3), "tan": (-1, 1), "tanh": (-2, 2),
}  # fmt: skip
BINARY = (
    "add",
    "arctan2",
    "divide",
    "hypot",
    "maximum",
    "minimum",
    "multiply",
    "power",
    "subtract",
)
TESTS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")


def check_fuse(name: str, dtype: str, put: Move, get: Move, *, size: int = 40) -> None:
    """One ufunc in a chain against NumPy in the same dtype."""
    random = np.random.default_rng(11)
    low, high = UNARY.get(name, (0.3, 3.0))
    a = random.uniform(low, high, size).astype(dtype)
    b = random.uniform(0.3, 3.0, size).astype(dtype)
    if name in UNARY:
        chain = Chain([Operation("input", dtype=dtype, value=0), Operation(name, (0,), dtype)], [1])
        found, want = get(chain(put(a))[0]), getattr(np, name)(a)
    else:
        b[::5] = a[::5]
        inputs = [Operation("input", dtype=dtype, value=i) for i in (0, 1)]
        result = "bool" if name in TESTS else dtype
        chain = Chain([*inputs, Operation(name, (0, 1), result)], [2])
        found, want = get(chain(put(a), put(b))[0]), getattr(np, name)(a, b)
    assert found.dtype == want.dtype
    if want.dtype == bool:
        assert np.array_equal(found, want)
    else:
        assert np.allclose(
            found,
            want,
            rtol=3e-6 if dtype == "float32" else 1e-13,
            atol=1e-7 if dtype == "float32" else 1e-15,
        )


def check_fuse_broadcast(put: Move, get: Move) -> None:
    """Rows, columns, single values, strided views and a mask in one chain of two outputs."""
    random = np.random.default_rng(12)
    x = random.standard_normal((5, 7)).astype(np.float32)
    row = random.standard_normal(7).astype(np.float32)
    column = random.standard_normal((5, 1)).astype(np.float32)
    scale = np.array(1.5, np.float32)
    mask = random.random((5, 7)) < 0.5
    operations = [
        *(Operation("input", value=i) for i in range(4)),
        Operation("input", dtype="bool", value=4),
        Operation("multiply", (0, 1)),
        Operation("add", (5, 2)),
        Operation("where", (4, 6, 3)),
        Operation("less", (7, 3), "bool"),
    ]
    found = Chain(operations, [7, 8])(*(put(v) for v in (x, row, column, scale, mask)))
    want = np.where(mask, x * row + column, scale)
    assert np.allclose(get(found[0]), want, rtol=1e-6)
    assert np.array_equal(get(found[1]), want < scale)


def check_fuse_nan(put: Move, get: Move) -> None:
    """NaN goes through maximum, minimum and sign as in NumPy; nothing is computed where a mask says no."""
    a = np.array([np.nan, 1.0, -np.inf, -0.0], np.float32)
    b = np.array([1.0, np.nan, np.inf, 0.0], np.float32)
    inputs = [Operation("input", value=i) for i in (0, 1)]
    for name in ("maximum", "minimum"):
        found = get(Chain([*inputs, Operation(name, (0, 1))], [2])(put(a), put(b))[0])
        assert np.array_equal(found, getattr(np, name)(a, b), equal_nan=True)
    found = get(Chain([inputs[0], Operation("sign", (0,))], [1])(put(a))[0])
    assert np.array_equal(found, np.sign(a), equal_nan=True)
