"""Reductions whose ``initial=`` is recorded: the reduction without it, and one operation more.

It is a case apart so that the everyday reduction has one array only. The values are NumPy's to
rounding: it begins with ``initial``, this ends with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.rules.reduced import into, options
from npgrad.rules.reduction import as_array
from npgrad.table import with_recorded

NoValue = np._NoValue


def begun(reduce: Any, join: np.ufunc, least: float | None = None) -> Callable[..., Any]:
    """`reduce` as NumPy calls it, with a recorded ``initial``; `least` stands for none of it."""
    takes_dtype = least is None

    def body(
        a: Any,
        axis: Any = None,
        *args: Any,
        initial: Any = NoValue,
        keepdims: Any = NoValue,
        where: Any = NoValue,
        dtype: Any = None,
        out: Any = None,
    ) -> Any:
        # by position: sum(a, axis, dtype, out, keepdims, initial, where), max(a, axis, out, ...)
        names = ("dtype", "out", "keepdims", "initial", "where")[0 if takes_dtype else 1 :]
        given = dict(zip(names, args, strict=False))
        dtype, out = given.get("dtype", dtype), given.get("out", out)
        initial, where = given.get("initial", initial), given.get("where", where)
        keepdims = given.get("keepdims", keepdims)
        kept = options(keepdims=keepdims, where=where)
        if takes_dtype:
            made = reduce(as_array(a), axis=axis, dtype=dtype, **kept)
        else:
            made = reduce(as_array(a), axis=axis, initial=least, **kept)
        return into(out, join(made, as_array(initial).astype(made.dtype)))

    return body


for summed in (np.sum, np.nansum):
    with_recorded(summed, "initial", begun(summed, np.add))
for multiplied in (np.prod, np.nanprod):
    with_recorded(multiplied, "initial", begun(multiplied, np.multiply))
for largest in dict.fromkeys((np.max, np.amax)):
    with_recorded(largest, "initial", begun(largest, np.maximum, -math.inf))
for smallest in dict.fromkeys((np.min, np.amin)):
    with_recorded(smallest, "initial", begun(smallest, np.minimum, math.inf))
with_recorded(np.nanmax, "initial", begun(np.nanmax, np.fmax, -math.inf))
with_recorded(np.nanmin, "initial", begun(np.nanmin, np.fmin, math.inf))
