"""Leaves, stores, sweeps, modes and tapes."""

import threading

import numpy as np
import pytest

import npgrad
from npgrad.errors import (
    DTypeMismatch,
    GradientLost,
    GraphFreed,
    NotDifferentiable,
    NpgradError,
    ShapeMismatch,
)


def test_every_error_is_also_the_builtin_one_expects() -> None:
    for name in npgrad.errors.__all__:
        error = getattr(npgrad.errors, name)
        assert issubclass(error, NpgradError)
        assert error is NpgradError or issubclass(
            error, (TypeError, ValueError, NotImplementedError, RuntimeError, IndexError)
        )


def test_leaves_copy_and_become_float() -> None:
    plain = np.array([1.0, 2.0])
    x = npgrad.array(plain)
    plain[0] = 9.0
    assert npgrad.value(x).tolist() == [1.0, 2.0]
    assert npgrad.array([1, 2]).dtype == np.float64
    assert npgrad.array(2.0).shape == ()
    assert npgrad.array([1.0], dtype=np.float32).dtype == np.float32
    assert npgrad.array([1j]).dtype == np.complex128
    with pytest.raises(NotDifferentiable):
        npgrad.array([1.0], dtype=int)
    for recorded in (x, x * 2, [x[0], 1.0]):
        with pytest.raises(GradientLost, match=r"np\.copy.*np\.stack"):
            npgrad.array(recorded)


def test_store_is_a_mapping_of_leaves() -> None:
    x, y, z = npgrad.array([1.0, 2.0]), npgrad.array([3.0, 4.0]), npgrad.array(1.0)
    store = np.sum(x * y).backward()
    assert len(store) == 2 and set(store) == {x, y} and x in store and z not in store
    assert store.get(z) is None and store.get(z, 5) == 5
    with pytest.raises(KeyError, match="not a leaf, or"):
        store[z]
    assert store[x].tolist() == [3.0, 4.0] and type(store[x]) is np.ndarray
    store.add(z, np.float64(2.0))
    assert store[z] == 2.0
    with pytest.raises(ShapeMismatch):
        store.add(x, np.ones(3))
    with pytest.raises(NotDifferentiable):
        store.add(x * 2, np.ones(2))
    assert store.scale(2.0)[x].tolist() == [6.0, 8.0]
    store.clear()
    assert len(store) == 0
    with pytest.raises(TypeError):
        store[np.ones(2)]


def test_micro_batches_accumulate() -> None:
    w = npgrad.array([2.0, -1.0])
    store = npgrad.GradStore()
    for _ in range(3):
        np.sum(w * w).backward_into(store)
    assert store[w].tolist() == [12.0, -6.0]
    first = store[w]
    np.sum(w).backward_into(store)
    assert first.tolist() == [12.0, -6.0]  # what was handed out does not change


def test_cotangents() -> None:
    x = npgrad.array([1.0, 2.0])
    ct = np.array([1.0, 10.0])
    assert (x * 3.0).backward(ct)[x].tolist() == [3.0, 30.0]
    assert ct.tolist() == [1.0, 10.0]
    assert (x * 3.0).backward([1, 1])[x].tolist() == [3.0, 3.0]
    with pytest.raises(NotDifferentiable, match="needs a cotangent"):
        (x * 3.0).backward()
    with pytest.raises(ShapeMismatch):
        (x * 3.0).backward(np.ones(3))
    with pytest.raises(DTypeMismatch):
        (x * 3.0).backward(np.ones(2) * 1j)
    with pytest.raises(NotDifferentiable, match="nothing was recorded"):
        np.zeros_like(x).backward(np.ones(2))
    with pytest.raises(NotDifferentiable):
        np.sum(x * 1j).backward()


def test_a_second_sweep_needs_retain_graph() -> None:
    x = npgrad.array([1.0, 2.0])
    y = np.sum(np.exp(x))
    y.backward(retain_graph=True)
    first = y.backward()[x]
    with pytest.raises(GraphFreed, match=r"retain_graph=True.*") as caught:
        y.backward()
    assert "test_recording.py" in str(caught.value)
    np.testing.assert_allclose(first, np.exp([1.0, 2.0]))


