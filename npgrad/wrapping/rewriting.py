"""What a plain array does itself, ``plain.dot(x)`` and ``plain @ [x[0], x[1]]``, in wrapped code.

C code answers there, which no name leads to and no protocol sees. So while a wrapped call runs, a
function that says ``.dot(`` or writes a list right of an operator has another code object. There,
before the method is looked up or the list is used, the object is exchanged for one that records:

    LOAD_FAST    a                       LOAD_FAST    a
    LOAD_METHOD  dot      becomes        JUMP_FORWARD ------.
    LOAD_FAST    x                       LOAD_FAST    x  <--|-.
    CALL         1                       CALL         1     | |
                                         ...                | |
                                         LOAD_CONST   DOT <-' |
                                         SWAP         2       |
                                         BINARY_SUBSCR        |   DOT[a]
                                         LOAD_METHOD  dot     |
                                         JUMP_BACKWARD -------'

What is added stands behind the old end, so that no offset changes; it has the lines and the
handlers of the place that it serves. Done where it is tested, in CPython 3.11; with others such
code is refused, as it is outside of wrapped functions.
"""

from __future__ import annotations

import dis
import functools
import importlib
import itertools
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from npgrad.graph.array import GradArray
from npgrad.graph.modes import WRAPPED
from npgrad.graph.stacking import has_recorded, stacked
from npgrad.wrapping.lists import LISTED
from npgrad.wrapping.places import content

SERVED = sys.version_info[:2] == (3, 11)
_dot = LISTED[id(np.dot)]


class _Array:
    """A plain array of which a method is asked for."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def dot(self, b: Any, out: Any = None) -> Any:
        """``array.dot(b)``, which may be recorded."""
        return _dot(self._array, b) if out is None else _dot(self._array, b, out)


class _Sparse:
    """A sparse matrix of which a method is asked for."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def dot(self, other: Any) -> Any:
        """``matrix.dot(other)``, which may be recorded."""
        if type(other) is GradArray or type(other) in (list, tuple):
            return importlib.import_module("npgrad.scipy.sparse").matmul(self._matrix, other)
        return self._matrix.dot(other)


class _Dot:
    """``DOT[a]``: what has the method `dot` in place of `a`."""

    def __getitem__(self, a: Any) -> Any:
        kind = type(a)
        plain = kind is np.ndarray or (issubclass(kind, np.ndarray) and kind.dot is np.ndarray.dot)
        if plain:
            return _Array(a) if WRAPPED.get() else a
        sparse = kind.__module__.startswith("scipy.sparse") and hasattr(kind, "tocsr")
        return _Sparse(a) if sparse and WRAPPED.get() else a

    def __reduce__(self) -> str:
        return "DOT"


class _List:
    """``LIST[a]``: a list of recorded numbers as an array."""

    def __getitem__(self, a: Any) -> Any:
        return stacked(a) if WRAPPED.get() and has_recorded(a) else a

    def __reduce__(self) -> str:
        return "LIST"


DOT, LIST = _Dot(), _List()


class Site(NamedTuple):
    """A place in the code: its bytes, where the exchange stands among them, and by what."""

    start: int
    end: int
    at: int
    by: Any


def _ends(steps: list[dis.Instruction], size: int) -> Iterator[tuple[dis.Instruction, int]]:
    """Each instruction with the offset behind it and its caches."""
    for step, after in itertools.zip_longest(steps, steps[1:]):
        yield step, after.offset if after is not None else size


def _sites(code: types.CodeType, space: dict[str, Any]) -> Iterator[Site]:
    before: Any = None
    for step, end in _ends(list(dis.get_instructions(code)), len(code.co_code)):
        if step.opname == "LOAD_METHOD" and step.argval == "dot":
            named = before is not None and before.opname == "LOAD_GLOBAL"
            if step.arg < 256 and not (  # type: ignore[operator]
                named and type(space.get(before.argval)) is types.ModuleType
            ):
                yield Site(step.offset, end, step.offset, DOT)
        elif _of_arrays(step) and not step.is_jump_target and _builds(before):
            yield Site(before.offset, end, step.offset, LIST)
        before = step


def _builds(step: Any) -> bool:
    return step is not None and step.opname == "BUILD_LIST" and step.arg < 256


