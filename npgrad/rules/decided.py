"""Functions whose derivative is nothing to compute: constant, flat and refused, a reason each.

Here live the answers to *is there a gradient at all?* with "no" in one of three forms:

* **constant**: the result is an integer, a boolean, a shape, a dtype or a text for people. It is
  returned plain, so that control flow works on recorded arrays.
* **flat**: the result is inexact but constant nearly everywhere (rounding) or altogether (a fresh
  buffer); the value is right and the gradient is zero.
* **refused**: NumPy itself has no meaning for inexact numbers there, or the numbers would leave
  the recording; the reason, with the remedy where there is one, becomes part of the error.

Ufuncs that compare, classify or round are decided in ``piecewise``, beside the kinks they make.

Functions are looked up by name, since each NumPy since 2.0 has a few that another one has not. The
modules that ``import numpy`` does not load (``numpy.char``, ``numpy.lib.recfunctions``: 11 ms of
import) are decided as a whole, when a function of theirs first turns up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.table import Rule, constant, flat, fresh, lookup, on_missing, refused

Word = Callable[[Any, str], Rule]


def resolve(path: str) -> Any:
    """The object that ``np.<path>`` names, or None in a NumPy that lacks it."""
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def declare(word: Word, reason: str, paths: str, *, prefix: str = "") -> None:
    """Decide every function named in `paths` that this NumPy has; one reason serves them all."""
    done: set[Any] = set()
    for path in paths.split():
        fun = resolve(prefix + path)
        if fun is None or fun in done:  # absent here, or two names of one object
            continue
        done.add(fun)
        word(fun, reason).name = f"np.{prefix}{path}"


# ------------------------------------------------------------------------------------- constant
declare(
    constant,
    "positions are integers",
    """argmax argmin nanargmax nanargmin nonzero flatnonzero argwhere argsort argpartition lexsort
    searchsorted digitize""",
)
declare(
    constant,
    "the answer is true or false",
    """all any isin in1d allclose isclose array_equal array_equiv iscomplex isreal isneginf isposinf
    iscomplexobj isrealobj""",
)
for verdict in (np.allclose, np.array_equal, np.array_equiv, np.isclose):
    decision = lookup(verdict)
    assert decision is not None
    decision.verdict = True
declare(constant, "counts are integers", "count_nonzero linalg.matrix_rank")
declare(constant, "shapes are integers", "shape size ndim")
declare(
    constant,
    "the indices follow from the shape alone",
    "diag_indices_from tril_indices_from triu_indices_from",
)
declare(constant, "memory is a property of the buffer", "may_share_memory shares_memory")
declare(
    constant,
    "dtypes do not vary with the numbers",
    "result_type can_cast common_type min_scalar_type",
)
declare(constant, "a plan of contractions follows from the shapes alone", "einsum_path")
declare(constant, "text for people", "array2string array_repr array_str")

# ----------------------------------------------------------------------------------------- flat
declare(flat, "a rounded number is constant between two halves", "round around")
declare(flat, "the integer part is constant between two integers", "fix")
declare(fresh, "a fresh buffer owes nothing to its prototype's numbers", "zeros_like ones_like")
declare(fresh, "a fresh buffer owes nothing to its prototype's numbers", "empty_like")
declare(fresh, "a fresh buffer holds no recorded number", "empty zeros ones eye identity tri")
declare(
    fresh,
    "numbers read from bytes or text are constants",
    "frombuffer fromfile fromstring loadtxt genfromtxt",
)
declare(fresh, "ones, whatever the numbers", "_ones_like", prefix="_core.umath.")

# -------------------------------------------------------------------------------------- refused
declare(
    refused,
    "bits have no derivative: NumPy defines this for integers and booleans only",
    """bitwise_and bitwise_or bitwise_xor bitwise_count invert left_shift right_shift packbits
    unpackbits""",
)
declare(
    refused,
    "divisibility has no derivative: NumPy defines this for integers only",
    "gcd lcm",
)
declare(
    refused,
    "an index has no derivative: NumPy defines this for integers only",
    "ravel_multi_index unravel_index",
)
declare(
    refused,
    "dates have no derivative",
    "busday_count busday_offset is_busday datetime_as_string isnat",
)
declare(
    refused,
    "the numbers would leave the recording; save npgrad.value(x)",
    "save savez savez_compressed savetxt",
)
declare(
    refused,
    "a value common to both arrays exists only where they coincide, so it has no derivative; "
    "gather the values yourself by np.intersect1d(npgrad.value(x), ..., return_indices=True)",
    "intersect1d",
)

TEXT = "text has no derivative: NumPy defines this for strings only"
declare(
    refused,
    TEXT,
    """isalnum isalpha isdecimal isdigit islower isnumeric isspace istitle isupper str_len""",
    prefix="strings.",
)
declare(
    refused,
    TEXT,
    """_center _expandtabs _expandtabs_length _ljust _lstrip_chars _lstrip_whitespace _partition
    _partition_index _replace _rjust _rpartition _rpartition_index _rstrip_chars _rstrip_whitespace
    _slice _strip_chars _strip_whitespace _zfill count endswith find index rfind rindex
    startswith""",
    prefix="_core.umath.",
)

# Modules decided as a whole, by where a function says it lives.
WHOLE_MODULES = {
    "numpy.char": ("np.char", TEXT),
    "numpy.strings": ("np.strings", TEXT),
    "numpy.lib.recfunctions": (
        "np.lib.recfunctions",
        "structured arrays are out of scope; keep the fields as separate arrays",
    ),
}


@on_missing
def decide_by_module(fun: Any) -> bool:
    """Refuse a function of a module that is about text or structured arrays."""
    if isinstance(fun, np.ufunc) or getattr(fun, "__module__", None) not in WHOLE_MODULES:
        return False
    prefix, reason = WHOLE_MODULES[fun.__module__]
    refused(fun, reason).name = f"{prefix}.{fun.__name__}"
    return True
