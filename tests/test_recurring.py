"""A loss that is called again and again is swept by one function, and by the loop where it differs.

The promises: the same gradients to the last bit, each a buffer of its own; another structure,
another shape, a mutated operand, an infinity or an error are noticed, and met as by the loop.
"""

import threading

import numpy as np
import pytest

import npgrad
from npgrad import errors
from npgrad.transforms import recurring

RNG = np.random.default_rng(7)
X = RNG.uniform(0.5, 1.5, 6)
Y = RNG.uniform(0.5, 1.5, 6)
M = RNG.normal(size=(4, 6))
TABLE = RNG.normal(size=(6, 3))


def _square(x):
    return np.outer(x, x) + np.diag(x * x)


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    """A sweep is written out at the third call."""
    monkeypatch.setattr(recurring, "FIRST", 3)


def again(f, *args, argnums=0, calls=5):
    """The gradients of some calls: the first by the loop, the last by the function if there is one.

    Whether there is one, and whether it did all that it was asked, comes second.
    """
    g = npgrad.grad(f, argnums)
    found = [g(*args) for _ in range(calls)]
    state = g._recurring
    return found, state.sweep is not None and state.trust == recurring.TRUST


LOSSES = {
    "rosenbrock": lambda x: np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2),
    "diamond": lambda x: np.sum((y := np.sin(x)) * y + y / (1 + y)),
    "same operand": lambda x: np.sum(x * x + x),
    "twice through one": lambda x: np.sum((y := x * 2.0) + y),
    "plain operands": lambda x: np.sum(x * Y + Y / x - (2.0 - x) * 3),
    "powers": lambda x: np.sum(x**3 + x**0.5 + 2.0**x + x**Y + x**0),
    "broadcast rows": lambda x: np.sum(np.tanh(M * x) ** 2),
    "broadcast column": lambda x: np.sum(x[:, None] * TABLE),
    "broadcast scalar": lambda x: np.sum(x * np.sum(x)),
    "entries": lambda x: x[0] * x[-1] + x[2] ** 2 + x[0],
    "entry and all": lambda x: np.sum(x * x[0]) + np.sum(x[1:3]),
    "all and entry": lambda x: np.sum(x[1:3]) + x[1] * np.sum(np.exp(x)),
    "tuple index": lambda x: np.sum(np.outer(x, x)[1:, ::2]),
    "integers": lambda x: np.sum(x[[0, 2, 2, 5]] ** 2),
    "mask": lambda x: np.sum(x[Y > 1.0] ** 3),
    "view of a view": lambda x: np.sum(x[1:][:-1][::2] ** 2) + x[1:][0],
    "reversed": lambda x: np.sum(x[::-1] * Y),
    "products": lambda x: x @ (M.T @ (M @ x)) + np.sum(M @ x),
    "transpose": lambda x: np.sum((M * x).T.reshape(3, 8) ** 2),
    "axes": lambda x: np.sum(np.mean(M * x, axis=0) * np.max(M * x, axis=0, keepdims=True)),
    "scalar steps": lambda x: np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x),
    "where": lambda x: np.sum(np.where(x > 1.0, x**2, 3.0 * x)),
    "where rows": lambda x: np.sum(np.where(M > 0, x, x[0]) * M),
    "cross": lambda x: np.sum(np.cross(x[:3], x.reshape(2, 3)) ** 2),
    "clip and abs": lambda x: np.sum(np.abs(np.clip(x, 0.8, 1.2) - 1.0)),
    "not everything counts": lambda x: (np.cumsum(x), np.sum(x * 2.0))[1],
    "lists": lambda x: np.sum(npgrad.wrap(lambda x: np.array([x[0], 2.0, x[1] * x[2]]))(x) ** 2),
    "list of rows": lambda x: np.sum(npgrad.wrap(lambda x: np.array([x, 2 * x]))(x)[1] * x[0]),
    "concatenate": lambda x: np.sum(np.concatenate([x, x[1:] * 2.0, np.ones_like(x)]) ** 3),
    "stack": lambda x: np.sum(np.stack([x, np.sin(x)], axis=1)[:, 1] * x),
    "one of several outputs": lambda x: np.linalg.slogdet(_square(x))[1] * x[0],
    "several outputs": lambda x: np.sum((e := np.linalg.eigh(_square(x)))[0] * e[1][0] ** 2),
    "numbers": lambda x: (x[0] * 2.0 + x[1] ** 2) / x[2] - np.exp(x[3]) * x[0],
    "flat inside": lambda x: np.sum(np.floor(x) * x),
}

