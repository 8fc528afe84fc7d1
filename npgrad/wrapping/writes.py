"""Which of its parameters a function writes into, as far as its code tells.

``p[i] = v``, ``p += v``, ``out=p``, ``p.fill(v)``, ``np.copyto(p, v)``; through a view, as of
``v = p[1:]`` or ``for row in p``; or by a function of the same program that it hands `p` to. Read
off the instructions and their places in the source: an expression that is a view of `p` begins with
`p`. What is taken for a write and is none costs a copy; a write that is not seen raises.
"""

from __future__ import annotations

import dis
import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from npgrad.transforms.reach import in_library, top_of
from npgrad.wrapping.places import content
from npgrad.wrapping.said import words

Place = tuple[int, int]


LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_FAST_CHECK", "LOAD_FAST_BORROW")
BETWEEN = (
    "SWAP",
    "COPY",
    "UNPACK_SEQUENCE",
    "UNPACK_EX",
    "NOP",
    "CACHE",
    "EXTENDED_ARG",
    "PRECALL",
)
METHODS = frozenset(("fill", "put", "sort", "partition", "resize", "itemset", "setfield"))
FUNCTIONS = words("copyto put place putmask fill_diagonal put_along_axis at shuffle")
ATTRIBUTES = frozenset(("flat", "real", "imag"))
# Functions that give their arguments back, or views of them.
VIEWS = words("""
    array asarray asanyarray atleast_1d atleast_2d atleast_3d broadcast_to diagonal enumerate
    expand_dims flip imag list moveaxis nditer ravel real reshape reversed rot90 squeeze swapaxes
    transpose tuple zip
""")
MOST = 50  # functions that are read for one that hands its parameters on


class Call(NamedTuple):
    """A call of something that has a name, and the variables in its arguments."""

    name: tuple[str, ...]  # ("helpers", "fill")
    given: tuple[tuple[int | str | None, Any], ...]  # by position or keyword; None: any argument


class Writes(NamedTuple):
    """What the code of a function says."""

    # That it writes into itself: parameters, and attributes of the first one, "self.buffer".
    parameters: frozenset[str]
    calls: tuple[Call, ...]


