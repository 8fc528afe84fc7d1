"""``npgrad.scipy.signal`` against SciPy's functions and differences of them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as theirs

import npgrad
from npgrad.scipy import signal as ours
from tests.scipy.checks import check

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("name", ["convolve", "correlate", "fftconvolve"])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("first", "second"), [((6,), (3,)), ((3,), (6,)), ((5, 4), (2, 3))])
def test_convolutions(name, mode, first, second):
    check(
        lambda x, y: getattr(ours, name)(x, y, mode),
        lambda x, y: getattr(theirs, name)(x, y, mode),
        RNG.normal(size=first),
        RNG.normal(size=second),
    )


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_fftconvolve_along_an_axis(mode):
    for first, second in [((3, 1, 4), (1, 2, 3)), ((2, 4), (2, 6))]:
        check(
            lambda x, y: ours.fftconvolve(x, y, mode, axes=-1),
            lambda x, y: theirs.fftconvolve(x, y, mode, axes=-1),
            RNG.normal(size=first),
            RNG.normal(size=second),
        )


@pytest.mark.parametrize("axis", [-1, 0])
@pytest.mark.parametrize(("nb", "na"), [(3, 2), (1, 3), (2, 1)])
def test_lfilter(axis, nb, na):
    b, a = RNG.normal(size=nb), np.concatenate(([1.7], 0.3 * RNG.normal(size=na - 1)))
    check(
        lambda b, a, x: ours.lfilter(b, a, x, axis=axis),
        lambda b, a, x: theirs.lfilter(b, a, x, axis=axis),
        b,
        a,
        RNG.normal(size=(5, 4)),
    )


@pytest.mark.parametrize("length", [6, 2])
@pytest.mark.parametrize("which", [0, 1])
def test_lfilter_with_a_state(length, which):
    b, a = np.array([0.5, -0.2, 0.1, 0.3]), np.array([2.0, 0.4, -0.3])
    check(
        lambda b, a, x, zi: ours.lfilter(b, a, x, zi=zi)[which],
        lambda b, a, x, zi: theirs.lfilter(b, a, x, zi=zi)[which],
        b,
        a,
        RNG.normal(size=(2, length)),
        RNG.normal(size=(2, 3)),
    )


@pytest.mark.parametrize("length", [1, 2, 6])
@pytest.mark.parametrize("given", [True, False])
def test_lfiltic(length, given):
    b, a = np.array([0.5, -0.2, 0.1, 0.3]), np.array([2.0, 0.4, -0.3])
    y, x = RNG.normal(size=length), RNG.normal(size=length)
    inputs = (b, a, y, x) if given else (b, a, y)
    check(ours.lfiltic, theirs.lfiltic, *inputs)
    check(ours.lfiltic, theirs.lfiltic, a, b, *inputs[2:])
    with pytest.raises(ValueError, match="non-zero"):
        npgrad.grad(lambda a: ours.lfiltic(b, a, y)[0])(np.array([0.0, 1.0]))


def test_convolution_with_nothing():
    f = lambda x: ours.fftconvolve(x, np.zeros((0, 3)))
    value, pull = npgrad.vjp(f, np.zeros((0, 0)))
    assert value.shape == theirs.fftconvolve(np.zeros((0, 0)), np.zeros((0, 3))).shape == (0,)
    assert pull(value)[0].shape == (0, 0)
