"""Each overridable function of the NumPy at hand is decided, once, with a signature and a reason.

Keyed to ``numpy.testing.overrides``, which lists only what is loaded: `npgrad.coverage` imports
``numpy.fft``, ``numpy.char``, ``numpy.polynomial`` and the other late modules first.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npgrad import coverage, table
from npgrad.table import Rule, all_rules, lookup
from tests.harness import (
    SAMPLES,
    SPECIAL,
    check_reverse_over_reverse,
    differentiable,
    quiet,
    spied,
    summed_gradient_twice,
    uses,
)

RULES = list(all_rules())
SCRIPT = Path(__file__).resolve().parent.parent / "scripts" / "make_coverage"


def numpys_own(rule: Rule) -> inspect.Signature | None:
    """NumPy's signature, if this NumPy shows one."""
    try:
        return inspect.signature(rule.fun)
    except (TypeError, ValueError):
        return None


def test_every_function_is_decided() -> None:
    missing = coverage.undecided()
    assert not missing, f"{len(missing)} functions without a decision: {', '.join(missing)}"


def test_a_second_decision_is_refused() -> None:
    with pytest.raises(ValueError, match="already decided"):
        table.constant(np.argmax, "again")
    with pytest.raises(ValueError, match="already decided"):
        table.elementwise(np.sin, lambda g: g)


def test_names_are_unique() -> None:
    """A name in the table means one function, and one sample."""
    for what, names in (
        # tests that register rules of their own may do so in one process with this one
        ("rows", [row.name for row in coverage.rows() if not row.name.startswith("tests.")]),
        ("samples", [sample.name for sample in SAMPLES]),
        ("special values", [row.name for row in SPECIAL]),
    ):
        twice = [name for name, count in collections.Counter(names).items() if count > 1]
        assert not twice, f"{what} of one name: {twice}"


def test_every_reason_says_something() -> None:
    for rule in RULES:
        if rule.kind in {"constant", "flat", "refused"}:
            assert len(rule.reason.split()) >= 2, f"{rule.name}: {rule.reason!r} is no reason"


# A ufunc's keywords (where=, casting=, axes= ...) are met by the graph, once for all of them.
STATED = [
    rule
    for rule in RULES
    if rule.kind in {"linear", "bilinear", "reverse"} and not isinstance(rule.fun, np.ufunc)
]
VARIADIC = {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}


@pytest.mark.parametrize("rule", STATED, ids=lambda rule: rule.name)
def test_signature_is_as_wide_as_numpys(rule: Rule) -> None:
    """A rule that states NumPy's signature itself leaves no parameter of it out."""
    own = numpys_own(rule)
    if own is None:
        return
    assert rule.signature is not None
    named = {name for name, p in own.parameters.items() if p.kind not in VARIADIC}
    missing = named - set(rule.signature.parameters)
    assert not missing, f"{rule.name} does not know {sorted(missing)}"
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY
    order = [n for n, p in own.parameters.items() if p.kind in positional]
    stated = [n for n, p in rule.signature.parameters.items() if p.kind in positional]
    assert stated[: len(order)] == order, f"{rule.name}: order {stated}, NumPy's {order}"


# Deprecated where an old NumPy still has them, without effect or renamed; a body refuses them.
NUMPY_DROPPED = {"interpolation", "bias", "ddof"} if np.__version__ < "2.4" else set()


@pytest.mark.parametrize("rule", [r for r in RULES if r.body is not None], ids=lambda r: r.name)
def test_body_takes_numpys_arguments(rule: Rule) -> None:
    """A body written here accepts every call that NumPy accepts."""
    own = numpys_own(rule)
    if own is None:
        return
    body = inspect.signature(rule.body)
    kinds = {p.kind for p in body.parameters.values()}
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    missing = set(own.parameters) - set(body.parameters) - NUMPY_DROPPED - {"like"}
    assert not missing, f"the body of {rule.name} does not take {sorted(missing)}"
    for name, parameter in own.parameters.items():
        if parameter.default is inspect.Parameter.empty and name in body.parameters:
            continue
        if name in body.parameters:
            assert body.parameters[name].default is not inspect.Parameter.empty, (
                f"the body of {rule.name} demands {name}, which NumPy does not"
            )


