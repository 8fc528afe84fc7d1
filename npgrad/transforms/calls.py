"""One call of a function that npgrad does not look into, taken apart and put together again.

Shared by `primitive` and `checkpoint`: which arrays stand where in nested arguments and outputs,
and the checks of what a derivative rule returned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import RuleError
from ..graph import backend
from ..graph.array import GradArray, current
from .trees import flatten, is_single

Key = int | str


def parts_of(value: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of an argument; text, functions and None are leaves and import nothing."""
    if is_single(value) or value is None or isinstance(value, (str, bytes)) or callable(value):
        return [value], _first
    return flatten(value)


def _first(parts: list[Any]) -> Any:
    return parts[0]


def same_layout(value: Any, like: Any) -> list[Any] | None:
    """The leaves of `value` if it has the structure of `like`, else None."""
    if is_single(like):
        return [value] if is_single(value) else None
    from .trees import _spec  # optree is loaded by now

    if is_single(value) or _spec(value) != _spec(like):
        return None
    return parts_of(value)[0]


def hidden(part: Any, beside: bool) -> str:
    """What an output is that is no array or number, for a message; nothing if it is one.

    Text `beside` arrays is a remark, such as the message of a solver.
    """
    if part is None or (beside and isinstance(part, (str, bytes))):
        return ""
    if isinstance(part, np.ma.MaskedArray):
        return "a masked array (its mask would be lost)"
    if not is_single(part):
        return f"a {type(part).__module__}.{type(part).__qualname__}"
    dtype = backend.describe(part)[1]
    return f"an array of {dtype}" if dtype.kind in "OV" else ""


