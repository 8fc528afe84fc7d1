"""What one function needs of its plan: often nothing, or one name of one module.

Replacing and restoring all names of a package takes longer than recording a small loss. So the code
of a function, and of the functions that it can call, is read once: which names does it load, and
what do they mean? A loss of operators and ufuncs needs nothing, since NumPy's protocols see all of
it; one that makes a buffer needs ``np`` in its own module.

That holds only if the code can reach no other code of the package. So it is said of plain functions
only, whose names mean arrays, numbers, NumPy, `math` and other such functions, called with arrays,
numbers and containers of them. Objects with methods, imports, classes, ``getattr``: the whole plan.
What the names mean is looked at again at each call.
"""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.builtin_names import nested
from npgrad.wrapping.lists import LISTED, UNASKED
from npgrad.wrapping.patch import LOCK, MISSING, Entry, Patch, patch_of
from npgrad.wrapping.places import content
from npgrad.wrapping.plan import Plan
from npgrad.wrapping.rewriting import has_sites
from npgrad.wrapping.stand_ins import REGISTERED, replacement

Needed = tuple[tuple[Patch, tuple[Entry, ...]], ...]
Same = tuple[Callable[..., Any], str, Any, Any]  # a namespace's get, a name, two possible meanings


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class _Nothing(tuple[Any, ...]):
    """No name is needed, and no mark that a wrapped call runs."""


NOTHING: Needed = _Nothing()
PLAIN = frozenset(
    (GradArray, int, float, complex, bool, str, bytes, type(None), slice, range, type(...))
) | frozenset(
    kind for kind in vars(np).values() if isinstance(kind, type) and issubclass(kind, np.generic)
)
ITEMS = 100  # in the containers of a call's arguments; with more it takes the whole plan
# Modules whose functions call nothing but what they are given.
CLOSED = _words("""
    numpy numpy.linalg numpy.fft numpy.random math cmath itertools functools operator time
""")
MOST = 512  # readings that are remembered
CONTAINERS = (list, tuple, dict)
# Builtins that lead nowhere else; beside them, exceptions.
HARMLESS = _words("""
    abs all any bool bytes chr complex dict divmod enumerate filter float format frozenset hash
    hasattr int isinstance issubclass iter len list map max min next ord pow print range repr
    reversed round set slice sorted str sum tuple zip
""")
QUESTIONS = frozenset(("isinstance", "issubclass", "hasattr", "float", "complex"))
# Names that give an array where NumPy's object is asked for them; beside them, ufuncs.
ARRAYS = _words("""
    T argmax argmin astype clip copy cumprod cumsum det diag dot dtype e einsum fft flatten
    inner int32 int64 inv kron linalg max mean min ndim newaxis norm outer pi prod ravel
    reshape shape size solve sort squeeze std sum take tensordot trace transpose tril triu var where
    abs all any bool complex float int isinstance len print range round
""") | {name for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.nout == 1}
ELSEWHERE = _words("""
    IMPORT_NAME IMPORT_FROM IMPORT_STAR LOAD_NAME LOAD_BUILD_CLASS STORE_GLOBAL DELETE_GLOBAL
    MATCH_CLASS LOAD_FROM_DICT_OR_GLOBALS LOAD_FROM_DICT_OR_DEREF LOAD_CLASSDEREF
""")
PLANNED = ("numpy.polynomial", "numpy.ma")
LATER = _words("ma polynomial")  # modules of NumPy's that the plan covers, or meets on use
LAZY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
FRAMES = ("__", "f_", "gi_", "tb_", "cr_", "ag_")  # attributes that lead to frames and classes


