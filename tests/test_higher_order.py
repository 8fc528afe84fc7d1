"""Second order of every sample, in the four orders of composition; third order of a few."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import npgrad
from tests.harness import (
    SAMPLES,
    check_forward_over_forward,
    check_forward_over_reverse,
    check_reverse_over_forward,
    check_reverse_over_reverse,
    parameters,
)
from tests.samples.core import Sample

SECOND = [sample for sample in SAMPLES if sample.order >= 2]
SECOND_FORWARD = [sample for sample in SECOND if sample.forward]


@pytest.mark.parametrize("sample", parameters(SECOND))
def test_reverse_over_reverse(sample: Sample) -> None:
    check_reverse_over_reverse(sample)


@pytest.mark.parametrize("sample", parameters(SECOND_FORWARD))
def test_forward_over_reverse(sample: Sample) -> None:
    check_forward_over_reverse(sample)


@pytest.mark.parametrize("sample", parameters(SECOND_FORWARD))
def test_reverse_over_forward(sample: Sample) -> None:
    check_reverse_over_forward(sample)


@pytest.mark.parametrize("sample", parameters(SECOND_FORWARD))
def test_forward_over_forward(sample: Sample) -> None:
    check_forward_over_forward(sample)


# Third derivatives by hand, at a point where no term vanishes.
X = 0.7
THIRD = {
    "sin": (np.sin, -math.cos(X)),
    "exp": (np.exp, math.exp(X)),
    "log": (np.log, 2 / X**3),
    "sqrt": (np.sqrt, 0.375 * X**-2.5),
    "x**5": (lambda x: x**5, 60 * X**2),
    "x**-2": (lambda x: x**-2.0, -24 * X**-5),
    "1/x": (lambda x: 1 / x, -6 / X**4),
    "tanh": (np.tanh, (1 - math.tanh(X) ** 2) * (6 * math.tanh(X) ** 2 - 2)),
    "arctan": (np.arctan, (6 * X**2 - 2) / (1 + X**2) ** 3),
    "sinc": (
        lambda x: np.sinc(x / math.pi),  # sin(x)/x
        (6 * math.sin(X) - 6 * X * math.cos(X) - 3 * X**2 * math.sin(X) + X**3 * math.cos(X))
        / X**4
        * -1,
    ),
    "prod": (lambda x: np.prod(np.stack([x, 2 * x, 3 * x])), 36.0),
    "matmul": (lambda x: np.stack([x, x]) @ np.stack([x * x, 2 * x]), 6.0),
    "norm": (lambda x: np.linalg.norm(np.stack([x, x])) ** 3, 6 * 2**1.5),
    "cumsum": (lambda x: np.sum(np.cumsum(np.stack([x, x]) ** 3)), 18.0),
    "take": (lambda x: np.sum(np.take(np.stack([x, x**3]), [1, 1, 0])), 12.0),
    "det": (lambda x: np.linalg.det(np.stack([np.stack([x**3, x]), np.stack([x, x + 1])])), None),
}


@pytest.mark.parametrize("name", THIRD)
def test_third_order(name: str) -> None:
    f, want = THIRD[name]
    if want is None:  # det = x**4 + x**3 - x**2
        want = 24 * X + 6
    point = np.array(X)

    def reverse(h):
        return npgrad.grad(h)

    def forward(h):
        return lambda x: npgrad.jvp(h, (x,), (np.ones_like(x),))[1]

    for modes in itertools.product((reverse, forward), repeat=3):
        d = f
        for mode in modes:
            d = mode(d)
        got = float(npgrad.value(d(point)))
        label = " of ".join(m.__name__ for m in reversed(modes))
        assert got == pytest.approx(want, rel=1e-9), f"{name}, {label}"


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_powers_at_zero_to_third_order(n: int) -> None:
    """The k-th derivative of x**n at 0 is n! where k == n, else 0."""
    for exponent in (n, float(n), np.array(float(n))):
        d = lambda x, e=exponent: x**e
        for k in range(4):
            got = float(npgrad.value(d(np.array(0.0))))
            want = float(math.factorial(n)) if k == n else 0.0
            assert got == want, f"derivative {k} of x**{exponent!r} at 0"
            d = npgrad.grad(d)