class _Reader:
    """The instructions of a function, by their places in its source."""

    def __init__(self, code: types.CodeType) -> None:
        self.steps = [s for s in dis.get_instructions(code) if _placed(s)]
        self.first = code.co_varnames[0] if code.co_argcount else ""
        self.constants = code.co_consts
        self.attributes = [s for s in self.steps if s.opname in ("LOAD_ATTR", "LOAD_METHOD")]
        self.variables = {_start(s): name for s in self.steps for name in _loaded(s)}
        self.loads = [self._load(s, name) for s in self.steps for name in _loaded(s)]
        self.globals = {_start(s): s.argval for s in self.steps if s.opname == "LOAD_GLOBAL"}

    def _load(self, step: dis.Instruction, name: str) -> tuple[Place, Place, str]:
        """A variable with its place; an attribute of the first parameter goes by both names."""
        start = _start(step)
        if name == self.first:
            parts = [s for s in self.attributes if _start(s) == start]
            if parts:
                part = min(parts, key=_end)
                return start, _end(part), f"{name}.{part.argval}"
        return start, _end(step), name

    def begun(self, step: dis.Instruction) -> set[str]:
        """The variable that the expression of `step` begins with."""
        return {name for start, _, name in self.loads if start == _start(step)}

    def within(self, begin: Place, end: Place) -> list[str]:
        """The variables that are named from `begin` to `end`, in their order."""
        return [name for start, last, name in sorted(self.loads) if begin <= start and last <= end]

    def callee(self, call: dis.Instruction) -> tuple[tuple[str, ...], Place]:
        """What is called, ``("np", "copyto")``, and where its arguments begin."""
        begin, end = _start(call), _end(call)
        parts = [s for s in self.attributes if _start(s) == begin and _end(s) < end]
        parts.sort(key=_end)
        first = self.globals.get(begin) or self.variables.get(begin, "")
        after = _end(parts[-1]) if parts else (begin[0], begin[1] + len(first))
        return (first, *(s.argval for s in parts)), after

    def seen(self, source: dis.Instruction | None) -> set[str]:
        """The variables of which the value that `source` makes may be a view."""
        if source is None:
            return set()
        name = source.opname
        if name.startswith("LOAD_FAST") or name in LOADS:
            return set(_loaded(source))
        if name.startswith("BUILD_"):
            return set(self.within(_start(source), _end(source)))
        if not name.startswith(("BINARY_S", "LOAD_ATTR", "CALL")):
            return set()
        if name.startswith("CALL") and self.callee(source)[0][-1] in VIEWS:
            return set(self.within(_start(source), _end(source)))
        return self.begun(source)

    def views(self) -> dict[str, set[str]]:
        """The variables of which a variable may be a view."""
        found: dict[str, set[str]] = {}
        source: dis.Instruction | None = None
        before: dis.Instruction | None = None
        for step in self.steps:
            name = step.opname
            if name.startswith("STORE_FAST") or name == "STORE_DEREF":
                stored = step.argval if type(step.argval) is tuple else (step.argval,)
                for variable in stored[:1] if "LOAD" in name else stored:
                    found.setdefault(variable, set()).update(self.seen(source))
            elif name == "FOR_ITER":
                source = before
            elif name == "GET_ITER":
                before = source
            elif name not in BETWEEN:
                source = step
        return found

    def targets(self) -> Iterator[str]:
        """The variables that are written into."""
        for i, step in enumerate(self.steps):
            name, said = step.opname, step.argval
            if (
                name in ("STORE_SUBSCR", "STORE_SLICE")
                or (name == "BINARY_OP" and step.argrepr.endswith("="))
                or (name == "STORE_ATTR" and said in ATTRIBUTES)
                or (name in ("LOAD_ATTR", "LOAD_METHOD") and said in METHODS)
            ):
                yield from self.begun(step)
            elif name.startswith("CALL"):
                called, after = self.callee(step)
                if called[-1] in FUNCTIONS:
                    yield from self.within(after, _end(step))[:1]
            if "out" in (keywords := self._keywords(step)):
                values = self.steps[max(i - len(keywords), 0) : i]
                if all(map(_is_name, values)):
                    yield from _loaded(values[keywords.index("out")])
                    continue
                call = next((s for s in self.steps[i:] if s.opname.startswith("CALL")), None)
                if call is not None:
                    yield from self.within(self.callee(call)[1], _end(call))

    def _keywords(self, step: dis.Instruction) -> tuple[Any, ...]:
        named = step.opname in ("KW_NAMES", "LOAD_CONST") and step.arg is not None
        held = self.constants[step.arg] if named else None  # type: ignore[index]
        return held if type(held) is tuple else ()

    def calls(self) -> Iterator[Call]:
        """What is called by a name, and the variables in its arguments."""
        keywords: tuple[Any, ...] = ()
        for step in self.steps:
            keywords = self._keywords(step) or keywords
            if step.opname.startswith("CALL"):
                name, after = self.callee(step)
                given = self._arguments(step, after, keywords)
                if name[0] and (any(names for _, names in given) or name[0] == self.first):
                    yield Call(name, given)
                keywords = ()

    def _arguments(
        self, call: dis.Instruction, after: Place, keywords: tuple[Any, ...]
    ) -> tuple[tuple[int | str | None, list[str]], ...]:
        """The variables in each argument: the widest places in the call are its arguments."""
        end = _end(call)
        places = sorted(
            {(_start(s), _end(s)) for s in self.steps}, key=lambda p: (p[0], _back(p[1]))
        )
        found: list[tuple[Place, Place]] = []
        for begin, last in places:
            inside = after <= begin and last <= end and (begin, last) != (_start(call), end)
            if inside and (not found or begin >= found[-1][1]):
                found.append((begin, last))
        names = [self.within(*place) for place in found]
        if call.opname.endswith("_EX") or len(found) != call.arg:
            return ((None, [name for part in names for name in part]),)
        first = len(found) - len(keywords)
        return tuple((i if i < first else keywords[i - first], n) for i, n in enumerate(names))