WITH_FLOAT64 = (
    *("plain operands", "powers", "broadcast rows", "broadcast column", "reversed", "products"),
    *("transpose", "axes", "lists", "where rows"),
)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_same_to_the_last_bit(name, dtype):
    found, used = again(LOSSES[name], X.astype(dtype))
    of_two_dtypes = dtype is np.float32 and name in WITH_FLOAT64
    assert used is not (of_two_dtypes or name == "flat inside")
    for gradient in found[1:]:
        assert gradient.dtype == dtype and gradient.shape == X.shape
        np.testing.assert_array_equal(gradient, found[0])


def test_rosenbrock_by_mathematics():
    found, used = again(LOSSES["rosenbrock"], X)
    inner = X[1:] - X[:-1] ** 2
    expected = np.zeros(6)
    expected[1:] += 200 * inner
    expected[:-1] += -400 * inner * X[:-1] - 2 * (1 - X[:-1])
    assert used
    np.testing.assert_allclose(found[-1], expected, rtol=1e-13)


def test_several_arguments_and_containers():
    def f(p, scale, unused):
        hidden = np.tanh(M @ p["x"] + p["b"])
        return scale * np.mean(hidden**2) + scale

    args = {"x": X, "b": np.ones(4)}, 1.5, Y
    found, used = again(f, *args, argnums=(0, 1, 2))
    assert used
    for p, scale, unused in found[1:]:
        np.testing.assert_array_equal(p["x"], found[0][0]["x"])
        np.testing.assert_array_equal(p["b"], found[0][0]["b"])
        assert scale == found[0][1] and type(scale) is type(found[0][1])
        np.testing.assert_array_equal(unused, np.zeros(6))


def test_gradients_are_buffers_of_their_own():
    g = npgrad.value_and_grad(lambda x, y: np.sum(x + y), (0, 1))
    for _ in range(6):
        _, (gx, gy) = g(X, Y)
        assert not np.shares_memory(gx, gy)
        np.testing.assert_array_equal(gx, np.ones(6))
        gx[:] = 7.0
        np.testing.assert_array_equal(gy, np.ones(6))
        gy[:] = 8.0
    assert g._recurring.sweep is not None


def test_another_shape_is_another_recording():
    g = npgrad.grad(lambda x: np.sum(x * np.sum(x, axis=0)))
    for _ in range(4):
        np.testing.assert_allclose(g(X), 2 * np.sum(X))
    assert g._recurring.sweep is not None
    for x in (X[:2], X[:1], TABLE, X.astype(np.float32), X):
        expected = 2 * np.sum(x, axis=0) * np.ones_like(x)
        np.testing.assert_allclose(g(x), expected, rtol=1e-5)


def test_an_operand_of_another_shape_is_another_recording():
    operands = [np.float64(3.0), np.full(6, 3.0), np.full((2, 6), 3.0), np.full((4, 1), 3.0), 3]
    g = npgrad.grad(lambda x, c: np.sum(x * c))
    for _ in range(4):
        g(X, operands[1])
    assert g._recurring.sweep is not None
    for c in operands:
        count = np.size(c) if np.ndim(c) == 2 and np.shape(c)[1] == 1 else max(np.size(c) // 6, 1)
        np.testing.assert_allclose(g(X, c), np.full(6, 3.0 * count))


def test_an_argument_of_another_shape_is_another_recording():
    g = npgrad.grad(lambda x, y: np.sum(x * y), (0, 1))
    for _ in range(5):
        g(X, Y)
    for y in (Y[:1], Y[:, None], np.float64(2.0), Y):
        gx, gy = g(X, y)
        np.testing.assert_allclose(
            gx, np.sum(np.broadcast_to(y, np.shape(X * y)).reshape(-1, 6), 0)
        )
        expected = np.broadcast_to(X, np.shape(X * y)) + np.zeros_like(y)
        axes = tuple(a for a in range(expected.ndim) if np.ndim(y) <= a or np.shape(y)[a] == 1)
        np.testing.assert_allclose(gy, np.reshape(np.sum(expected, axes), np.shape(y)))


def test_an_operand_of_another_dtype_is_another_recording():
    x = X.astype(np.float32)
    g = npgrad.grad(lambda x, c: np.float32(1) * np.sum(x * c).astype(np.float32))
    for _ in range(5):
        g(x, x)
    for c in (X, x, X):
        gradient = g(x, c)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, X, rtol=1e-6)


