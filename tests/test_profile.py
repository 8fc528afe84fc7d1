"""`npgrad.profile`: what was computed, how long it and its derivative took, what it kept."""

from __future__ import annotations

import time

import numpy as np
import pytest

import npgrad

X = np.linspace(0.1, 1.0, 1000)


def loss(x):
    y = np.exp(x) * x
    for _ in range(3):
        y = np.sin(y)
    return np.sum(y)


def test_operations_calls_and_bytes():
    with npgrad.profile() as seen:
        got = npgrad.grad(loss)(X)
    np.testing.assert_array_equal(got, npgrad.grad(loss)(X))
    rows = {row.operation: row for row in seen}
    assert set(rows) == {"np.exp", "np.multiply", "np.sin", "np.sum"}
    assert rows["np.sin"].calls == 3 and rows["np.sin"].swept == 3
    assert rows["np.sin"].result_bytes == 3 * X.nbytes
    assert rows["np.sin"].kept_bytes == 3 * X.nbytes  # the argument of each
    assert rows["np.multiply"].kept_bytes == 2 * X.nbytes
    assert rows["np.sum"].result_bytes == 8 and rows["np.sum"].kept_bytes == 0
    assert rows["np.exp"].where.startswith("test_profile.py:")
    assert len(seen) == 4 and "4 operations" in repr(seen)


def test_the_time_goes_where_it_was_spent():
    slow = npgrad.primitive(lambda x: (time.sleep(0.02), x * 1.0)[1])
    slow.defvjp(lambda ans, x: lambda g: (time.sleep(0.05), g)[1])
    with npgrad.profile() as seen:
        npgrad.grad(lambda x: np.sum(slow(np.sin(x))))(X)
    first = seen.rows[0]
    assert "lambda" in first.operation
    assert first.forward >= 0.02 and first.backward >= 0.05
    others = seen.rows[1:]
    assert sum(r.forward + r.backward for r in others) < 0.05 < seen.seconds


def test_the_table():
    with npgrad.profile() as seen:
        npgrad.grad(loss)(X)
    text = str(seen)
    lines = text.splitlines()
    assert lines[0].split() == [
        "operation",
        "calls",
        "forward",
        "backward",
        "result",
        "kept",
        "where",
    ]
    assert len(lines) == 6 and lines[-1].startswith("together")
    assert "24 kB" in text


def test_show_prints(capsys):
    with npgrad.profile() as seen:
        pass
    seen.show()
    assert capsys.readouterr().out == "(nothing was recorded)\n"


@pytest.mark.parametrize(
    "sweep",
    [
        lambda f: npgrad.hessian(f)(X[:3]),
        lambda f: npgrad.jvp(f, (X,), (X,))[1],
        lambda f: npgrad.jacfwd(f)(X[:3]),
        lambda f: npgrad.grad(lambda x: f(x[::2]) + f(x.reshape(2, -1)[1]))(X),
    ],
)
def test_derivatives_are_the_same_under_a_profile(sweep):
    want = sweep(loss)
    with npgrad.profile() as seen:
        got = sweep(loss)
    np.testing.assert_allclose(got, want, rtol=1e-14)
    assert sum(row.swept for row in seen) > 0


def test_in_place_writes_under_a_profile():
    def fill(x):
        out = np.zeros_like(x)
        for i in range(3):
            out[i] = x[i] ** 2
        out *= 2.0
        return np.sum(out)

    with npgrad.profile():
        got = npgrad.grad(fill)(X[:5])
    np.testing.assert_allclose(got, [4 * X[0], 4 * X[1], 4 * X[2], 0, 0])


def test_a_profile_may_be_entered_again_and_beside_a_tape():
    seen = npgrad.profile()
    x = npgrad.array(X)
    with npgrad.Tape() as tape, seen:
        y = np.sin(x)
    with seen:
        z = np.sum(np.sin(y))
    z.backward()
    assert [e.operation for e in tape] == ["leaf", "np.sin"]
    assert sum(row.calls for row in seen) == 3


def test_profiles_in_one_another_measure_the_same():
    with npgrad.profile() as outer, npgrad.profile() as inner:
        npgrad.grad(loss)(X)
    for one in (outer, inner):
        assert all(row.swept == row.calls and row.backward > 0 for row in one)
    assert [row.operation for row in sorted(outer.rows, key=str)] == [
        row.operation for row in sorted(inner.rows, key=str)
    ]
