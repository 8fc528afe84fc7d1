"""What stands for NumPy, its functions, `math` and SciPy's functions in wrapped code."""

from __future__ import annotations

import cmath
import collections.abc
import functools
import importlib
import inspect
import math
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.wrapping.assertions import assertions
from npgrad.wrapping.averages import averages
from npgrad.wrapping.builtin_names import CONTAINERS, NUMPY_TYPES
from npgrad.wrapping.caches import CACHES, Uncached
from npgrad.wrapping.elements import python_ufunc, vectorized
from npgrad.wrapping.lists import LISTED, POLYNOMIALS
from npgrad.wrapping.makers import MAKERS
from npgrad.wrapping.masked import masked_names
from npgrad.wrapping.mathematics import CMATH, MATH
from npgrad.wrapping.neighbours import Kind
from npgrad.wrapping.optimisers import comparing
from npgrad.wrapping.strides import as_strided
from npgrad.wrapping.tables import equal, functions_in
from npgrad.wrapping.ufuncs import NAMED, of_lists

_CHAPTERS = (
    "fft", "fftpack", "integrate", "interpolate", "linalg", "ndimage", "signal", "sparse",
    "sparse.linalg", "spatial.distance", "special", "stats",
)  # fmt: skip


_originals: dict[int, Any] = {}  # by the identity of what stands for them
_made: list[
    types.ModuleType
] = []  # stand-ins of modules, which live on: they are known by identity
# What the user registered for functions that no protocol reaches, by identity.
REGISTERED: dict[int, Any] = {}


def _standing_for(module: types.ModuleType, names: dict[str, Any]) -> types.ModuleType:
    """`module` with other objects under `names`; whatever else is asked for is its own."""
    made = types.ModuleType(module.__name__, module.__doc__)
    made.__dict__.update(module.__dict__)
    made.__dict__.update(names)
    made.__dict__["__getattr__"] = functools.partial(_attribute, module)
    _meet_registered(made)
    _originals[id(made)] = module
    _made.append(made)
    return made


def _meet_registered(made: types.ModuleType) -> None:
    """Put what the user registered where a stand-in of a module holds the function itself."""
    for name, value in list(vars(made).items()) if REGISTERED else ():
        if id(value) in REGISTERED:
            vars(made)[name] = REGISTERED[id(value)]


def _attribute(module: types.ModuleType, name: str) -> Any:
    value = getattr(module, name)
    if name == "ma":
        _meet_masked()
    elif name == "testing":
        _meet_on_use()
    new = replacement(value)
    return value if new is None else new


def _ask_later(made: types.ModuleType) -> None:
    """Modules of NumPy's that are loaded on use are asked for by `__getattr__`."""
    for name in ("ma", "testing"):
        made.__dict__.pop(name, None)


@functools.cache
def _numpy() -> dict[int, Any]:
    """Stand-ins of numpy and its submodules and functions, by identity of the original."""
    found: dict[int, Any] = {}
    modules = [np.linalg, np.fft]
    for module in modules:
        names = {
            name: LISTED[id(value)] for name, value in vars(module).items() if id(value) in LISTED
        }
        found[id(module)] = _standing_for(module, names)
    calls = {**LISTED, **POLYNOMIALS}
    names = {name: calls[id(value)] for name, value in vars(np).items() if id(value) in calls}
    tricks = np.lib.stride_tricks
    windows = LISTED[id(tricks.sliding_window_view)]
    strided = {"as_strided": as_strided, "sliding_window_view": windows}
    found[id(tricks)] = _standing_for(tricks, strided)
    found[id(np.lib)] = _standing_for(np.lib, {"stride_tricks": found[id(tricks)]})
    names.update(MAKERS, linalg=found[id(np.linalg)], fft=found[id(np.fft)], lib=found[id(np.lib)])
    for name, value in vars(np).items():
        if id(value) in NUMPY_TYPES:
            names[name] = NUMPY_TYPES[id(value)]
            _originals[id(names[name])] = value
    found[id(np)] = _standing_for(np, names)
    _ask_later(found[id(np)])
    found.update(NUMPY_TYPES)
    found[id(math)] = MATH
    found[id(cmath)] = CMATH
    for module, recording in ((math, MATH), (cmath, CMATH)):  # from math import sqrt
        for name, value in vars(module).items():
            new = vars(recording)[name]
            if callable(value) and new is not value:
                found[id(value)] = new
                _originals[id(new)] = value
    found[id(functools)] = _standing_for(functools, CACHES)
    for name, maker in CACHES.items():  # of functions that a wrapped call defines
        found[id(vars(functools)[name])] = maker
        _originals[id(maker)] = vars(functools)[name]
    containers = {name: CONTAINERS.get(id(value)) for name, value in vars(collections.abc).items()}
    containers = {name: value for name, value in containers.items() if value is not None}
    found[id(collections.abc)] = _standing_for(collections.abc, containers)
    found[id(collections)] = _standing_for(collections, {"abc": found[id(collections.abc)]})
    found.update(CONTAINERS)
    _originals.update({id(new): new.original for new in CONTAINERS.values()})
    found.update(calls)
    found[id(inspect.unwrap(as_strided))] = as_strided
    _originals[id(as_strided)] = inspect.unwrap(as_strided)
    found.update({id(getattr(np, name)): maker for name, maker in MAKERS.items()})
    _originals.update({id(MATH): math, id(CMATH): cmath})
    _originals.update({id(maker): getattr(np, name) for name, maker in MAKERS.items()})
    # One level: NumPy's own function has what it dispatches to under that name as well.
    _originals.update({id(call): getattr(call, "__wrapped__", call) for call in calls.values()})
    return found


