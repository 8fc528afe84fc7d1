"""``import autograd`` answered by npgrad, undone afterwards; the parts of autograd's inside."""

from __future__ import annotations

import importlib
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import scipy.special

import npgrad
import npgrad.compat.autograd as ag
import npgrad.compat.autograd.numpy as np
from npgrad.compat.autograd.core import VJPNode, backward_pass
from npgrad.compat.autograd.numpy.numpy_vjps import unbroadcast, unbroadcast_f
from npgrad.compat.autograd.stand_in import install
from npgrad.compat.autograd.tracer import new_box

X = numpy.array([0.5, -1.0, 2.0])


def _names() -> dict[str, object]:
    return {k: v for k, v in sys.modules.items() if k.partition(".")[0] == "autograd"}


def test_every_name_is_the_same_module():
    before, finders = _names(), list(sys.meta_path)
    with install():
        for name in (
            "", ".numpy", ".numpy.linalg", ".numpy.numpy_boxes", ".misc.optimizers", ".scipy.stats",
            ".scipy.stats.norm", ".scipy.signal", ".differential_operators", ".test_util",
        ):  # fmt: skip
            found = importlib.import_module("autograd" + name)
            assert found is importlib.import_module("npgrad.compat.autograd" + name)
        module = importlib.import_module("autograd.numpy")
        assert module.__spec__.name == "npgrad.compat.autograd.numpy"
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("autograd.nothing_of_this_name")
    assert _names() == before and sys.meta_path == finders
    assert not hasattr(npgrad.GradArray, "_value")


def test_undone_after_an_error_and_only_once():
    before = _names()
    installed = install()
    inner = install()
    inner.undo()
    assert importlib.import_module("autograd") is ag
    installed.undo()
    installed.undo()
    assert _names() == before
    with pytest.raises(ZeroDivisionError), install():
        1 / 0
    assert _names() == before


def test_the_value_of_a_box_while_installed():
    with install():
        seen = []
        ag.grad(lambda x: (seen.append(x._value), np.sum(x**2))[1])(X)
    assert type(seen[0]) is numpy.ndarray and numpy.array_equal(seen[0], X)


def test_a_program_from_the_shell(tmp_path):
    program = tmp_path / "program.py"
    (tmp_path / "beside.py").write_text("from autograd import grad\n")
    program.write_text(
        "import sys\nfrom beside import grad\nif __name__ == '__main__':\n"
        "    print(grad(lambda x: x**3)(2.0), grad.__module__, sys.argv[1:])\n"
    )
    command = [sys.executable, "-m", "npgrad.compat.autograd"]
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(npgrad.__file__).parents[1])}

    def shell(*words):
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, check=False, cwd=tmp_path,
            env=environment,
        )  # fmt: skip

    run = shell(str(program), "--flag", "1")
    assert run.stdout.split()[:2] == ["12.0", "npgrad.compat.autograd.differential_operators"]
    assert "['--flag', '1']" in run.stdout
    run = shell("-m", "program", "a")
    assert run.stdout.startswith("12.0")
    run = shell("missing.py")
    assert run.returncode == 2 and "there is no file" in run.stderr


def test_backward_pass_by_hand():
    x = new_box(X, 0, VJPNode.new_root())
    y = np.sin(x) * x
    for _ in range(2):
        g = new_box(numpy.array([1.0, 0.0, 2.0]), 0, VJPNode.new_root())
        found = backward_pass(g, y._node)
        expected = numpy.array([1.0, 0.0, 2.0]) * (numpy.cos(X) * X + numpy.sin(X))
        assert type(found) is npgrad.GradArray
        assert numpy.allclose(npgrad.value(found), expected, rtol=1e-14)
    assert type(backward_pass(numpy.ones(3), y._node)) is numpy.ndarray
    other = new_box(2.0, 0, VJPNode.new_root())
    with pytest.raises(TypeError, match="one leaf"):
        backward_pass(1.0, (x[0] * other)._node)


def test_unbroadcast():
    g = numpy.arange(12.0).reshape(2, 3, 2)
    summed = unbroadcast_f(numpy.zeros((3, 1)), lambda g: g)(g)
    assert numpy.array_equal(summed, [[0.0 + 1 + 6 + 7], [2 + 3 + 8 + 9], [4 + 5 + 10 + 11]])
    assert unbroadcast(g, np.metadata(3.0)) == 66
    assert unbroadcast(1 + 2j, np.metadata(3.0)) == 1
    assert unbroadcast(1 + 2j, np.metadata(3j)) == 1 + 2j


def test_rules_for_functions_that_have_one_are_left_out():
    wrong = lambda g, ans, x: 7 * g
    ag.defjvp(scipy.special.expit, wrong)
    ag.defvjp(np.sin, lambda ans, x: lambda g: 7 * g)
    s = scipy.special.expit(0.3)
    assert abs(ag.deriv(scipy.special.expit)(0.3) - s * (1 - s)) < 1e-15
    assert ag.grad(np.sin)(0.3) == numpy.cos(0.3)
    for without in (np.packbits, len):
        with pytest.raises(TypeError, match="not a primitive"):
            ag.defvjp(without, lambda ans, x: lambda g: g)


def test_distributions_are_modules_to_programs(tmp_path):
    """In a process of its own: nothing was imported before."""
    program = tmp_path / "program.py"
    program.write_text(
        "import autograd.scipy.stats.norm as norm\n"
        "import autograd.scipy.stats.multivariate_normal as mvn\n"
        "from autograd.scipy.stats import t\n"
        "print(type(norm).__module__, type(mvn).__module__, type(t).__module__)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(npgrad.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-m", "npgrad.compat.autograd", str(program)],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.stdout.split() and all(m.startswith("npgrad") for m in done.stdout.split()), done