def test_an_argument_without_effect_keeps_its_dtype():
    g = npgrad.grad(lambda x, unused: x * x, (0, 1))
    for _ in range(5):
        g(2.0, Y)
    assert g._recurring.sweep is not None
    gx, unused = g(np.float32(2.0), Y.astype(np.float32))
    assert gx == 4.0 and gx.dtype == unused.dtype == np.float32
    gx, unused = g(2.0, Y.astype(np.float32))
    assert gx == 4.0 and gx.dtype == np.float64 and unused.dtype == np.float32
    gx, unused = g(2.0, Y)
    assert gx == 4.0 and unused.dtype == np.float64


def test_another_of_several_outputs_is_another_recording():
    g = npgrad.grad(lambda x, i: np.sum(np.modf(x)[i] * Y))
    for first in (0, 1):
        for _ in range(5):
            g(X, first)
        np.testing.assert_allclose(g(X, 1), 0 * Y)
        np.testing.assert_allclose(g(X, 0), Y)


def test_an_index_may_change():
    g = npgrad.grad(lambda x, i: np.sum(x[i] ** 2))
    indices = [slice(0, 2), slice(1, 3), slice(0, 3), 0, 4, -1, [0, 1], [1, 1], (0,), Ellipsis]
    for first in (slice(0, 2), 3, [2, 2]):
        for _ in range(5):
            g(X, first)
        for i in indices:
            expected = np.zeros(6)
            np.add.at(expected, i, 2 * X[i])
            np.testing.assert_allclose(g(X, i), expected)


def test_a_branch_may_change():
    def f(x, way):
        y = x * 2.0 if way else np.sin(x)
        return np.sum(y * (x if way == 2 else y))

    g = npgrad.grad(f)
    for _ in range(5):
        g(X, 1)
    np.testing.assert_allclose(g(X, 0), 2 * np.sin(X) * np.cos(X))
    np.testing.assert_allclose(g(X, 1), 8 * X)
    np.testing.assert_allclose(g(X, 2), 4 * X)


def test_a_sweep_that_fits_no_more_is_given_up_and_another_one_written():
    g = npgrad.grad(lambda x, n: np.sum(x**n) if n > 2 else np.sum(np.sin(x)))
    for _ in range(4):
        g(X, 3)
    first = g._recurring.sweep
    assert first is not None
    for _ in range(recurring.TRUST):
        np.testing.assert_allclose(g(X, 1), np.cos(X))
    assert g._recurring.sweep is not first
    np.testing.assert_allclose(g(X, 3), 3 * X**2)


def test_a_zero_cotangent_stays_zero():
    x = np.array([0.0, 4.0, 0.0, 9.0])
    g = npgrad.grad(lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)))
    for _ in range(4):
        np.testing.assert_allclose(g(x + 1.0), 0.5 / np.sqrt(x + 1.0))
    assert g._recurring.sweep is not None
    for _ in range(3):
        np.testing.assert_array_equal(g(x), [0.0, 0.25, 0.0, 1 / 6])


def test_a_mutated_operand_is_still_named():
    large = np.ones((1, 3000))  # is fingerprinted, where small ones are copied

    def f(x, change):
        y = np.sum(large @ x) * 2.0
        if change:
            large[0, 5] += 1.0
        return y

    x = np.ones(3000)
    g = npgrad.grad(f)
    for _ in range(4):
        np.testing.assert_array_equal(g(x, False), 2 * large[0])
    assert g._recurring.sweep is not None
    with pytest.raises(errors.OperandMutated, match="matmul"):
        g(x, True)


def test_an_error_of_a_rule_is_the_loops():
    armed = []

    @npgrad.primitive
    def cube(x):
        return x**3

    def rule(y, x):
        def pull(g):
            if armed:
                raise ZeroDivisionError("of the rule")
            return 3 * x**2 * g

        return pull

    cube.defvjp(rule)
    g = npgrad.grad(lambda x: np.sum(cube(x * 2.0) * 2.0))
    for _ in range(5):
        np.testing.assert_allclose(g(X), 48 * X**2)
    armed.append(1)
    with pytest.raises(ZeroDivisionError, match="of the rule") as caught:
        g(X)
    (note,) = caught.value.__notes__
    assert "in the derivative of" in note and "cube" in note and "test_recurring.py:" in note


