"""The names to replace in one namespace, whoever uses it: put in place, and back.

A namespace has one patch, counted, which the plans of all packages share.
"""

from __future__ import annotations

import builtins
import sys
import threading
import types
from collections.abc import Collection, Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from npgrad.wrapping.builtin_names import names_asked, nested, shadows_for, types_asked_for
from npgrad.wrapping.compiling import Originals, ufunc_places
from npgrad.wrapping.converting import conversions_of
from npgrad.wrapping.generated import Generated, generated_in, is_module
from npgrad.wrapping.holders import NUMBERS, attributes_of, slots_of
from npgrad.wrapping.imports import imports_numpy, replacing
from npgrad.wrapping.places import Place, cells_of, functions_of, is_own, places_in, written_in
from npgrad.wrapping.rewriting import exchange_of, has_sites
from npgrad.wrapping.stand_ins import REGISTERED, adapted, replacement, with_rule
from npgrad.wrapping.subclasses import super_in_classes, writes_subclasses
from npgrad.wrapping.swaps import MISSING, Attributes, Bound, Entry, Swap
from npgrad.wrapping.ufuncs import given_lists
from npgrad.wrapping.unions import unions_in

LOCK = threading.RLock()  # an import inside of a wrapped call comes back here


class Patch:
    """The names to replace in one namespace, shared by every plan that covers it."""

    def __init__(self, space: dict[str, Any], codes: list[types.CodeType] | None = None) -> None:
        self.space = space
        self.codes = codes  # of a generated namespace: all that uses it; None: any code
        self.imports = False  # a function of it imports NumPy or its kin when it is called
        self.met: list[types.CodeType] = []  # of functions that no name leads to
        self.others: list[Generated] = []  # generated namespaces of functions that stand here
        self.size = -1  # how many names it held when it was last looked at
        # What each call that uses it needs, by the identity of its list; None is everything.
        self.users: dict[int, Swap | None] = {}
        self.strict: frozenset[Any] = frozenset()  # types for which its code asks `is np.float64`
        # Names beside an `is` in code: those of its own code; of a table, the keys asked for so.
        self.asked: frozenset[str] = frozenset()
        self.lists: frozenset[Any] = frozenset()  # ufuncs that its code hands lists
        self.entries: list[Entry] = []
        self.all = Swap(())  # the entries
        self.places: list[Place] = []
        # A module that was imported whole keeps its functions; what is typed in binds names again.
        typed = space.get("__name__") == "__main__" or not is_module(space)
        # A table, or an object's attributes.
        self.holds = codes is None and "__builtins__" not in space and not is_module(space)
        self.settled = codes is not None or not (typed and "__builtins__" in space)
        self.bound = Bound({})  # the functions, classes and modules that it named

    def named(self) -> list[tuple[str, Any]]:
        """The names to look at, and what they mean."""
        if self.codes is None:
            return list(self.space.items())
        names = {name for outer in self.codes for code in nested(outer) for name in code.co_names}
        return [(name, self.space[name]) for name in names if name in self.space]

    def meet(self, code: types.CodeType) -> None:
        """Look at `code` too, which runs in this namespace."""
        self.met = [*self.met[-100:], code]
        self.size = min(self.size, 0)

    def asked_by(self, names: frozenset[str], label: str | None) -> None:
        """Code names these beside an ``is``: the table `label`, or its keys as attributes."""
        keys = frozenset(self.space)
        asked = (keys if label in names else frozenset()) if label else keys & names
        if not asked <= self.asked:
            self.asked |= asked
            self.size = min(self.size, 0)

    def look(self) -> None:
        """Find the names bound since the last look; all anew while nothing is replaced."""
        space, first = self.space, self.size < 0 or not self.users
        if first:
            self.strict, self.lists = frozenset(), frozenset()
            self.entries, self.places, self.others = [], [], []
        known = {name for name, _, _ in self.entries}
        module = space.get("__name__")
        codes: list[types.CodeType] = [*(self.codes or ()), *self.met]
        entries: list[Entry] = []
        places: list[Place] = []
        classes: list[type] = []
        for name, value in self.named():
            new = replacement(value)
            if new is None and self.holds:
                new = NUMBERS.get(id(value))
            if self.holds and name in self.asked and isinstance(value, type):
                continue
            if new is not None and name not in known:
                entries.append((name, value, new))
            elif REGISTERED and name not in known and (ruled := with_rule(value)) is not None:
                entries.append((name, *ruled))  # a call that does not cover it replaced the name
            if first and (written_in(value) == module or type(value) is dict):
                functions = list(functions_of(value, module))
                compiled = type(value).__module__.startswith("numba.")  # it reads their code
                self.others.extend(generated_in(functions, space))
                for function in functions:
                    codes.append(function.__code__)
                    if not is_own(function):  # in a copy of npgrad's module, as doctest makes one
                        places.extend(places_in(function))
                        if not compiled and has_sites(function):
                            places.append((exchange_of(function), False, True))
                if isinstance(value, type):
                    classes.append(value)
                else:
                    places.extend(slots_of(value, module))
            elif first and type(value) is types.FunctionType and not is_own(value):
                places.extend(cells_of(value))  # a namespace's function, made for `xp`
                self.others.extend(generated_in([value], space))
        if not self.holds:
            self.asked |= names_asked(codes)
        for kind in classes:
            places.extend(attributes_of(kind, self.asked))
            places.extend(conversions_of(kind))
        self.imports = self.imports or any(map(imports_numpy, codes))
        self.strict |= types_asked_for(codes)
        self.lists |= given_lists(codes)
        if self.lists:
            entries += [
                (n, v, v) for n, v in self.named() if type(v) is np.ufunc and n not in known
            ]
        if self.strict or self.lists:
            made = [(name, old, adapted(old, self.strict, self.lists)) for name, old, _ in entries]
            entries = [entry for entry in made if entry[2] is not None]
        shadows = shadows_for(codes)
        if first and writes_subclasses(space):
            shadows["super"] = super_in_classes
        for name, new in shadows.items():
            if name not in space:
                entries.append((name, MISSING, new))
        entries += [entry for entry in unions_in(space, codes) if entry[0] not in known]
        self.entries.extend(entries)
        if "numba" in sys.modules and first:
            places.extend(ufunc_places(space, names_of(self.entries, space)))
        self.places.extend(places)
        self.all = Swap(self.entries)
        if None in self.users.values():
            Swap(entries).put(space)
            for place, _, made in places:
                place(made)
        self.size = len(space)
        bound = None if self.settled and not self.holds else Bound(space)
        if self.holds:  # of a table, or an object, that holds functions, an entry may be exchanged
            self.settled = bool(space) and not bound
        if bound is not None and not self.settled:
            self.bound = bound

    def stale(self) -> bool:
        """Whether names were bound since the last look: in what is typed in, to other functions."""
        if self.size != len(self.space):
            return True
        if self.users or self.settled or not self.size:
            return False
        return not self.bound.holds(self.space)

    def open(self, opened: list[Patch], needed: Swap | None = None) -> None:
        """One more call uses these names; noted first, so that an interrupt undoes it."""
        opened.append(self)
        users = self.users
        first = not users or None not in users.values()
        users[id(opened)] = needed
        if needed is not None:
            needed.put(self.space)
        elif first:
            self.all.put(self.space)
            for place, _, made in self.places:
                place(made)

    def close(self, opened: list[Patch]) -> None:
        """A call uses them no longer; it may say so twice."""
        users, key = self.users, id(opened)
        if key not in users:
            return
        mine = users[key]
        kept: Collection[str] | None = ()
        if len(users) > 1:
            others = [needed for call, needed in users.items() if call != key]
            kept = None if None in others else {e[0] for n in others if n for e in n.entries}
        if kept is not None:
            (mine or self.all).restore(self.space, kept)
            if mine is None:
                for place, before, _ in self.places:
                    place(before)
        del users[key]


