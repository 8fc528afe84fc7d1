"""``python -m npgrad check``: a gradient check of somebody's own function from the shell."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from npgrad.__main__ import main

MODULE = """
import math
import numpy as np
import npgrad

def good(x, y):
    return np.sum(np.sin(x) * y)

def hidden(x):
    return math.exp(npgrad.value(x)) * 1.0 + x

def detached(x):
    return np.sum(npgrad.value(x) ** 2 + x)

class Model:
    @staticmethod
    def loss(w):
        return np.log(w).sum()

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "functions_to_check.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield "functions_to_check"
    sys.modules.pop("functions_to_check", None)


def test_a_right_function(module, capsys):
    assert main(["check", f"{module}:good", "--shape", "3,4", "--shape", "4"]) == 0
    out = capsys.readouterr().out
    assert "float64[3, 4], float64[4]" in out
    assert out.count("agrees with finite differences") == 4
    assert main(["check", f"{module}:Model.loss", "--order", "3", "--modes", "rev"]) == 0
    assert "rev, order 3: agrees" in capsys.readouterr().out


def test_a_cut_gradient_is_found(module, capsys):
    assert main(["check", f"{module}:detached", "--shape", "3"]) == 1
    out = capsys.readouterr().out
    assert "rev, order 1: AssertionError" in out and "off by" in out
    assert "order 2" not in out


def test_arguments_from_files(module, tmp_path, capsys):
    np.savez(tmp_path / "args.npz", np.ones(3), np.arange(3.0))
    assert main(["check", f"{module}:good", "--args", "args.npz"]) == 0
    assert "float64[3], float64[3]" in capsys.readouterr().out
    np.save(tmp_path / "w.npy", np.ones((2, 2)))
    assert main(["check", f"{module}:Model.loss", "--args", "w.npy"]) == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("functions_to_check", "not of the form"),
        ("functions_to_check:absent", "absent"),
        ("functions_to_check:number", "not callable"),
        ("no_such_module_here:f", "no_such_module_here"),
    ],
)
def test_mistakes(module, name, message, capsys):
    assert main(["check", name]) == 2
    assert message in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", name, "--shape", "3", "--args", "x.npz"])
    capsys.readouterr()


def test_arrays_are_bound_by_name(module, tmp_path, capsys):
    np.savez(tmp_path / "a.npz", y=np.ones((4, 3)), x=np.ones(3))
    assert main(["check", f"{module}:good", "--args", "a.npz"]) == 0
    assert "float64[3], float64[4, 3]" in capsys.readouterr().out  # not the order of the file
    for arrays in ({"x": 1.0, "z": 1.0}, {"x": 1.0}, {"y": 1.0}):
        np.savez(tmp_path / "a.npz", **arrays)
        assert main(["check", f"{module}:good", "--args", "a.npz"]) == 2
        assert f"holds {', '.join(arrays)}; the parameters are x, y" in capsys.readouterr().err


def test_arguments_that_do_not_fit(module, tmp_path, capsys):
    assert main(["check", f"{module}:good", "--shape", "3"]) == 2
    assert "good(x, y) cannot be called with 1 arrays" in capsys.readouterr().err
    (tmp_path / "text.npz").write_text("x = 1")
    assert main(["check", f"{module}:good", "--args", "text.npz"]) == 2
    assert "neither an .npz nor an .npy" in capsys.readouterr().err
    (tmp_path / "broken_to_check.py").write_text("1 / 0")
    assert main(["check", "broken_to_check:f"]) == 2
    assert "ZeroDivisionError: division by zero" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--shape", "3x4", "write it as 3,4"),
        ("--shape", "(-1,)", "write it as 3,4"),
        ("--order", "0", "no order of a derivative"),
        ("--order", "two", "no order of a derivative"),
    ],
)
def test_words_that_are_no_numbers(module, option, value, message, capsys):
    with pytest.raises(SystemExit) as left:
        main(["check", f"{module}:good", option, value])
    assert left.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize(
    "name", ["scipy.linalg.expm", "npgrad.scipy.linalg.expm", "stats.norm.pdf"]
)
def test_coverage_of_a_stand_in(name, capsys):
    assert main(["coverage", name]) == 0
    assert "differentiated" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["scipy.linalg.hadamard", "nothing", "scipy.nothing.at.all"])
def test_coverage_of_what_has_none(name, capsys):
    assert main(["coverage", name]) == 1
    assert "No function" in capsys.readouterr().out
