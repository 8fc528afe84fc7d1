"""Many tangents in one forward sweep: the same as one after the other, and not one at a time."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import npgrad

RNG = np.random.default_rng(0)


def columns(f, *args):
    """The Jacobians column by column, each a jvp of its own."""
    found = []
    for k, x in enumerate(args):
        rows = []
        for unit in np.eye(x.size):
            moves = [np.zeros_like(a) for a in args]
            moves[k] = unit.reshape(x.shape)
            rows.append(npgrad.jvp(f, args, tuple(moves))[1])
        shape = np.shape(rows[0]) + x.shape
        found.append(np.moveaxis(np.array(rows), 0, -1).reshape(shape))
    return found


def same(f, *args):
    numbers = tuple(range(len(args)))
    got = npgrad.jacfwd(f, numbers)(*args)
    for mine, one, reverse in zip(
        got, columns(f, *args), npgrad.jacrev(f, numbers)(*args), strict=True
    ):
        assert mine.shape == one.shape
        np.testing.assert_allclose(mine, one, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(mine, reverse, rtol=1e-12, atol=1e-13)


MATMUL = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 3)), ((3, 4), (4, 2)), ((5, 3, 4), (4,)),
    ((4,), (5, 4, 3)), ((5, 3, 4), (4, 2)), ((3, 4), (5, 4, 2)), ((5, 3, 4), (5, 4, 2)),
    ((2, 1, 3, 4), (5, 4, 2)), ((5, 3, 4), (2, 1, 4, 2)), ((4,), (2, 3, 4, 2)),
    ((1, 3, 4), (5, 4, 2)), ((2, 5, 3, 4), (4,)), ((9, 9), (9,)), ((9,), (9, 9)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", MATMUL, ids=str)
def test_matmul(shapes):
    same(np.matmul, *(RNG.normal(size=shape) for shape in shapes))


@pytest.mark.parametrize("shapes", [((9,), (9,)), ((2, 3, 9), (9,)), ((9,), (2, 3, 9))], ids=str)
@pytest.mark.parametrize("keywords", [{}, {"axis": -1}])
def test_vecdot(shapes, keywords):
    x1, x2 = (RNG.normal(size=shape) for shape in shapes)
    same(lambda x1, x2: np.vecdot(x1, x2, **keywords), x1, x2)


def test_other_products():
    a, b, c = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3, 4))
    v = RNG.normal(size=(2, 4))
    same(np.dot, a, b)
    same(np.inner, a, c)
    same(np.outer, a, b)
    same(np.kron, a, b)
    same(lambda a, b: np.tensordot(a, b, ((1, 0), (0, 1))), a, b)
    same(lambda a, c: np.einsum("ij,kij->ki", a, c), a, c)
    same(lambda a, b: np.vdot(a, b), a, b)
    same(lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (0, 1)]), a, a)
    if hasattr(np, "matvec"):
        same(np.matvec, c, v[:, None, :] * np.ones((1, 5, 1))[:, :1])
        same(np.matvec, a, v)
        same(np.vecmat, RNG.normal(size=(2, 3)), a)
        same(np.vecmat, RNG.normal(size=(3,)), c)


INDICES = [
    0, slice(1, None, 2), np.array([1, 0, 1]), (slice(None), np.array([1, 1])), (0, slice(None)),
    (np.array([0, 1]), np.array([1, 0])), (0, slice(None), np.array([1, 0])), Ellipsis,
    (np.array([0, 1]), slice(None), np.array([1, 0])), (None, 1), (Ellipsis, 0, np.array([1, 0])),
    np.arange(24).reshape(2, 3, 4) % 2 == 0, (slice(None), np.array([True, False, True])),
    (np.array([[0], [1]]), np.array([0, 2])), (1, 2, 0), (slice(None), None, np.array([0, 1])),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(INDICES)))
def test_indices(number):
    same(lambda x: x[INDICES[number]] * 2, RNG.normal(size=(2, 3, 4)))


LINEAR = {
    "transpose": lambda x: np.transpose(x, (2, 0, 1)),
    "reshape": lambda x: x.reshape(4, 6),
    "roll": lambda x: np.roll(x, 2, axis=1),
    "take": lambda x: np.take(x, [1, 1, 0], axis=1),
    "tile": lambda x: np.tile(x, (2, 1, 2)),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "trace": lambda x: np.trace(x, axis1=0, axis2=2),
    "tril": np.tril,
    "broadcast": lambda x: np.broadcast_to(x[:, :1], (2, 3, 4)),
    "concatenate": lambda x: np.concatenate((x, 2 * x), axis=1),
    "stack": lambda x: np.stack((x, 2 * x), axis=1),
    "cross": lambda x: np.cross(x[..., :3], x[..., 1:]),
    "sliding": lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=2),
    "astype": lambda x: (x.astype(np.float32) * 2).astype(float),
    "not of x": lambda x: np.roll(np.ones(3), 1) * np.sum(x),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_functions(name):
    same(LINEAR[name], RNG.normal(size=(2, 3, 4)))


def test_complex_in_between():
    same(lambda x: np.real(np.dot(x * 1j, x.T * (1 + 2j))), RNG.normal(size=(3, 4)))
    same(lambda x: np.abs(np.transpose(np.fft.fft(x))), RNG.normal(size=(3, 4)))


def test_nested():
    a = RNG.normal(size=(9, 9))
    x = RNG.normal(size=9)
    f = lambda x: np.sum(np.sin(np.dot(a, x)) * np.roll(x, 1) * np.transpose(a @ x))
    want = npgrad.hessian(f)(x)
    for outer, inner in itertools.product((npgrad.jacfwd, npgrad.jacrev), repeat=2):
        np.testing.assert_allclose(outer(inner(f))(x), want, rtol=1e-11, atol=1e-12)


def calls(f, n):
    """How many Python functions a Jacobian of n columns calls."""
    jacobian = npgrad.jacfwd(f(RNG.normal(size=(n, n))))
    x = RNG.normal(size=n)
    for _ in range(3):  # the names of `f` are read at the first calls
        jacobian(x)
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event) if event == "call" else None)
    try:
        jacobian(x)
    finally:
        sys.setprofile(None)
    return len(seen)


PRODUCTS = {
    "matmul": lambda a: lambda x: np.tanh(a @ np.sin(a @ x)),
    "dot": lambda a: lambda x: np.dot(a, np.roll(x, 1)),
    "einsum": lambda a: lambda x: np.einsum("ij,j->i", a, x),
    "vecdot": lambda a: lambda x: np.vecdot(a, x),
    "vdot": lambda a: lambda x: np.vdot(x, x),
    "index": lambda a: lambda x: x[1:] * x[:-1] + x[0],
    "columns": lambda a: lambda x: np.transpose(a * x)[::2].reshape(-1),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_batch_is_not_looped(name):
    assert calls(PRODUCTS[name], 100) < 1.5 * calls(PRODUCTS[name], 20)
