"""What layer_norm and rms_norm share: choice of kernel, allocation, launches."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..launch import Backend, Program, backend_of
from ..source import Element
from . import looped, row_norms, row_sums, rows

COLUMN_CHUNKS = 264  # row chunks of a column sum: two a multiprocessor


def _width(element: Element, columns: int, aligned: bool) -> int:
    return element.vector if aligned and columns % element.vector == 0 else 1


def normalise(
    x: Any, weight: Any, bias: Any, eps: float, kind: str | None, centred: bool
) -> tuple[Any, Any, Any]:
    """(y, mean or None, rstd) of each row; y has the type of x, the statistics are float32."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    x = backend.contiguous(x)
    weight = None if weight is None else backend.contiguous(weight)
    bias = None if bias is None else backend.contiguous(bias)
    count, columns = rows.rows_and_columns(x)
    y = backend.empty(x.shape, x.dtype)
    rstd = backend.empty(x.shape[:-1], np.float32)
    mean = backend.empty(x.shape[:-1], np.float32) if centred else None
    if not count:
        return y, mean, rstd
    aligned = backend.aligned(x, y, weight, bias)
    shape = rows.share(columns, element, aligned)
    has = (weight is not None, bias is not None)
    if shape is None:
        width = _width(element, columns, aligned)
        program = looped.norm_forward(columns, element, width, centred, *has)
        grid: tuple[int, ...] = (min(count, 1 << 16),)
    else:
        program = row_norms.norm_forward(shape, element, centred, *has)
        grid = rows.grid_for(backend, program, dataclasses.replace(shape, unroll=1), count)
    backend.run(
        program,
        grid,
        x,
        x if weight is None else weight,
        x if bias is None else bias,
        y,
        rstd if mean is None else mean,
        rstd,
        np.float32(eps),
        count,
    )
    return y, mean, rstd


def backward(
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    weight: Any,
    kind: str | None,
    deterministic: bool,
    centred: bool,
) -> tuple[Any, Any, Any]:
    """(dx, dweight, dbias); the weight gradients are float32, None where there is no weight."""
    backend = backend_of(x)
    element = rows.element_of(x, kind)
    g, x = backend.contiguous(g), backend.contiguous(x)
    weight = None if weight is None else backend.contiguous(weight)
    count, columns = rows.rows_and_columns(x)
    dx = backend.empty(x.shape, x.dtype)
    sums = 2 if centred else 1
    if not count:
        grads = backend.zeros((sums, columns), np.float32)
        return (dx, *_split(grads, weight, centred))
    aligned = backend.aligned(g, x, dx, weight)
    shape = rows.share(columns, element, aligned)
    place = x if weight is None else weight
    centre = rstd if mean is None else mean
    finish = "partials" if deterministic else "atomic"
    program = None
    if shape is not None:
        program = row_norms.norm_backward(
            shape, element, centred, weight is not None, finish, backend.vector_add
        )
    if shape is None or program is None or program.shared > backend.shared_limit:
        width = _width(element, columns, aligned)
        program = looped.norm_backward(columns, element, width, centred, weight is not None)
        backend.run(program, (min(count, 1 << 16),), g, x, centre, rstd, place, dx, count)
        grads = None
        if weight is not None:
            mode = "row" if centred else "uncentred"
            part, chunks = column_partials(
                backend, element, width, mode, g, x, centre, rstd, count, columns
            )
            grads = sum_partials(backend, part, chunks, 2 * columns)
        return (dx, *_split(grads, weight, centred))
    grid = rows.grid_for(backend, program, shape, count)
    grads = None
    target = rstd
    if weight is not None:
        per_block = (sums * columns,) if finish == "atomic" else (grid[0], sums * columns)
        target = grads = backend.empty(per_block, np.float32)
    backend.run(program, grid, g, x, centre, rstd, place, dx, target, backend.flags(), count)
    if grads is not None and finish == "partials":
        grads = sum_partials(backend, grads, grid[0], sums * columns)
    return (dx, *_split(grads, weight, centred))


def _split(grads: Any, weight: Any, centred: bool) -> tuple[Any, Any]:
    if weight is None or grads is None:
        return None, None
    columns = weight.size
    grads = grads.reshape(-1)
    return grads[:columns], grads[columns : 2 * columns] if centred else None


def column_partials(
    backend: Backend,
    element: Element,
    width: int,
    mode: str,
    g: Any,
    x: Any,
    mean: Any,
    rstd: Any,
    count: int,
    columns: int,
) -> tuple[Any, int]:
    """Run `looped.column_partials`; returns the partial sums and how many chunks of rows there are."""
    tiles = -(-columns // (32 * width))
    wanted = max(1, 2 * COLUMN_CHUNKS // tiles)
    chunk = max(looped.COLUMN_WARPS * 4, -(-count // wanted))
    chunks = -(-count // chunk)
    part = backend.empty((chunks, 2 * columns), np.float32)
    program: Program = looped.column_partials(element, width, mode)
    backend.run(program, (tiles, chunks), g, x, mean, rstd, part, count, columns, chunk)
    return part, chunks


def sum_partials(backend: Backend, part: Any, blocks: int, columns: int) -> Any:
    """Add the partial sums in a fixed order."""
    if blocks == 1:
        return part.reshape(-1)
    out = backend.empty((columns,), np.float32)
    backend.run(row_sums.column_sum(), (-(-columns // 32),), part, out, blocks, columns)
    return out
