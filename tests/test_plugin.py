"""The pytest plugin: its fixtures, its options, its seeds, and what it costs when unused."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

WRONG = """
import numpy as np
import npgrad

wrong = npgrad.primitive(np.sin).defvjp(lambda ans, x: lambda g: {factor} * g * np.cos(x))

def test_right(check_grads, assert_grad):
    check_grads(np.sin, (np.array([1.0, 2.0]),))
    assert_grad(lambda x: np.sum(np.sin(x)), np.cos, (np.array([1.0, 2.0]),))

def test_derivative(check_grads):
    check_grads(wrong, (np.array([1.0, 2.0]),), order=1, modes=["rev"])

def test_gradient(assert_grad):
    assert_grad(lambda x: np.sum(np.sin(x)), lambda x: {factor} * np.cos(x), (np.ones(2),))
"""


def run(directory, text, *arguments):
    (directory / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        [*command, "test_it.py"],
        cwd=directory,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    )


def test_fixtures_options_and_seeds(tmp_path):
    plugin = ("-p", "npgrad.pytest_plugin")
    done = run(tmp_path, WRONG.format(factor=1.01), *plugin)
    assert "2 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "the analytic gradient is wrong" in done.stdout
    assert "repeat with --npgrad-seed=" in done.stdout
    seeded = run(tmp_path, WRONG.format(factor=1.01), *plugin, "--npgrad-seed=5")
    assert "seed 5:" in seeded.stdout and "--npgrad-seed=5" in seeded.stdout
    loose = run(
        tmp_path, WRONG.format(factor=1.01), *plugin, "--npgrad-rtol=0.1", "--npgrad-samples=3"
    )
    assert "3 passed" in loose.stdout, loose.stdout + loose.stderr


def test_it_costs_nothing_in_a_suite_that_does_not_use_it(tmp_path):
    text = """
import sys

def test_nothing_was_imported():
    assert "npgrad" not in sys.modules
    assert "numpy" not in sys.modules
"""
    installed = {point.name for point in entry_points(group="pytest11")}
    plugin = () if "npgrad.pytest_plugin" in installed else ("-p", "pytest_npgrad")
    done = run(tmp_path, text, *plugin)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_entry_point_names_the_module():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"npgrad.pytest_plugin": "pytest_npgrad"}


def test_loaded_under_both_names_it_is_one_plugin(tmp_path):
    """As after an installation, when somebody also writes ``-p npgrad.pytest_plugin``."""
    info = tmp_path / "site" / "npgrad_plugin-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: npgrad-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[pytest11]\nnpgrad.pytest_plugin = pytest_npgrad\n")
    (tmp_path / "test_it.py").write_text("def test_it(check_grads):\n    check_grads(abs, 2.0)\n")
    for extra in ([], ["-p", "npgrad.pytest_plugin"]):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra, "test_it.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{ROOT}:{tmp_path / 'site'}"},
        )
        assert "1 passed" in done.stdout, done.stdout + done.stderr
