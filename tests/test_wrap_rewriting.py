"""``plain.dot(x)`` and ``plain @ [x[0], x[1]]`` in wrapped code, whose code is exchanged for it."""

from __future__ import annotations

import asyncio
import contextlib
import dis
import importlib
import inspect
import pickle
import sys
import threading
import traceback
import types

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost
from npgrad.wrapping import rewriting

pytestmark = pytest.mark.skipif(not rewriting.SERVED, reason="CPython 3.11's code objects")

A = np.arange(6.0).reshape(2, 3)
W = np.array([1.0, -2.0, 3.0])


def of_module(w):
    return np.sum(A.dot(w) ** 2)


class Regression:
    def __init__(self):
        self.x, self.y = A, np.array([1.0, -1.0])

    def loss(self, w):
        return np.sum((self.x.dot(w) - self.y) ** 2)

    @staticmethod
    def still(w):
        return np.sum(A.dot(w) ** 2)

    @property
    def of(self):
        return lambda w: np.sum(self.x.dot(w) ** 2)


SQUARES = 2 * A.T @ (A @ W)


def test_of_functions_methods_and_closures():
    codes = [f.__code__ for f in (of_module, Regression.loss, Regression.still)]
    np.testing.assert_allclose(npgrad.grad(of_module)(W), SQUARES)
    model = Regression()
    np.testing.assert_allclose(npgrad.grad(model.loss)(W), 2 * A.T @ (A @ W - model.y))
    np.testing.assert_allclose(npgrad.grad(model.still)(W), SQUARES)
    np.testing.assert_allclose(npgrad.grad(model.of)(W), SQUARES)
    matrix = A.copy()

    def product(w):
        return matrix.dot(w)

    def loss(w):
        return np.sum(product(w) ** 2)

    for _ in range(3):
        np.testing.assert_allclose(npgrad.grad(loss)(W), SQUARES)
        np.testing.assert_allclose(npgrad.jacfwd(loss)(W), SQUARES)
    np.testing.assert_allclose(npgrad.hessian(loss)(W), 2 * A.T @ A)
    assert [f.__code__ for f in (of_module, Regression.loss, Regression.still)] == codes
    assert rewriting.original_code(loss.__code__) is loss.__code__
    assert not any(one.users for one in rewriting.exchanges.values())


def test_what_dot_gives_is_numpys_own():
    """Another object's method, plain operands, ``out=``, a product of numbers, errors."""

    class Other:
        def dot(self, x):
            return 3 * x

    def f(w):
        out = np.zeros(2)
        A.dot(w, out=out)
        plain = A.dot(np.arange(3))  # integers are no recorded array
        return np.sum(out) + Other().dot(w)[0] + W.dot(w) + w.dot(W) + plain.dot(np.ones(2))

    expected = A.sum(axis=0) + np.array([3.0, 0, 0]) + 2 * W
    np.testing.assert_allclose(npgrad.grad(f)(W), expected)
    assert npgrad.value_and_grad(f)(W)[0] == f(W)

    def unfit(w):
        return np.sum(A.dot(w[:2]))

    with pytest.raises(ValueError, match=r"not aligned") as caught:
        npgrad.grad(unfit)(W)
    rows = [f for f in traceback.extract_tb(caught.tb) if f.name == "unfit"]
    assert rows[0].line == "return np.sum(A.dot(w[:2]))"
    assert rows[0].lineno == unfit.__code__.co_firstlineno + 1


def test_lists_beside_operators():
    def f(w, b):
        first = A @ [w[0], w[1], w[2]]
        second = W * [w[0] ** 2, 1.0, w[2]] if b else W * [1.0, 1.0, 1.0]
        third = A @ ([w[0]] * 3 if b else [w[0], w[1], w[2]])
        return np.sum(first) + np.sum(second) + np.sum(third)

    expected = A.sum(axis=0) + W * [2 * W[0], 0, 1]
    expected[0] += A.sum()
    with pytest.raises(GradientLost):  # the list lies in a variable, so to speak
        npgrad.grad(f)(W, True)

    def g(w):
        first = A @ [w[0], w[1], w[2]]
        second = W * [w[0] ** 2, 1.0, w[2]]
        return np.sum(first) + np.sum(second) + np.sum(W - [w[0], 2.0, 3.0])

    expected = A.sum(axis=0) + W * [2 * W[0], 0, 1] - [1, 0, 0]
    np.testing.assert_allclose(npgrad.grad(g)(W), expected)


def test_handlers_loops_and_generators():
    def rows(w):
        for row in A:
            try:
                yield row.dot(w)
                raise KeyError(row.dot(w))
            except KeyError as error:
                yield error.args[0] * 2
            finally:
                yield row.dot(w) ** 2

    def f(w):
        try:
            A.dot(w[:2])
        except ValueError:
            total = sum(rows(w))
        with np.errstate(all="ignore"):
            return total + np.sum([row.dot(w) for row in A])

    expected = 4 * A.sum(axis=0) + SQUARES
    np.testing.assert_allclose(npgrad.grad(f)(W), expected)


