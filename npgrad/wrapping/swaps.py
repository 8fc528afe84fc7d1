"""Names of one namespace that are exchanged together, and whether others were bound since.

Every wrapped call asks both, so where nothing has changed the questions are asked in C: what the
names mean is compared, object by object, with what they meant, and they are exchanged by one
``dict.update``. Where something differs, or names are few, they are looked at one by one.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Collection, Iterable
from typing import Any

Space = dict[str, Any]
Entry = tuple[str, Any, Any]  # a name, what it stands for, what it is to stand for
FEW = 5  # one by one, fewer names are exchanged faster
MISSING = object()  # what stood under a name that hides a builtin


def _getter(names: Collection[str]) -> Callable[[Space], tuple[Any, ...]]:
    """What some names mean in a namespace, in a tuple; KeyError if one is unbound."""
    if not names:
        return _of_none
    return operator.itemgetter(*names, next(iter(names)))  # of one name it would give no tuple


def _of_none(_: Space) -> tuple[Any, ...]:
    return ()


class Swap:
    """Entries that are put in place, and taken out again, together."""

    __slots__ = ("_added", "_get", "_get_all", "_many", "_new", "_olds", "_shown", "entries")

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple({entry[0]: entry for entry in reversed(tuple(entries))}.values())
        self._many = len(self.entries) > FEW
        self._shown = {name: old for name, old, _ in self.entries if old is not MISSING}
        self._added = tuple([name for name, old, _ in self.entries if old is MISSING])
        self._new = {name: new for name, _, new in self.entries}
        self._get, self._get_all = _getter(self._shown), _getter(self._new)
        self._olds = self._get(self._shown)

    def put(self, space: Space) -> None:
        """Replace the names that still mean what they meant."""
        hidden = map(space.__contains__, self._added)
        if self._many and _same(self._get, space, self._olds) and not any(hidden):
            space.update(self._new)
            return
        for name, old, new in self.entries:
            if space.get(name, MISSING) is old:
                space[name] = new

    def restore(self, space: Space, kept: Collection[str] = ()) -> None:
        """Undo `put`, except for names that the program bound anew, or that others use."""
        if self._many and not kept and _same(self._get_all, space, self._get_all(self._new)):
            space.update(self._shown)
            for name in self._added:
                del space[name]
            return
        for name, old, made in self.entries:
            if space.get(name) is made and name not in kept:
                if old is MISSING:
                    del space[name]
                else:
                    space[name] = old


class Attributes(Swap):
    """Attributes of classes and objects: who holds it, its name, what it is and is to be."""

    __slots__ = ("_held",)

    def __init__(self, held: list[tuple[Any, str, Any, Any]]) -> None:
        super().__init__(())
        self._held = held

    def put(self, space: Space) -> None:
        """Set them."""
        for holder, name, _, new in self._held:
            setattr(holder, name, new)

    def restore(self, space: Space, kept: Collection[str] = ()) -> None:
        """Set them back, as often as one likes."""
        for holder, name, old, _ in self._held:
            if old is not MISSING:
                setattr(holder, name, old)
            elif name in vars(holder):
                delattr(holder, name)


def _same(get: Callable[[Space], tuple[Any, ...]], space: Space, held: tuple[Any, ...]) -> bool:
    """Whether names mean what they meant."""
    try:
        return all(map(operator.is_, get(space), held))
    except KeyError:
        return False


class Bound:
    """What a namespace named at one time that runs, or has names: data may change at each call."""

    __slots__ = ("_count", "_get", "_get_data", "_kinds", "_values")

    def __init__(self, space: Space) -> None:
        named = dict(space)
        held = {name: value for name, value in named.items() if _names_or_runs(value)}
        self._count = len(held)
        self._get = _getter(held)
        self._values = self._get(held)
        self._get_data = _getter(named.keys() - held.keys())
        self._kinds = list(map(type, self._get_data(named)))

    def __len__(self) -> int:
        return self._count

    def holds(self, space: Space) -> bool:
        """Whether it names the same still; there are as many names.

        Whether a value can be called is a question for its type.
        """
        try:
            if not all(map(operator.is_, self._get(space), self._values)):
                return False
            kinds = list(map(type, self._get_data(space)))
        except KeyError:
            return False
        if all(map(operator.is_, kinds, self._kinds)):
            return True
        self._kinds = kinds
        return sum(map(_names_or_runs, list(space.values()))) == self._count


def _names_or_runs(value: Any) -> bool:
    return callable(value) or type(value) is types.ModuleType
