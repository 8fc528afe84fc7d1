"""What the code of a function says: names that `needs` looks up, and which lead nowhere else."""

from __future__ import annotations

import builtins
import cmath
import dis
import functools
import inspect
import itertools
import math
import operator
import time
import types
from typing import NamedTuple

import numpy as np

from npgrad.wrapping.builtin_names import nested
from npgrad.wrapping.lists import UNASKED


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


# Modules whose functions call nothing but what they are given.
CLOSED = words("""
    numpy numpy.linalg numpy.fft numpy.random math cmath itertools functools operator time
""")
# Builtins that lead nowhere else; beside them, exceptions.
HARMLESS = words("""
    abs all any bool bytes chr complex dict divmod enumerate filter float format frozenset hash
    hasattr int isinstance issubclass iter len list map max min next ord pow print range repr
    reversed round set slice sorted str sum tuple zip
""")
TEXTS = words("print str repr format")
QUESTIONS = frozenset(("isinstance", "issubclass", "hasattr", "float", "complex"))
# Names that give an array where NumPy's object is asked for them; beside them, ufuncs.
ARRAYS = words("""
    T argmax argmin astype clip copy cumprod cumsum det diag dot dtype e einsum fft flatten
    inner int32 int64 inv kron linalg max mean min ndim newaxis norm outer pi prod ravel
    reshape shape size solve sort squeeze std sum take tensordot trace transpose tril triu var where
    abs all any bool complex float int isinstance len print range round
""") | {name for name, f in vars(np).items() if isinstance(f, np.ufunc) and f.nout == 1}
# Names that may give a list or a tuple; other ones are those of the program's own attributes.
OTHERS = (
    {
        name
        for held in (np, np.linalg, np.fft, np.random, np.ndarray, math, itertools, functools)
        for name in dir(held)
    }
    | {
        name
        for held in (cmath, operator, time, list, tuple, dict, str, builtins)
        for name in dir(held)
    }
) - ARRAYS
ELSEWHERE = words("""
    IMPORT_NAME IMPORT_FROM IMPORT_STAR LOAD_NAME LOAD_BUILD_CLASS STORE_GLOBAL DELETE_GLOBAL
    MATCH_CLASS LOAD_FROM_DICT_OR_GLOBALS LOAD_FROM_DICT_OR_DEREF LOAD_CLASSDEREF
""")
LATER = words("ma polynomial testing")  # modules of NumPy's that the plan covers, or meets on use
LAZY = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
FRAMES = ("__", "f_", "gi_", "tb_", "cr_", "ag_")  # attributes that lead to frames and classes


class Names(NamedTuple):
    """What a code object, with those in it, says."""

    attributes: frozenset[str]
    loaded: frozenset[str]  # global variables
    lists: bool  # whether it may make a list or a tuple of arrays
    text: bool  # whether it may write ``"%g" % x``
    written: bool  # whether it may ask an object for its text
    closed: bool  # whether it leads to nothing but its names


@functools.lru_cache(maxsize=1024)
def names_of(code: types.CodeType) -> Names:
    """Read `code`."""
    attributes: set[str] = set()
    loaded: set[str] = set()
    lists, text, written, closed = False, False, False, True
    for part in nested(code):
        lists = lists or bool(part.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
        closed = closed and (part.co_name == "<genexpr>" or not part.co_flags & LAZY)
        for step in dis.get_instructions(part):
            name = step.opname
            if name == "LOAD_GLOBAL":
                loaded.add(step.argval)
            elif name.endswith(("_ATTR", "_METHOD")):
                attributes.add(step.argval)
            elif name in ELSEWHERE:
                closed = False
            elif name == "BINARY_OP":
                text = text or "%" in step.argrepr
            elif name.startswith("FORMAT_"):
                written = True
            elif name.startswith(("BUILD_", "LIST_", "SET_", "MAP_", "UNPACK_EX")):
                lists = lists or name not in ("BUILD_SLICE", "BUILD_STRING")
        keywords = {w for c in part.co_consts if type(c) is tuple for w in c if type(w) is str}
        lists = lists or "interp" in part.co_names or not UNASKED.isdisjoint(keywords)
    closed = closed and LATER.isdisjoint(attributes)
    closed = closed and not any(name.startswith(FRAMES) for name in attributes)
    written = written or text or not loaded.isdisjoint(TEXTS)
    return Names(frozenset(attributes), frozenset(loaded), lists, text, written, closed)
