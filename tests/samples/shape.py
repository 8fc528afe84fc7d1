"""Samples of `npgrad.rules.shape` and `npgrad.rules.padding`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from npgrad.rules.padding import fold_copies
from npgrad.rules.windows import overlap_add
from tests.samples.core import Sample

sliding_window_view = np.lib.stride_tricks.sliding_window_view
HALVES = np.array([0.5, -1.5])


def normal(*shapes: tuple[int, ...]) -> Any:
    """Independent normal numbers of each of `shapes`."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


def waves(*shapes: tuple[int, ...]) -> Any:
    """Complex numbers of each of `shapes`."""
    return lambda rng: tuple(
        rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in shapes
    )


def ordered(*shape: int) -> Any:
    """Numbers far apart from each other, in random order."""
    return lambda rng: (rng.permutation(int(np.prod(shape))).reshape(shape) * 0.37 - 1.1,)


def write_ramp(line: Any, width: Any, axis: int, keywords: Any) -> None:
    """A padding function: the ends repeat the first inner entry, halved."""
    line[: width[0]] = 0.5 * line[width[0]]
    if width[1]:
        line[-width[1] :] = line[width[0]] * keywords.get("factor", 1.0)


RESHAPES = [
    Sample("np.reshape", lambda x: np.reshape(x, (6, 2)), normal((3, 4))),
    Sample("np.reshape -1", lambda x: np.reshape(x, (2, -1)), normal((3, 4))),
    Sample("np.reshape int", lambda x: np.reshape(x, -1), normal((3, 4))),
    Sample("np.reshape to 0-d", lambda x: np.reshape(x, ()), normal((1, 1))),
    Sample("np.reshape from 0-d", lambda x: np.reshape(x, (1, 1, 1)), normal(())),
    Sample("np.reshape empty", lambda x: np.reshape(x, (4, 0)), normal((0, 2))),
    Sample("np.reshape F", lambda x: np.reshape(x, (6, 2), order="F"), normal((3, 4))),
    Sample("np.reshape positional F", lambda x: np.reshape(x, (2, 6), "F"), normal((3, 4))),
    Sample("np.reshape F of F", lambda x: np.reshape(x.T, (2, -1), order="F"), normal((4, 3))),
    Sample("np.reshape A of F", lambda x: np.reshape(x.T, (2, 6), order="A"), normal((4, 3))),
    Sample("np.reshape A of C", lambda x: np.reshape(x, (2, 6), order="A"), normal((3, 4))),
    Sample("np.reshape of a transpose", lambda x: np.reshape(x.T, (2, 6)), normal((3, 4))),
    Sample("np.reshape of a step", lambda x: np.reshape(x[::-1, ::2], (2, 3)), normal((3, 4))),
    Sample("np.reshape complex", lambda x: np.reshape(x, (6, 2)), waves((3, 4))),
    Sample("np.ravel", np.ravel, normal((3, 4))),
    Sample("np.ravel 0-d", np.ravel, normal(())),
    Sample("np.ravel F", lambda x: np.ravel(x, order="F"), normal((3, 4))),
    Sample("np.ravel A of F", lambda x: np.ravel(x.T, order="A"), normal((2, 3, 2))),
    Sample(
        "np.ravel K",
        lambda x: np.ravel(x.transpose(1, 2, 0)[:, ::-1], order="K"),
        normal((2, 3, 2)),
    ),
    Sample("np.ravel of a step", lambda x: np.ravel(x[::2]), normal((5,))),
    Sample("np.resize longer", lambda x: np.resize(x, (3, 5)), normal((2, 3))),
    Sample("np.resize shorter", lambda x: np.resize(x, 4), normal((2, 3))),
    Sample("np.squeeze", np.squeeze, normal((1, 3, 1))),
    Sample("np.squeeze axis", lambda x: np.squeeze(x, axis=-1), normal((1, 3, 1))),
    Sample("np.squeeze axes", lambda x: np.squeeze(x, axis=(0, 2)), normal((1, 3, 1))),
    Sample("np.squeeze to 0-d", np.squeeze, normal((1,))),
    Sample("np.expand_dims", lambda x: np.expand_dims(x, 1), normal((2, 3))),
    Sample("np.expand_dims axes", lambda x: np.expand_dims(x, (0, -1)), normal((2, 3))),
    Sample("np.expand_dims 0-d", lambda x: np.expand_dims(x, 0), normal(())),
    Sample("np.atleast_1d", np.atleast_1d, normal(())),
    Sample("np.atleast_1d several", lambda x, y: np.atleast_1d(x, 2.0, y), normal((), (2, 2))),
    Sample("np.atleast_2d", np.atleast_2d, normal((3,))),
    Sample("np.atleast_2d several", np.atleast_2d, normal((), (2, 2))),
    Sample("np.atleast_3d", np.atleast_3d, normal((2, 3))),
    Sample("np.atleast_3d several", np.atleast_3d, normal((), (2,), (1, 2, 1))),
]

