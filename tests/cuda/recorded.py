"""The promises of a recorded device array, as checks that the fake and the real device share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad
from tests import harness
from tests.samples.core import Sample

from .moved import moved

Move = Callable[[Any], Any]


def each(value: Any, move: Move) -> Any:
    """`move` of every array in nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return tuple(each(item, move) for item in value)
    return move(value)


def refusal(function: Callable[[], Any]) -> BaseException | None:
    """The error of `function`, None if there is none."""
    try:
        with harness.quiet():
            function()
    except Exception as error:
        return error
    return None


def check_sample(sample: Sample, put: Move, get: Move, kind: type, dtype: str = "float64") -> str:
    """Value, gradient and tangent of a sample on the device are those of the host.

    Returns ``"refused"`` where the library itself refuses the call with plain arrays; a recorded
    call must then raise as well. Functions of the device's mathematics differ by roundings.
    """
    args, f = harness.arguments(sample, dtype), harness.function(sample)
    call = moved(sample.call, put)

    def on_device(*arrays: Any) -> Any:
        y = call(*arrays)
        return tuple(harness.leaves(y)) if isinstance(y, (tuple, list, dict)) else y

    there = tuple(put(x) for x in args)
    refused = refusal(lambda: on_device(*there)) is not None
    if refused and refusal(lambda: npgrad.vjp(on_device, *there)) is not None:
        return "refused"  # where npgrad makes it of other functions, the result has to be right
    rng = harness.generator(sample, "device")
    with harness.quiet():
        want, pull = npgrad.vjp(f, *args)
        u = harness.like(rng, want)
        tangents = tuple(harness.random_like(rng, x) for x in args)
        out, pull_there = npgrad.vjp(on_device, *there)
        compare(f"{sample.name}: value", out, want, get, kind)
        compare(f"{sample.name}: gradient", pull_there(each(u, put)), pull(u), get, kind)
        if sample.forward:
            _, wanted = npgrad.jvp(f, args, tangents)
            _, got = npgrad.jvp(on_device, there, tuple(put(t) for t in tangents))
            compare(f"{sample.name}: tangent", got, wanted, get, kind)
    return "checked"


def compare(what: str, got: Any, want: Any, get: Move, kind: type) -> None:
    """Arrays of the device's library, equal to the host's up to rounding."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want), f"{what}: {len(got)} parts, expected {len(want)}"
        for a, b in zip(got, want, strict=True):
            compare(what, a, b, get, kind)
        return
    assert isinstance(got, kind), f"{what} is a {type(got)}"
    want = np.asarray(want)
    assert got.dtype == want.dtype, f"{what} is {got.dtype}, expected {want.dtype}"
    largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    tolerance = 1e-9 if np.finfo(want.dtype).eps < 1e-10 else 1e-4
    harness.close(what, get(got), want, float(tolerance * (largest + 1e-30)))