def test_create_graph_gives_recorded_gradients() -> None:
    x = npgrad.array([1.0, 2.0])
    g = np.sum(x**3).backward(create_graph=True)[x]
    assert type(g) is npgrad.GradArray
    np.testing.assert_allclose(np.sum(g).backward()[x], [6.0, 12.0])


def test_backward_inside_a_transform_stays_connected() -> None:
    w = npgrad.array([2.0, 3.0])

    def inner(x):
        g = np.sum(w**2 * x).backward()[w]  # 2 w x
        return np.sum(g * g)

    x = np.array([1.0, 2.0])
    result = npgrad.grad(inner)(x)  # depends on the leaf w as well, so it stays recorded
    np.testing.assert_allclose(npgrad.value(result), 8.0 * np.array([4.0, 9.0]) * x)
    np.testing.assert_allclose(np.sum(result).backward()[w], 16.0 * np.array([2.0, 3.0]) * x)


def test_nothing_aliases() -> None:
    x, y = npgrad.array([1.0, 2.0]), npgrad.array([3.0, 4.0])
    ct = np.ones(2)
    store = (x + y).backward(ct)
    store[x][:] = 99.0
    assert store[y].tolist() == [1.0, 1.0] and ct.tolist() == [1.0, 1.0]
    g = np.sum(x).backward()[x]
    g[0] = 5.0  # writable


def test_no_grad_as_context_decorator_and_after_an_error() -> None:
    x = npgrad.array([1.0, 2.0])
    with npgrad.no_grad():
        constant = np.sum(x * x)
        with npgrad.no_grad():
            pass
        assert np.asarray(constant) == 5.0
    assert np.sum(x * constant).backward()[x].tolist() == [5.0, 5.0]

    @npgrad.no_grad()
    def f():
        return x * 2.0

    with pytest.raises(NotDifferentiable):
        np.sum(f()).backward()
    with pytest.raises(ZeroDivisionError), npgrad.no_grad():
        raise ZeroDivisionError
    assert np.sum(x * 2.0).backward()[x].tolist() == [2.0, 2.0]


def test_modes_belong_to_one_thread() -> None:
    x = npgrad.array([1.0, 2.0])
    inside, outside = threading.Event(), threading.Event()
    seen = []

    def other() -> None:
        inside.wait(10)
        seen.append(np.sum(x * 3.0).backward()[x].tolist())
        outside.set()

    thread = threading.Thread(target=other)
    thread.start()
    with npgrad.no_grad():
        inside.set()
        outside.wait(10)
    thread.join()
    assert seen == [[3.0, 3.0]]


def test_stop_gradient_and_value() -> None:
    assert npgrad.grad(lambda x: x * npgrad.stop_gradient(x))(3.0) == 3.0
    assert npgrad.grad(lambda x: x * npgrad.value(x))(3.0) == 3.0
    nested = npgrad.stop_gradient({"a": [npgrad.array(1.0), 2.0], "b": None})
    assert float(np.asarray(nested["a"][0])) == 1.0 and nested["b"] is None


def test_deep_graphs_neither_recurse_nor_stay() -> None:
    def f(x):
        y = x
        for _ in range(100_000):
            y = y * 1.00001
        return y

    np.testing.assert_allclose(npgrad.grad(f)(2.0), 1.00001**100_000, rtol=1e-8)


def test_one_visit_a_node() -> None:
    calls = []

    def doubled(x):
        for _ in range(60):
            x = x + x
        return x

    with npgrad.Tape() as tape:
        y = doubled(tape.leaf(1.0))
    calls.append(len(tape))
    assert calls == [61]
    assert npgrad.grad(doubled)(1.0) == 2.0**60
    assert npgrad.value(y) == 2.0**60


def test_python_numbers_are_weak() -> None:
    x = np.ones(3, np.float32)
    value, gradient = npgrad.value_and_grad(lambda t: np.sum(x * t))(2.0)
    assert value.dtype == np.float32 and gradient.dtype == np.float64
    y = npgrad.array(x)
    for z in (y * 2.0, 2.0 * y, y / 3, y**2, 1 - y, np.maximum(y, 0.0), np.add(y, 1)):
        assert z.dtype == np.float32
        assert np.sum(z).backward()[y].dtype == np.float32


