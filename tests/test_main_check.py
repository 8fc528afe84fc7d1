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