# By the identity of the namespace, which the patch keeps alive; plans keep the patches.
patches: WeakValueDictionary[int, Patch] = WeakValueDictionary()


def in_use(space: dict[Any, Any]) -> bool:
    """Whether a call has replaced names of a namespace just now."""
    patch = patches.get(id(space))
    return patch is not None and bool(patch.users) and bool(patch.entries)


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
    elif patch.codes is not None:  # until now for what a generated function names
        patch.codes, patch.size, patch.settled = None, min(patch.size, 0), False
    return patch


def serving(space: dict[str, Any], code: types.CodeType) -> Patch:
    """The one patch of a generated namespace, which is for what `code` names."""
    patch = patches.get(id(space))
    if patch is None:
        patch = patches.setdefault(id(space), Patch(space, [code]))
    elif patch.codes is not None and code not in patch.codes:
        patch.codes.append(code)
        patch.size = min(patch.size, 0)
    return patch


class _Import(Patch):
    """Python's ``__import__``, for functions that import NumPy when they are called."""

    def __init__(self) -> None:
        super().__init__(vars(builtins), [])

    def stale(self) -> bool:
        """Whether somebody has replaced it since the last look."""
        return not self.users and not (self.entries and self.entries[0][1] is builtins.__import__)

    def look(self) -> None:
        """See `Patch.look`."""
        self.entries = [("__import__", builtins.__import__, replacing(builtins.__import__))]
        self.all = Swap(self.entries)


IMPORT = _Import()


class _Distributions(Patch):
    """SciPy's distributions, which objects hold."""

    def __init__(self) -> None:
        super().__init__({}, [])

    def stale(self) -> bool:
        """Whether SciPy's chapter was not loaded at the last look."""
        return not self.entries

    def look(self) -> None:
        """See `Patch.look`."""
        chapter = sys.modules.get("npgrad.scipy.stats")
        made = [getattr(chapter, name) for name in chapter.__all__] if chapter is not None else []
        methods = [
            (one.theirs, name, MISSING, getattr(one, name))
            for one in made
            if hasattr(one, "formulas") and hasattr(one, "theirs")
            for name in one.formulas
        ]
        self.all = Attributes(methods)  # they hide the classes' methods
        self.entries = [("", MISSING, None)] if methods else []


DISTRIBUTIONS = _Distributions()


def look_at(given: Iterable[Patch]) -> None:
    """Look at those where names were bound since the last look."""
    for patch in given:
        if patch.stale():
            patch.look()