_scipy: dict[int, Any] = {}
_chapters: set[str] = set()


# Called when modules were imported since: `npgrad.compiled` tells Numba what stands for what.
LISTENERS: list[Callable[[], None]] = []
# What makes a stand-in for an object of a package that is not looked into, such as Numba's.
MET: list[Callable[[Any], Any]] = []


def _meet_numba() -> None:
    """Load `npgrad.compiled`, which fills in both lists, once there is something to compile."""
    if not MET and "numba" in sys.modules:
        importlib.import_module("npgrad.compiled")


def _meet_masked() -> None:
    module = sys.modules.get("numpy.ma")
    if module is not None and id(module) not in _scipy and module is np.ma:
        _scipy[id(module)] = _standing_for(module, masked_names())


_ON_USE = {"numpy.testing": assertions, "statistics": averages}


def _meet_on_use() -> None:
    """Stand-ins for modules of functions that are loaded when somebody imports them."""
    for name, makes in _ON_USE.items():
        module = sys.modules.get(name)
        if module is not None and id(module) not in _scipy:
            made = makes(module)
            for function, new in made.items():
                _scipy[id(getattr(module, function))] = new
                _originals[id(new)] = getattr(module, function)
            _scipy[id(module)] = _standing_for(module, made)


def meet_scipy() -> None:
    """Stand-ins for chapters of SciPy, and of NumPy's modules, that were imported since."""
    _meet_masked()
    _meet_on_use()
    _meet_numba()
    for listener in LISTENERS:
        listener()
    for chapter in _CHAPTERS:
        original = sys.modules.get(f"scipy.{chapter}")
        if chapter in _chapters or original is None:
            continue
        if getattr(getattr(original, "__spec__", None), "_initializing", False):
            continue  # half imported: later
        _chapters.add(chapter)
        ours = importlib.import_module(f"npgrad.scipy.{chapter}")
        names = {
            name: getattr(ours, name)
            for name in ours.__all__
            if hasattr(original, name) and getattr(ours, name) is not getattr(original, name)
        }
        for name, new in names.items():
            _scipy[id(getattr(original, name))] = new
            _originals[id(new)] = getattr(original, name)
        _scipy[id(original)] = _standing_for(original, names)
    _meet_optimisers()
    for name in ("scipy", "scipy.spatial", "scipy.sparse"):  # modules of chapters
        parent = sys.modules.get(name)
        if parent is not None and id(parent) not in _scipy:
            trees = _trees(parent) if name == "scipy.spatial" else {}
            _scipy[id(parent)] = _standing_for(parent, trees)
            for inner in [n for n, v in vars(parent).items() if isinstance(v, types.ModuleType)]:
                _scipy[id(parent)].__dict__.pop(inner, None)  # `__getattr__` answers, replaced


