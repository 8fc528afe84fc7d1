"""Random NumPy programs: value, VJP, JVP and second order against plain NumPy and differences.

Ten programs in the normal run; a thousand with ``--hypothesis-profile=nightly``. A program that
once failed stands in `FOUND` for good.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import npgrad
from tests.harness import close, difference, inner, projection, quiet, random_like, size_of
from tests.programs import Program, programs

FOUND: list[Program] = []


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


@pytest.mark.parametrize("program", FOUND, ids=lambda p: f"seed{p.seed}")
def test_program_that_once_failed(program: Program) -> None:
    with quiet():
        assert check(program), "the program has a kink at its arguments"


def test_the_check_notices_a_lost_term() -> None:
    """The check is able to fail: a gradient cut by npgrad.value is noticed."""
    program = Program("def program(x, y):\n    return np.sin(x) * y + cut(x)\n", ((3,), (3,)), 5)

    class Cut(Program):
        def compiled(self) -> Any:
            f = super().compiled()
            f.__globals__["cut"] = npgrad.value
            return f

    with pytest.raises(AssertionError, match="VJP"):
        check(Cut(program.source, program.shapes, program.seed))