def _placed(step: dis.Instruction) -> bool:
    return step.positions is not None and None not in step.positions


def _start(step: dis.Instruction) -> Place:
    where: Any = step.positions
    return where.lineno, where.col_offset


def _end(step: dis.Instruction) -> Place:
    where: Any = step.positions
    return where.end_lineno, where.end_col_offset


def _is_name(step: dis.Instruction) -> bool:
    """Whether one instruction makes the value of an argument."""
    return step.opname in (*LOADS, "LOAD_CONST", "LOAD_GLOBAL")


def _back(place: Place) -> Place:
    return -place[0], -place[1]


def _loaded(step: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction loads."""
    if step.opname in LOADS:
        return (step.argval,)
    return tuple(step.argval) if step.opname.startswith("LOAD_FAST_") else ()  # two of them in one


def parameters_of(code: types.CodeType) -> tuple[str, ...]:
    """The names of a function's parameters, with ``*args`` and ``**kwargs``."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


@functools.lru_cache(maxsize=1024)
def read(code: types.CodeType) -> Writes:
    """What `code` writes into, and whom it hands its parameters to."""
    reader = _Reader(code)
    views = reader.views()
    parameters = set(parameters_of(code))

    def behind(names: Any) -> frozenset[str]:
        """The parameters of which these variables may be views."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(views.get(name, ()))
        return frozenset(name for name in found if name in parameters or "." in name)

    calls = [
        Call(name, tuple([(key, behind(names)) for key, names in given]))
        for name, given in reader.calls()
    ]
    return Writes(behind(reader.targets()), tuple(calls))


def written(
    function: types.FunctionType, owner: Any = None, known: dict[Any, frozenset[str]] | None = None
) -> frozenset[str]:
    """What `function`, a method of the class `owner`, writes into or has written; see `Writes`."""
    known = {} if known is None else known
    code = function.__code__
    if code not in known:
        found = read(code)
        names = known[code] = found.parameters  # what a function says that calls itself
        for call in found.calls if len(known) < MOST else ():
            bound = _binds(call.name, code)
            if not bound and all(given <= names for _, given in call.given):
                continue
            other = _called(function, owner, call.name)
            theirs = frozenset() if other is None else written(other, owner, known)
            for key, given in call.given if theirs else ():
                if key is None or _parameter(other, key, bound) in theirs:
                    names |= given
            if bound and theirs:  # what it writes into of the object that both are methods of
                own = [name.partition(".")[2] for name in theirs if "." in name]
                names |= {f"{call.name[0]}.{attribute}" for attribute in own}
        known[code] = names
    return known[code]


def _binds(name: tuple[str, ...], code: types.CodeType) -> bool:
    """Whether ``self.fill`` is called, which gives `self`."""
    return len(name) == 2 and name[0] in code.co_varnames[:1]


def _parameter(function: Any, key: int | str, bound: bool) -> str:
    """The parameter that an argument goes to."""
    code = function.__code__
    names = parameters_of(code)
    count = code.co_argcount + code.co_kwonlyargcount
    if isinstance(key, str):
        return key if key in names[:count] else names[-1]
    place = key + bound
    if place < code.co_argcount:
        return names[place]
    return names[count] if code.co_flags & inspect.CO_VARARGS else ""


def _called(
    function: types.FunctionType, owner: Any, name: tuple[str, ...]
) -> types.FunctionType | None:
    """The function of the program's own that goes by `name` in `function`."""
    code, held = function.__code__, None
    if len(name) == 1 and name[0] in code.co_freevars:
        held = content((function.__closure__ or ())[code.co_freevars.index(name[0])])
    elif len(name) == 1:
        held = function.__globals__.get(name[0])
    elif _binds(name, code):
        held = getattr(owner, name[1], None)
    elif len(name) == 2 and type(function.__globals__.get(name[0])) is types.ModuleType:
        held = vars(function.__globals__[name[0]]).get(name[1])
    if type(held) is not types.FunctionType:
        return None
    return held if top_of(held) == top_of(function) or not in_library(held) else None