class Call:
    """One call taken apart: the arrays in its arguments, and how to put others in their places.

    ``recorded`` holds the positions, among the arrays, of those that are recorded; ``owners`` the
    argument that each array belongs to (a position, or the name of a keyword); ``number`` counts
    the calls of a primitive.
    """

    __slots__ = (
        "arguments",
        "arrays",
        "count",
        "leaves",
        "names",
        "number",
        "out",
        "owners",
        "recorded",
        "y",
    )

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.count = len(args)
        self.names = tuple(kwargs)
        self.arguments: list[tuple[int, Callable[[list[Any]], Any]]] = []
        self.leaves: list[Any] = []
        self.arrays: list[Any] = []
        self.owners: list[Key] = []
        self.recorded: list[int] = []
        self.y: list[int] = []  # which leaves of the output are arrays
        self.out: Any = None
        self.number = 0
        named: list[tuple[Key, Any]] = [*enumerate(args), *kwargs.items()]
        for key, value in named:
            parts, rebuild = parts_of(value)
            self.arguments.append((len(parts), rebuild))
            for part in parts:
                if type(part) is GradArray or (
                    backend.is_array(part) and not backend.is_scalar(part)
                ):
                    if type(part) is GradArray and current(part)[1] is not None:
                        self.recorded.append(len(self.arrays))
                    self.leaves.append(Place(len(self.arrays)))
                    self.arrays.append(part)
                    self.owners.append(key)
                else:
                    self.leaves.append(part)

    def filled(self, arrays: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with `arrays` in the places of the arrays."""
        values = []
        position = 0
        for count, rebuild in self.arguments:
            parts = self.leaves[position : position + count]
            position += count
            values.append(rebuild([arrays[p.index] if type(p) is Place else p for p in parts]))
        return tuple(values[: self.count]), dict(zip(self.names, values[self.count :], strict=True))

    def argument(self, key: Key, arrays: Sequence[Any]) -> Any:
        """The argument `key` with `arrays` in its places."""
        args, kwargs = self.filled(arrays)
        return kwargs[key] if isinstance(key, str) else args[key]

    def split(self, result: Any) -> Any:
        """The arrays of an output, for the graph: one, or a tuple; the rest is remembered."""
        parts, rebuild = parts_of(result)
        self.y = [i for i, p in enumerate(parts) if backend.is_array(p) or backend.is_scalar(p)]
        self.out = (parts, rebuild)
        outputs = [parts[i] for i in self.y]
        for i, position in enumerate(self.y):
            outputs[i] = parts[position] = _own(outputs[i])
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def joined(self, outputs: Any) -> Any:
        """The output in its structure, with `outputs` for its arrays; None becomes zeros."""
        parts, rebuild = self.out
        filled = list(parts)
        single = len(self.y) == 1
        for i, position in enumerate(self.y):
            part = outputs if single else outputs[i]
            filled[position] = zeros_like(parts[position]) if part is None else part
        return rebuild(filled)


class Place:
    """Stands for an array among the leaves."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


def _own(result: Any) -> Any:
    """`result` as an array nobody else holds, with Python numbers as NumPy's."""
    if type(result) in backend.NUMBERS:
        return backend.asarray(result)[()]
    return result


def zeros_like(value: Any) -> Any:
    """A zero cotangent or tangent of `value`."""
    shape, dtype = backend.describe(value)
    return backend.zeros(value, shape, dtype if backend.is_inexact(dtype) else backend.FLOAT)[()]


def checked(value: Any, like: Any, what: str, word: str) -> Any:
    """`value`, which a rule returned, if it can be a cotangent or tangent of `like`."""
    if not backend.is_array(value) and not backend.is_scalar(value):
        raise RuleError(f"npgrad: {what} returned {type(value).__name__} as a {word}, not an array")
    shape, dtype = backend.describe(value)
    wanted, kind = backend.describe(like)
    if shape != wanted:
        raise RuleError(
            f"npgrad: {what} returned a {word} of shape {shape}, it must be {wanted}"
            + (": sum the axes that were broadcast" if len(shape) >= len(wanted) else "")
        )
    if type(value) is int:
        value = float(value)
    if type(value) is bool or dtype.kind not in "fc":
        raise RuleError(f"npgrad: {what} returned a {word} of {dtype}, it must be {kind}")
    if dtype.kind == "c" and kind.kind != "c":
        raise RuleError(
            f"npgrad: {what} returned a complex {word} for a real array; take np.real of it"
        )
    return value


def is_solid(array: Any) -> bool:
    """Whether `array` has elements that somebody could change."""
    return backend.is_array(array) and not backend.is_scalar(array)


def name_argument(key: Key) -> str:
    """``argument 1`` or ``argument 'x'``, for messages."""
    return f"argument {key!r}" if isinstance(key, str) else f"argument {key}"


def guarded(g: Any) -> Any:
    """A cotangent or tangent as a rule gets it: what the rule writes reaches nobody else.

    Plain arrays are read-only views; recorded ones are handles of the rule's own, whose writes are
    recorded as writes into a copy.
    """
    if is_single(g):
        return _guarded(g)
    parts, rebuild = parts_of(g)
    return rebuild([_guarded(part) for part in parts])


def _guarded(part: Any) -> Any:
    if type(part) is GradArray:
        return GradArray(*current(part))
    if type(part) is backend.NDARRAY:
        part = part.view()
        part.flags.writeable = False
    return part


def writable(tangent: Any) -> Any:
    """A tangent as the graph and the caller may have it: a rule may return its read-only `g`."""
    if type(tangent) is backend.NDARRAY and not tangent.flags.writeable:
        return backend.snapshot(tangent)
    return tangent


def added(a: Any, b: Any) -> Any:
    """The sum of two tangents of one output, or of several."""
    if isinstance(a, tuple):
        return tuple(x + y for x, y in zip(a, b, strict=True))
    return a + b


def all_zero(tangent: Any) -> bool:
    """Whether nothing moves in this direction."""
    return all(
        type(part) is not GradArray and not backend.asarray(part).any()
        for part in parts_of(tangent)[0]
        if is_single(part)
    )
