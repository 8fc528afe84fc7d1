"""A rule that is wrong by one per cent is noticed: the checks are able to fail."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from npgrad import coverage
from npgrad.table import Rule, all_rules
from tests.harness import (
    SAMPLES,
    check_adjoint,
    check_forward,
    check_reverse,
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
