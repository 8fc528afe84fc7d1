"""What Numba froze: numbers that a compiled function's code names, as they were then.

Numba compiles globals and closure variables in as constants. Where a program changes one
afterwards, value and derivative must still be those of the function that runs. The numbers can be
read off what Numba kept of the compilation; arrays, of which it kept a copy, cannot.
"""

from __future__ import annotations

import types
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from npgrad.compiled.typing import original
from npgrad.errors import GradientLost
from npgrad.graph.refusals import at, user_frame

Constants = tuple[tuple[str, Any], ...]

_NUMBERS = (bool, int, float, complex, np.number, np.bool_)
# Which compiled function a Python function is the source of, and what was read of it at how many
# compilations.
_compiled: WeakKeyDictionary[types.FunctionType, Any] = WeakKeyDictionary()
_read: WeakKeyDictionary[types.FunctionType, tuple[int, dict[str, Any]]] = WeakKeyDictionary()


def source_of(value: Any) -> types.FunctionType | None:
    """The Python function that the compiled function `value` was made of, if it is one."""
    dispatcher = value if hasattr(value, "py_func") else getattr(value, "_dispatcher", None)
    if dispatcher is None:
        dispatcher = getattr(getattr(value, "gufunc_builder", None), "nb_func", None)
    source = getattr(dispatcher, "py_func", None)
    if not isinstance(source, types.FunctionType):
        return None
    _compiled[source] = dispatcher
    return source


def _frozen(source: types.FunctionType) -> dict[str, Any]:
    """The numbers that the compiled form of `source` holds, by their names."""
    overloads = getattr(_compiled.get(source), "overloads", None)
    if not overloads:
        return {}
    found = _read.get(source)
    if found is None or found[0] != len(overloads):
        numbers: dict[str, Any] = {}
        for result in list(overloads.values()):
            blocks = getattr(getattr(result, "type_annotation", None), "blocks", None) or {}
            for block in blocks.values():
                for step in block.body:
                    value: Any = step.value if type(step).__name__ == "Assign" else None
                    named = type(value).__name__ in ("Global", "FreeVar")
                    if named and isinstance(value.value, _NUMBERS):
                        numbers[value.name] = value.value
        found = _read[source] = (len(overloads), numbers)
    return found[1]


def names_of(source: types.FunctionType) -> dict[str, Any]:
    """The globals and the closure that the code of `source` names, numbers as they were frozen."""
    code, space = source.__code__, source.__globals__
    found = {name: original(space[name]) for name in code.co_names if name in space}
    for name, cell in zip(code.co_freevars, source.__closure__ or (), strict=True):
        found[name] = original(cell.cell_contents)
    frozen = _frozen(source)
    found.update({name: value for name, value in frozen.items() if name in found})
    return found


def constants_of(source: types.FunctionType, seen: frozenset[Any] = frozenset()) -> Constants:
    """The numbers that `source`, and the compiled functions that it names, compute with."""
    found: list[tuple[str, Any]] = []
    for name, value in names_of(source).items():
        if isinstance(value, _NUMBERS):
            found.append((name, value))
        elif (inner := source_of(value)) is not None and inner not in seen:
            found += [(f"{name}.{n}", v) for n, v in constants_of(inner, seen | {source})]
    return tuple(found)


def refuse_random(value: Any, name: str, seen: frozenset[Any] = frozenset()) -> None:
    """Raise where a compiled function draws from Numba's own generator.

    Its draws cannot be made again: the derivative would be that of other draws than the value's.
    """
    source = source_of(value)
    if source is None or source in seen:
        return
    names = names_of(source)
    for inner in names.values():
        attributes = source.__code__.co_names
        drawn = inner is np.random or (inner is np and "random" in attributes)
        if drawn or getattr(inner, "__module__", None) in ("random", "numpy.random.mtrand"):
            raise GradientLost(
                f"npgrad: {name} is compiled by Numba and draws random numbers inside; they cannot "
                "be drawn again, and its derivative would be that of other numbers than its value. "
                f"Recorded at {at(user_frame())}. Draw them outside, in NumPy, and pass them as an "
                "array; or give it a rule, npgrad.register_vjp; or npgrad.value(x) to cut the "
                "gradient on purpose."
            )
        refuse_random(inner, name, seen | {source})
