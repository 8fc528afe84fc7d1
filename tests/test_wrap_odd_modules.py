"""Modules that hold odd things: `wrap` looks at every name, and none of them may stop it."""

from __future__ import annotations

import sys
import types

import numpy as np

import npgrad


class Absent:
    """What some packages put under the name of a package that is not installed."""

    def __getattribute__(self, name):
        if name == "__class__":
            return super().__getattribute__("__class__")
        raise ModuleNotFoundError("No module named 'absent'")


def test_a_name_that_raises_whatever_is_asked_of_it(monkeypatch):
    module = types.ModuleType("odd_package")
    module.absent = Absent()
    module.np = np
    exec("def double(x):\n    return np.array([x[0], 2 * x[1]])", module.__dict__)
    monkeypatch.setitem(sys.modules, "odd_package", module)
    gradient = npgrad.grad(npgrad.wrap(lambda x: np.sum(module.double(x)), also=("odd_package",)))
    assert gradient(np.array([3.0, 4.0])).tolist() == [1.0, 2.0]
    assert module.np is np


def test_scipys_distributions_while_scipy_is_wrapped():
    from scipy import stats

    def likelihood(p):
        return np.sum(stats.norm.logpdf(np.array([0.3, 1.2]), p[0], p[1]))

    gradient = npgrad.grad(npgrad.wrap(likelihood, also=("scipy",)))(np.array([0.5, 2.0]))
    left = np.array([-0.2, 0.7])  # the mean's derivative is r / s^2, the scale's r^2 / s^3 - 1 / s
    assert np.allclose(gradient, [np.sum(left) / 4, np.sum(left**2) / 8 - 1])


def test_a_module_that_takes_the_place_of_another(monkeypatch):
    """As a reloader makes it; the one before is freed, so that its address may be used again."""
    text = (
        "import numpy as np\ndef f(p):\n    b = np.zeros(2)\n    b[0] = p[1]\n    return b.sum()\n"
    )
    for _ in range(6):
        module = types.ModuleType("odd_plugin")
        exec(compile(text, "odd_plugin.py", "exec"), module.__dict__)
        monkeypatch.setitem(sys.modules, "odd_plugin", module)
        for _ in range(3):
            assert npgrad.grad(module.f)(np.ones(2)).tolist() == [0.0, 1.0]
