"""Every keyword of every differentiated function is honoured in a sample, or refused by name.

The keywords are those of NumPy's signatures. While the samples run, the two doors through which
NumPy calls a GradArray note which parameters were given another value than their default.
"""

from __future__ import annotations

import collections
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import npgrad
from npgrad import coverage
from npgrad.graph.array import GradArray
from npgrad.table import Rule, all_rules
from tests.harness import (
    SAMPLES,
    arguments,
    check_forward,
    check_reverse,
    check_reverse_over_reverse,
    differentiable,
    gradients,
    parameters,
    quiet,
)
from tests.samples.core import Sample
from tests.samples.keywords import MAKERS

# What NumPy itself refuses for numbers, or what makes no sense where nothing may alias: the call,
# and the keyword that the message names.
REFUSED: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("np.sort", "order"): lambda x: np.sort(x, order="field"),
    ("np.partition", "order"): lambda x: np.partition(x, 1, order="field"),
    ("np.lib.stride_tricks.sliding_window_view", "writeable"): lambda x: (
        np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)
    ),
}
# Nothing is left to do: object arrays alone have a depth to choose, and there is one kind.
WITHOUT_EFFECT = {("np.array", "ndmax"), ("np.partition", "kind")}
# Deprecated in an old NumPy, without effect or renamed; and its functions in C show no signature.
OLD = np.lib.NumpyVersion(np.__version__) < "2.4.0"
DROPPED = {"interpolation", "bias", "ddof"}
LIKE = {name for name, _ in MAKERS}
UFUNC_KEYWORDS = {
    "__call__": {"out", "where", "casting", "order", "dtype", "subok", "axis", "axes", "keepdims"},
    "reduce": {"axis", "dtype", "out", "keepdims", "initial", "where"},
    "accumulate": {"axis", "dtype", "out"},
    "reduceat": {"axis", "dtype", "out"},
}
UFUNC_REFUSED: dict[str, Callable[[Any], Any]] = {
    "signature": lambda x: np.add(x, x, signature="dd->d"),
    "sig": lambda x: np.add(x, x, sig="dd->d"),
}


@functools.cache
def signature(fun: Any) -> inspect.Signature | None:
    """NumPy's signature; None where it shows none."""
    try:
        return inspect.signature(fun)
    except (TypeError, ValueError):
        return None


def given(fun: Any, args: Any, kwargs: Any) -> set[str]:
    """The parameters that a call gives another value than their default."""
    shown = signature(fun)
    if shown is None:
        return set(kwargs)
    try:
        bound = shown.bind(*args, **kwargs).arguments
    except TypeError:  # start= of arange, which its signature leaves out
        return set(kwargs)
    # NumPy takes like= away on the way here; makers come by it alone.
    found = {"like"} & set(shown.parameters)
    for name, value in bound.items():
        usual = shown.parameters[name].default
        plain = type(value) in (bool, int, str, type(None)) and type(value) is type(usual)
        if value is not usual and not (plain and value == usual):
            found.add(name)
    return found


@pytest.fixture(scope="module")
def seen() -> dict[Any, set[str]]:
    """By function, and by method of a ufunc, the parameters that some sample gives."""
    found: dict[Any, set[str]] = collections.defaultdict(set)
    function, ufunc = GradArray.__array_function__, GradArray.__array_ufunc__

    def watched_function(self: Any, fun: Any, types: Any, args: Any, kwargs: Any) -> Any:
        found[fun] |= given(fun, args, kwargs)
        return function(self, fun, types, args, kwargs)

    def watched_ufunc(self: Any, fun: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        found[method] |= set(kwargs)
        return ufunc(self, fun, method, *inputs, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(GradArray, "__array_function__", watched_function)
    patch.setattr(GradArray, "__array_ufunc__", watched_ufunc)
    with quiet():
        for sample in SAMPLES:
            if sample.name not in LIKE:
                gradients(sample, arguments(sample))
        with npgrad.wrap.disabled():  # wrapped makers never reach the doors
            for sample in SAMPLES:
                if sample.name in LIKE:
                    gradients(sample, arguments(sample))
    patch.undo()
    return found


RULES = [
    rule
    for rule in all_rules()
    if not isinstance(rule.fun, np.ufunc) and differentiable(rule) and coverage.public(rule)
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_keyword_is_sampled_or_refused(rule: Rule, seen: dict[Any, set[str]]) -> None:
    shown = signature(rule.fun)
    if (shown is None and OLD) or rule.name == "np.trapz":
        pytest.skip("this NumPy shows no signature, or the old name of another function")
    shown = shown or rule.signature
    assert shown is not None
    decided = seen[rule.fun] | {name for where, name in REFUSED if where == rule.name}
    decided |= {name for where, name in WITHOUT_EFFECT if where == rule.name}
    missing = set(shown.parameters) - decided - (DROPPED if OLD else set())
    assert not missing, f"no sample gives {sorted(missing)} to {rule.name}, and nothing refuses it"


@pytest.mark.parametrize("sample", parameters([s for s in SAMPLES if s.name in LIKE]))
def test_makers_by_like(sample: Sample) -> None:
    """The other tests run wrapped, where makers record by themselves."""
    with npgrad.wrap.disabled():
        check_reverse(sample)
        check_forward(sample)
        check_reverse_over_reverse(sample)


@pytest.mark.parametrize("method", UFUNC_KEYWORDS)
def test_every_keyword_of_ufuncs(method: str, seen: dict[Any, set[str]]) -> None:
    missing = UFUNC_KEYWORDS[method] - seen[method]
    assert not missing, f"no sample gives {sorted(missing)} to {method} of a ufunc"


@pytest.mark.parametrize(("name", "keyword"), REFUSED, ids="-".join)
def test_refused_by_name(name: str, keyword: str) -> None:
    with pytest.raises(npgrad.errors.NoDerivative, match=keyword):
        # wrapped code may ask for writeable windows, which only read
        npgrad.grad(lambda x: np.sum(REFUSED[name, keyword](x)), wrap=False)(
            np.array([1.0, 3.0, 2.0])
        )


@pytest.mark.parametrize("keyword", UFUNC_REFUSED)
def test_ufunc_keyword_refused_by_name(keyword: str) -> None:
    with pytest.raises(npgrad.errors.NoDerivative, match=keyword[:3]):
        npgrad.grad(lambda x: np.sum(UFUNC_REFUSED[keyword](x)))(np.array([1.0, 3.0, 2.0]))
