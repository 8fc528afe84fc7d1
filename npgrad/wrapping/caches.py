"""Caches of results: ``functools.lru_cache`` and ``functools.cache``."""

from __future__ import annotations

import functools
from typing import Any

from npgrad.graph.array import GradArray
from npgrad.graph.stacking import has_recorded


class Uncached:
    """A cached function that is run again where an argument is recorded.

    A recorded number has no hash: an equal one has another gradient. Other calls take the cache.
    """

    def __init__(self, original: Any) -> None:
        functools.update_wrapper(self, original.__wrapped__)
        self.__wrapped__ = original.__wrapped__
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, from the cache where nothing is recorded."""
        for value in (*args, *kwargs.values()):
            if type(value) is GradArray or (type(value) is tuple and has_recorded(value)):
                return self.__wrapped__(*args, **kwargs)
        return self._original(*args, **kwargs)
