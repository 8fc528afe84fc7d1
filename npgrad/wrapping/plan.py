"""Which names of which modules stand for array makers: planned once, remembered by package.

Names are replaced where they are looked up: in the modules that use them, in closures and in
default arguments of their functions. The numpy module itself is never touched (a replaced
``np.empty`` there crashes ``numpy.random``).
"""

from __future__ import annotations

import functools
import operator
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any
from weakref import WeakValueDictionary

from npgrad.wrapping.builtin_names import asks_for_types, shadows_for
from npgrad.wrapping.compiling import Originals, listen, ufunc_places
from npgrad.wrapping.holders import attributes_of, dictionaries_of
from npgrad.wrapping.stand_ins import meet_scipy, replacement, strict

# Never looked into: npgrad's own modules, what NumPy is made of, and what must see plain arrays.
OWN = frozenset({"npgrad", "numpy", "numba", "llvmlite", "builtins", "math", "pytest", "_pytest"})
# Glue that other packages call, met like a library's code: what NumPy wrote in terms of itself, and
# the array API's helpers, which ask for an array's type.
GLUE = ("numpy.polynomial", "array_api_compat", "array_api_extra")
MISSING = object()  # what stood under a name that hides a builtin
Entry = tuple[str, Any, Any]  # a name, what it stands for, what it is to stand for
Place = tuple[Callable[[Any], None], Any, Any]  # how to set it, the same two


LOCK = threading.RLock()  # an import inside of a wrapped call comes back here


def is_module(space: dict[str, Any]) -> bool:
    """Whether `space` is the namespace of an imported module."""
    module = sys.modules.get(space.get("__name__", ""))
    return getattr(module, "__dict__", None) is space


def bound_in(space: dict[str, Any]) -> list[Any]:
    """What `space` names that runs, or has names: data may change at each call."""
    return [v for v in list(space.values()) if callable(v) or type(v) is types.ModuleType]


class Patch:
    """The names to replace in one namespace, shared by every plan that covers it."""

    def __init__(self, space: dict[str, Any]) -> None:
        self.space = space
        self.size = -1  # how many names it held when it was last looked at
        # What each call that uses it needs, by the identity of its list; None is everything.
        self.users: dict[int, tuple[Entry, ...] | None] = {}
        self.strict = False  # its code asks `is np.float64`
        self.entries: list[Entry] = []
        self.places: list[Place] = []
        # A module that was imported whole keeps its functions; what is typed in binds names again.
        typed = space.get("__name__") == "__main__" or not is_module(space)
        self.settled = not (typed and "__builtins__" in space)
        self.bound: list[Any] = []  # the functions, classes and modules that it named

    def look(self) -> None:
        """Find the names bound since the last look; all anew while nothing is replaced."""
        space, first = self.space, self.size < 0 or not self.users
        if first:
            self.strict, self.entries, self.places = False, [], []
        known = {name for name, _, _ in self.entries}
        module = space.get("__name__")
        codes: list[types.CodeType] = []
        entries: list[Entry] = []
        places: list[Place] = []
        for name, value in list(space.items()):
            new = replacement(value)
            if new is not None and name not in known:
                entries.append((name, value, new))
            if first and written_in(value) == module:
                for function in functions_of(value, module):
                    codes.append(function.__code__)
                    places.extend(places_in(function))
                if isinstance(value, type):
                    places.extend(attributes_of(value))
            elif first and type(value) is types.FunctionType and not is_own(value):
                places.extend(cells_of(value))  # a namespace's function, made for `xp`
        self.strict = self.strict or asks_for_types(codes)
        if self.strict:
            entries = [(name, old, strict(old)) for name, old, _ in entries if strict(old)]
        for name, new in shadows_for(codes).items():
            if name not in space:
                entries.append((name, MISSING, new))
        self.entries.extend(entries)
        if "numba" in sys.modules and first:
            places.extend(ufunc_places(space, names_of(self.entries, space)))
        self.places.extend(places)
        if None in self.users.values():
            self.put(entries, places)
        self.size = len(space)
        if not self.settled:
            self.bound = bound_in(space)

    def stale(self) -> bool:
        """Whether names were bound since the last look: in what is typed in, to other functions."""
        if self.size != len(self.space):
            return True
        if self.users or self.settled:
            return False
        now = bound_in(self.space)
        return len(now) != len(self.bound) or not all(map(operator.is_, now, self.bound))

    def put(self, entries: Iterable[Entry], places: Iterable[Place]) -> None:
        """Replace the names that still mean what they meant."""
        space = self.space
        for name, old, new in entries:
            if space.get(name, MISSING) is old:
                space[name] = new
        for place, _, made in places:
            place(made)

    def open(self, opened: list[Patch], needed: tuple[Entry, ...] | None = None) -> None:
        """One more call uses these names; noted first, so that an interrupt undoes it."""
        opened.append(self)
        first = None not in self.users.values()
        self.users[id(opened)] = needed
        if needed is not None:
            self.put(needed, ())
        elif first:
            self.put(self.entries, self.places)

    def close(self, opened: list[Patch]) -> None:
        """A call uses them no longer; it may say so twice."""
        key = id(opened)
        if key not in self.users:
            return
        mine = self.users[key]
        kept: Collection[str] | None = ()
        if len(self.users) > 1:
            others = [needed for call, needed in self.users.items() if call != key]
            kept = None if None in others else {e[0] for needed in others for e in needed or ()}
        if kept is not None:
            self.restore(self.entries if mine is None else mine, kept)
            if mine is None:
                for place, before, _ in self.places:
                    place(before)
        del self.users[key]

    def restore(self, entries: Iterable[Entry], kept: Collection[str]) -> None:
        """Undo `put`, except for names that the program bound anew, or that others use."""
        space = self.space
        for name, old, new in entries:
            if space.get(name) is new and name not in kept:
                if old is MISSING:
                    del space[name]
                else:
                    space[name] = old