if "copy" in inspect.signature(np.reshape).parameters:  # NumPy 2.1
    RESHAPES += [
        Sample("np.reshape copy", lambda x: np.reshape(x, (2, 6), copy=True), normal((3, 4))),
        Sample(
            "np.reshape no copy",
            lambda x: np.reshape(np.ravel(x), (2, 6), copy=False),
            normal((3, 4)),
        ),
    ]

PERMUTATIONS = [
    Sample("np.transpose", np.transpose, normal((2, 3, 4))),
    Sample("np.transpose axes", lambda x: np.transpose(x, (1, 2, 0)), normal((2, 3, 4))),
    Sample("np.transpose negative", lambda x: np.transpose(x, axes=(-1, 0, 1)), normal((2, 3, 4))),
    Sample("np.transpose complex", np.transpose, waves((2, 3))),
    Sample("np.permute_dims", lambda x: np.permute_dims(x, (2, 0, 1)), normal((2, 3, 4))),
    Sample("np.matrix_transpose", np.matrix_transpose, normal((2, 3, 4))),
    Sample("np.linalg.matrix_transpose", np.linalg.matrix_transpose, normal((2, 3, 4))),
    Sample("np.swapaxes", lambda x: np.swapaxes(x, 0, 2), normal((2, 3, 4))),
    Sample("np.swapaxes negative", lambda x: np.swapaxes(x, -1, 1), normal((2, 3, 4))),
    Sample("np.moveaxis", lambda x: np.moveaxis(x, 0, -1), normal((2, 3, 4))),
    Sample("np.moveaxis several", lambda x: np.moveaxis(x, (0, 1), (-1, 0)), normal((2, 3, 4))),
    Sample("np.rollaxis", lambda x: np.rollaxis(x, 2), normal((2, 3, 4))),
    Sample("np.rollaxis start", lambda x: np.rollaxis(x, -1, start=1), normal((2, 3, 4))),
    Sample("np.flip", np.flip, normal((2, 3))),
    Sample("np.flip axis", lambda x: np.flip(x, axis=-1), normal((2, 3))),
    Sample("np.flip axes", lambda x: np.flip(x, (0, 2)), normal((2, 3, 2))),
    Sample("np.fliplr", np.fliplr, normal((2, 3))),
    Sample("np.flipud", np.flipud, normal((3,))),
    Sample("np.rot90", np.rot90, normal((2, 3))),
    Sample("np.rot90 k=2", lambda x: np.rot90(x, 2), normal((2, 3))),
    Sample("np.rot90 k=-1", lambda x: np.rot90(x, k=-1), normal((2, 3))),
    Sample("np.rot90 k=4", lambda x: np.rot90(x, 4), normal((2, 3))),
    Sample("np.rot90 axes", lambda x: np.rot90(x, 1, axes=(2, 0)), normal((2, 3, 4))),
    Sample("np.roll", lambda x: np.roll(x, 2), normal((2, 3))),
    Sample("np.roll axis", lambda x: np.roll(x, -1, axis=0), normal((3, 2))),
    Sample("np.roll axes", lambda x: np.roll(x, (1, -2), axis=(0, -1)), normal((3, 4))),
    Sample("np.roll one shift", lambda x: np.roll(x, 1, axis=(0, 1)), normal((3, 4))),
    Sample("np.roll same axis", lambda x: np.roll(x, (1, 1), axis=(1, 1)), normal((3, 4))),
    Sample("np.roll array", lambda x: np.roll(x, np.array(5)), normal((4,))),
]

