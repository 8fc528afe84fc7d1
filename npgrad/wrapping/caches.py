"""Caches of results: ``functools.lru_cache`` and ``functools.cache``."""

from __future__ import annotations

import functools
import threading
import types
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from npgrad.graph.array import GradArray
from npgrad.graph.modes import WRAPPED
from npgrad.graph.stacking import has_recorded

_mixed: WeakSet[Any] = WeakSet()  # caches whose results were recorded once


class _Private(threading.local):
    """The caches of one wrapped call, by those that they stand for."""

    def __init__(self) -> None:
        self.call: Any = None  # the list of the call's patches, by which it is known
        self.caches: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


_private = _Private()


class Uncached:
    """A cached function that is run again where an argument is recorded.

    A recorded number has no hash: an equal one has another gradient. Other calls take the cache.
    A result can be recorded all the same, by way of a closure or an instance. It holds for the
    wrapped call that asked for it, and a cache that was seen to give such results is another one in
    each call.
    """

    def __init__(self, original: Any) -> None:
        functools.update_wrapper(self, original.__wrapped__)
        self.__wrapped__ = original.__wrapped__
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """The method of `instance`, as of any function in a class."""
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result, from the cache where nothing is recorded."""
        if _recorded((*args, *kwargs.values())):
            return self.__wrapped__(*args, **kwargs)
        now = WRAPPED.get()
        if now and self._original in _mixed:
            return _own(self._original, now.opened)(*args, **kwargs)
        made = self._original(*args, **kwargs)
        if now and _recorded((made,)):
            _mixed.add(self._original)
            self._original.cache_clear()
        return made


def _own(cache: Any, call: list[Any]) -> Any:
    """The cache that stands for `cache` in the wrapped call that runs."""
    if _private.call is not call:
        _private.call = call
        _private.caches.clear()
    if cache not in _private.caches:
        _private.caches[cache] = functools.lru_cache(**cache.cache_parameters())(cache.__wrapped__)
    return _private.caches[cache]


def _recorded(values: tuple[Any, ...]) -> bool:
    return any(type(v) is GradArray or (type(v) is tuple and has_recorded(v)) for v in values)


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """``functools.lru_cache``, of a function that is defined in a wrapped call."""
    made = functools.lru_cache(maxsize, typed)
    if not WRAPPED.get():
        return made
    return Uncached(made) if callable(maxsize) else lambda function: Uncached(made(function))


def cache(function: Any, /) -> Any:
    """``functools.cache``, of a function that is defined in a wrapped call."""
    return lru_cache(None)(function)


CACHES = {"lru_cache": lru_cache, "cache": cache}
