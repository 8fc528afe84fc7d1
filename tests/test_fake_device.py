"""Every rule runs on arrays that cannot come to the host: what CuPy needs, without CuPy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad.table import Rule, all_rules
from tests.fake_device import DeviceArray, LeftTheDevice, to_device, to_host
from tests.harness import (
    SAMPLES,
    arguments,
    close,
    function,
    generator,
    gradients,
    parameters,
    quiet,
    random_like,
    replaced,
)
from tests.samples.core import Sample


class Switch:
    """Whether the rules run on the device now."""

    on = False


def on_the_device(rule: Rule, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with everything it gets on the device, and its result brought back."""

    def moved(g: Any, *args: Any) -> Any:
        if not Switch.on:
            return f(g, *args)
        # A NumPy scalar among the others can be a parameter, such as a tolerance.
        rest = (a if isinstance(a, np.generic) else to_device(a) for a in args)
        return to_host(f(to_device(g), *rest))

    return moved


@pytest.fixture(scope="module")
def device_rules() -> Iterator[None]:
    """Every rule prepared for the device, once: to compile them all takes a moment."""
    with replaced(on_the_device, list(all_rules())):
        yield
    Switch.on = False


# npgrad.nn has kernels for the device; what it runs on the host is their specification. SciPy's
# ufuncs run on the host alone, and so do the integrals that their rules are made of.
OF_NUMPY = [sample for sample in SAMPLES if not sample.name.startswith(("nn.", "special."))]


@pytest.mark.parametrize("sample", parameters(OF_NUMPY))
def test_rules_stay_on_the_device(sample: Sample, device_rules: None) -> None:
    args = arguments(sample)
    tangents = tuple(random_like(generator(sample), x) for x in args)
    Switch.on = False
    with quiet():
        _, _, want = gradients(sample, args)
        Switch.on = True
        try:
            _, _, got = gradients(sample, args)
            if sample.forward:
                npgrad.jvp(function(sample), args, tangents)
        finally:
            Switch.on = False
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        allowed = 1e-12 * float(np.max(np.abs(w), initial=0))
        close(f"{sample.name}: gradient {k}", g, w, allowed)


def test_the_device_refuses_the_host() -> None:
    x = DeviceArray(np.ones(3))
    assert isinstance(np.sin(x) + 1, DeviceArray)
    assert isinstance(np.sum(x), DeviceArray)
    for leave in (np.asarray, lambda x: float(x[0]), lambda x: np.zeros(3) + np.array([x[0]])):
        with pytest.raises((LeftTheDevice, ValueError, TypeError)):
            leave(x)
