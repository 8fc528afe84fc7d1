"""What one function needs of its plan: often nothing, or one name of one module.

Replacing and restoring all names of a package takes longer than recording a small loss. So the code
of a function, and of the functions that it can call, is read once: which names does it load, and
what do they mean? A loss of operators and ufuncs needs nothing, since NumPy's protocols see all of
it; one that makes a buffer needs ``np`` in its own module.

That holds only if the code can reach no other code of the package. So it is said of functions and
methods only, whose names mean arrays, numbers, NumPy, `math`, other such functions and objects with
such methods (`objects`), called with those and containers of arrays. Imports, classes that are
called, ``getattr``, functions as arguments: the whole plan. What the names mean is looked at again
at each call.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.wrapping.lists import LISTED
from npgrad.wrapping.objects import Class, Kinds, Look, attributes, functions_under, of_class
from npgrad.wrapping.patch import LOCK, Patch, patch_of
from npgrad.wrapping.places import content
from npgrad.wrapping.plan import Plan
from npgrad.wrapping.rewriting import has_sites
from npgrad.wrapping.said import CLOSED, HARMLESS, OTHERS, QUESTIONS, names_of
from npgrad.wrapping.stand_ins import REGISTERED, replacement
from npgrad.wrapping.swaps import MISSING, Entry, Swap

Needed = tuple[tuple[Patch, Swap], ...]
Same = tuple[Callable[..., Any], str, Any, Any]  # a namespace's get, a name, two possible meanings


class _Nothing(tuple[Any, ...]):
    """No name is needed, and no mark that a wrapped call runs."""


NOTHING: Needed = _Nothing()
BARE: Needed = _Nothing()  # nothing that the function can reach is recorded: it runs as it is
PLAIN = frozenset(
    (GradArray, int, float, complex, bool, str, bytes, type(None), slice, range, type(...))
) | frozenset(
    kind for kind in vars(np).values() if isinstance(kind, type) and issubclass(kind, np.generic)
)
ITEMS = 100  # in the containers of a call's arguments; with more it takes the whole plan
MOST = 512  # readings that are remembered
CONTAINERS = (list, tuple, dict)
PLANNED = ("numpy.polynomial", "numpy.ma")


class Unknown(Exception):
    """The code may lead anywhere."""


class Reading:
    """A function, and those that it can call, as they were read."""

    def __init__(
        self,
        f: types.FunctionType,
        plan: Plan,
        given: Iterable[Any] = (),
        kinds: Iterable[type] = (),
    ) -> None:
        self.code = f.__code__
        self._same: list[Same] = []
        self._constants: list[tuple[Callable[..., Any], str]] = []
        self._cells: list[tuple[Any, Any]] = []
        self._functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        self._objects: list[Callable[[], Any]] = []  # what names and cells hold of a class
        self._plan = plan
        self._registered = len(REGISTERED)
        self._said: set[str] = set()
        self._lists = False
        self._text = False
        self._always = False  # a default is recorded
        self._asked = False  # for the type of what it is given, or its text
        self._found: list[tuple[dict[str, Any], Entry]] = []
        self.kinds: Kinds = {kind: Class(kind) for kind in kinds}
        self._waiting = [f]
        self._read_all(list(given))
        self.general = self._needed(True)
        simple = not self._lists and self._said.isdisjoint(OTHERS)
        self.simple = self._needed(False) if simple else self.general
        self._looks = [(patch, patch.all) for patch, _ in self.general]
        if not self._asked:
            self.general, self.simple = self.general or NOTHING, self.simple or NOTHING

    def _read_all(self, given: list[Any]) -> None:
        """Read until nothing is reached any more: functions say names, objects have some."""
        seen: dict[int, Any] = {}
        while self._waiting:
            while self._waiting:
                function = self._waiting.pop()
                if id(function) not in seen:
                    seen[id(function)] = function
                    self._read(function)
            self._meet([*given, *(get() for get in self._objects)], set())
            for kind in self.kinds:
                for held in functions_under(kind, self._said, self._text):
                    if type(held) is types.FunctionType:
                        if id(held) not in seen:
                            self._waiting.append(held)
                    elif not self._look().closed(held):
                        raise Unknown
                    elif type(held) in CONTAINERS:
                        self._lists = True

    def _meet(self, values: Iterable[Any], seen: set[int]) -> None:
        """Note the classes of `values`, and of what stands in them under names that are said."""
        for value in values:
            if _atom(value) or id(value) in seen:
                continue
            seen.add(id(value))
            if len(seen) > ITEMS:
                raise Unknown
            if type(value) in CONTAINERS:
                self._meet(value.values() if type(value) is dict else value, seen)
            elif of_class(value):
                kind = type(value)
                known = self.kinds.setdefault(kind, Class(kind))
                held = attributes(value, known.slots)
                self._meet([part for name, part in list(held) if name in self._said], seen)

    def _look(self) -> Look:
        return Look(self.kinds, self._said, PLAIN, ITEMS)

    def _read(self, function: types.FunctionType) -> None:
        space, names = function.__globals__, names_of(function.__code__)
        self._check_covered(space)
        if not names.closed or vars(function) or has_sites(function):
            raise Unknown
        self._said |= names.attributes
        self._lists = self._lists or names.lists
        self._asked = self._asked or names.text
        self._text = self._text or names.written
        defaults, named = function.__defaults__, function.__kwdefaults__
        self._functions.append((function, function.__code__, defaults, named))
        for value in (*(defaults or ()), *(named or {}).values()):
            look = Look({}, (), PLAIN, ITEMS)
            if not look.closed(value):
                raise Unknown
            self._always = self._always or look.recorded
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
            elif of_class(value):
                self._objects.append(functools.partial(content, cell))
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
                if not of_class(value):
                    raise Unknown
                self._objects.append(functools.partial(space.get, name, MISSING))
                return
        self._same.append((space.get, name, value, value))

    def _needed(self, lists: bool) -> Needed:
        found: dict[int, tuple[Patch, dict[str, Entry]]] = {}
        for space, entry in self._found:
            if _matters(entry, self._said, lists):
                found.setdefault(id(space), (patch_of(space), {}))[1][entry[0]] = entry
        return tuple([(patch, Swap(entries.values())) for patch, entries in found.values()])

    def holds(self) -> bool:
        """Whether everything that was read still means the same."""
        if len(REGISTERED) != self._registered:
            return False
        for patch, names in self._looks:
            if patch.all is not names or patch.stale():
                return False  # code was bound that asks for other stand-ins
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
        return all(map(Class.holds, self.kinds.values()))

    def needed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Needed | None:
        """What a call needs: None for everything that is planned."""
        look: Look | None = None
        said, kinds, met = self._said, self.kinds, False
        for value in (*args, *kwargs.values()) if kwargs else args:
            kind = type(value)
            if kind is GradArray:
                met = True
                continue
            if kind in PLAIN or (kind is np.ndarray and not value.dtype.hasobject):
                continue
            if kind in kinds and not kinds[kind].slots:  # most of them: arrays and numbers in it
                for name, part in list(value.__dict__.items()):
                    if name in said:
                        if not _atom(part):
                            break
                        met = met or type(part) is GradArray
                else:
                    continue
            look = look or self._look()
            if not look.closed(value):
                return None
        for get in self._objects:
            look = look or self._look()
            if not look.closed(get()):
                return None
        if not (met or (look is not None and look.recorded) or self._holds_recorded()):
            return BARE
        return self.simple if look is None or not look.containers else self.general

    def _holds_recorded(self) -> bool:
        """Whether a name, a closure or a default means a GradArray."""
        for get, name in self._constants:
            if type(get(name)) is GradArray:
                return True
        for cell, _ in self._cells:
            if type(content(cell)) is GradArray:
                return True
        return self._always


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
        self._function = f.__func__ if type(f) is types.MethodType else f
        self._owner = (f.__self__,) if type(f) is types.MethodType else ()
        self._plan = plan
        self._left = TRIES if type(self._function) is types.FunctionType else 0
        self._called = False
        self._reading: Reading | None = None

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Needed | None:
        """The names to replace, or NOTHING; None for everything that is planned."""
        if self._owner:
            args = self._owner + args
        reading = self._reading
        if reading is not None and reading.code is self._function.__code__ and reading.holds():
            needed = reading.needed(args, kwargs)
            if needed is not None or self._left <= 0:
                return needed
        if self._left <= 0:
            return None
        reading = self._reading = self._read(args, kwargs)
        return None if reading is None else reading.needed(args, kwargs)

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Reading | None:
        f, plan = self._function, self._plan
        own = f.__closure__ or f.__defaults__ or f.__kwdefaults__
        passing = own or plan.space is not None  # the function, or its namespace, may go
        key = None if passing else (f.__code__, id(f.__globals__), id(plan))
        found = self._reading if key is None else _readings.get(key)
        kinds: Iterable[type] = ()
        if found is not None and found.code is f.__code__ and found.holds():
            if found is not self._reading and found.needed(args, kwargs) is not None:
                return found
            kinds = found.kinds  # called with objects of other classes: those as well
        if not (self._called if key is None else key in _readings):
            self._called = True
            if key is not None:
                if len(_readings) > MOST:
                    _readings.clear()
                _readings[key] = None
            return None
        self._left -= 5 if kinds else 1
        try:
            with LOCK:
                plan.look()
                reading = Reading(f, plan, (*args, *kwargs.values()), kinds)  # type: ignore[arg-type]
        except Unknown:
            self._left = 0
            return None
        if key is not None:
            _readings[key] = reading
        return reading