def test_gradients_have_their_primals_space() -> None:
    f = lambda a, b: np.sum(a * b)
    a, b = np.ones((3, 1), np.float32), np.ones((4,), np.complex64)
    ga, gb = npgrad.grad(lambda a, b: np.real(f(a, b)), argnums=(0, 1))(a, b)
    assert ga.shape == (3, 1) and ga.dtype == np.float32
    assert gb.shape == (4,) and gb.dtype == np.complex64


def test_masked_branches_do_not_poison() -> None:
    x = np.array([-1.0, 0.0, 4.0])
    with np.errstate(all="ignore"):
        for f in (
            lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0)),
            lambda x: np.sum(np.where(x > 0, np.log(x) * 2.0, 0.0) * 0.125),
            lambda x: np.sum(np.where(x > 0, x**0.5, 0.0)),
        ):
            g = npgrad.grad(f)(x)
            assert np.all(np.isfinite(g)) and g[0] == g[1] == 0.0 and g[2] != 0.0
            big = np.tile(x, 20_000)  # more than one look
            np.testing.assert_array_equal(npgrad.grad(f)(big), np.tile(g, 20_000))


def test_an_honest_infinity_stays() -> None:
    with np.errstate(all="ignore"):
        assert npgrad.grad(np.sqrt)(0.0) == np.inf


def test_tape_lists_what_was_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    with npgrad.Tape() as tape:
        a = tape.leaf(np.array([0.5, 1.0]))
        y = np.sum(np.sin(a) * 2.0)
    later = a * 3.0
    assert [entry.operation for entry in tape] == ["leaf", "np.sin", "np.multiply", "np.sum"]
    assert len(tape) == 4 and "sin" in str(tape) and "test_recording.py" in str(tape)
    assert [entry.inputs for entry in tape] == [(), (0,), (1,), (2,)]
    assert tape.grad(a) is None
    tape.backward(y)
    np.testing.assert_allclose(tape.grad(a), 2 * np.cos([0.5, 1.0]))
    tape.show()
    assert "np.sin" in capsys.readouterr().out
    assert "<table>" in tape._repr_html_() and "n0 -> n1" in tape.dot()
    assert str(npgrad.Tape()) == "(empty tape)" and later.shape == (2,)


def test_debug_names_the_first_nan_and_checks_everything() -> None:
    with npgrad.debug(), np.errstate(all="ignore"), pytest.raises(FloatingPointError) as caught:
        npgrad.grad(lambda x: np.sum(np.log(x) * 2.0))(np.array([-1.0]))
    assert "np.log" in str(caught.value)
    plain = np.zeros(3_000_000)
    x = npgrad.array(np.ones(3_000_000))
    with npgrad.debug():
        y = np.sum(x * plain)
        plain[1_234_567] = 1.0  # between the samples
        with pytest.raises(npgrad.errors.OperandMutated):
            y.backward()


def test_a_failing_derivative_says_where_it_was_recorded() -> None:
    x = npgrad.array(np.eye(2))
    y = np.sum(np.linalg.inv(x))
    with pytest.raises(ShapeMismatch) as caught:
        y.backward(np.ones(7))
    assert "test_recording.py" in str(caught.value)


def test_debug_names_where_a_sweep_makes_a_nan():
    """An infinite derivative meets a factor of zero; a masked branch makes none."""
    distances = lambda x: np.sum(np.cbrt((x[:, None] - x) ** 3))
    masked = lambda x: np.sum(np.where(x > 0, np.sqrt(x), 0.0))
    with npgrad.debug(), np.errstate(all="ignore"):
        with pytest.raises(FloatingPointError, match=r"np\.subtract.*test_recording\.py:"):
            npgrad.grad(distances)(np.array([0.3, 0.9]))
        np.testing.assert_array_equal(npgrad.grad(masked)(np.array([0.0, 4.0])), [0.0, 0.25])
        np.testing.assert_array_equal(
            npgrad.hessian(lambda x: np.sum(x**3))(np.array([0.0, 4.0])), np.diag([0.0, 24.0])
        )
