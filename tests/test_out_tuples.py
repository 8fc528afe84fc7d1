"""``out=`` as a tuple, in wrapped code as well, and ``where=`` as a list: NumPy takes both."""

import numpy as np
import pytest

import npgrad

X = np.array([0.4, 0.8, 1.2])
M = np.arange(6.0).reshape(2, 3) + 0.5


def _into(shape, call):
    """The sum of the squares of a buffer of ones that `call` fills."""

    def f(x):
        buffer = np.ones(shape)
        call(x, buffer)
        return np.sum(buffer * buffer)

    return f


def _two(x, buffer):
    other = np.zeros(3)
    np.modf(2.3 * x, out=(buffer, other))
    buffer += other * x


def _divided(x, buffer):
    a = 2.0 * x
    quotient, rest = np.divmod(a, 0.7, out=(None, a))
    assert rest is a
    buffer += a * quotient


CASES = {
    "ufunc": _into(3, lambda x, b: np.sin(x, out=(b,))),
    "number": _into(3, lambda x, b: np.add(x, 1, out=(b,))),
    "list": _into(3, lambda x, b: np.exp([x[0], x[1], x[2]], out=(b,))),
    "two": _into(3, _two),
    "none": _into(3, _divided),
    "frexp": _into(3, lambda x, b: np.frexp(x, out=(b, None))),
    "reduce": _into(3, lambda x, b: np.add.reduce(x * M, out=(b,))),
    "accumulate": _into(3, lambda x, b: np.add.accumulate(x, out=(b,))),
    "outer": _into((3, 3), lambda x, b: np.multiply.outer(x, x, out=(b,))),
    "matmul": _into((2, 2), lambda x, b: np.matmul(M * x, M.T, out=(b,), axes=[(0, 1)] * 3)),
    "where a list": _into(3, lambda x, b: np.sqrt(x, out=b, where=[1, 0, 1])),
    "where a number": _into(3, lambda x, b: np.multiply(x, x, out=b, where=1)),
    "where of hypot": _into(3, lambda x, b: np.hypot(x, x, out=(b,), where=[2, 0, 1])),
    "copyto": _into(3, lambda x, b: np.copyto(b, x * x, where=[1, 0, 1])),
    "where of reduce": lambda x: (
        np.add.reduce(x * x, where=[1, 0, 1]) + np.mean(x, where=(1, 1, 0))
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient(name):
    f = CASES[name]
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-14)
    steps = 1e-6 * np.eye(3)
    differences = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)
    tangents = [npgrad.jvp(f, (X,), (row,))[1] for row in np.eye(3)]
    np.testing.assert_allclose(tangents, gradient, rtol=1e-12)


def test_integers_are_no_mask():
    with pytest.raises(TypeError, match="Cannot cast"):
        npgrad.grad(_into(3, lambda x, b: np.sqrt(x, out=b, where=np.array([1, 0, 1]))))(X)