# By the identity of the namespace, which the patch keeps alive; plans keep the patches.
_patches: WeakValueDictionary[int, Patch] = WeakValueDictionary()


def renew() -> None:
    """Have every namespace looked at again: something got a stand-in that had none."""
    with LOCK:
        for patch in list(_patches.values()):
            patch.size = min(patch.size, 0)
        for plan in list(_plans.values()):
            plan.modules = 0


def originals(space: dict[str, Any]) -> Originals | None:
    """The names of a namespace as they are when nothing is replaced; None if nothing is now."""
    with LOCK:
        patch = _patches.get(id(space))
        if patch is None or not (patch.users and (patch.entries or patch.places)):
            return None
        return names_of([e for e in patch.entries if space.get(e[0]) is e[2]], space)


def names_of(entries: list[Entry], space: dict[str, Any]) -> Originals:
    """The names of `space` without what `entries` put there."""
    plain = {name: old for name, old, _ in entries if old is not MISSING}
    return Originals(space, plain, {name for name, old, _ in entries if old is MISSING})


def patch_of(space: dict[str, Any]) -> Patch:
    """The one patch of a namespace."""
    patch = _patches.get(id(space))
    if patch is None:
        patch = Patch(space)
        patch = _patches.setdefault(id(space), patch)
    return patch


class Plan:
    """The namespaces of some packages."""

    def __init__(self, packages: frozenset[str], space: dict[str, Any] | None = None) -> None:
        self.packages = packages
        self.space = space  # the function's own globals, which need not be a module's
        self.modules = 0  # how many were loaded when the plan was made
        self.all: list[Patch] = []
        self.loose: list[Patch] = []  # those whose names may be bound anew at any time
        self.patches: tuple[Patch, ...] = ()  # those with something to replace

    def covers(self, name: str) -> bool:
        """Whether the module `name` is one of the packages'."""
        return name.partition(".")[0] in self.packages or name.startswith(GLUE)

    def refresh(self) -> None:
        """Look again: modules were imported, or names bound, since."""
        meet_scipy()
        listen(originals)
        spaces = [
            module.__dict__
            for name, module in list(sys.modules.items())
            if self.covers(name) and type(getattr(module, "__dict__", None)) is dict
        ]
        if self.space is not None:
            spaces.append(self.space)
        spaces += [held for space in spaces for held in dictionaries_of(space)]
        self.all = list({id(space): patch_of(space) for space in spaces}.values())
        for patch in self.all:
            if patch.stale():
                patch.look()
        self.loose = [patch for patch in self.all if not patch.settled]
        self.patches = tuple([patch for patch in self.all if patch.entries or patch.places])
        self.modules = len(sys.modules)

    def look(self) -> None:
        """Look at what was bound since the last look."""
        if self.modules != len(sys.modules) or any(map(Patch.stale, self.loose)):
            self.refresh()

    def enter(
        self, opened: list[Patch], needed: Iterable[tuple[Patch, tuple[Entry, ...]]] | None = None
    ) -> None:
        """Put the names in place, all or what is `needed`; `opened` is for `leave`."""
        with LOCK:
            if needed is None:
                self.look()
                for patch in self.patches:
                    patch.open(opened)
            else:
                for patch, entries in needed:
                    patch.open(opened, entries)

    @staticmethod
    def leave(opened: list[Patch]) -> None:
        """Put NumPy's own back where the last call leaves."""
        with LOCK:
            for patch in opened:
                patch.close(opened)

    def adopt(self, module: types.ModuleType, opened: list[Patch]) -> None:
        """`module` was imported inside of a wrapped call."""
        with LOCK:
            meet_scipy()
            listen(originals)
            patch = patch_of(module.__dict__)
            if patch.stale():
                patch.look()
            patch.open(opened)


