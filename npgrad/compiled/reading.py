"""The Python source of a function, read and compiled again.

What a compiled function was made of: its syntax tree, what its names stand for, the Python function
behind it; and functions made of generated text, which remember it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import types
from typing import Any

from npgrad.compiled.formulas import HELPERS
from npgrad.compiled.frozen import names_of, source_of


class NoSource(Exception):
    """The source cannot be had, or it holds something that is not differentiated here."""


def made(text: str, name: str, space: dict[str, Any]) -> Any:
    """A function compiled from `text`, which it remembers."""
    exec(compile(text, f"<npgrad derivative {name}>", "exec"), space)
    function = space[name]
    function.npgrad_source = text
    return function


def tree_of(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function defined by ``def``, or by the only lambda of its lines."""
    text = getattr(function, "npgrad_source", None)
    if text is None:
        try:
            text = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError) as error:
            raise NoSource("its source cannot be read") from error
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoSource("its source stands within another statement") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__code__.co_name:
            return node
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        raise NoSource("it is one of several lambdas on its lines")
    body: list[ast.stmt] = [ast.Return(found[0].body)]
    tree_made = ast.FunctionDef("a_lambda", found[0].args, body, [])
    return ast.fix_missing_locations(tree_made)


def python_function(value: Any) -> Any:
    """The Python function behind a compiled one, or behind a helper; None for anything else."""
    if isinstance(value, types.FunctionType):
        return value if hasattr(value, "npgrad_source") or value in HELPERS.values() else None
    return source_of(value)


def compiled(value: Any) -> Any:
    """`value` as compiled code may call it."""
    if isinstance(value, types.FunctionType) and python_function(value) is not None:
        return _compile(value)
    return value


@functools.cache
def _compile(function: Any) -> Any:
    import numba

    space = dict(function.__globals__)
    space.update({name: compiled(value) for name, value in names_of(function).items()})
    copy = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, function.__closure__
    )
    # Called from compiled code alone: no wrapper for Python, which takes time to compile.
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(error_model="numpy", nogil=True, **bare)(copy)


def compile_loop(function: Any) -> Any:
    """A loop made here, as Python may call it."""
    import numba

    return numba.njit(error_model="numpy", nogil=True)(function)
