"""Structured arrays that wrapped code makes: their fields record."""

import copy
import pickle

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, InPlaceError, NoDerivative

X = np.array([1.5, 0.7, 2.2])
KIND = np.dtype([("a", float), ("b", "f4", (2,)), ("n", int)])
PAIR = [("u", float), ("k", int), ("v", complex)]


def fields(x):
    s = np.zeros(3, KIND)
    s["a"] = x**2
    s["b"][:, 0] = x
    s["b"][1, 1] = x[2]
    s["n"] = [1, 2, 3]
    return np.sum(s["a"] * s["n"]) + np.sum(s["b"].astype(float) ** 2)


def records(x):
    s = np.empty(3, [("p", float), ("q", float)])
    for i in range(3):
        s[i] = (x[i] * 2, x[i] ** 2)
    middle = s[1]
    middle["p"] *= 3
    return s[1]["p"] * middle["q"] + sum(a * b for a, b in s)


def rows(x):
    s = np.array([(x[0], 1, x[1]), (x[2], 2, x[0] * x[1])], dtype=PAIR)
    return s["u"] @ s["v"].real + s[s["k"] == 2]["v"].real.sum() + s[["u", "v"]]["u"][0]


def views(x):
    s = np.zeros(3, KIND)
    tail = s[1:]
    tail["a"] = x[:2]
    other = copy.deepcopy(s)
    other["a"][0] = x[2]
    flat = s.flatten()
    flat["a"] = 100.0
    return s["a"] @ np.arange(3.0) + np.sum(other["a"]) + s.reshape(3, 1)["a"][2, 0]


def joined(x):
    s = np.zeros(3, KIND)
    s["a"] = x
    t = np.zeros_like(s)
    t[:] = s
    t["a"][0] = 0.0
    return np.sum(np.concatenate([s, t])["a"]) + np.copy(s)["a"][1]


def nested(x):
    s = np.zeros(2, [("at", [("x", float), ("y", float)]), ("w", float)])
    s["at"]["x"] = x[:2]
    s["at"]["y"] = x[1:]
    s["w"] = 2.0
    return np.sum(s["w"] * s["at"]["x"] * s["at"]["y"])


PROGRAMS = (fields, records, rows, views, joined, nested)


@pytest.mark.parametrize("f", PROGRAMS)
def test_fields_record(f):
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-6)
    step = 1e-6 if f is not fields else 1e-2
    expected = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5 if f is fields else 1e-8, atol=1e-8)
    forward = [npgrad.jvp(f, (X,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(forward, gradient, rtol=1e-6)


def test_what_is_not_recorded_acts_as_numpys():
    def f(x):
        s = np.zeros(3, KIND)
        s["a"] = [3.0, 1.0, 2.0]
        s[0]["n"] = 5
        assert isinstance(s, np.ndarray) and s.dtype == KIND and s.shape == (3,) and len(s) == 3
        assert s.tolist()[0][0] == 3.0 and s["n"][0] == 5 and str(s).startswith("[(3.")
        assert pickle.loads(pickle.dumps(s))["a"][1] == 1.0 and (s == s).all()
        assert type(np.zeros(2, [("i", int)])) is type(np.zeros(1, bool))  # no floats: plain
        s["a"][0] = 7.0  # what was handed out sees it
        return np.sort(s, order="a")["a"][2] * x[0]

    np.testing.assert_allclose(npgrad.grad(f)(X), [7.0, 0.0, 0.0])


def test_the_old_contents_that_a_rule_keeps():
    def f(x):
        s = np.empty(3, KIND)
        s["a"] = 1.0
        y = np.sum(s["a"] * x)
        s["a"] = 2.0
        assert s.tolist()[0][0] == 2.0
        return y * s["a"][1]

    np.testing.assert_allclose(npgrad.grad(f)(X), [2.0, 2.0, 2.0])


def made(x):
    s = np.zeros(3, KIND)
    s["a"] = x
    return s


def handed_out(x):
    s = np.zeros(3, KIND)
    s.view(np.ndarray)
    s["a"] = x
    return s["a"].sum()


@pytest.mark.parametrize(
    ("f", "error", "match"),
    [
        (lambda x: np.sort(made(x), order="a")["a"][0], NoDerivative, "sort of a structured"),
        (lambda x: made(x).tolist()[0][0], NoDerivative, "one by one"),
        (lambda x: made(x).view(np.recarray).a[0], NoDerivative, "view of a structured"),
        (lambda x: pickle.dumps(made(x)) and x[0], NoDerivative, "pickle"),
        (lambda x: float(bytes(memoryview(made(x)))[0]) * x[0], TypeError, "memoryview"),
        (handed_out, InPlaceError, "handed out"),
    ],
)
def test_what_would_lose_a_gradient_is_refused(f, error, match):
    f(X)
    with pytest.raises(error, match=match):
        npgrad.grad(f)(X)


def test_c_code_does_not_get_the_plain_values():
    with pytest.raises(GradientLost, match="structured array with recorded fields"):
        npgrad.grad(lambda x: made(x).__array__()["a"][0])(X)


def test_windows_that_are_said_to_be_writeable():
    def f(x, write=False):
        windows = np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)
        if write:
            windows[0, 0] = 3.0
        return np.sum(windows * windows)

    np.testing.assert_allclose(npgrad.grad(f)(X), 2 * X * [1, 2, 1])
    with pytest.raises(ValueError, match="read-only"):
        npgrad.grad(lambda x: f(x, True))(X)
