"""``np.testing`` in wrapped code: an assertion takes nothing out of a recording but its answer."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from npgrad.graph.modes import WRAPPED
from npgrad.transforms.values import value

_NAMES = """
    assert_allclose assert_almost_equal assert_approx_equal assert_array_almost_equal
    assert_array_almost_equal_nulp assert_array_compare assert_array_equal assert_array_less
    assert_equal
"""


def assertions(testing: types.ModuleType) -> dict[str, Callable[..., None]]:
    """The assertions of ``np.testing``, which compare the values of recorded arrays."""
    names = [name for name in _NAMES.split() if hasattr(testing, name)]
    return {name: _of_values(getattr(testing, name)) for name in names}


def _of_values(assertion: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(assertion)
    def call(*args: Any, **kwargs: Any) -> None:
        if WRAPPED.get():
            args = tuple(map(value, args))
            kwargs = {name: value(given) for name, given in kwargs.items()}
        assertion(*args, **kwargs)

    return call