class Names(NamedTuple):
    """What a code object, with those in it, says."""

    attributes: frozenset[str]
    loaded: frozenset[str]  # global variables
    lists: bool  # whether it may make a list or a tuple of arrays
    text: bool  # whether it may write ``"%g" % x``
    closed: bool  # whether it leads to nothing but its names


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType) -> Names:
    """Read `code`."""
    attributes: set[str] = set()
    loaded: set[str] = set()
    lists, text, closed = False, False, True
    for part in nested(code):
        lists = lists or bool(part.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
        closed = closed and (part.co_name == "<genexpr>" or not part.co_flags & LAZY)
        for step in dis.get_instructions(part):
            name = step.opname
            if name == "LOAD_GLOBAL":
                loaded.add(step.argval)
            elif name.endswith(("_ATTR", "_METHOD")):
                attributes.add(step.argval)
            elif name in ELSEWHERE:
                closed = False
            elif name == "BINARY_OP":
                text = text or "%" in step.argrepr
            elif name.startswith(("BUILD_", "LIST_", "SET_", "MAP_", "UNPACK_EX")):
                lists = lists or name not in ("BUILD_SLICE", "BUILD_STRING")
        words = {w for c in part.co_consts if type(c) is tuple for w in c if type(w) is str}
        lists = lists or "interp" in part.co_names or not UNASKED.isdisjoint(words)
    closed = closed and LATER.isdisjoint(attributes)
    closed = closed and not any(name.startswith(FRAMES) for name in attributes)
    return Names(frozenset(attributes), frozenset(loaded), lists, text, closed)


class Unknown(Exception):
    """The code may lead anywhere."""


def flat(value: Any, items: list[int]) -> bool:
    """Whether `value` is an array, a number, text, or a container of them; counts `items`."""
    kind = type(value)
    if kind is np.ndarray:
        return not value.dtype.hasobject
    if kind in PLAIN:
        return True
    if kind not in CONTAINERS:
        return False
    parts = value.values() if kind is dict else value
    items[0] += len(parts)
    return items[0] <= ITEMS and all(flat(part, items) for part in parts)


class Reading:
    """A function, and those that it can call, as they were read."""

    def __init__(self, f: types.FunctionType, plan: Plan) -> None:
        self.code = f.__code__
        self._same: list[Same] = []
        self._constants: list[tuple[Callable[..., Any], str]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        self._plan = plan
        self._registered = len(REGISTERED)
        self._said: set[str] = set()
        self._lists = False
        self._asked = False  # for the type of what it is given, or its text
        self._found: list[tuple[dict[str, Any], Entry]] = []
        self._waiting = [f]
        seen: set[int] = set()
        while self._waiting:
            function = self._waiting.pop()
            if id(function) not in seen:
                seen.add(id(function))
                self._read(function)
        self.general = self._needed(True)
        simple = not self._lists and self._said <= ARRAYS
        self.simple = self._needed(False) if simple else self.general
        if not self._asked:
            self.general, self.simple = self.general or NOTHING, self.simple or NOTHING

    def _read(self, function: types.FunctionType) -> None:
        space, names = function.__globals__, names_of(function.__code__)
        self._check_covered(space)
        if not names.closed or vars(function) or has_sites(function):
            raise Unknown
        self._said |= names.attributes
        self._lists = self._lists or names.lists
        self._asked = self._asked or names.text
        defaults, named = function.__defaults__, function.__kwdefaults__
        self._functions.append((function, function.__code__, defaults, named))
        for value in (*(defaults or ()), *(named or {}).values()):
            if not flat(value, [0]):
                raise Unknown
            self._lists = self._lists or type(value) in CONTAINERS
        for cell in function.__closure__ or ():
            value = content(cell)
            if replacement(value) is not None:
                raise Unknown
            if _calls(value):
                self._waiting.append(value)
                self._cells.append((cell, value))
            elif _atom(value):
                self._cells.append((cell, MISSING))
            else:
                raise Unknown
        entries = {entry[0]: entry for entry in patch_of(space).entries}
        for name in names.loaded:
            self._load(space, name, entries.get(name))

    def _check_covered(self, space: dict[str, Any]) -> None:
        name = space.get("__name__", "")
        module = sys.modules.get(name)
        theirs = module is not None and module.__dict__ is space and self._plan.covers(name)
        if not theirs and space is not self._plan.space:
            raise Unknown
        given = space.get("__builtins__")
        if given is not builtins and given is not builtins.__dict__:
            raise Unknown

    def _load(self, space: dict[str, Any], name: str, entry: Entry | None) -> None:
        value = space.get(name, MISSING)
        if value is MISSING or (entry is not None and entry[1] is MISSING):
            given = getattr(builtins, name, None)
            fault = isinstance(given, type) and issubclass(given, BaseException)
            if name not in HARMLESS and not fault:
                raise Unknown
            self._asked = self._asked or name in QUESTIONS
            self._said.add(name)
        if entry is not None and (value is entry[1] or value is entry[2]):
            if entry[1] is not MISSING and not _numpys(entry[1]):
                raise Unknown
            self._found.append((space, entry))
            self._same.append((space.get, name, entry[1], entry[2]))
            return
        if _atom(value):
            self._constants.append((space.get, name))
            return
        if value is not MISSING:
            if replacement(value) is not None:
                raise Unknown  # bound since the plan was made
            if _calls(value):
                self._waiting.append(value)
            elif not _numpys(value):
                raise Unknown
        self._same.append((space.get, name, value, value))

    def _needed(self, lists: bool) -> Needed:
        found: dict[int, tuple[Patch, dict[str, Entry]]] = {}
        for space, entry in self._found:
            if _matters(entry, self._said, lists):
                found.setdefault(id(space), (patch_of(space), {}))[1][entry[0]] = entry
        return tuple([(patch, tuple(entries.values())) for patch, entries in found.values()])

    def holds(self) -> bool:
        """Whether everything that was read still means the same."""
        if len(REGISTERED) != self._registered:
            return False
        for get, name, value, other in self._same:
            now = get(name, MISSING)
            if now is not value and now is not other:
                return False
        for get, name in self._constants:
            if not _atom(get(name, MISSING)):
                return False
        for function, code, defaults, named in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                return False
            if function.__kwdefaults__ is not named:
                return False
        for cell, value in self._cells:
            now = content(cell)
            if now is not value and (value is not MISSING or not _atom(now)):
                return False
        return True

    def needed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Needed | None:
        """What a call needs: None for everything that is planned."""
        needed = self.simple
        for value in (*args, *kwargs.values()) if kwargs else args:
            if not _atom(value):
                if not flat(value, [0]):
                    return None
                needed = self.general
        return needed


def _atom(value: Any) -> bool:
    """Whether `value` is an array, a number or text."""
    kind = type(value)
    return kind in PLAIN or (kind is np.ndarray and not value.dtype.hasobject)


def _calls(value: Any) -> bool:
    """Whether `value` is a Python function to read: not one of NumPy's or npgrad's own."""
    return type(value) is types.FunctionType and not _numpys(value)


def _numpys(value: Any) -> bool:
    """Whether `value` is one of the modules, functions and types that call nothing of others."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in CLOSED
    if isinstance(value, np.ufunc):
        return getattr(np, value.__name__, None) is value  # not one of a Python function
    if isinstance(value, np.vectorize):
        return False
    home = str(getattr(value, "__module__", ""))
    return home.partition(".")[0] in ("numpy", "math", "cmath") and not home.startswith(PLANNED)


def _matters(entry: Entry, said: set[str], lists: bool) -> bool:
    """Whether code that says these names notices that `entry` is not replaced."""
    _, old, new = entry
    if isinstance(old, types.ModuleType):
        return not said.isdisjoint(_changed(old, new, lists))
    return lists or id(old) not in LISTED


_changes: dict[tuple[int, bool], frozenset[str]] = {}  # by a module's stand-in, which stays


def _changed(old: types.ModuleType, new: types.ModuleType, lists: bool) -> frozenset[str]:
    """The names under which `new` has something else than `old`, for which it stands."""
    key = (id(new), lists)
    if key not in _changes:
        _changes[key] = frozenset(
            name
            for name, value in vars(new).items()
            if (before := vars(old).get(name)) is not value
            and not name.startswith("__")
            and (lists or id(before) not in LISTED)
            and (not isinstance(before, types.ModuleType) or _changed(before, value, lists))
        )
    return _changes[key]


TRIES = 20  # readings of a function whose names keep changing
_Key = tuple[types.CodeType, int, int]
_readings: dict[_Key, Reading | None] = {}  # of functions that are their code; None: called once


class Needs:
    """What a function needs, call by call. Read at the second call: for one it takes too long."""

    def __init__(self, f: Any, plan: Plan) -> None:
        self._f = f
        self._plan = plan
        self._left = TRIES if type(f) is types.FunctionType else 0
        self._called = False
        self._reading: Reading | None = None

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Needed | None:
        """The names to replace, or NOTHING; None for everything that is planned."""
        reading = self._reading
        if reading is None or reading.code is not self._f.__code__ or not reading.holds():
            reading = self._reading = self._read() if self._left else None
            if reading is None:
                return None
        return reading.needed(args, kwargs)

    def _read(self) -> Reading | None:
        f, plan = self._f, self._plan
        own = f.__closure__ or f.__defaults__ or f.__kwdefaults__
        passing = own or plan.space is not None  # the function, or its namespace, may go
        key = None if passing else (f.__code__, id(f.__globals__), id(plan))
        if key is not None and (found := _readings.get(key)) is not None and found.holds():
            return found
        if not (self._called if key is None else key in _readings):
            self._called = True
            if key is not None:
                if len(_readings) > MOST:
                    _readings.clear()
                _readings[key] = None
            return None
        self._left -= 1
        try:
            with LOCK:
                plan.look()
                reading = Reading(f, plan)
        except Unknown:
            self._left = 0
            return None
        if key is not None:
            _readings[key] = reading
        return reading