def _trees(spatial: types.ModuleType) -> dict[str, Any]:
    """Stand-ins for SciPy's classes of trees of points."""
    names = [name for name in ("KDTree", "cKDTree") if hasattr(spatial, name)]
    made = {name: Kind(getattr(spatial, name)) for name in names}
    for kind in made.values():
        _scipy[id(kind.original)] = kind
        _originals[id(kind)] = kind.original
    return made


# Minimisers in Python that only compare values: their result would be a constant, in silence.
_MINIMISERS = ("golden", "fmin", "brute", "minimize", "minimize_scalar", "fminbound", "brent")


def _meet_optimisers() -> None:
    chapter = sys.modules.get("scipy.optimize")
    if chapter is None or id(chapter) in _scipy:
        return
    if not all(hasattr(chapter, name) for name in _MINIMISERS):  # half imported: the next time
        return
    made = {name: comparing(getattr(chapter, name), name) for name in _MINIMISERS}
    for name, new in made.items():
        _scipy[id(getattr(chapter, name))] = new
        _originals[id(new)] = getattr(chapter, name)
    _scipy[id(chapter)] = _standing_for(chapter, made)


def register(function: Any, new: Any) -> None:
    """Let `new` stand for `function`, which is kept alive, in wrapped code."""
    REGISTERED[id(function)] = new
    _originals[id(new)] = function
    _numpy_where.cache_clear()
    for made in (*_numpy().values(), *_scipy.values()):
        if type(made) is types.ModuleType:
            _meet_registered(made)


def meet_tables(space: dict[str, Any]) -> bool:
    """Let what stands for the functions in tables of `space` equal them; whether any did not."""
    found = False
    for known in (_numpy(), _scipy):
        for function in list(functions_in(space, known)):
            old = known[id(function)]
            if not isinstance(old, types.FunctionType):  # it equals, or is an object of its own
                continue
            known[id(function)] = new = equal(old, function)
            _originals[id(new)] = function
            for made in (MATH, CMATH, *_made):
                for name in [name for name, value in vars(made).items() if value is old]:
                    vars(made)[name] = new
            found = True
    if found:
        _numpy_where.cache_clear()
    return found


def with_rule(value: Any) -> tuple[Any, Any] | None:
    """The function that has a rule and the rule's primitive, if `value` is either of them."""
    function = original_of(value)
    new = REGISTERED.get(id(function))
    return None if new is None else (function, new)


def replacement(value: Any) -> Any:
    """What stands for `value` in wrapped code, or None."""
    for known in (REGISTERED, _numpy(), _scipy):
        new = known.get(id(value))
        if new is not None:  # np.r_ is false
            return new
    kind = type(value)
    if kind is functools.partial:
        new = replacement(value.func)
        return None if new is None else functools.partial(new, *value.args, **value.keywords)
    if kind.__module__ in ("numba.np.ufunc.gufunc", "numba.core.registry"):
        _meet_numba()
        return next((made for make in MET if (made := make(value)) is not None), None)
    if kind is functools._lru_cache_wrapper:
        return Uncached(value)
    if kind is np.ufunc:
        return python_ufunc(value)
    return vectorized(value) if kind is np.vectorize else None


def adapted(value: Any, asked: frozenset[Any], lists: frozenset[Any]) -> Any:
    """What stands for `value` in a module that asks ``is np.float64`` of the types `asked`.

    The ufuncs `lists` are given lists there.
    """
    if id(value) in NUMPY_TYPES and value in asked:
        return None
    if isinstance(value, np.ufunc):
        if value not in lists:
            return replacement(value)
        made = of_lists(value)
        _originals[id(made)] = value
        return made
    return _numpy_where(asked, lists) if value is np else replacement(value)


@functools.cache
def _numpy_where(asked: frozenset[Any], lists: frozenset[Any]) -> types.ModuleType:
    """What stands for NumPy in such a module."""
    names = dict(vars(_numpy()[id(np)]))
    names.update({n: v for n, v in vars(np).items() if isinstance(v, type) and v in asked})
    names.update({n: adapted(v, asked, lists) for n, v in NAMED.items() if v in lists})
    made = _standing_for(np, names)
    _ask_later(made)
    return made


def original_of(value: Any) -> Any:
    """What `value` stands for in wrapped code; `value` itself if it stands for nothing."""
    return _originals.get(id(value), value)