def written_in(value: Any) -> Any:
    """The module that a value names as its own."""
    try:
        return getattr(value, "__module__", None)
    except Exception:  # what stands for a package that is not installed may raise anything
        return None


def functions_of(value: Any, module: Any) -> Iterator[types.FunctionType]:
    """The Python functions behind a name: itself, what it decorates, a class's methods."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type):
            if value.__module__ == module:
                stack.extend(vars(value).values())
            continue
        if isinstance(value, (classmethod, staticmethod)):
            stack.append(value.__func__)
        elif isinstance(value, property):
            stack.extend(part for part in (value.fget, value.fset) if part is not None)
        elif isinstance(value, functools.cached_property):
            stack.append(value.func)
        elif type(value) is types.FunctionType:
            yield value
            held = [content(cell) for cell in value.__closure__ or ()]
            stack.extend(h for h in held if type(h) is types.FunctionType)
            if hasattr(value, "__wrapped__"):
                stack.append(value.__wrapped__)


def is_own(function: types.FunctionType) -> bool:
    """Whether `function` was written in npgrad: a stand-in, whose closure holds what it stands for.

    Its ``__module__`` may be that of what it stands for.
    """
    return str(function.__globals__.get("__name__")).partition(".")[0] == "npgrad"


def content(cell: Any) -> Any:
    """What a closure's cell holds; None while it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def cells_of(function: types.FunctionType) -> Iterator[Place]:
    """The cells of a closure that hold something to replace."""
    for cell in function.__closure__ or ():
        old = content(cell)
        new = replacement(old)
        if new is not None:
            yield functools.partial(setattr, cell, "cell_contents"), old, new


def places_in(function: types.FunctionType) -> Iterator[Place]:
    """The closure's cells and defaults of `function` that hold something to replace."""
    yield from cells_of(function)
    defaults = function.__defaults__ or ()
    if any(replacement(value) is not None for value in defaults):
        changed = tuple(replacement(value) or value for value in defaults)
        yield functools.partial(setattr, function, "__defaults__"), defaults, changed
    named = function.__kwdefaults__ or {}
    if any(replacement(value) is not None for value in named.values()):
        changed_names = {name: replacement(value) or value for name, value in named.items()}
        yield functools.partial(setattr, function, "__kwdefaults__"), named, changed_names


# Plans of modules stay. Those of other namespaces (``exec``) go with the functions that they serve,
# so that a namespace that nobody holds any more is freed; the last ones are kept for calls to come.
_plans: WeakValueDictionary[tuple[frozenset[str], int], Plan] = WeakValueDictionary()
_staying: list[Plan] = []
_recent: deque[Plan] = deque(maxlen=16)


def code_of(f: Any) -> Any:
    """The function behind a partial, a decorator or a method."""
    while True:
        if isinstance(f, functools.partial):
            f = f.func
        elif hasattr(f, "__wrapped__"):
            f = f.__wrapped__
        else:
            return getattr(f, "__func__", f)


def package_of(f: Any) -> str | None:
    """The top-level package that the code of `f` was written in."""
    module = getattr(f, "__module__", None) or getattr(type(f), "__module__", None)
    top = module.partition(".")[0] if isinstance(module, str) else None
    return None if top in OWN else top


def plan_for(f: Callable[..., Any] | None, also: Iterable[str] = ()) -> Plan | None:
    """The plan for `f`'s package and the packages `also`; None if there is nothing to do."""
    names = {name.partition(".")[0] for name in also}
    space = None
    if f is not None:
        f = code_of(f)
        own = package_of(f)
        if own is not None:
            names.add(own)
        space = getattr(f, "__globals__", None)
        if space is not None and is_module(space):
            top = space["__name__"].partition(".")[0]
            space = None if top in names or top in OWN else space
    packages = frozenset(names - OWN)
    if not packages and space is None:
        return None
    key = (packages, id(space))
    plan = _plans.get(key)
    if plan is None:
        with LOCK:
            plan = _plans.setdefault(key, Plan(packages, space))
            (_staying if space is None else _recent).append(plan)
    return plan
