"""Programs of packages that use autograd give the same figures when npgrad stands in.

Each program in ``programs`` runs twice, in processes of their own: as it is, and by
``python -m npgrad.compat.autograd``. What rounding does to an optimiser's path may differ.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.programs
HERE = pathlib.Path(__file__).parent
PROGRAMS = {
    "lifelines": "lifelines_fits",
    "pymanopt": "pymanopt_problems",
    "pymoo": "pymoo_problems",
    "surpyval": "surpyval_fits",
    "pyerrors": "pyerrors_fits",
}


def _figures(program: str, *how: str) -> tuple[str, dict[str, np.ndarray]]:
    """The name of the module that served, and the figures printed."""
    path = os.pathsep.join([str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")])
    run = subprocess.run(
        [sys.executable, *how, str(HERE / "programs" / f"{program}.py")],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    served, figures = run.stdout.strip().splitlines()[-2:]
    return served, {name: np.array(values) for name, values in json.loads(figures).items()}


@pytest.mark.parametrize("package", PROGRAMS)
def test_same_figures(package):
    for needed in (package, "autograd"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    served, theirs = _figures(PROGRAMS[package])
    assert served == "autograd"
    served, ours = _figures(PROGRAMS[package], "-m", "npgrad.compat.autograd")
    assert served == "npgrad.compat.autograd"
    assert theirs.keys() == ours.keys()
    for name, expected in theirs.items():
        scale = np.nanmax(np.abs(expected))
        np.testing.assert_allclose(
            ours[name], expected, rtol=1e-7, atol=1e-10 * scale, err_msg=name
        )
