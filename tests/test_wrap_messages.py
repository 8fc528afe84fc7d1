"""What wrapped code is told at a door that stays shut: words that fit where makers record."""

import ctypes
import hashlib
import io
import json
import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import npgrad

X = np.array([0.4, 1.2, 0.7])


def refused(f) -> str:
    with pytest.raises((npgrad.errors.GradientLost, TypeError, pickle.PicklingError)) as caught:
        npgrad.grad(f)(X)
    return " ".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def by_list(x):
    items = [x[0], x[1]]
    return np.exp(items).sum()


def test_a_list_in_a_variable_is_told_of_np_array() -> None:
    said = refused(by_list)
    assert "np.exp(np.array(items))" in said and "not np.array" not in said
    assert "npgrad.wrap(f)" not in said


def test_compiled_code_is_told_of_a_rule() -> None:
    assert "npgrad.register_vjp" in refused(lambda x: ctypes.c_double(x[0]).value)


def test_a_list_of_arrays_as_objects() -> None:
    said = refused(lambda x: np.array([x, x[:2]], dtype=object)[1].sum())
    assert "array of object" in said and "Keep them in a list" in said


@pytest.mark.parametrize(
    "f",
    [
        lambda x: hashlib.md5(x).hexdigest() and x.sum(),
        lambda x: json.dumps(x.tolist()) and x.sum(),
    ],
)
def test_what_takes_data_is_told_of_the_value(f) -> None:
    assert "npgrad.value(x)" in refused(f)


def test_a_stand_in_that_is_pickled() -> None:
    """Refused with the reason; one that passes for its function in tables is pickled as that."""
    made: list[bytes] = []
    try:
        npgrad.grad(lambda x: made.append(pickle.dumps(math.sin)) or x.sum())(X)
    except pickle.PicklingError as error:
        said = " ".join(error.__notes__)
        assert "stands for this one" in said and "records nothing" in said
    else:
        assert pickle.loads(made[0]) is math.sin


def test_an_array_asked_for_by_its_method() -> None:
    """``x.__array__()`` in wrapped code is what np.asarray(x) is there; NumPy's own call is not."""
    np.testing.assert_array_equal(npgrad.grad(lambda x: x.__array__().sum())(X), np.ones(3))
    np.testing.assert_array_equal(
        npgrad.grad(lambda x: (2 * x).__array__(copy=True).sum())(X), 2 * np.ones(3)
    )
    single = npgrad.value_and_grad(lambda x: x.__array__(np.float32).sum())(X)
    assert single[0].dtype == np.float32 and single[1].dtype == np.float64
    with pytest.raises(npgrad.errors.GradientLost):
        npgrad.grad(lambda x: x.__array__().sum(), wrap=False)(X)
    with pytest.raises(npgrad.errors.GradientLost):
        npgrad.grad(lambda x: x.__array__().sum() + np.random.default_rng(0).permutation(x)[0])(X)


def in_thread(v):
    made = np.zeros(2)
    made[0] = v
    return made.sum() ** 2


def test_a_thread_that_the_program_starts() -> None:
    def started(x):
        with ThreadPoolExecutor(1) as pool:
            return sum(pool.map(in_thread, list(x)))

    said = refused(started)
    assert "npgrad.wrap(f) for the function that this thread runs" in said

    def wrapped(x):
        with ThreadPoolExecutor(1) as pool:
            return sum(pool.map(npgrad.wrap(in_thread), list(x)))

    np.testing.assert_allclose(npgrad.grad(wrapped)(X), 2 * X)


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.diag([1.0, 2.0]),
        lambda: np.diagflat([1.0, 2.0]),
        lambda: np.repeat(1.0, 4).reshape(2, 2),
        lambda: np.tile([1.0, 2.0], (2, 1)),
        lambda: np.vander([1.0, 2.0]),
        lambda: np.loadtxt(io.StringIO("1 2\n3 4")),
        lambda: np.fromstring("1 2 3 4", sep=" ").reshape(2, 2),
    ],
)
def test_new_arrays_of_numpys_are_buffers(make) -> None:
    def f(x):
        made = make()
        made[0, 1] = x[0]
        return (made * made).sum()

    for _ in range(3):
        np.testing.assert_allclose(npgrad.grad(f)(X), [2 * X[0], 0, 0])
    assert type(make()) is np.ndarray
