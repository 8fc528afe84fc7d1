"""A ``@guvectorize`` function through its Python source: once for each element of the loop axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.compiled import checking
from npgrad.compiled.frozen import refuse_random
from npgrad.compiled.python import python_of
from npgrad.errors import GradientLost, NoDerivative
from npgrad.graph.array import GradArray, unwrap


def dynamic(value: Any) -> bool:
    """Whether `value` is a gufunc that compiles for what it gets, and fills what it is given."""
    kind = type(value)
    return kind.__module__ == "numba.np.ufunc.gufunc" and value.is_dynamic


def _arrays_of_one(gufunc: Any) -> list[bool]:
    """Whether the source sees an input, if it has no core dimensions, as an array of one.

    That is said by the signature: ``float64[:]``, and not ``float64``, for a ``()``.
    """
    count = len(gufunc.expected_ndims()[0])
    signatures = gufunc.gufunc_builder._sigs
    if not signatures or dynamic(gufunc):
        return [False] * count
    return [hasattr(kind, "ndim") for kind in signatures[0].args[:count]]


def recorded_call(gufunc: Any, inputs: tuple[Any, ...], outs: tuple[Any, ...] = ()) -> Any:
    """The results of `gufunc` on `inputs`, recorded; each is filled by its source in place.

    A dynamic one cannot tell the shape of its results: they are as `outs`, which it was given.
    """
    in_ndims, out_ndims = gufunc.expected_ndims()
    if gufunc.gufunc_builder.writable_args:
        raise NoDerivative(f"npgrad: {gufunc.__name__} writes to its inputs; give it a rule")
    if len(inputs) != len(in_ndims):
        raise TypeError(f"{gufunc.__name__} takes {len(in_ndims)} arrays, {len(inputs)} were given")
    if dynamic(gufunc):
        plain: Any = tuple([np.empty(np.shape(unwrap(out)), unwrap(out).dtype) for out in outs])
    else:
        plain = gufunc(*[unwrap(x) for x in inputs])
    results = plain if isinstance(plain, tuple) else (plain,)
    loop = np.shape(results[0])[: np.ndim(results[0]) - out_ndims[0]]
    cores = []
    for x, ndim, one in zip(inputs, in_ndims, _arrays_of_one(gufunc), strict=True):
        x = x if type(x) is GradArray else np.asarray(x)
        core = x.shape[x.ndim - ndim :]
        x = np.broadcast_to(x, loop + core)
        x = checking.widened(x)
        cores.append(x.reshape((*loop, 1)) if one and not core else x)
    # The source sees an output without core dimensions as an array of one.
    filled = [
        GradArray(np.zeros(np.shape(r) if ndim else (*np.shape(r), 1), np.asarray(r).dtype), None)
        for r, ndim in zip(results, out_ndims, strict=True)
    ]
    refuse_random(gufunc, gufunc.__name__)
    run = python_of(gufunc)
    for index in np.ndindex(loop):
        run(*[x[index] if index else x for x in cores], *[o[index] if index else o for o in filled])
    made = [o if ndim else o[..., 0] for o, ndim in zip(filled, out_ndims, strict=True)]
    if not dynamic(gufunc) and not all(map(checking.agree, made, results)):
        raise GradientLost(checking.differs(gufunc.__name__))
    return tuple(made) if isinstance(plain, tuple) else made[0]
