"""Forward mode: every sample against central differences, and against reverse mode exactly."""

from __future__ import annotations

import pytest

from tests.harness import SAMPLES, check_adjoint, check_forward, parameters
from tests.samples.core import Sample

FORWARD = [sample for sample in SAMPLES if sample.forward]


@pytest.mark.parametrize("sample", parameters(FORWARD))
def test_against_differences(sample: Sample) -> None:
    check_forward(sample)


@pytest.mark.parametrize("sample", parameters(FORWARD))
def test_adjoint_identity(sample: Sample) -> None:
    check_adjoint(sample)
