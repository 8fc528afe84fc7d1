"""The names to replace in one namespace, whoever uses it: put in place, and back.

A namespace has one patch, counted, which the plans of all packages share.
"""

from __future__ import annotations

import operator
import sys
import threading
import types
from collections.abc import Collection, Iterable
from typing import Any
from weakref import WeakValueDictionary

from npgrad.wrapping.builtin_names import asks_for_types, shadows_for
from npgrad.wrapping.compiling import Originals, ufunc_places
from npgrad.wrapping.holders import attributes_of
from npgrad.wrapping.places import Place, cells_of, functions_of, is_own, places_in, written_in
from npgrad.wrapping.stand_ins import replacement, strict

MISSING = object()  # what stood under a name that hides a builtin
Entry = tuple[str, Any, Any]  # a name, what it stands for, what it is to stand for
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
patches: WeakValueDictionary[int, Patch] = WeakValueDictionary()


def originals(space: dict[str, Any]) -> Originals | None:
    """The names of a namespace as they are when nothing is replaced; None if nothing is now."""
    with LOCK:
        patch = patches.get(id(space))
        if patch is None or not (patch.users and (patch.entries or patch.places)):
            return None
        return names_of([e for e in patch.entries if space.get(e[0]) is e[2]], space)


def names_of(entries: list[Entry], space: dict[str, Any]) -> Originals:
    """The names of `space` without what `entries` put there."""
    plain = {name: old for name, old, _ in entries if old is not MISSING}
    return Originals(space, plain, {name for name, old, _ in entries if old is MISSING})


def patch_of(space: dict[str, Any]) -> Patch:
    """The one patch of a namespace."""
    patch = patches.get(id(space))
    if patch is None:
        patch = Patch(space)
        patch = patches.setdefault(id(space), patch)
    return patch
