"""Reverse mode: every sample's value against plain NumPy, its gradient against differences."""

from __future__ import annotations

import pytest

from tests.harness import SAMPLES, check_reverse, parameters
from tests.samples.core import Sample


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_against_differences(sample: Sample) -> None:
    check_reverse(sample)
