"""Functions that Numba compiles while names are replaced: it is given NumPy's own.

Numba reads a function's globals when it compiles, at the first call. It announces that
(``numba.core.event``); for that time its compiler works on a copy of the function whose globals,
closure and defaults are the originals. Nothing that another thread sees changes.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from npgrad.wrapping.stand_ins import original_of

Names = dict[str, Any]


class Originals(dict[str, Any]):
    """A module's names as they are outside of wrapped calls."""

    def __init__(self, space: Names, plain: Names, hiding: set[str]) -> None:
        super().__init__(plain)
        self._space = space
        self._hiding = hiding  # names that are not the module's at all
        self["__builtins__"] = space.get("__builtins__")

    def __missing__(self, name: str) -> Any:
        if name in self._hiding:
            raise KeyError(name)
        return self._space[name]

    def get(self, name: str, default: Any = None) -> Any:
        """As a dictionary does."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or (name in self._space and name not in self._hiding)


def plain_copy(function: types.FunctionType, names: Originals) -> types.FunctionType:
    """`function` with NumPy's own names."""
    cells = function.__closure__
    if cells is not None:
        cells = tuple([_plain_cell(cell) for cell in cells])
    defaults = function.__defaults__
    if defaults is not None:
        defaults = tuple([original_of(value) for value in defaults])
    made = types.FunctionType(function.__code__, names, function.__name__, defaults, cells)
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _plain_cell(cell: Any) -> Any:
    try:
        held = cell.cell_contents
    except ValueError:
        return cell
    plain = original_of(held)
    return cell if plain is held else types.CellType(plain)


def ufunc_places(space: Names, names: Originals) -> Iterator[tuple[Any, Any, Any]]:
    """Where the ufuncs of a module, which compile unannounced, hold their functions."""
    for value in list(space.values()):
        if not getattr(type(value), "__module__", "").startswith("numba.np.ufunc"):
            continue
        builder = getattr(value, "gufunc_builder", None)
        compiler = getattr(value, "_dispatcher", getattr(builder, "nb_func", None))
        function = getattr(compiler, "py_func", None)
        if type(function) is types.FunctionType and function.__globals__ is space:
            put = functools.partial(setattr, compiler, "py_func")
            yield put, function, plain_copy(function, names)


_listening = False


def listen(originals: Callable[[Names], Originals | None]) -> None:
    """Have Numba, if it was imported, tell what it compiles; `originals` knows what is replaced."""
    global _listening
    event = sys.modules.get("numba.core.event")
    if _listening or event is None or not hasattr(event, "register"):
        return
    _listening = True

    class Listener(event.Listener):  # type: ignore[name-defined, misc]
        def on_start(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            function = dispatcher.py_func
            names = originals(function.__globals__)
            if names is not None and hasattr(dispatcher, "_compiler"):
                dispatcher._compiler.py_func = plain_copy(function, names)

        def on_end(self, event: Any) -> None:
            dispatcher = event.data["dispatcher"]
            if hasattr(dispatcher, "_compiler"):
                dispatcher._compiler.py_func = dispatcher.py_func

    event.register("numba:compile", Listener())