COPIES = [
    Sample("np.broadcast_to", lambda x: np.broadcast_to(x, (2, 3)), normal((3,))),
    Sample("np.broadcast_to axis of one", lambda x: np.broadcast_to(x, (2, 3)), normal((2, 1))),
    Sample("np.broadcast_to 0-d", lambda x: np.broadcast_to(x, (2, 2), subok=True), normal(())),
    Sample("np.broadcast_to int", lambda x: np.broadcast_to(x, 3), normal((1,))),
    Sample("np.broadcast_to same", lambda x: np.broadcast_to(x, (2, 1)), normal((2, 1))),
    Sample(
        "np.broadcast_arrays",
        lambda x, y: tuple(np.broadcast_arrays(x, y, np.ones((1, 1, 2)))),
        normal((3, 1), (2,)),
    ),
    Sample("np.broadcast_arrays subok", lambda x: np.broadcast_arrays(x, subok=True), normal((2,))),
    Sample("np.meshgrid", np.meshgrid, normal((2,), (3,))),
    Sample("np.meshgrid ij", lambda x, y: np.meshgrid(x, y, indexing="ij"), normal((2,), (3,))),
    Sample(
        "np.meshgrid three",
        lambda x, y, z: np.meshgrid(x, y, z, copy=False),
        normal((2,), (3,), ()),
    ),
    Sample(
        "np.meshgrid sparse",
        lambda x, y: np.meshgrid(x, [1.0, 2.0], y, sparse=True),
        normal((2,), (3,)),
    ),
    Sample("np.meshgrid one", np.meshgrid, normal((3,))),
    Sample("np.tile", lambda x: np.tile(x, 3), normal((2, 2))),
    Sample("np.tile tuple", lambda x: np.tile(x, (2, 3)), normal((2, 2))),
    Sample("np.tile more axes", lambda x: np.tile(x, (2, 1, 2)), normal((3,))),
    Sample("np.tile fewer axes", lambda x: np.tile(x, [2]), normal((2, 3))),
    Sample("np.tile 0-d", lambda x: np.tile(x, (2, 2)), normal(())),
    Sample("np.tile none", lambda x: np.tile(x, (1, 0)), normal((2, 3))),
    Sample("np.tile complex", lambda x: np.tile(x, 2), waves((2,))),
    Sample("np.repeat", lambda x: np.repeat(x, 2), normal((2, 3))),
    Sample("np.repeat axis", lambda x: np.repeat(x, 3, axis=1), normal((2, 3))),
    Sample("np.repeat negative axis", lambda x: np.repeat(x, 2, -2), normal((2, 3))),
    Sample("np.repeat counts", lambda x: np.repeat(x, [0, 2, 1], axis=1), normal((2, 3))),
    Sample("np.repeat flat counts", lambda x: np.repeat(x, np.array([1, 0, 3, 2])), normal((2, 2))),
    Sample("np.repeat one count", lambda x: np.repeat(x, [2], axis=0), normal((3, 2))),
    Sample("np.repeat 0-d", lambda x: np.repeat(x, 3), normal(())),
    Sample("np.repeat no times", lambda x: np.repeat(x, 0, axis=0), normal((2, 2))),
    Sample("np.copy", np.copy, normal((2, 3))),
    Sample("np.copy order", lambda x: np.copy(x, order="F", subok=True), normal((2, 3))),
]

if hasattr(np, "astype"):
    COPIES += [
        Sample("np.astype", lambda x: np.astype(x, x.dtype, copy=False), normal((2,))),
        Sample("np.astype float32", lambda x: np.astype(x, np.float32), normal((2,)), tol=1e-2),
        Sample("np.astype complex", lambda x: np.astype(x, np.complex128) * 1j, normal((2,))),
    ]

