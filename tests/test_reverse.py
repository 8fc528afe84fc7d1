"""Reverse mode: every sample against central differences, and its value against plain NumPy."""

from __future__ import annotations

import pytest

from tests.harness import SAMPLES, check_reverse, check_value, parameters
from tests.samples.core import Sample


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_against_differences(sample: Sample) -> None:
    check_reverse(sample)


@pytest.mark.parametrize("sample", parameters(SAMPLES))
def test_value_is_numpys(sample: Sample) -> None:
    check_value(sample)
