"""A rule is linear in its cotangent or tangent, and maps zero to exactly zero."""

from __future__ import annotations

import pytest

from tests.harness import SAMPLES, check_linear, check_linear_forward, parameters
from tests.samples.core import Sample


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_pull_is_linear(sample: Sample) -> None:
    check_linear(sample)


@pytest.mark.parametrize("sample", parameters([s for s in SAMPLES if s.forward]))
def test_push_is_linear(sample: Sample) -> None:
    check_linear_forward(sample)