def test_a_rule_may_be_none_or_give_a_number():
    @npgrad.primitive
    def scaled(x, c):
        return x * c

    scaled.defvjp(lambda y, x, c: lambda g: g * c, None)
    g = npgrad.grad(lambda x, c: np.sum(scaled(x, c) * c), (0, 1))
    for _ in range(70):
        gx, gc = g(X, 2.0)
        np.testing.assert_array_equal(gx, np.full(6, 4.0))
        np.testing.assert_allclose(gc, 2 * np.sum(X))

    @npgrad.primitive
    def length(x):
        return np.sum(x)

    length.defvjp(lambda y, x: lambda g: float(g) if x.ndim == 0 else g * np.ones(6))
    g = npgrad.grad(lambda x, s: length(x) * length(s), (0, 1))
    for _ in range(6):
        gx, gs = g(X, np.array(3.0))
        np.testing.assert_array_equal(gx, np.full(6, 3.0))
        assert gs == np.sum(X) and gs.dtype == np.float64


def test_what_is_not_written_out_is_swept_as_ever():
    def written_into(x):
        y = x * 1.0
        y[0] = x[1] * 2.0
        return np.sum(y**2)

    found, used = again(written_into, X)
    expected = 2 * X
    expected[0] = 0
    expected[1] += 8 * X[1]
    assert not used
    np.testing.assert_allclose(found, [expected] * len(found))

    large = np.ones(10_000)
    found, used = again(lambda x: np.sum(np.exp(x * 0.0) * x), large)
    assert not used
    np.testing.assert_array_equal(found[-1], large)

    z = X + 1j * Y
    found, used = again(lambda z: np.sum(np.abs(z) ** 2), z)
    assert not used
    np.testing.assert_allclose(found[-1], 2 * z)

    outside = npgrad.array(Y)
    found, used = again(lambda x: npgrad.value(np.sum(x * outside)) * np.sum(x), X)
    np.testing.assert_allclose(found[-1], np.full(6, X @ Y))


def test_inside_another_differentiation():
    f = lambda x: np.sum(np.sin(x) * x)
    g = npgrad.grad(f)
    for _ in range(5):
        g(X)
    assert g._recurring.sweep is not None
    second = 2 * np.cos(X) - X * np.sin(X)
    np.testing.assert_allclose(npgrad.grad(lambda x: np.sum(g(x)))(X), second)
    np.testing.assert_allclose(npgrad.hvp(f, X, Y), second * Y)

    twice = npgrad.grad(lambda x, y: np.sum(npgrad.grad(lambda y: np.sum(x**2 * y**2))(y)))
    for _ in range(6):
        np.testing.assert_allclose(twice(X, Y), 4 * X * Y)

    kept = npgrad.grad(lambda y: np.sum(y**2 * 3.0))
    mixed = npgrad.grad(lambda x: np.sum(x * kept(npgrad.value(x))))
    for _ in range(6):
        np.testing.assert_allclose(mixed(X), 6 * X)


def test_a_leaf_of_another_recording_keeps_its_way_out():
    inner = npgrad.grad(lambda z: (np.sum(z**2), z * 3), has_aux=True)
    outer = npgrad.grad(lambda x: np.sum(inner(x)[1] * Y))
    for _ in range(6):
        np.testing.assert_allclose(outer(X), 3 * Y)


def test_threads_share_one_function():
    g = npgrad.grad(lambda x, c: np.sum(np.tanh(x * c) ** 2))
    wrong = []

    def work(c):
        y = np.tanh(X * c)
        found = [g(X, c) for _ in range(50)]
        if not np.allclose(found, 2 * y * (1 - y * y) * c):
            wrong.append(c)

    threads = [threading.Thread(target=work, args=(0.1 * (i + 1),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and g._recurring.sweep is not None


def test_under_no_grad_and_under_debug():
    g = npgrad.grad(LOSSES["plain operands"])
    expected = g(X)
    for _ in range(4):
        g(X)
    assert g._recurring.sweep is not None
    with npgrad.no_grad():
        np.testing.assert_array_equal(g(X), expected)
    with npgrad.debug():
        np.testing.assert_array_equal(g(X), expected)
