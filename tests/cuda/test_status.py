"""npgrad.cuda without a GPU: light to import, says what is missing, copies nothing silently."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import npgrad.cuda


def test_import_is_light() -> None:
    code = "import sys, npgrad.cuda, npgrad.cuda.kernels.layer_norm, npgrad.cuda.fuse; assert not {'numba', 'cupy', 'cuda'} & set(sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr


def test_status_says_what_is_missing() -> None:
    facts = npgrad.cuda.status()
    assert {"usable", "cupy", "numba-cuda", "cache"} <= set(facts)
    assert npgrad.cuda.is_available() == (facts["usable"] == "yes")
    if not npgrad.cuda.is_available():
        assert facts["usable"].startswith("no: ")
        with pytest.raises((ModuleNotFoundError, RuntimeError), match=r"npgrad\.cuda"):
            npgrad.cuda.to_device(np.ones(3))


def test_host_array_is_not_taken_for_a_device_array() -> None:
    with pytest.raises(TypeError, match="to_device"):
        npgrad.cuda.array(np.ones(3))
    with pytest.raises(TypeError, match="list"):
        npgrad.cuda.array([1.0])
    assert npgrad.cuda.to_host(np.arange(3)).tolist() == [0, 1, 2]
