"""What a program stored during a gradient acts as its value afterwards, at every door."""

import io
import json
import pickle
import tracemalloc

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, InPlaceError, NoDerivative

X = np.array([2.0, 0.7, 1.5])


class Model:
    def __call__(self, x):
        self.w, self.number, self.list = x * 2.0, x[0] * 3.0, (x * 4.0).tolist()
        return np.sum(self.w)


@pytest.fixture(params=[npgrad.grad, lambda f: lambda x: npgrad.jvp(f, (x,), (x,))])
def model(request):
    made = Model()
    request.param(made)(X)
    return made


def test_it_is_saved(model):
    for save, load in ((np.save, np.load), (np.savetxt, np.loadtxt)):
        file = io.BytesIO()
        save(file, model.w)
        file.seek(0)
        np.testing.assert_allclose(load(file), 2.0 * X)
    file = io.BytesIO()
    np.savez(file, w=model.w)
    file.seek(0)
    np.testing.assert_array_equal(np.load(file)["w"], 2.0 * X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model.w)), 2.0 * X)
    assert model.w.tobytes() == (2.0 * X).tobytes()
    assert json.loads(json.dumps(model.w.tolist())) == [4.0, 1.4, 3.0]
    assert json.dumps(model.number.tolist()) == "6.0"


def test_it_is_written_into_plain_arrays(model):
    plain = np.ones(3)
    plain += model.w
    np.testing.assert_array_equal(plain, 1.0 + 2.0 * X)
    assert np.multiply(plain, model.w, out=plain) is plain and type(plain) is np.ndarray
    np.testing.assert_array_equal(plain, (1.0 + 2.0 * X) * 2.0 * X)


def test_functions_that_write_take_it(model):
    plain = np.zeros(3)
    np.copyto(plain, model.w)
    np.testing.assert_array_equal(plain, 2.0 * X)
    np.put(plain, [0, 1], model.w[1:])
    np.testing.assert_array_equal(plain, [1.4, 3.0, 3.0])
    np.putmask(plain, [True, False, False], model.w)
    np.testing.assert_array_equal(plain, [4.0, 3.0, 3.0])


def test_what_is_recorded_still_is_not():
    x = npgrad.array(X)
    y = x * 2.0
    plain = np.ones(3)
    with pytest.raises(InPlaceError):
        plain += y
    with pytest.raises(InPlaceError):
        np.multiply(plain, y, out=plain)
    with pytest.raises(InPlaceError):
        np.copyto(plain, y)
    with pytest.raises(NoDerivative):
        np.save(io.BytesIO(), y)
    with pytest.raises(GradientLost):
        y.tobytes()
    assert type(y.tolist()[0]) is npgrad.GradArray

    def f(x):
        assert type(x.tolist()[0]) is not float
        with pytest.raises(NoDerivative):
            np.save(io.BytesIO(), x)
        return np.sum(x)

    npgrad.grad(f)(X)


@pytest.mark.parametrize("keep", [float, lambda value: value], ids=["float", "itself"])
def test_a_log_of_losses_holds_no_recordings(keep):
    history = []

    def loss(x):
        total = np.sum(np.sin(x) * x)
        history.append(keep(total))
        return total

    gradient = npgrad.grad(npgrad.wrap(loss))
    x = np.linspace(0.0, 1.0, 20_000)
    tracemalloc.start()
    try:
        for k in range(3):
            gradient(x + k)
        before = tracemalloc.get_traced_memory()[0]
        for k in range(20):
            np.testing.assert_allclose(gradient(x + k), np.sin(x + k) + (x + k) * np.cos(x + k))
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20 * 40_000  # an array of x's size has 160,000 bytes
    assert float(history[-1]) == np.sum(np.sin(x + 19) * (x + 19))
    assert isinstance(float(np.mean([npgrad.value(v) for v in history])), float)


def test_what_was_let_go_of_is_still_told_from_a_state():
    """The result of an earlier gradient at the same arguments is a cache's, refused as before."""
    kept = []

    def loss(x):
        fresh = np.sum(x**2) * 3.0
        kept.append(fresh)
        return kept[0] if len(kept) > 3 else fresh

    gradient = npgrad.grad(loss)
    x = np.linspace(0.5, 1.0, 5000)
    for _ in range(3):
        np.testing.assert_allclose(gradient(x), 6 * x)
    with pytest.raises(GradientLost, match="earlier gradient at the same arguments"):
        gradient(x)
    state = []

    def averaged(x):
        now = np.sum(x**2)
        state.append(0.5 * (state[-1] + now) if state else now)
        return state[-1]

    gradient = npgrad.grad(averaged)
    for k in range(5):  # at other arguments a state goes on as a constant
        factor = 2.0 if k == 0 else 1.0
        np.testing.assert_allclose(gradient(x + k), factor * (x + k))
