"""Random NumPy programs: value, VJP, JVP and second order against plain NumPy and differences.

Ten programs in the normal run; a thousand with ``--hypothesis-profile=nightly``. A program that
once failed stands in `KNOWN` for good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import npgrad
from tests.harness import close, difference, inner, projection, quiet, random_like, size_of
from tests.programs import Program, programs


def known(body: str, shapes: Any = ((3,), (3,)), seed: int = 1) -> Program:
    """A program written by hand, or one that once failed; add those here."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return Program(f"def program(x, y):\n{lines}", shapes, seed)


KNOWN = [
    # Both ends of an overlap, through a view of a view.
    known("a = x * 1.0\nv = a[::-1][1:]\nv[:] = a[:-1] * v\na += y\nreturn np.sin(v) * a[1:]"),
    # The argument itself is written into, and read through a view made before.
    known("v = x[1:]\nx[1] = y[0] * x[2]\nx *= v[0]\nreturn v + np.sum(x)"),
    # Last write wins; then each place once more by add.at.
    known("b = np.zeros_like(x)\nb[[0, 0, 2]] = x * y\nnp.add.at(b, [2, 2, 1], y)\nreturn b ** 2"),
    # A loop that carries its state in a buffer, with a branch on recorded numbers.
    known(
        "b = np.zeros(4, like=x)\nfor i in range(3):\n    b[i + 1] = b[i] * 0.5 + x[i]\n"
        "    if b[i + 1] > 0.2:\n        b[i + 1] *= y[i]\nreturn b"
    ),
    # A swap without a copy: NumPy's rows are views, so one row is lost.
    known("a = x * 1.0\na[0], a[1] = a[1], a[0]\nreturn a * np.sin(y)", ((2, 3), (3,))),
    # A rule that looks for ties meets equal entries: no question of the program's.
    known(
        "a = x * 1.0\nb = y + 0.0\nnp.maximum.at(a, [0, -1, 0], 0.7)\n"
        "return b + 0.1 * np.sum(np.sin(a))",
        ((2, 3), (3,)),
        0,
    ),
    # A scalar is a value: the augmented one is another number.
    known("a = np.sum(x)\nb = a\nb += x[0] * y[1]\nreturn a * b + y"),
]


def smooth(f: Any, args: Any, tangents: Any) -> bool:
    """Whether differences with two steps agree: no kink between the points."""
    with quiet():
        coarse = difference(f, args, tangents)
        fine = difference(f, args, tuple(0.25 * t for t in tangents)) * 4
    scale = np.max(np.abs(coarse), initial=0) + np.max(np.abs(f(*args)), initial=0)
    return bool(np.all(np.abs(coarse - fine) <= 1e-7 * scale + 1e-9))


def check(program: Program) -> bool:
    """Every promise for one program; False where it has a kink at its arguments."""
    f, args = program.compiled(), program.arguments()
    rng = np.random.default_rng(program.seed)
    plain = f(*args)
    u, t, v = random_like(rng, plain), *(tuple(random_like(rng, x) for x in args) for _ in "tv")
    if not (smooth(f, args, t) and smooth(f, args, v)):
        return False
    scale = size_of(u, plain) + 1.0

    out, pull = npgrad.vjp(f, *args)
    close("value", out, plain, 1e-13 * float(np.max(np.abs(plain), initial=1.0)))
    grads = pull(u)
    want = difference(f, args, t)
    slope = inner(u, want)
    close("VJP", inner(grads, t), slope, 1e-7 * (size_of(grads, t) + scale))

    pushed, tangent = npgrad.jvp(f, args, t)
    close("value of jvp", pushed, plain, 1e-13 * float(np.max(np.abs(plain), initial=1.0)))
    close("JVP", tangent, want, 1e-7 * (float(np.max(np.abs(want), initial=0)) + scale))
    close("adjoint", inner(u, tangent), inner(grads, t), 1e-12 * (size_of(grads, t) + scale))

    gradient = npgrad.grad(projection(f, u), argnums=(0, 1))
    bent = inner(t, difference(gradient, args, v))
    hessian_t = npgrad.grad(projection(gradient, t), argnums=(0, 1))(*args)
    allowed = 1e-6 * (size_of(hessian_t, v) + size_of(grads, t) + scale)
    close("reverse over reverse", inner(hessian_t, v), bent, allowed)
    _, hessian_v = npgrad.jvp(gradient, args, v)
    close("forward over reverse", inner(t, hessian_v), bent, allowed)

    def directional(*arrays: Any) -> Any:
        return npgrad.jvp(projection(f, u), arrays, t)[1]

    mixed = npgrad.grad(directional, argnums=(0, 1))(*args)
    close("reverse over forward", inner(mixed, v), bent, allowed)
    return True


@given(programs())
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_random_program(program: Program) -> None:
    with quiet():
        assume(check(program))


@pytest.mark.parametrize("program", KNOWN)
def test_known_program(program: Program) -> None:
    with quiet():
        assert check(program), "the program has a kink at its arguments"


def test_the_check_notices_a_lost_term() -> None:
    """The check is able to fail: a gradient cut by npgrad.value is noticed."""

    class Cut(Program):
        def compiled(self, **names: Any) -> Any:
            return super().compiled(cut=npgrad.value, **names)

    whole = known("return np.sin(x) * y + cut(x)")
    with pytest.raises(AssertionError, match="VJP"):
        check(Cut(whole.source, whole.shapes, whole.seed))
