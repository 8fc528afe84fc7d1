"""Who computes deferred device arrays: one generated kernel an expression.

An expression that is met for the first time is computed by one CuPy call an operation; a kernel is
made for one that comes again, as those of a training loop do. Its key is the structure alone:
which operations, which operands are the same, their dtypes. Sizes and numbers are arguments.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any

import numpy as np

from npgrad.graph import placing
from npgrad.graph.deferred import Deferred

from .fuse import SPELLING, Chain, Operation

__all__ = ["Evaluator"]

KEPT = 4096  # structures remembered
SLOW = 100  # operations whose compilation, 0.5 to 1 s, has to be worth one more sighting
MOST = 2048  # operations of a kernel; a wide expression can have more than a long one
AGAIN = 2  # the sighting at which a short expression gets its kernel


class Seen:
    """One structure: how often it was met, and its kernel."""

    __slots__ = ("chain", "times")

    def __init__(self) -> None:
        self.times = 0
        self.chain: Chain | None = None


class Evaluator:
    """See `npgrad.graph.deferred.use`; `library` is CuPy (or what stands for it in a test)."""

    def __init__(self, library: Any, *, again: int = AGAIN, now: bool = False) -> None:
        self.library = library
        self.again = again
        self.now = now  # a kernel of every expression, the first time it is met
        self.operations = {
            getattr(np, name): name
            for name in SPELLING
            if isinstance(getattr(np, name, None), np.ufunc)
        }
        self.names = frozenset(SPELLING)
        self.seen: OrderedDict[Any, Seen] = OrderedDict()
        self.launched = 0  # kernels, for tests and people who look

    def filled(self, value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
        """A device array of `shape` that holds `value`."""
        made = self.library.empty(shape, dtype)
        made[...] = value
        return made

    def sweeps(self) -> Any:
        """Who replays the sweeps of one function's recordings, see `sweeps`; None: nobody."""
        if os.environ.get("NPGRAD_CUDA_REPLAY", "1") == "0":
            return None
        from .sweeps import Sweeps  # imports what a program without gradients does not need

        return Sweeps()

    def evaluate(self, order: list[Deferred], outputs: list[Deferred]) -> bool:
        """Give `outputs` their values by one kernel; False if it is not worth it, or cannot be."""
        key, arrays, numbers = _structure(order, outputs)
        if not arrays or len(order) > MOST:
            return False
        if len(arrays) > 1:
            placing.refuse_devices(f"np.{order[0].name} (and what follows)", arrays)
        seen = self.seen.get(key)
        if seen is None:
            seen = self.seen[key] = Seen()
            if len(self.seen) > KEPT:
                self.seen.popitem(last=False)
        seen.times += 1
        if not self.now and seen.times < self.again + len(order) // SLOW:
            return False
        if seen.chain is None:
            seen.chain = _chain(order, outputs)
        made = self.run(seen.chain, order[0].shape, arrays, numbers)
        self.launched += 1
        for output, value in zip(outputs, made, strict=True):
            output.value = value
        return True

    def run(self, chain: Chain, shape: tuple[int, ...], arrays: Any, numbers: Any) -> list[Any]:
        """Launch the kernel of `chain`."""
        return chain.run(shape, arrays, numbers)


def _structure(
    order: list[Deferred], outputs: list[Deferred]
) -> tuple[tuple[Any, ...], list[Any], list[Any]]:
    """A key, and the arrays and numbers that a kernel of this structure takes.

    The key is flat: for each operation its name and the places of its operands (0, 1, ... an
    operation; -1, -3, ... an array; -2, -4, ... a number), at the end the outputs and dtypes. What
    an operation's dtype is, follows from those of its operands; of a cast it is part of the name.
    """
    places: dict[int, int] = {}
    arrays: list[Any] = []
    numbers: list[Any] = []
    known: dict[Any, int] = {}
    key: list[Any] = []
    add = key.append
    for i, node in enumerate(order):
        places[id(node)] = i
        add(node.name if node.name != "cast" else "cast " + node.dtype.char)
        for operand in node.operands:
            if type(operand) is Deferred:
                array = operand.value
                if array is None:
                    add(places[id(operand)])
                    continue
                mark: Any = id(array)
                place = known.get(mark)
                if place is None:
                    place = known[mark] = -1 - 2 * len(arrays)
                    arrays.append(array)
            else:
                mark = (float(operand), type(operand))
                place = known.get(mark)
                if place is None:
                    place = known[mark] = -2 - 2 * len(numbers)
                    numbers.append(operand)
            add(place)
    key += [places[id(output)] for output in outputs]
    key += [array.dtype.char for array in arrays]
    key += [number.dtype.char for number in numbers]
    return tuple(key), arrays, numbers


_DTYPE = {"f": "float32", "d": "float64", "?": "bool"}


def _chain(order: list[Deferred], outputs: list[Deferred]) -> Chain:
    """The chain of an expression: what it takes first, in the order of `_structure`."""
    key, arrays, numbers = _structure(order, outputs)
    operations = [
        Operation("input", dtype=_DTYPE[array.dtype.char], value=i)
        for i, array in enumerate(arrays)
    ]
    operations += [
        Operation("number", dtype=_DTYPE[number.dtype.char], value=i)
        for i, number in enumerate(numbers)
    ]
    first, at = len(operations), 0
    for node in order:
        places = []
        for place in key[at + 1 : at + 1 + len(node.operands)]:
            if place >= 0:
                places.append(first + place)
            elif place % 2:
                places.append((-1 - place) // 2)
            else:
                places.append(len(arrays) + (-2 - place) // 2)
        operations.append(Operation(node.name, tuple(places), _DTYPE[node.dtype.char]))
        at += 1 + len(node.operands)
    return Chain(operations, [first + place for place in key[at : at + len(outputs)]])
