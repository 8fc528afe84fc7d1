"""The line that a recording names is the user's, also at the first use and in wrapped code."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import numpy as np

import npgrad
from npgrad.graph.node import position
from npgrad.scipy.special import logsumexp


def test_a_wrapped_function_of_lists_names_its_caller() -> None:
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = np.mean(x)
        seen.append((position(y._node), inspect.currentframe().f_lineno - 1))  # type: ignore[union-attr]
        return y

    npgrad.grad(f)(np.ones(3))
    (where, line) = seen[0]
    assert where == f"test_lines.py:{line}"


def test_the_first_use_of_an_operator_names_its_line() -> None:
    text = (
        "import numpy as np, npgrad\n"
        "from npgrad.graph.node import position\n"
        "x = npgrad.array([1.0])\n"
        "y = x * 2.0\n"
        "z = 3.0 - x\n"
        "print(y._node.code.co_filename, position(y._node), position(z._node))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.split() == ["<string>", "<string>:4", "<string>:5"]


def test_a_stand_in_imported_by_a_wrapped_module_still_calls_scipy() -> None:
    wrapped = npgrad.wrap(lambda x: np.sum(logsumexp(np.arange(3.0))) + np.sum(x), also=("scipy",))
    assert wrapped(np.zeros(2)) == np.log(1 + np.e + np.e**2)
