"""What ``isinstance`` answers for recorded arrays in wrapped code: what NumPy's would get."""

from __future__ import annotations

import collections
import collections.abc
import typing
from collections.abc import Hashable, Iterable
from typing import Optional, Union

import numpy as np
import pytest

import npgrad

Number = Union[int, float]  # noqa: UP007 -- what is tested
Array = Union[np.ndarray, list]  # noqa: UP007
Text = Union[str, bytes]  # noqa: UP007
X = np.array([0.4, 0.3])
QUESTIONS = {
    "Union": lambda x: isinstance(x[0], Union[int, float]),  # noqa: UP007
    "typing.Union": lambda x: isinstance(x[0], typing.Union[int, float]),  # noqa: UP007
    "Optional": lambda x: isinstance(x[0], Optional[float]),  # noqa: UP045
    "alias": lambda x: isinstance(x[0], Number),
    "alias of an array": lambda x: isinstance(x, Number),
    "alias for arrays": lambda x: isinstance(x, Array),
    "alias of text": lambda x: isinstance(x, Text),
    "int | float": lambda x: isinstance(x[0], int | float),
    "Iterable": lambda x: isinstance(x[0], Iterable),
    "Iterable array": lambda x: isinstance(x, Iterable),
    "collections.abc.Iterable": lambda x: isinstance(x[0], collections.abc.Iterable),
    "Hashable": lambda x: isinstance(x, Hashable),
    "Hashable number": lambda x: isinstance(x[0], Hashable),
    "Sequence": lambda x: isinstance(x, collections.abc.Sequence),
    "flatiter": lambda x: isinstance(x.flat, np.flatiter),
    "__array_interface__": lambda x: hasattr(x, "__array_interface__"),
    "data": lambda x: hasattr(x, "data"),
    "ctypes": lambda x: hasattr(x, "ctypes"),
    "ctypes of a number": lambda x: hasattr(x[0], "ctypes"),
    "hex": lambda x: hasattr(x[0], "hex"),
    "hex of an array": lambda x: hasattr(x, "hex"),
    "__index__": lambda x: hasattr(x, "__index__"),
    "__index__ of a number": lambda x: hasattr(x[0], "__index__"),
    "many names": lambda x: all(hasattr(x, name) for name in NAMES),
    "backward": lambda x: hasattr(x, "backward"),
    "getattr": lambda x: getattr(x, "shape", None) is not None,
    "getattr of another": lambda x: getattr(x, "backwards", None) is not None,
}
NAMES = ("data", "ctypes", "__dlpack__", "__array_struct__", "shape")


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_branch_is_numpys(name) -> None:
    ask = QUESTIONS[name]

    def f(x):
        return (2.0 if ask(x) else 7.0) * x[0]

    wanted = 2.0 if ask(X) else 7.0
    for _ in range(3):  # from the second call on, only what the code needs is replaced
        assert npgrad.grad(f)(X).tolist() == [wanted, 0.0]


def library_of(x):
    return x.__array_namespace__() if hasattr(x, "__array_namespace__") else np


def library_by_default(x):
    found = getattr(x, "__array_namespace__", None)
    return np if found is None else found()


@pytest.mark.parametrize("asked", [library_of, library_by_default])
def test_the_library_of_a_recorded_array_is_numpy(asked) -> None:
    def f(x):
        xp = asked(x)
        return xp.sum(xp.asarray(x) * 2)

    for _ in range(3):
        assert npgrad.grad(f)(X).tolist() == [2.0, 2.0]


def by_default(x):
    return (2.0 if getattr(x, "data", None) is not None else 7.0) * x[0]


def test_a_default_is_not_for_what_a_recorded_array_withholds() -> None:
    for _ in range(3):
        with pytest.raises(npgrad.errors.GradientLost, match=r"npgrad.value\(x\).data"):
            npgrad.grad(by_default)(X)
    assert by_default(X) == 0.8


def test_unions_mean_what_they_meant_afterwards() -> None:
    npgrad.grad(lambda x: x[0] if isinstance(x, Number) else x[1])(X)
    assert Union is typing.Union and Number.__args__ == (int, float)
    assert collections.OrderedDict(a=1)["a"] == 1