DIAGONALS = [
    Sample("np.diag builds", np.diag, normal((3,))),
    Sample("np.diag builds k", lambda x: np.diag(x, k=-2), normal((3,))),
    Sample("np.diag builds above", lambda x: np.diag(x, 1), normal((2,))),
    Sample("np.diag takes", np.diag, normal((3, 4))),
    Sample("np.diag takes k", lambda x: np.diag(x, k=2), normal((3, 4))),
    Sample("np.diag takes below", lambda x: np.diag(x, -1), normal((3, 4))),
    Sample("np.diagflat", lambda x: np.diagflat(x, k=1), normal((2, 2))),
    Sample("np.diagflat below", lambda x: np.diagflat(x, -1), normal((3,))),
    Sample("np.diagonal", np.diagonal, normal((3, 3))),
    Sample("np.diagonal offset", lambda x: np.diagonal(x, 1), normal((3, 4))),
    Sample(
        "np.diagonal axes",
        lambda x: np.diagonal(x, offset=-1, axis1=2, axis2=0),
        normal((2, 3, 4)),
    ),
    Sample("np.diagonal stack", lambda x: np.diagonal(x, 0, -2, -1), normal((2, 3, 4))),
    Sample("np.linalg.diagonal", lambda x: np.linalg.diagonal(x, offset=1), normal((2, 3, 4))),
    Sample("np.diagonal complex", np.diagonal, waves((2, 3))),
    Sample("np.trace", np.trace, normal((3, 3))),
    Sample("np.trace offset", lambda x: np.trace(x, offset=-1), normal((3, 4))),
    Sample("np.trace axes", lambda x: np.trace(x, 1, 2, 0), normal((3, 2, 4))),
    Sample("np.trace dtype", lambda x: np.trace(x, dtype=np.float64), normal((3, 3))),
    Sample("np.trace far offset", lambda x: np.trace(x, offset=5), normal((3, 3))),
    Sample("np.linalg.trace", lambda x: np.linalg.trace(x, offset=1), normal((2, 3, 4))),
    Sample("np.tril", np.tril, normal((3, 4))),
    Sample("np.tril k", lambda x: np.tril(x, k=1), normal((2, 3, 4))),
    Sample("np.tril of a vector", np.tril, normal((3,))),
    Sample("np.triu", np.triu, normal((4, 3))),
    Sample("np.triu k", lambda x: np.triu(x, -1), normal((2, 3, 3))),
    Sample("np.triu complex", np.triu, waves((2, 2))),
]

PIECES = [
    Sample("np.array_split", lambda x: tuple(np.array_split(x, 3)), normal((5, 2))),
    Sample(
        "np.array_split places",
        lambda x: tuple(np.array_split(x, [1, 1, 4], axis=1)),
        normal((2, 5)),
    ),
    Sample("np.split", lambda x: tuple(np.split(x, 2, axis=-1)), normal((2, 4))),
    Sample("np.split places", lambda x: tuple(np.split(x, np.array([2, 3]))), normal((5,))),
    Sample("np.hsplit", lambda x: tuple(np.hsplit(x, 2)), normal((2, 4))),
    Sample("np.hsplit of a vector", lambda x: tuple(np.hsplit(x, [1])), normal((3,))),
    Sample("np.vsplit", lambda x: tuple(np.vsplit(x, [1])), normal((3, 2))),
    Sample("np.dsplit", lambda x: tuple(np.dsplit(x, 2)), normal((2, 1, 4))),
    Sample(
        "np.trim_zeros",
        lambda x: np.trim_zeros(np.concatenate([[0.0, 0.0], x, [0.0]])),
        normal((3,)),
    ),
    Sample(
        "np.trim_zeros front",
        lambda x: np.trim_zeros(np.concatenate([[0.0], x, [0.0]]), trim="f"),
        normal((3,)),
    ),
    Sample(
        "np.trim_zeros back",
        lambda x: np.trim_zeros(np.concatenate([[0.0], x, [0.0]]), "b"),
        normal((3,)),
    ),
    Sample("sliding_window_view", lambda x: sliding_window_view(x, 3), normal((6,))),
    Sample("sliding_window_view wide", lambda x: sliding_window_view(x, 5), normal((6,))),
    Sample("sliding_window_view axis", lambda x: sliding_window_view(x, 2, axis=0), normal((4, 3))),
    Sample("sliding_window_view two", lambda x: sliding_window_view(x, (2, 3)), normal((3, 5))),
    Sample(
        "sliding_window_view axes",
        lambda x: sliding_window_view(x, (2, 3), axis=(2, 0), subok=True),
        normal((4, 2, 3)),
    ),
    Sample(
        "sliding_window_view same axis",
        lambda x: sliding_window_view(x, (2, 3), axis=(1, -1)),
        normal((2, 6)),
    ),
    Sample("np.vander", np.vander, normal((3,))),
    Sample("np.vander N", lambda x: np.vander(x, 5), normal((3,))),
    Sample("np.vander increasing", lambda x: np.vander(x, N=4, increasing=True), normal((3,))),
    Sample("np.vander one column", lambda x: np.vander(x, 1), normal((3,))),
    Sample("np.vander complex", lambda x: np.vander(x, 4), waves((2,))),
]

