"""Cross-entropy of integer labels on the device, forward and backward, one warp a row.

The loss of a row is ``log(sum(exp(x - max))) + max - x[label]``; backward forms the softmax again,
which costs a read of the row, and subtracts one at the label. A label that is no class gives NaN
and sets a flag on the device, so that nobody waits to look at the labels first.
"""

# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import Program, backend_of
from ..source import Writer, lanes_reduce

__all__ = ["backward", "forward", "reference_backward", "reference_forward"]

THREADS, ROWS = 256, 8


def reference_forward(x: Any, labels: Any) -> Any:
    """The loss of each row in NumPy: the specification."""
    top = x.max(-1, keepdims=True)
    total = np.log(np.exp(x - top).sum(-1)) + top[:, 0]
    return total - np.take_along_axis(x, labels[:, None], 1)[:, 0]


def reference_backward(g: Any, x: Any, labels: Any) -> Any:
    """Dx in NumPy for a cotangent of the mean: the specification."""
    e = np.exp(x - x.max(-1, keepdims=True))
    p = e / e.sum(-1, keepdims=True)
    return (p - (labels[:, None] == np.arange(x.shape[1]))) * (g / len(x))


def _statistics(w: Writer, columns: int) -> None:
    """The maximum and the sum of exponentials of this warp's row."""
    w("t = int32(cuda.threadIdx.x); lane = t & int32(31)")
    w(f"wanted = int64(cuda.blockIdx.x) * {ROWS} + (t >> int32(5))")
    w("ok = wanted < count; row = wanted if ok else int64(0)")  # every lane takes part in shuffles
    w(f"base = row * {columns}; top = float32(-math.inf)")
    with w.block(f"for j in range(lane, int32({columns}), int32(32)):"):
        w("top = max(top, load1_f32(x, base + j))")
    lanes_reduce(w, ["top"], 32, "max")
    w("total = float32(0)")
    with w.block(f"for j in range(lane, int32({columns}), int32(32)):"):
        w("total += float32(math.exp(load1_f32(x, base + j) - top))")
    lanes_reduce(w, ["total"], 32)
    w(f"k = int64(labels[row]); good = k >= 0 and k < int64({columns})")


@functools.cache
def row_losses(columns: int, index: str) -> Program:
    """loss[row]; bad[0] becomes 1 if a label is no class."""
    w = Writer()
    w("def row_losses(x, labels, loss, bad, count):")
    w.depth = 1
    _statistics(w, columns)
    with w.block("if ok and lane == 0:"):
        w("chosen = load1_f32(x, base + (k if good else int64(0)))")
        w("value = (top - chosen) + float32(math.log(total))")
        w("store1_f32(loss, row, value if good else float32(math.nan))")
        with w.block("if not good:"):
            w("bad[0] = int32(1)")
    signature = ("float32*", f"{index}*", "float32*", "int32*", "int64")
    return Program("row_losses", w.text(), signature, THREADS)


@functools.cache
def logits_gradient(columns: int, index: str) -> Program:
    """Dx of the mean: (softmax - 1 at the label) g / rows."""
    w = Writer()
    w("def logits_gradient(x, labels, g, dx, share, count):")
    w.depth = 1
    _statistics(w, columns)
    w("factor = load1_f32(g, 0) * share; scale = factor / total")
    with w.block("if ok:"), w.block(f"for j in range(lane, int32({columns}), int32(32)):"):
        w("value = float32(math.exp(load1_f32(x, base + j) - top)) * scale")
        w("store1_f32(dx, base + j, value - factor if j == k else value)")
    signature = ("float32*", f"{index}*", "float32*", "float32*", "float32", "int64")
    return Program("logits_gradient", w.text(), signature, THREADS)


def _grid(count: int) -> tuple[int]:
    return (-(-count // ROWS),)


def forward(x: Any, labels: Any) -> tuple[Any, Any]:
    """(loss of each row, int32 flag of a label that is no class); x (rows, classes), float32."""
    backend = backend_of(x)
    x, labels = backend.contiguous(x), backend.contiguous(labels)
    count, columns = (int(n) for n in x.shape)
    loss, bad = backend.empty((count,), np.float32), backend.zeros((1,), np.int32)
    program = row_losses(columns, str(labels.dtype))
    backend.run(program, _grid(count), x, labels, loss, bad, count)
    return loss, bad


def backward(g: Any, x: Any, labels: Any) -> Any:
    """Dx, from the cotangent of the mean loss (an array of one float32)."""
    backend = backend_of(x)
    x, labels = backend.contiguous(x), backend.contiguous(labels)
    count, columns = (int(n) for n in x.shape)
    dx = backend.empty(x.shape, np.float32)
    program = logits_gradient(columns, str(labels.dtype))
    backend.run(program, _grid(count), x, labels, g, dx, np.float32(1 / count), count)
    return dx