def test_a_coroutine():
    async def product(w):
        await asyncio.sleep(0)
        return A.dot(w)

    async def both(w):
        return sum(await asyncio.gather(product(w), product(2 * w)))

    gradient = npgrad.grad(lambda w: np.sum(asyncio.run(both(w))))(W)
    np.testing.assert_allclose(gradient, 3 * A.sum(axis=0))


@pytest.mark.parametrize("count", [3, 40, 300])
def test_long_functions(count):
    """Jumps and constants of more than a byte."""
    lines = [
        f"    y = y + {i + 0.5} * A.dot(w) if y is not None else A.dot(w)" for i in range(count)
    ]
    source = "def f(w):\n    y = None\n" + "\n".join(lines) + "\n    return y.sum()\n"
    space = {"A": A}
    exec(source, space)
    total = 1 + sum(i + 0.5 for i in range(1, count))
    np.testing.assert_allclose(npgrad.grad(space["f"])(W), total * A.sum(axis=0))
    made = rewriting._rewritten(space["f"])
    positions, before = list(made.co_positions()), list(space["f"].__code__.co_positions())
    assert positions[: len(before)] == before


def test_other_threads_see_the_method():
    seen: list[object] = []
    inside, done = threading.Event(), threading.Event()

    def helper(a, b):
        return a.dot(b)

    def f(w):
        inside.set()
        assert done.wait(10)
        return np.sum(helper(A, w))

    def other():
        assert inside.wait(10)
        seen.append(helper(A, W))
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    np.testing.assert_allclose(npgrad.grad(f)(W), A.sum(axis=0))
    thread.join()
    np.testing.assert_array_equal(seen[0], A @ W)
    assert type(seen[0]) is np.ndarray


def test_an_error_and_a_nested_call_leave_the_code_as_it_was():
    def helper(w):
        return A.dot(w)

    def inner(w):
        return np.sum(helper(w) ** 2)

    def f(w):
        first = npgrad.grad(inner)(w)
        assert rewriting.original_code(helper.__code__) is not helper.__code__
        return np.sum(helper(first))

    np.testing.assert_allclose(npgrad.grad(f)(W), 2 * A.T @ A @ A.sum(axis=0))

    def fails(w):
        raise KeyboardInterrupt(helper(w))

    for call in (f, fails):
        with contextlib.suppress(KeyboardInterrupt):
            npgrad.grad(call)(W)
        assert rewriting.original_code(helper.__code__) is helper.__code__
    assert not any(one.users for one in rewriting.exchanges.values())
    with pytest.raises(GradientLost):
        npgrad.grad(inner, wrap=False)(W)


def _codes(value, found):
    if isinstance(value, types.FunctionType):
        found.append(value)
    elif isinstance(value, type):
        for part in vars(value).values():
            if isinstance(part, types.FunctionType):
                found.append(part)


def test_the_code_of_whole_modules_keeps_its_shape():
    """Of every function with a place: old offsets, lines and handlers stay, jumps have targets."""
    found: list[types.FunctionType] = []
    pytest.importorskip("scipy")
    for name in ("optimize._optimize", "optimize._lsq.trf", "integrate._ivp.rk", "signal._ltisys"):
        for value in vars(importlib.import_module(f"scipy.{name}")).values():
            _codes(value, found)
    found.append(inspect.unwrap(of_module))
    count = 0
    for function in found:
        if not rewriting.has_sites(function):
            continue
        old, new = function.__code__, rewriting._rewritten(function)
        count += 1
        assert rewriting.original_code(new) is old
        assert list(new.co_positions())[: len(old.co_code) // 2] == list(old.co_positions())
        steps = list(dis.get_instructions(new))
        offsets = {step.offset for step in steps}
        jumps = [s.argval for s in steps if s.opcode in dis.hasjrel]
        assert offsets.issuperset(jumps)
        assert len(new.co_code) % 2 == 0
        assert sys.getsizeof(new) > sys.getsizeof(old)
    assert count > 10


def test_what_stands_in_the_code_can_be_pickled():
    assert pickle.loads(pickle.dumps(rewriting.DOT)) is rewriting.DOT
    assert pickle.loads(pickle.dumps(rewriting.LIST)) is rewriting.LIST


def test_a_sparse_matrix_s_product():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(A)
    older = sparse.csr_matrix(A)

    def f(w):
        assert matrix.dot(np.ones(3, int)).tolist() == A.sum(axis=1).tolist()
        return np.sum(matrix.dot(w) ** 2) + np.sum(older.T.dot(older.dot(w))) + w[0]

    expected = SQUARES + A.T @ A @ np.ones(3) + [1, 0, 0]
    np.testing.assert_allclose(npgrad.grad(f)(W), expected)