if hasattr(np, "unstack"):
    PIECES += [
        Sample("np.unstack", np.unstack, normal((2, 3))),
        Sample("np.unstack axis", lambda x: np.unstack(x, axis=-1), normal((2, 3))),
    ]

PADDINGS = [
    Sample("np.pad", lambda x: np.pad(x, 1), normal((2, 3))),
    Sample("np.pad nothing", lambda x: np.pad(x, 0), normal((2, 3))),
    Sample("np.pad before and after", lambda x: np.pad(x, (2, 0)), normal((3,))),
    Sample("np.pad one pair", lambda x: np.pad(x, ((1, 2),)), normal((2, 3))),
    Sample("np.pad a width for each axis", lambda x: np.pad(x, [(1,), (2,)]), normal((2, 3))),
    Sample("np.pad pairs", lambda x: np.pad(x, ((0, 1), (2, 0)), "constant"), normal((2, 3))),
    Sample(
        "np.pad constants",
        lambda x: np.pad(x, 1, constant_values=((1.0, 2.0), (3.0, 4.0))),
        normal((2, 3)),
    ),
    Sample(
        "np.pad recorded constant",
        lambda x, c: np.pad(x, ((1, 2), (0, 1)), constant_values=c),
        normal((2, 3), ()),
    ),
    Sample(
        "np.pad recorded constants",
        lambda x, c: np.pad(x, 1, mode="constant", constant_values=(c[0], 2.0)),
        normal((2, 3), (1,)),
    ),
    Sample(
        "np.pad constants for each axis",
        lambda x, c: np.pad(x, 1, constant_values=((c[0], 0.5), (c[1], c[2]))),
        normal((2, 3), (3,)),
    ),
    Sample(
        "np.pad array of constants",
        lambda x, c: np.pad(x, 1, constant_values=c),
        normal((2, 3), (2, 2)),
    ),
    Sample("np.pad empty array", lambda x: np.pad(x, 1, constant_values=2.0), normal((0, 2))),
    Sample("np.pad complex", lambda x: np.pad(x, (1, 2), constant_values=1j), waves((2,))),
    Sample("np.pad edge", lambda x: np.pad(x, ((2, 1), (0, 3)), "edge"), normal((2, 3))),
    Sample("np.pad edge complex", lambda x: np.pad(x, 2, "edge"), waves((3,))),
    Sample("np.pad wrap", lambda x: np.pad(x, ((1, 2), (3, 0)), "wrap"), normal((3, 4))),
    Sample("np.pad wrap many times", lambda x: np.pad(x, (5, 8), "wrap"), normal((3,))),
    Sample("np.pad reflect", lambda x: np.pad(x, ((1, 2), (2, 0)), "reflect"), normal((3, 3))),
    Sample("np.pad reflect many times", lambda x: np.pad(x, (5, 8), "reflect"), normal((3,))),
    Sample("np.pad reflect one entry", lambda x: np.pad(x, (2, 1), "reflect"), normal((1,))),
    Sample("np.pad symmetric", lambda x: np.pad(x, ((1, 2), (2, 0)), "symmetric"), normal((3, 3))),
    Sample("np.pad symmetric many times", lambda x: np.pad(x, (5, 8), "symmetric"), normal((3,))),
    Sample(
        "np.pad reflect even",
        lambda x: np.pad(x, 2, mode="reflect", reflect_type="even"),
        normal((3, 4)),
    ),
    Sample(
        "np.pad reflect odd",
        lambda x: np.pad(x, ((1, 2), (0, 2)), mode="reflect", reflect_type="odd"),
        normal((3, 4)),
    ),
    Sample(
        "np.pad reflect odd many times",
        lambda x: np.pad(x, (5, 8), mode="reflect", reflect_type="odd"),
        normal((3,)),
    ),
    Sample(
        "np.pad symmetric odd",
        lambda x: np.pad(x, ((3, 1), (1, 2)), mode="symmetric", reflect_type="odd"),
        normal((3, 4)),
    ),
    Sample(
        "np.pad symmetric odd many times",
        lambda x: np.pad(x, (5, 8), mode="symmetric", reflect_type="odd"),
        normal((3,)),
    ),
    Sample(
        "np.pad reflect odd one entry",
        lambda x: np.pad(x, ((1, 1), (0, 0)), mode="reflect", reflect_type="odd"),
        normal((1, 2)),
    ),
    Sample("np.pad linear_ramp", lambda x: np.pad(x, 2, "linear_ramp"), normal((2, 3))),
    Sample(
        "np.pad linear_ramp ends",
        lambda x: np.pad(x, ((1, 2), (3, 0)), "linear_ramp", end_values=(4.0, -2.0)),
        normal((2, 3)),
    ),
    Sample(
        "np.pad linear_ramp recorded ends",
        lambda x, e: np.pad(x, 2, "linear_ramp", end_values=((e[0], e[1]), (1.0, e[2]))),
        normal((2, 3), (3,)),
    ),
    Sample("np.pad maximum", lambda x: np.pad(x, (1, 2), "maximum"), ordered(3, 3)),
    Sample(
        "np.pad maximum lengths",
        lambda x: np.pad(x, 2, "maximum", stat_length=((1, 2), (2, 3))),
        ordered(3, 4),
    ),
    Sample("np.pad minimum", lambda x: np.pad(x, 1, "minimum", stat_length=2), ordered(3, 3)),
    Sample("np.pad mean", lambda x: np.pad(x, (2, 1), "mean"), normal((3, 3))),
    Sample(
        "np.pad mean lengths",
        lambda x: np.pad(x, (2, 1), "mean", stat_length=(1, 2)),
        normal((3, 3)),
    ),
    Sample("np.pad median", lambda x: np.pad(x, 1, "median"), ordered(3, 4)),
    Sample("np.pad median length", lambda x: np.pad(x, 1, "median", stat_length=3), ordered(5)),
    Sample("np.pad function", lambda x: np.pad(x, ((1, 2), (0, 1)), write_ramp), normal((2, 3))),
    Sample(
        "np.pad function with keywords",
        lambda x: np.pad(x, (1, 2), write_ramp, factor=3.0),
        normal((3,)),
    ),
]
# Primitives that gradients reach at second order only.
ADDED_UP = [
    Sample("overlap_add", lambda g: overlap_add(g, -1), normal((4, 2))),
    Sample("overlap_add wide windows", lambda g: overlap_add(g, -2), normal((2, 3, 4))),
    *(
        Sample(
            f"fold_copies {mode}",
            lambda g, mode=mode: fold_copies(g, ((2, 1), (0, 3)), mode),
            normal((6, 6)),
        )
        for mode in ("edge", "wrap", "reflect", "symmetric")
    ),
]
SAMPLES = [*ADDED_UP, *RESHAPES, *PERMUTATIONS, *COPIES, *DIAGONALS, *PIECES, *PADDINGS]
