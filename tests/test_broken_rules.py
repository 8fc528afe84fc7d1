"""A rule that is wrong by one per cent is noticed: the checks are able to fail.

In its value, which the first order asks; and in its derivative alone, which the second order asks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import npgrad
from npgrad import coverage
from npgrad.table import Rule, all_rules
from tests.harness import (
    SAMPLES,
    check_adjoint,
    check_forward,
    check_forward_over_forward,
    check_reverse,
    check_reverse_over_reverse,
    differentiable,
    quiet,
    replaced,
    uses,
)

COUNT = 30
# In the order of declaration, so that the choice is the same in every run.
WITH_RULES = [
    rule
    for rule in all_rules()
    if differentiable(rule) and coverage.public(rule) and any(rule.vjps.values())
]
CHOSEN = random.Random(2024).sample(WITH_RULES, min(COUNT, len(WITH_RULES)))


def scaled(rule: Rule, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` wrong by one per cent; sequences of cotangents entry by entry."""

    def wrong(part: Any) -> Any:
        if part is None:
            return None
        return type(part)(map(wrong, part)) if isinstance(part, (tuple, list)) else part * 1.01

    return lambda *args: wrong(f(*args))


def bent(rule: Rule, f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` with the right value, and a derivative wrong by one per cent."""

    def wrong(part: Any) -> Any:
        if part is None:
            return None
        if isinstance(part, (tuple, list)):
            return type(part)(map(wrong, part))
        return part + 0.01 * (part - npgrad.value(part))

    return lambda *args: wrong(f(*args))


def noticed(check: Callable[[Any], None], samples: list[Any]) -> bool:
    """Whether `check` fails for one of the samples."""
    for sample in samples:
        try:
            with quiet():
                check(sample)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("rule", CHOSEN, ids=lambda rule: rule.name)
def test_one_per_cent_is_noticed(rule: Rule) -> None:
    samples = [s for s in SAMPLES if rule.name in uses()[s.name]]
    assert samples, f"no sample goes through {rule.name}"
    assert not noticed(check_reverse, samples), f"{rule.name} is wrong as it stands"
    with replaced(scaled, [rule]):
        # By differences; JVP and VJP are wrong together, so they still agree with each other.
        assert noticed(check_reverse, samples), f"differences do not notice {rule.name}"
        forward = [s for s in samples if s.forward]
        if rule.jvps and forward:
            assert noticed(check_forward, forward), (
                f"differences do not notice the JVP of {rule.name}"
            )
        elif forward:  # its JVP is the function itself or the transpose of the VJP
            assert noticed(check_adjoint, forward) or noticed(check_forward, forward), rule.name
    assert not noticed(check_reverse, samples), f"{rule.name} was not restored"


@pytest.mark.parametrize("rule", CHOSEN, ids=lambda rule: rule.name)
def test_one_per_cent_of_its_derivative_is_noticed(rule: Rule) -> None:
    samples = [s for s in SAMPLES if rule.name in uses()[s.name] and s.order >= 2]
    assert samples, f"no sample of second order goes through {rule.name}"
    with replaced(bent, [rule]):
        assert not noticed(check_reverse, samples[:3]), f"the value of {rule.name} has changed"
        assert noticed(check_reverse_over_reverse, samples), (
            f"nothing notices the VJP's, {rule.name}"
        )
        forward = [s for s in samples if s.forward]
        if rule.jvps and forward:  # which forward over forward alone goes through
            assert noticed(check_forward_over_forward, forward), (
                f"nothing notices the JVP's, {rule.name}"
            )
    assert not noticed(check_reverse_over_reverse, samples[:3]), f"{rule.name} was not restored"