def _of_arrays(step: Any) -> bool:
    """Whether it is an operator of arrays: ``names + ["x"]`` joins lists, as a rule."""
    return step.opname == "BINARY_OP" and step.argrepr not in ("+", "+=")


_BUILD, _BINARY = dis.opmap["BUILD_LIST"], dis.opmap["BINARY_OP"]


@functools.lru_cache(maxsize=4096)
def may_have_sites(code: types.CodeType) -> bool:
    """Whether a place may be found in `code`, or in that of a function written in it."""
    if not SERVED:
        return False
    if any(isinstance(part, types.CodeType) and may_have_sites(part) for part in code.co_consts):
        return True
    operations = code.co_code[::2]
    return "dot" in code.co_names or bytes((_BUILD, _BINARY)) in operations


def _varint(number: int) -> list[int]:
    """Six bits a byte, the lowest first: as in a table of lines."""
    parts = []
    while number >= 64:
        parts.append(number & 63 | 64)
        number >>= 6
    return [*parts, number]


def _lines(first: int, positions: Iterable[tuple[int | None, ...]]) -> bytes:
    """A table of lines for the units of code at `positions` (CPython's Objects/locations.md)."""
    table, line = [], first
    for place, run in itertools.groupby(positions):
        left = len(list(run))
        while left:
            length = min(left, 8)
            left -= length
            start, end, column, last = place
            if start is None:
                table.append(0x80 | 15 << 3 | length - 1)
                continue
            delta, line = start - line, start
            signed = _varint(delta << 1 if delta >= 0 else -delta << 1 | 1)
            if column is None or end is None or last is None:
                table += [0x80 | 13 << 3 | length - 1, *signed]
            else:
                table += [0x80 | 14 << 3 | length - 1, *signed]
                table += [*_varint(end - start), *_varint(column + 1), *_varint(last + 1)]
    return bytes(table)


