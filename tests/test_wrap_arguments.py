"""Plain arrays that the caller passes in and the function writes into record, and are filled."""

import numpy as np
import pytest

import npgrad

X = np.array([0.3, 1.7])


def by_item(x, buffer):
    buffer[0] = x[0] * x[1]
    buffer[1] += x[1]
    return np.sum(buffer**2)


def by_name(x, *, buffer):
    buffer[:] = np.sin(x)
    return buffer @ buffer


def by_out(x, buffer):
    np.multiply(x, x, out=buffer)
    return np.sum(buffer)


def augmented(x, buffer):
    buffer += x
    buffer *= x
    return np.sum(buffer)


class Model:
    def step(self, x, buffer=None):
        buffer[0, :][1] = x[0]
        buffer[1][:] = x
        return np.sum(buffer**2)


CASES = [
    (by_item, lambda: {"buffer": np.array([1.0, 2.0])}),
    (by_name, lambda: {"buffer": np.empty(2)}),
    (by_out, lambda: {"buffer": np.empty(2)}),
    (augmented, lambda: {"buffer": np.array([1.0, 2.0])}),
    (Model().step, lambda: {"buffer": np.ones((2, 2))}),
]


@pytest.mark.parametrize(("f", "made"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_a_buffer_of_the_callers(f, made) -> None:
    expected = [(f(X + e, **made()) - f(X - e, **made())) / 2e-6 for e in np.eye(2) * 1e-6]
    given, plain = made(), made()
    buffer = given["buffer"]
    np.testing.assert_allclose(npgrad.grad(f)(X, **given), expected, rtol=1e-7)
    f(X, **plain)
    assert type(buffer) is np.ndarray
    np.testing.assert_array_equal(buffer, plain["buffer"])
    if f is not by_name:
        np.testing.assert_allclose(npgrad.grad(f)(X, made()["buffer"]), expected, rtol=1e-7)


def test_a_buffer_is_filled_as_far_as_the_program_came() -> None:
    def f(x, buffer):
        buffer[0] = x[0]
        raise RuntimeError("half way")

    buffer = np.zeros(2)
    with pytest.raises(RuntimeError):
        npgrad.grad(f)(X, buffer)
    np.testing.assert_array_equal(buffer, [0.3, 0.0])


def test_what_is_only_read_stays_plain() -> None:
    def f(x, table):
        assert type(table) is kind
        return np.sum(x * table)

    kind = np.ndarray
    np.testing.assert_array_equal(npgrad.grad(f)(X, np.ones(2)), np.ones(2))


TABLE = np.zeros(2)


def test_a_global_array_written_to_is_refused() -> None:
    def f(x):
        TABLE[0] = x[0]
        return np.sum(TABLE)

    with pytest.raises((npgrad.errors.GradientLost, ValueError)) as caught:
        npgrad.grad(f)(X)
    assert "npgrad.value(x)" in f"{caught.value} {caught.value.__cause__}"
    assert not TABLE.any()