def test_every_function_has_a_sample() -> None:
    """Each differentiable function with rules of its own is in some sample's backward pass."""
    used = set().union(*uses().values())
    idle = [
        rule.name
        for rule in RULES
        if differentiable(rule) and coverage.public(rule) and any(rule.vjps.values())
        if rule.name not in used
    ]
    assert not idle, f"{len(idle)} rules without a sample: {', '.join(idle)}"


def test_every_helper_is_reached() -> None:
    """The rules' own functions have rules too; some are reached in second order only."""
    first = set().union(*uses().values())
    idle = {
        id(rule): rule
        for rule in RULES
        if str(getattr(rule.fun, "__module__", "")).startswith("npgrad.rules")
        and any(rule.vjps.values())
        if rule.name not in first
    }
    chapters = {rule.fun.__module__.rpartition(".")[2].partition("_")[0] for rule in idle.values()}
    with spied() as seen, quiet():
        for check in second_order_checks(chapters):
            if not idle:
                break
            with contextlib.suppress(Exception):  # the sample's own tests tell
                check()
            idle = {key: rule for key, rule in idle.items() if key not in seen}
    names = sorted(rule.name for rule in idle.values())
    assert not names, f"{len(names)} helpers that no sample reaches: {', '.join(names)}"


def second_order_checks(chapters: set[str]) -> Iterator[Callable[[], Any]]:
    """Second order of every special value, and of the samples of `chapters`."""
    for row in SPECIAL:
        yield functools.partial(summed_gradient_twice, row)
    for sample in SAMPLES:
        if sample.args.__module__.rpartition(".")[2].partition("_")[0] in chapters:
            yield functools.partial(check_reverse_over_reverse, sample)


def test_every_composed_function_has_a_sample() -> None:
    """A composed function has no rule to watch; a sample or a special value is named after it."""
    texts = " ".join([sample.name for sample in SAMPLES] + [row.name for row in SPECIAL])
    composed = [r for r in RULES if r.kind == "composed" and coverage.public(r)]
    named = [r for r in composed if r.name in texts or r.fun.__name__ in texts]
    bodies = {rule.body for rule in named} - {None}  # np.trapz is np.trapezoid
    idle = [rule.name for rule in composed if rule not in named and rule.body not in bodies]
    assert not idle, f"{len(idle)} composed functions without a sample: {', '.join(idle)}"


def test_rows_of_the_coverage_page() -> None:
    rows = {row.name: row for row in coverage.rows(scipy=False)}
    assert rows["np.argmax"].decision == "constant"
    assert rows["np.sum"].decision == "differentiated" and rows["np.sum"].second_order == "yes"
    assert rows["np.round"].decision == "zero gradient"
    assert rows["np.packbits"].decision == "refused" and "bits" in rows["np.packbits"].reason
    assert rows["np.arctan2"].complex == "real only"
    assert "np.abs" in rows["np.absolute"].aliases
    assert [row.name for row in coverage.rows_named("numpy.linalg.norm")] == ["np.linalg.norm"]
    assert coverage.rows_named("no_such_function") == []


def test_coverage_page_is_current() -> None:
    """docs/coverage.md is what the table says, for the NumPy that it was made with."""
    page = SCRIPT.parent.parent / "docs" / "coverage.md"
    if f"NumPy {np.__version__}" not in page.read_text(encoding="utf-8"):
        pytest.skip("the page was made with another NumPy")
    pytest.importorskip("scipy")
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_lookup_of_an_unknown_function() -> None:
    assert lookup(print) is None