def _handlers(entries: Iterable[Any]) -> bytes:
    """A table of exception handlers (CPython's Objects/exception_handling_notes.txt)."""
    table: list[int] = []
    for entry in entries:
        numbers = (entry.start // 2, (entry.end - entry.start) // 2, entry.target // 2)
        for i, number in enumerate((*numbers, entry.depth << 1 | entry.lasti)):
            parts = _varint(number)[::-1]  # the highest first
            parts = [*(part | 64 for part in parts[:-1]), parts[-1] & 63]
            table += [parts[0] | 128, *parts[1:]] if i == 0 else parts
    return bytes(table)


_SUBSCRIPT = dis.opmap.get("BINARY_SUBSCR", 0)
_EXCHANGE = bytes([dis.opmap["SWAP"], 2, _SUBSCRIPT, 0, *[0] * 8])  # [a, DOT] -> DOT[a]


def _jump(name: str, distance: int) -> bytes:
    """A jump over `distance` units, counted from its end: of two units, or of one."""
    if distance >= 1 << 16:
        raise OverflowError
    long = [dis.EXTENDED_ARG, distance >> 8] if distance > 255 else []
    return bytes([*long, dis.opmap[name], distance & 255])


def _forward(source: int, target: int) -> bytes:
    """A jump from `source` to `target` further on, both in bytes."""
    short = (target - source) // 2 - 1
    return _jump("JUMP_FORWARD", short if short < 256 else short - 1)


def _back(source: int, target: int) -> bytes:
    """A jump from `source` back to `target`."""
    short = (source - target) // 2 + 1
    return _jump("JUMP_BACKWARD", short if short < 256 else short + 1)


def _rewrite(code: types.CodeType, space: dict[str, Any]) -> types.CodeType:
    """`code` with its places exchanged; itself if it has none."""
    if not may_have_sites(code):
        return code
    constants = [
        _rewrite(part, space) if isinstance(part, types.CodeType) else part
        for part in code.co_consts
    ]
    changed = any(new is not old for new, old in zip(constants, code.co_consts, strict=True))
    sites = list(_sites(code, space))
    if not sites:
        return code.replace(co_consts=tuple(constants)) if changed else code
    raw, positions = bytearray(code.co_code), list(code.co_positions())
    handlers: list[Any] = list(dis._parse_exception_table(code))  # type: ignore[attr-defined]
    for site in sites:
        if site.by not in constants:
            constants.append(site.by)
        index, begin = constants.index(site.by), len(raw)
        load = [dis.opmap["LOAD_CONST"], index & 255]
        if index > 255:
            load = [dis.EXTENDED_ARG, index >> 8, *load]
        added = raw[site.start : site.at] + bytes(load) + _EXCHANGE + raw[site.at : site.end]
        added += _back(begin + len(added), site.end)
        jump = _forward(site.start, begin)
        raw[site.start : site.start + len(jump)] = jump  # what is left of the place is not reached
        raw += added
        positions += [positions[site.at // 2]] * (len(added) // 2)
        for entry in handlers:
            if entry.start <= site.at < entry.end:
                handlers.append(entry._replace(start=begin, end=len(raw)))
                break
    return code.replace(
        co_code=bytes(raw),
        co_consts=tuple(constants),
        co_stacksize=code.co_stacksize + 1,
        co_linetable=_lines(code.co_firstlineno, positions),
        co_exceptiontable=_handlers(handlers),
    )


class _Original(NamedTuple):
    """The last constant of a code object that was made here."""

    code: types.CodeType


MOST = 4096  # code objects that are remembered
_made: dict[tuple[int, int], tuple[types.CodeType, types.CodeType]] = {}  # with the original


def original_code(code: types.CodeType) -> types.CodeType:
    """The code that `code` stands for; itself if it stands for none."""
    last = code.co_consts[-1] if code.co_consts else None
    return last.code if type(last) is _Original else code


def _rewritten(function: types.FunctionType) -> types.CodeType:
    code, space = original_code(function.__code__), function.__globals__
    key = (id(code), id(space))
    if key not in _made:
        if len(_made) > MOST:
            _made.clear()
        new = _rewrite(code, space)
        if new is not code:
            new = new.replace(co_consts=(*new.co_consts, _Original(code)))
        _made[key] = (code, new)
    return _made[key][1]


def has_sites(function: types.FunctionType) -> bool:
    """Whether `function` says what C code would answer."""
    code = original_code(function.__code__)
    return may_have_sites(code) and _rewritten(function) is not code


class Exchange:
    """The code of one function, exchanged while somebody wants it; called under a lock."""

    __slots__ = ("__weakref__", "function", "new", "old", "users")

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.old = self.new = function.__code__
        self.users = 0
        if has_sites(function):
            self.old, self.new = original_code(function.__code__), _rewritten(function)

    def __call__(self, wanted: bool) -> None:
        """One more call wants the other code, or one less."""
        function = self.function
        if wanted:
            self.users += 1
            if self.users == 1:
                if function.__code__ is not self.old:  # the program has given it another
                    self.old, self.new = function.__code__, _rewritten(function)
                function.__code__ = self.new
        elif self.users:
            self.users -= 1
            if self.users == 0 and function.__code__ is self.new:
                function.__code__ = self.old


# By the identity of the function, which the exchange keeps alive; places and calls keep those.
exchanges: WeakValueDictionary[int, Exchange] = WeakValueDictionary()


def exchange_of(function: types.FunctionType) -> Exchange:
    """The one exchange of a function."""
    found = exchanges.get(id(function))
    return exchanges.setdefault(id(function), Exchange(function)) if found is None else found


class Local:
    """The code of functions that no name of a module leads to; opened and closed as a `Patch`."""

    def __init__(self, f: Any) -> None:
        self._functions = [exchange_of(g) for g in _closing(f) if has_sites(g)]
        self._users: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._functions)

    def open(self, opened: list[Any]) -> None:
        """One more call; noted first, so that an interrupt undoes it."""
        opened.append(self)
        self._users.add(id(opened))
        for exchange in self._functions:
            exchange(True)

    def close(self, opened: list[Any]) -> None:
        """A call ends; it may say so twice."""
        if id(opened) in self._users:
            self._users.discard(id(opened))
            for exchange in self._functions:
                exchange(False)


def _closing(f: Any) -> list[types.FunctionType]:
    """`f`, and the Python functions that its closure holds, and theirs."""
    found: dict[int, types.FunctionType] = {}
    waiting = [f]
    while waiting:
        function = waiting.pop()
        if type(function) is types.FunctionType and id(function) not in found:
            found[id(function)] = function
            waiting += [content(cell) for cell in function.__closure__ or ()]
    return list(found.values())
