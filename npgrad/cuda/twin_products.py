"""Plain Python twins of `products`, the inner loops of the convolutions, for the CUDA simulator."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .twins import copies, exchange, tf32_cut, tf32_operand

__all__ = ["macro", "mma_tf32"]


def mma_tf32(*operands: Any) -> Any:
    """m16n8k8 of one warp: gathers the fragments of all lanes, multiplies in float32."""
    lane, lanes = exchange(operands)
    a, b = np.zeros((16, 8), np.float32), np.zeros((8, 8), np.float32)
    for i, (_, _, _, _, a0, a1, a2, a3, b0, b1) in enumerate(lanes):
        row, column = divmod(i, 4)
        a[row, column], a[row + 8, column] = tf32_cut(a0), tf32_cut(a1)
        a[row, column + 4], a[row + 8, column + 4] = tf32_cut(a2), tf32_cut(a3)
        b[column, row], b[column + 4, row] = tf32_cut(b0), tf32_cut(b1)
    row, column = lane // 4, 2 * (lane % 4)
    c0, c1, c2, c3 = operands[:4]
    return (
        np.float32(c0 + a[row] @ b[:, column]),
        np.float32(c1 + a[row] @ b[:, column + 1]),
        np.float32(c2 + a[row + 8] @ b[:, column]),
        np.float32(c3 + a[row + 8] @ b[:, column + 1]),
    )


def _multiply(sums: Any, first: int, a: list[Any], b: list[Any], triple: int) -> None:
    """The product of one fragment pair, split in three or rounded."""
    if triple:
        low_a = [v - tf32_cut(v) for v in a]
        low_b = [v - tf32_cut(v) for v in b]
        rounds = [(low_a, b), (a, low_b), (a, b)]
    else:
        rounds = [([tf32_operand(v) for v in a], [tf32_operand(v) for v in b])]
    for left, right in rounds:
        sums[first : first + 4] = mma_tf32(*sums[first : first + 4], *left, *right)


def _tile_put(mt: int, nt: int, pitch: int) -> Any:
    def run(sums: Any, shared: Any, at: int) -> None:
        for i, n, h, e in np.ndindex(mt, nt, 2, 2):
            shared[at + (i * 16 + 8 * h) * pitch + n * 8 + e] = sums[(i * nt + n) * 4 + 2 * h + e]

    return run


def _tile_products(mt: int, nt: int, triple: int, half: int, tap: int, first: int) -> Any:
    def run(sums: Any, shared: Any, weights: int, patch: int, pixels: Any) -> None:
        for n in range(nt):
            b = [shared[patch + pixels[n] + tap + k * half] for k in (0, 1)]
            for i in range(mt):
                a = [shared[weights + first + 128 * i + j] for j in range(4)]
                _multiply(sums, (i * nt + n) * 4, a, b, triple)

    return run


def _weight_step(*sizes: int) -> Any:
    mt, ng, fr, ks, stride, dilation, pitch, plane, row, shift, triple = sizes

    def run(sums: Any, shared: Any, a_at: int, b_at: int) -> None:
        for i in range(mt):
            top, bottom = a_at + i * 16 * pitch, a_at + (i * 16 + 8) * pitch
            a = [shared[top], shared[bottom], shared[top + 1], shared[bottom + 1]]
            for g in range(ng):
                for r in range(fr):
                    for s in range(ks):
                        at = b_at + g * 8 * plane + r * row + shift + s * dilation
                        b = [shared[at], shared[at + stride]]
                        _multiply(sums, (((g * fr + r) * ks + s) * mt + i) * 4, a, b, triple)

    return run


def _weight_load(*sizes: int) -> Any:
    def run(kept: Any, shared: Any, a_at: int, b_at: int) -> None:
        kept[0], kept[1] = (
            a_at,
            b_at,
        )  # the twin remembers where, not what: shared memory does not change meanwhile

    return run


def _weight_ahead(*sizes: int) -> Any:
    step = _weight_step(*sizes)

    def run(sums: Any, kept: Any, shared: Any, a_at: int, b_at: int) -> None:
        step(sums, shared, int(kept[0]), int(kept[1]))
        kept[0], kept[1] = a_at, b_at

    return run


def _weight_store(mt: int, ng: int, fr: int, ks: int, outputs: int, channels: int) -> Any:
    def run(sums: Any, part: Any, home: int, m0: int, n0: int) -> None:
        for g, r, s, a, i in np.ndindex(ng, fr, ks, mt, 4):
            m, c = m0 + a * 16 + 8 * (i // 2), n0 + g * 8 + i % 2
            if m < outputs and c < channels:
                at = ((r * ks + s) * outputs + m) * channels + c
                part[home + at] = sums[(((g * fr + r) * ks + s) * mt + a) * 4 + i]

    return run


def _clear(count: int) -> Any:
    def run(sums: Any) -> None:
        sums[:count] = 0

    return run


def _flush(count: int) -> Any:
    def run(total: Any, sums: Any) -> None:
        total[:count] += sums[:count]
        sums[:count] = 0

    return run


_MAKERS: dict[str, Any] = {
    "copies": copies,
    "tile_products": _tile_products,
    "tile_put": _tile_put,
    "weight_step": _weight_step,
    "weight_load": _weight_load,
    "weight_ahead": _weight_ahead,
    "weight_store": _weight_store,
    "clear": _clear,
    "flush": _flush,
}


def macro(name: str) -> Any:
    """The twin of a sized intrinsic."""
    stem = next(m for m in _MAKERS if re.fullmatch(rf"{m}(_\d+)+", name))
    return _MAKERS[stem](*(int(n) for n in name[len(stem) + 1 :].split("_")))
