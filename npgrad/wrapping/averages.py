"""Functions of `statistics` for recorded numbers: NumPy's arithmetic where one of them is recorded.

Python's own takes numbers apart into fractions, of which nothing can be recorded.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.graph.modes import WRAPPED
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.transforms.values import value


def _mean(data: Any, weights: Any = None) -> Any:
    return np.mean(data) if weights is None else np.average(data, weights=np.asarray(weights))


def _squares(data: Any, centre: Any) -> Any:
    return np.sum(np.square(data - (np.mean(data) if centre is None else centre)))


def _variance(data: Any, xbar: Any = None) -> Any:
    return _squares(data, xbar) / (len(data) - 1)


def _pvariance(data: Any, mu: Any = None) -> Any:
    return _squares(data, mu) / len(data)


def _harmonic_mean(data: Any, weights: Any = None) -> Any:
    weights = np.ones(len(data)) if weights is None else np.asarray(weights)
    return np.sum(weights) / np.sum(weights / data)


_FORMULAS: dict[str, Callable[..., Any]] = {
    "mean": _mean,
    "fmean": _mean,
    "geometric_mean": lambda data: np.exp(np.mean(np.log(data))),
    "harmonic_mean": _harmonic_mean,
    "median": np.median,
    "variance": _variance,
    "pvariance": _pvariance,
    "stdev": lambda data, xbar=None: np.sqrt(_variance(data, xbar)),
    "pstdev": lambda data, mu=None: np.sqrt(_pvariance(data, mu)),
}


def averages(statistics: types.ModuleType) -> dict[str, Callable[..., Any]]:
    """What stands for functions of `statistics`."""
    return {name: _recording(getattr(statistics, name), f) for name, f in _FORMULAS.items()}


def _recording(function: Callable[..., Any], formula: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(data: Any, *args: Any, **kwargs: Any) -> Any:
        if not WRAPPED.get():
            return function(data, *args, **kwargs)
        items = list(data)
        if not (has_recorded(items) or has_recorded((*args, *kwargs.values()))):
            return function(items, *args, **kwargs)
        plain = [value(given) for given in args]
        function(value(items), *plain, **{n: value(v) for n, v in kwargs.items()})  # its errors
        return formula(stacked(items), *args, **kwargs)

    return call
