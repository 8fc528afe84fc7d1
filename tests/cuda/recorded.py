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
REFUSALS = (TypeError, ValueError, NotImplementedError, AttributeError, IndexError)


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


def on_device(sample: Sample, put: Move, through: Callable[..., Any] | None = None) -> Any:
    """The sample's call as code for device arrays; of several results, a tuple."""
    call = moved(sample.call, put)

    def f(*arrays: Any) -> Any:
        y = call(*arrays)
        y = tuple(harness.leaves(y)) if isinstance(y, (tuple, list, dict)) else y
        return y if through is None else through(y)

    return f


def check_sample(
    sample: Sample,
    put: Move,
    get: Move,
    kind: type,
    dtype: str = "float64",
    through: Callable[..., Any] | None = None,
) -> str:
    """Value, gradient and tangent of a sample on the device are those of the host.

    `through` is applied to the results of both: it drops what the library may choose (the sign of
    an eigenvector). Returns ``"refused"`` where the library itself refuses the call with plain
    arrays; a recorded call must then raise as well. Functions of the device's mathematics differ
    by roundings.
    """
    args, host = harness.arguments(sample, dtype), harness.function(sample)
    there_f = on_device(sample, put, through)
    f = host if through is None else lambda *arrays: through(host(*arrays))

    def there() -> tuple[Any, ...]:
        return tuple(put(x.copy()) for x in args)  # CuPy's polyfit writes into its arguments

    if refusal(lambda: there_f(*there())) is not None:
        error = refusal(lambda: npgrad.vjp(there_f, *there()))
        if error is not None:  # else npgrad makes it of other functions, and it has to be right
            assert isinstance(error, REFUSALS), f"{sample.name}: {error!r}"
            return "refused"
    rng = harness.generator(sample, "device")
    with harness.quiet():
        want, pull = npgrad.vjp(f, *args)
        u = harness.like(rng, want)
        tangents = tuple(harness.random_like(rng, x) for x in args)
        out, pull_there = npgrad.vjp(there_f, *there())
        compare(f"{sample.name}: value", out, want, get, kind)
        compare(f"{sample.name}: gradient", pull_there(each(u, put)), pull(u), get, kind)
        if sample.forward:
            _, wanted = npgrad.jvp(f, args, tangents)
            _, got = npgrad.jvp(there_f, there(), tuple(put(t) for t in tangents))
            compare(f"{sample.name}: tangent", got, wanted, get, kind)
    return "checked"


def check_adjoint(
    sample: Sample, put: Move, get: Move, through: Callable[..., Any] | None = None
) -> None:
    """``<u, J t> == <J' u, t>`` with the device's own results, whatever the library chose."""
    args, rng = harness.arguments(sample), harness.generator(sample, "device adjoint")
    there = tuple(put(x) for x in args)
    f = on_device(sample, put, through)
    out, pull = npgrad.vjp(f, *there)
    u, t = harness.like(rng, each(out, get)), tuple(harness.random_like(rng, x) for x in args)
    grads = each(pull(each(u, put)), get)
    tangent = each(npgrad.jvp(f, there, each(t, put))[1], get)
    scale = max(harness.size_of(u, tangent), harness.size_of(grads, t))
    got, want = harness.inner(u, tangent), harness.inner(grads, t)
    harness.close(f"{sample.name}: <u, J t>", got, want, 1e-9 * scale)


def check_raises(sample: Sample, put: Move, get: Move, kind: type) -> BaseException:
    """The gradient is refused with an error, and the tangent is refused or right; the error."""
    args, host = harness.arguments(sample), harness.function(sample)
    f = on_device(sample, put)
    there = tuple(put(x) for x in args)
    rng = harness.generator(sample, "device")
    with harness.quiet():
        u = harness.like(rng, npgrad.vjp(host, *args)[0])
    error = refusal(lambda: npgrad.vjp(f, *there)[1](each(u, put)))
    assert error is not None, f"{sample.name} has a gradient now: take it off the list"
    assert isinstance(error, REFUSALS), f"{sample.name}: {error!r}"
    if sample.forward:
        t = tuple(harness.random_like(rng, x) for x in args)
        try:
            with harness.quiet():
                _, got = npgrad.jvp(f, there, each(t, put))
        except REFUSALS:
            return error
        with harness.quiet():
            wanted = npgrad.jvp(host, args, t)[1]
        compare(f"{sample.name}: tangent", got, wanted, get, kind)
    return error


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
