"""Writes and views mean what NumPy means: value, both modes and second order against differences.

Each program runs unchanged on plain arrays (a copy of x) and recorded; buffers come from ``x``.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.errors import InPlaceError, OperandMutated

Program = Callable[[Any], Any]
PROGRAMS: dict[str, Program] = {}


def program(f: Program) -> Program:
    PROGRAMS[f.__name__] = f
    return f


@program
def fill_by_elements(x):
    b = np.zeros_like(x)
    for i in range(x.size):
        b[i] = x[i] ** 2 + (b[i - 1] if i else 0.0)
    return b


@program
def fill_rows(x):
    m = x.reshape(2, 3)
    b = np.zeros_like(m)
    for i in range(2):
        b[i] = m[i] * m[1 - i] + (b[i - 1] if i else 0.0)
    return b * m


@program
def fill_columns_through_transpose(x):
    m = x.reshape(2, 3)
    b = np.zeros_like(m)
    t = b.T
    for j in range(3):
        t[j] = m[:, j] ** 2
    t[0] *= 3.0
    return b


@program
def augmented_everywhere(x):
    y = x * 2.0
    y += x
    y -= 0.5
    y *= x
    y /= 3.0
    y **= 2
    return y


@program
def augmented_is_seen_by_aliases(x):
    y = x * 1.0
    z = y
    v = y[1:4]
    y += x
    v *= 2.0
    return z * v[0]


@program
def view_of_view_both_ends(x):
    y = x * 1.0
    v = y[1:]
    w = v[::2]
    w[0] = x[0] * x[5]
    y[3] = x[1] ** 2
    v[1] += w[1]
    return y * np.sum(w)


@program
def overlapping_slices(x):
    y = x * 1.0
    y[1:] = y[:-1] * 2.0
    y[:-1] += y[1:]
    y[2:] = y[:-2]
    return y * x


@program
def reversed_overlap(x):
    y = x * 1.0
    y[:] = y[::-1]
    return y * x


@program
def repeated_integer_index_last_wins(x):
    y = x * 1.0
    y[np.array([1, 1, 4, 1])] = x[:4] * np.array([1.0, 2.0, 3.0, 4.0])
    return y


@program
def boolean_and_masked_writes(x):
    y = x * x
    mask = np.array([True, False, True, False, False, True])
    y[mask] = x[:3] * 3.0
    y[~mask] *= 2.0
    y[mask] += x[0]
    return y


@program
def two_dimensional_fancy(x):
    m = np.outer(x, x)
    m[np.array([0, 2, 0]), np.array([1, 3, 1])] = x[:3]
    m[1:3, [0, 0, 2]] = x[3:6] * 2.0
    m[:, None, 4] = x[2]
    return m


@program
def broadcast_values(x):
    m = np.zeros((3, 6), like=x) if isinstance(x, npgrad.GradArray) else np.zeros((3, 6))
    m[:] = x
    m[1] = x[0]
    m[:, 2:3] = x[:3, None] ** 2
    m[..., -1] *= x[1]
    return m


@program
def out_of_ufunc(x):
    y = np.zeros_like(x)
    np.multiply(x, x, out=y)
    v = y[2:]
    np.sin(x[2:], out=v)
    np.add(y, x, out=y)
    return y


@program
def where_of_ufunc(x):
    y = x * 3.0
    np.exp(x, out=y, where=np.array([True, False, True, False, True, False]))
    np.multiply(y, x, out=y, where=x > 1.0)
    return y


@program
def out_of_reduction(x):
    y = np.zeros_like(x[:3])
    np.sum(x.reshape(3, 2), axis=1, out=y)
    z = np.zeros_like(x)
    np.cumsum(x * x, out=z)
    return y[0] * z


@program
def add_at(x):
    y = x * 1.0
    np.add.at(y, [0, 0, 2, 5], x[:4] ** 2)
    np.subtract.at(y, np.array([1, 1]), x[4:6])
    return y * x


@program
def multiply_at_repeats(x):
    y = x * 1.0
    np.multiply.at(y, [0, 0, 2], x[1:4])
    np.divide.at(y, [3, 3], x[:2])
    np.negative.at(y, [4, 4, 5])
    np.maximum.at(y, [1, 1], np.array([0.1, 0.2]))
    return y


@program
def copyto_family(x):
    y = x * 1.0
    np.copyto(y, x * x, where=np.array([True, True, False, False, True, False]))
    np.put(y, [1, -1, 1], x[:3] * 2.0)
    np.place(y, np.array([False, False, True, True, True, False]), x[:2] * 3.0)
    np.putmask(y, np.array([True, False, False, True, False, False]), x * 5.0)
    return y * x


@program
def put_along_axis(x):
    m = np.outer(x[:2], x[:3]) * 1.0
    np.put_along_axis(m, np.array([[2, 0], [1, 2]]), np.outer(x[:2], x[3:5]), axis=1)
    return m


@program
def fill_diagonal(x):
    m = np.outer(x[:3], x[3:])
    np.fill_diagonal(m, x[:3] ** 2)
    w = np.outer(x, x[:2])
    np.fill_diagonal(w, x[2], wrap=True)
    return np.sum(m) * w


@program
def methods_in_place(x):
    y = x * 1.0
    y.fill(x[0])
    y.put([1, 2], x[3:5])
    z = x * np.array([3.0, -1.0, 2.0, 5.0, -2.0, 1.0])
    z.sort()
    w = z * 1.0
    w[::2].sort()
    return y * z * w


@program
def flat_iterator(x):
    m = x.reshape(2, 3) * 1.0
    m.flat[1] = x[0] ** 2
    m.flat[[3, 5]] = x[1:3]
    return m * m.flat[0]


@program
def kept_before_written(x):
    y = np.exp(x)  # exp keeps its output
    z = np.sin(y)  # sin keeps its input
    y[2] = 0.0
    y += z
    return y * z


@program
def in_place_on_the_argument(x):
    x[0] = x[1] * x[2]
    x += 1.0
    x *= x
    return x


@program
def reshape_then_write(x):
    y = x * 1.0
    m = y.reshape(2, 3)
    m[0, 1] = x[5]
    r = m.ravel()
    r[4] *= x[0]
    s = np.swapaxes(m, 0, 1)[1]
    s += x[:2]
    return y * m.T[2, 0]


@program
def stencil(x):
    u = x * 1.0
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


@program
def values_taken_before_a_later_write(x):
    y = x * 1.0
    y[0] = x[1] * x[2]
    z = y + 1.0  # its rule hands the tangent on as it is
    w = y.reshape(2, 3) - x[0]
    v = np.concatenate([y[:3], y[3:]])
    y[1] = x[3] ** 2
    y[4] *= 3.0
    return z * y * w.ravel() * v


@program
def swap_of_elements(x):
    y = x * 1.0
    y[0], y[1] = y[1], y[0]
    a = y[2:4].copy()
    y[2:4] = y[4:6]
    y[4:6] = a
    return y * x


@program
def scalars_rebind(x):
    a = np.sum(x)
    b = a
    b += x[0]
    c = x[1]
    c *= 5.0
    return a * x[1] + b * c


@program
def constant_becomes_recorded(x):
    b = np.ones_like(x)
    v = b[2:]
    v[1] = x[0] * x[1]
    b *= x
    return b + v[1]


@program
def matmul_in_place(x):
    m = np.outer(x[:2], x[:2]) + np.eye(2)
    m @= np.outer(x[2:4], x[2:4]) + np.eye(2)
    return m


@program
def floor_divide_and_mod_in_place(x):
    y = x * 3.0
    y %= 1.7
    z = x * 3.0
    z //= 1.7
    return y + z * x


X = np.array([0.7, 1.3, 0.4, 1.9, 0.9, 1.6])
WEIGHTS = np.cos(np.arange(1.0, 65.0))


def projected(f: Program) -> Program:
    def loss(x):
        y = f(x)
        return np.sum(y * WEIGHTS[: y.size].reshape(y.shape)) if y.shape else y

    return loss


def differences(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    columns = []
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = step
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_value_and_both_modes(name: str) -> None:
    loss = projected(PROGRAMS[name])
    value, gradient = npgrad.value_and_grad(loss)(X.copy())
    assert value == loss(X.copy())
    expected = differences(lambda x: loss(x.copy()), X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    t = np.sin(np.arange(6.0))
    out, tangent = npgrad.jvp(loss, (X.copy(),), (t,))
    assert out == value
    np.testing.assert_allclose(tangent, gradient @ t, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_second_order(name: str) -> None:
    loss = projected(PROGRAMS[name])
    gradient = npgrad.grad(loss)
    expected = differences(lambda x: gradient(x.copy()), X)
    hessian = npgrad.hessian(loss)(X.copy())
    np.testing.assert_allclose(hessian, expected, rtol=1e-5, atol=1e-6)
    v = np.sin(np.arange(6.0))
    np.testing.assert_allclose(npgrad.hvp(loss, X.copy(), v), hessian @ v, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", PROGRAMS)
def test_jacobian_of_the_whole_result(name: str) -> None:
    f = PROGRAMS[name]
    expected = differences(lambda x: f(x.copy()), X)
    for jacobian in (npgrad.jacrev, npgrad.jacfwd):
        np.testing.assert_allclose(jacobian(f)(X.copy()), expected, rtol=1e-6, atol=1e-7)


def test_the_callers_array_is_never_written() -> None:
    x = X.copy()
    npgrad.grad(projected(PROGRAMS["in_place_on_the_argument"]))(x)
    np.testing.assert_array_equal(x, X)
    assert x.flags.writeable


def test_a_leaf_written_to_keeps_its_gradient() -> None:
    x = npgrad.array([1.0, 2.0])
    y = x * 3.0
    x += 10.0
    store = np.sum(x * y).backward()
    np.testing.assert_allclose(store[x], [2 * 3 * 1 + 30, 2 * 3 * 2 + 30])


@pytest.mark.parametrize("size", [10, 5000, 300_000])
def test_a_plain_operand_changed_later_is_noticed(size: int) -> None:
    x = npgrad.array(np.ones(size))
    plain = np.full(size, 2.0)
    y = np.sum(x * plain)
    plain[:] = 7.0
    if size * 8 <= 16 * 1024:
        assert np.all(y.backward()[x] == 2.0)
    else:
        with pytest.raises(OperandMutated, match=r"np\.multiply"):
            y.backward()
    assert plain.flags.writeable


def test_a_sorted_operand_is_noticed() -> None:
    plain = np.random.default_rng(0).normal(size=5000)
    x = npgrad.array(np.ones(5000))
    y = np.sum(x * plain)
    plain.sort()  # the same numbers, in another order
    with pytest.raises(OperandMutated):
        y.backward()


def test_indices_masks_and_conditions_are_copied() -> None:
    x = npgrad.array(np.arange(6.0))
    index, mask, condition = np.array([0, 1]), np.array([True] + [False] * 5), np.ones(6, bool)
    y = np.sum(x[index]) + np.sum(x[mask]) + np.sum(np.where(condition, x, 0.0))
    index[:], mask[:], condition[:] = 5, True, False
    assert y.backward()[x].tolist() == [3, 2, 1, 1, 1, 1]


def test_plain_left_sides_are_refused_with_the_remedy() -> None:
    x = npgrad.array([1.0, 2.0])
    plain = np.zeros(2)
    for write in (
        lambda: np.add(x, 1.0, out=plain),
        lambda: plain.__iadd__(x),
        lambda: np.copyto(plain, x),
        lambda: np.put(plain, [0], x[0]),
        lambda: np.add.at(plain, [0], x[0]),
        lambda: np.sum(x, out=np.zeros(())),
    ):
        with pytest.raises(InPlaceError, match=r"np\.zeros_like|npgrad\.wrap"):
            write()
    assert plain.tolist() == [0.0, 0.0]


def test_read_only_blocks_writes() -> None:
    y = npgrad.array([1.0, 2.0]) * 2.0
    y.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1.0
    y.setflags(write=True)
    y[0] = 1.0


def test_bad_writes_change_nothing() -> None:
    x = npgrad.array([1.0, 2.0, 3.0])
    y = x * 2.0
    with pytest.raises(IndexError):
        y[7] = x[0]
    with pytest.raises(ValueError):
        y[:2] = x
    with pytest.raises(TypeError):
        y[0] = 1j * x[0]
    with pytest.raises(TypeError):
        np.sum(x)[0] = 1.0
    with pytest.raises(IndexError):
        y[x]
    assert npgrad.value(y).tolist() == [2.0, 4.0, 6.0]
    assert np.sum(y).backward()[x].tolist() == [2.0, 2.0, 2.0]


def test_dtypes_of_in_place_operations() -> None:
    x = npgrad.array(np.ones(3, np.float32))
    y = x * 2
    y += np.ones(3)  # float64 into float32: same_kind
    assert y.dtype == np.float32
    assert np.sum(y).backward()[x].dtype == np.float32
    with pytest.raises(TypeError):
        y += np.ones(3) * 1j
    with pytest.raises(ValueError):
        y += np.ones((2, 3))


def test_real_and_imaginary_parts_are_views() -> None:
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])

    def f(z):
        w = z * 1.0
        w.real = w.imag**2
        w.imag[0] *= 3.0
        return np.sum(np.abs(w) ** 2)

    gradient = npgrad.grad(f)(z)
    step = 1e-6
    for i in range(2):
        e = np.zeros(2)
        e[i] = step
        du = (f((z + e).copy()) - f((z - e).copy())) / (2 * step)
        dv = (f((z + 1j * e).copy()) - f((z - 1j * e).copy())) / (2 * step)
        np.testing.assert_allclose(gradient[i], du + 1j * dv, rtol=1e-6)


def test_filling_is_linear() -> None:
    """Twice the elements, about twice the nodes and bytes: counted, not timed."""
    import tracemalloc

    def peak(n: int) -> int:
        x = np.linspace(0.0, 1.0, n)
        f = npgrad.grad(lambda x: np.sum(fill(x)))

        def fill(x):
            b = np.zeros_like(x)
            for i in range(n):
                b[i] = 2.0 * x[i]
            return b

        f(x)
        tracemalloc.start()
        try:
            f(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(4000) < 3 * peak(2000)


def test_random_view_chains_agree_with_numpy() -> None:
    """Random steps and writes through random views, on plain and on recorded arrays."""
    steps: list[Callable[[Any], Any]] = [
        lambda v: v[::-1],
        lambda v: v[1:],
        lambda v: v.T,
        lambda v: v[..., ::2],
        lambda v: v.reshape(-1),
        lambda v: v[None],
        lambda v: np.swapaxes(v, 0, -1),
        lambda v: np.squeeze(v),
        lambda v: v[0] if v.ndim > 1 else v,
        lambda v: np.flip(v, 0) if v.ndim else v,
        lambda v: np.moveaxis(v, 0, -1),
        lambda v: np.expand_dims(v, 1),
    ]
    for seed in range(40):

        def f(x: Any, seed: int = seed) -> Any:
            rng = np.random.default_rng(seed)
            root = x.reshape(2, 3, 4) * 1.0
            views = [root]
            for _ in range(12):
                v = views[rng.integers(len(views))]
                if rng.random() < 0.55 and v.ndim:
                    w = steps[rng.integers(len(steps))](v)
                    if w.size and w.ndim:
                        views.append(w)
                elif rng.random() < 0.5:
                    v *= 1.0 + 0.1 * v
                else:
                    v[0] = v[-1] * 0.5 + x[3]
            return sum(np.sum(v * v) for v in views)

        x = np.random.default_rng(100 + seed).uniform(0.5, 1.0, 24)
        value, gradient = npgrad.value_and_grad(f)(x)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-13)
        expected = differences(lambda x: f(x.copy()), x, 1e-6)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)
        t = np.cos(np.arange(24.0))
        np.testing.assert_allclose(npgrad.jvp(f, (x,), (t,))[1], gradient @ t, rtol=1e-9)


COPIES: dict[str, Any] = {
    "flatten": lambda y: y.flatten(),
    "meshgrid": lambda y: np.meshgrid(y)[0],
    "broadcast and copy": lambda y: np.broadcast_to(y, (1, y.size)).copy()[0],
    "asfortranarray": lambda y: np.asfortranarray(y[None] * 1)[0],
    "copy": lambda y: y.copy(),
    "flat slice": lambda y: y.flat[:],
    "conjugate": lambda y: np.conjugate(y),
    "where": lambda y: np.where(True, y, 0),
}
SHARED: dict[str, Any] = {
    "asarray": lambda y: np.asarray(y),
    "conj": lambda y: y.conj(),
    "no differences": lambda y: np.diff(y, n=0),
    "ravel": lambda y: np.ravel(y),
    "real": lambda y: y.real,
    "slice": lambda y: y[:],
}


@pytest.mark.parametrize("name", [*COPIES, *SHARED])
def test_what_shares_memory_in_numpy_does_so_at_every_order(name: str) -> None:
    """A later write shows in a view and not in a copy, in the tangents of tangents too."""
    take = COPIES.get(name) or SHARED[name]

    def f(x: Any) -> Any:
        y = x * x
        y[0] = 5.0
        z = take(y)
        y[1:] *= 2.0
        return np.sum(z) * np.sum(y)

    def moved(x: Any) -> Any:
        return npgrad.jvp(f, (x,), (t,))[1]

    x, t = np.array([1.0, 2.0, 3.0]), np.array([1.0, 1.5, 2.0])
    # sum(y) = 5 + 2 (x1^2 + x2^2) = s; sum(z) is s of a view, 5 + x1^2 + x2^2 of a copy
    rest, slope, curve = np.sum(x[1:] ** 2), 2 * x * [0, 1, 1], 2 * t * [0, 1, 1]
    times = 1.0 if name in COPIES else 2.0
    a, b = 5 + times * rest, 5 + 2 * rest
    np.testing.assert_allclose(f(x.copy()), a * b)
    value, gradient = npgrad.value_and_grad(f)(x)
    np.testing.assert_allclose(value, a * b)
    np.testing.assert_allclose(gradient, (times * b + 2 * a) * slope)
    expected = (times * b + 2 * a) * curve + 4 * times * (slope @ t) * slope
    np.testing.assert_allclose(npgrad.grad(moved)(x), expected)
    np.testing.assert_allclose(npgrad.jvp(moved, (x,), (t,))[1], expected @ t)
    np.testing.assert_allclose(npgrad.hvp(f, x, t), expected)
    np.testing.assert_allclose(npgrad.jacfwd(npgrad.jacfwd(f))(x) @ t, expected)


REFUSED = {
    "index": lambda y, z: y.__setitem__(7, z[0]),
    "shape": lambda y, z: y.__setitem__(slice(2), np.ones(3) * z),
    "augmented": lambda y, z: y.__iadd__(np.ones(4) * z[0]),
    "text": lambda y, z: y.__setitem__(..., "a"),
    "complex": lambda y, z: y.__setitem__(0, 1j),
    "copyto": lambda y, z: np.copyto(y, np.ones(4)),
    "at": lambda y, z: np.add.at(y, [0, 9], z[:2]),
    "out": lambda y, z: np.multiply(y, np.ones((2, 3)), out=y),
}
BUFFERS = {
    "copy": lambda z: z.copy(),
    "product": lambda z: z * 1.0,
    "argument": lambda z: z,
    "permuted": lambda z: _permuted(z * 1.0),
}


def _permuted(y):
    y[[0, 1]] = y[[1, 0]]
    return y


@pytest.mark.parametrize("write", REFUSED)
@pytest.mark.parametrize("buffer", BUFFERS)
def test_a_write_that_numpy_refuses_leaves_the_array_as_it_was(write, buffer):
    def f(z):
        y = BUFFERS[buffer](z)
        part = y[1:]
        with contextlib.suppress(IndexError, ValueError, TypeError):
            REFUSED[write](y, z)
        kept = y * 1.0
        y[2] = y[0] * 2.0  # and the next write does not change what was computed before
        return np.sum(y[::-1] * [1.0, 2.0, 4.0]) + np.sum(part**2) + np.sum(kept)

    z = np.array([1.2, 2.1, 3.0])
    value, gradient = npgrad.value_and_grad(f)(z)
    np.testing.assert_allclose(value, f(z.copy()))
    steps = 1e-6 * np.eye(3)
    differences = [(f(z + step) - f(z - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6)


def _global_shuffle(m):
    np.random.seed(0)
    np.random.shuffle(m)


@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_shuffles_of_rows_are_refused():
    """NumPy swaps views of what is no ndarray: one row was lost, another came twice."""
    m = np.arange(1.0, 9.0).reshape(4, 2)
    weights = np.arange(8.0).reshape(4, 2)

    def f(x, shuffle):
        x = x * 1.0
        shuffle(x)
        return np.sum(x * weights[:, : x.shape[1]] if x.ndim == 2 else x * weights[:, 1])

    generator = lambda x: np.random.default_rng(0).shuffle(x)
    for shuffle in (generator, lambda x: np.random.RandomState(0).shuffle(x), _global_shuffle):
        with pytest.raises(npgrad.errors.InPlaceError, match=r"rng\.permutation\(len\(x\)\)"):
            npgrad.grad(f)(m, shuffle)
        np.testing.assert_allclose(
            npgrad.grad(f)(m[:, 0], shuffle),
            _differences(lambda x, shuffle=shuffle: f(x, shuffle), m[:, 0]),
            rtol=1e-6,
        )
    of_python = lambda x: random.Random(0).shuffle(x)  # loses rows of an ndarray as well
    np.testing.assert_allclose(
        npgrad.grad(f)(m, of_python), _differences(lambda x: f(x, of_python), m), rtol=1e-6
    )


def _differences(f, x):
    steps = 1e-6 * np.eye(x.size).reshape(-1, *x.shape)
    found = [(f(x + step) - f(x - step)) / 2e-6 for step in steps]
    return np.reshape(found, x.shape)
