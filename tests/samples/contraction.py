"""Samples of `npgrad.rules.contraction` and `npgrad.rules.einsum`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.samples.core import Sample
from tests.samples.shape import normal, waves

TWO_VECTORS = pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
M = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def mixed(*shapes: tuple[int, ...]) -> Any:
    """A real array, then a complex one."""

    def make(rng: np.random.Generator) -> Any:
        real, other = shapes
        return rng.normal(size=real), rng.normal(size=other) + 1j * rng.normal(size=other)

    return make


def product(name: str, call: Any, *shapes: tuple[int, ...], **options: Any) -> Sample:
    """A sample with independent normal operands."""
    return Sample(name, call, normal(*shapes), **options)


MATMULS = [
    product("np.matmul 1 1", np.matmul, (3,), (3,)),
    product("np.matmul 1 2", np.matmul, (3,), (3, 2)),
    product("np.matmul 2 1", np.matmul, (2, 3), (3,)),
    product("np.matmul 2 2", np.matmul, (2, 3), (3, 4)),
    product("np.matmul 1 3", np.matmul, (3,), (2, 3, 4)),
    product("np.matmul 3 1", np.matmul, (2, 4, 3), (3,)),
    product("np.matmul 2 3", np.matmul, (4, 3), (2, 3, 2)),
    product("np.matmul 3 2", np.matmul, (2, 4, 3), (3, 2)),
    product("np.matmul 3 3", np.matmul, (2, 4, 3), (2, 3, 2)),
    product("np.matmul 4 2", np.matmul, (2, 2, 4, 3), (3, 2)),
    product("np.matmul 4 3", np.matmul, (2, 2, 1, 3), (2, 3, 2)),
    product("np.matmul 3 4", np.matmul, (2, 1, 3), (2, 2, 3, 2)),
    product("np.matmul unit batch", np.matmul, (1, 2, 3), (4, 3, 2)),
    product("np.matmul unit batch right", np.matmul, (4, 2, 3), (1, 3, 2)),
    product("np.matmul transposed", lambda a, b: np.matmul(a.T, b.T), (3, 2), (4, 3)),
    product("np.matmul steps", lambda a, b: np.matmul(a[::-1, ::2], b), (2, 5), (3, 2)),
    product("np.matmul with itself", lambda a: np.matmul(a, a), (3, 3)),
    product("np.matmul plain right", lambda a: np.matmul(a, M.T), (2, 3)),
    product("np.matmul plain left", lambda b: np.matmul(M, b), (3, 2)),
    product("np.matmul list", lambda b: np.matmul([[1.0, 2.0]], b), (2, 2)),
    product("np.matmul empty", np.matmul, (2, 0), (0, 3)),
    product(
        "np.matmul axes",
        lambda a, b: np.matmul(a, b, axes=[(0, 1), (-1, 0), (1, 0)]),
        (2, 3, 4),
        (5, 4, 3),
    ),
    product(
        "np.matmul axes broadcast",
        lambda a, b: np.matmul(a, b, axes=[(1, 0), (0, 2), (0, 2)]),
        (3, 2),
        (3, 4, 2),
    ),
    product(
        "np.matmul keywords",
        lambda a, b: np.matmul(a, b, dtype=np.float64, casting="same_kind", order="F"),
        (2, 3),
        (3, 2),
    ),
    product(
        "np.matmul out",
        lambda a: np.matmul(a, a.T, out=np.zeros_like(a, shape=(2, 2), order="C")),
        (2, 3),
    ),
    product("operator @", lambda a, b: a @ b, (2, 3), (3,)),
    product("operator @ plain left", lambda b: M @ b, (3,)),
    Sample("np.matmul complex", np.matmul, waves((2, 3), (3, 2))),
    Sample("np.matmul real complex", np.matmul, mixed((2, 3), (3,))),
    product("np.linalg.matmul", np.linalg.matmul, (2, 2, 3), (3, 2)),
]

VECTORS = [
    product("np.vecdot", np.vecdot, (2, 3), (3,)),
    product("np.vecdot 1 1", np.vecdot, (3,), (3,)),
    product("np.vecdot broadcast", np.vecdot, (2, 1, 3), (4, 3)),
    product("np.vecdot axis", lambda a, b: np.vecdot(a, b, axis=0), (3, 2), (3, 2)),
    product("np.vecdot axis alone", lambda a, b: np.vecdot(a, b, axis=0), (3, 2), (3, 1)),
    product(
        "np.vecdot keepdims", lambda a, b: np.vecdot(a, b, axis=0, keepdims=True), (3, 2), (3, 2)
    ),
    product("np.vecdot keepdims last", lambda a, b: np.vecdot(a, b, keepdims=True), (2, 3), (2, 3)),
    product("np.vecdot axes", lambda a, b: np.vecdot(a, b, axes=[0, 1, ()]), (3, 2), (2, 3)),
    Sample("np.vecdot complex", np.vecdot, waves((2, 3), (3,))),
    Sample("np.vecdot real complex", np.vecdot, mixed((2, 3), (3,))),
    product("np.linalg.vecdot", lambda a, b: np.linalg.vecdot(a, b, axis=-2), (3, 2), (3, 2)),
    Sample("np.linalg.vecdot complex", np.linalg.vecdot, waves((3,), (3,))),
    product("np.vdot", np.vdot, (2, 3), (2, 3)),
    product("np.vdot numbers", np.vdot, (), ()),
    Sample("np.vdot complex", np.vdot, waves((2, 2), (4,))),
    Sample("np.vdot real complex", np.vdot, mixed((3,), (3,))),
    Sample("np.vdot complex with itself", lambda a: np.vdot(a, a), waves((3,))),
]

if hasattr(np, "matvec"):
    VECTORS += [
        product("np.matvec", np.matvec, (2, 3), (3,)),
        product("np.matvec batch", np.matvec, (4, 2, 3), (4, 3)),
        product("np.matvec broadcast", np.matvec, (2, 3), (4, 3)),
        product(
            "np.matvec axes", lambda a, b: np.matvec(a, b, axes=[(0, 1), 0, -1]), (2, 3, 4), (3, 4)
        ),
        Sample("np.matvec complex", np.matvec, waves((2, 3), (3,))),
        product("np.vecmat", np.vecmat, (3,), (3, 2)),
        product("np.vecmat batch", np.vecmat, (4, 3), (4, 3, 2)),
        product("np.vecmat broadcast", np.vecmat, (3,), (4, 3, 2)),
        product(
            "np.vecmat axes", lambda a, b: np.vecmat(a, b, axes=[0, (1, 0), 0]), (3, 4), (2, 3, 4)
        ),
        Sample("np.vecmat complex", np.vecmat, waves((3,), (3, 2))),
    ]

PRODUCTS = [
    *(
        product(f"np.dot {len(a)} {len(b)}", np.dot, a, b)
        for a, b in [
            ((), ()),
            ((), (2, 3)),
            ((2, 3), ()),
            ((3,), (3,)),
            ((3,), (3, 2)),
            ((2, 3), (3,)),
            ((2, 3), (3, 4)),
            ((2, 4, 3), (3,)),
            ((3,), (2, 3, 4)),
            ((2, 3), (4, 3, 2)),
            ((2, 4, 3), (3, 2)),
            ((2, 1, 3), (4, 3, 2)),
        ]
    ),
    product("np.dot number", lambda a: np.dot(a, 2.5), (2, 2)),
    product("np.dot list", lambda a: np.dot([1.0, 2.0], a), (2, 2)),
    product("np.dot with itself", lambda a: np.dot(a, a), (3,)),
    product(
        "np.dot out",
        lambda a: np.dot(a, a.T, out=np.zeros_like(a, shape=(2, 2), order="C")),
        (2, 3),
    ),
    Sample("np.dot complex", np.dot, waves((2, 3), (3, 2))),
    Sample("np.dot real complex", np.dot, mixed((3,), (3, 2))),
    *(
        product(f"np.inner {len(a)} {len(b)}", np.inner, a, b)
        for a, b in [
            ((), (3,)),
            ((2, 3), ()),
            ((3,), (3,)),
            ((3,), (2, 3)),
            ((2, 3), (3,)),
            ((2, 3), (4, 3)),
            ((2, 1, 3), (4, 3)),
            ((3,), (2, 4, 3)),
            ((2, 3), (2, 1, 3)),
        ]
    ),
    Sample("np.inner complex", np.inner, waves((2, 3), (2, 3))),
    product("np.outer", np.outer, (3,), (2,)),
    product("np.outer flattens", np.outer, (2, 2), (1, 3)),
    product("np.outer number", np.outer, (), (3,)),
    product(
        "np.outer out",
        lambda a: np.outer(a, [1.0, -2.0, 0.5], out=np.zeros_like(a, shape=(2, 3), order="C")),
        (2,),
    ),
    Sample("np.outer complex", np.outer, waves((2,), (3,))),
    product("np.linalg.outer", np.linalg.outer, (3,), (2,)),
    product("np.tensordot", np.tensordot, (2, 3, 4), (3, 4, 2)),
    product("np.tensordot 1", lambda a, b: np.tensordot(a, b, axes=1), (2, 3), (3, 4)),
    product("np.tensordot 0", lambda a, b: np.tensordot(a, b, axes=0), (2,), (3, 2)),
    product("np.tensordot all", lambda a, b: np.tensordot(a, b, axes=2), (2, 3), (2, 3)),
    product(
        "np.tensordot pairs",
        lambda a, b: np.tensordot(a, b, axes=([0, 2], [2, 0])),
        (2, 3, 4),
        (4, 5, 2),
    ),
    product(
        "np.tensordot negative", lambda a, b: np.tensordot(a, b, ((-1,), (-2,))), (4, 3), (3, 5)
    ),
    product("np.tensordot ints", lambda a, b: np.tensordot(a, b, (0, 1)), (3, 2), (4, 3, 2)),
    product(
        "np.tensordot crossed",
        lambda a, b: np.tensordot(a, b, axes=((2, 0), (0, 1))),
        (3, 2, 4),
        (4, 3),
    ),
    Sample("np.tensordot complex", lambda a, b: np.tensordot(a, b, 1), waves((2, 3), (3, 2))),
    product(
        "np.linalg.tensordot",
        lambda a, b: np.linalg.tensordot(a, b, axes=((0,), (1,))),
        (3, 2),
        (2, 3),
    ),
    product("np.kron 1 1", np.kron, (2,), (3,)),
    product("np.kron 2 2", np.kron, (2, 3), (3, 2)),
    product("np.kron 1 2", np.kron, (2,), (3, 2)),
    product("np.kron 3 1", np.kron, (2, 1, 3), (2,)),
    product("np.kron number", np.kron, (), (2, 2)),
    product("np.kron plain", lambda a: np.kron(a, [1.0, -2.0]), (2, 2)),
    Sample("np.kron complex", np.kron, waves((2,), (2, 2))),
    product("np.cross", np.cross, (3,), (3,)),
    product("np.cross rows", np.cross, (2, 3), (3,)),
    product("np.cross axis", lambda a, b: np.cross(a, b, axis=0), (3, 2), (3, 2)),
    product(
        "np.cross axes",
        lambda a, b: np.cross(a, b, axisa=0, axisb=1, axisc=0),
        (3, 2, 4),
        (2, 3, 4),
    ),
    product("np.cross 2 2", np.cross, (4, 2), (4, 2), marks=(TWO_VECTORS,)),
    product("np.cross 2 3", np.cross, (2,), (4, 3), marks=(TWO_VECTORS,)),
    product("np.cross 3 2", np.cross, (3,), (2,), marks=(TWO_VECTORS,)),
    Sample("np.cross complex", np.cross, waves((3,), (3,))),
    product("np.linalg.cross", lambda a, b: np.linalg.cross(a, b, axis=0), (3, 2), (3, 2)),
    product("np.linalg.multi_dot 2", lambda *a: np.linalg.multi_dot(a), (2, 3), (3, 2)),
    product("np.linalg.multi_dot 3", lambda *a: np.linalg.multi_dot(a), (2, 3), (3, 4), (4, 1)),
    product(
        "np.linalg.multi_dot 4",
        lambda *a: np.linalg.multi_dot(list(a)),
        (2, 3),
        (3, 1),
        (1, 4),
        (4, 2),
    ),
    product("np.linalg.multi_dot vectors", lambda *a: np.linalg.multi_dot(a), (3,), (3, 4), (4,)),
    product("np.linalg.multi_dot plain", lambda a: np.linalg.multi_dot([a, M, a]), (3, 2)),
    product(
        "np.linalg.multi_dot out",
        lambda a: np.linalg.multi_dot([a, a.T], out=np.zeros_like(a, shape=(2, 2), order="C")),
        (2, 3),
    ),
]


def einsum(subscripts: str, *shapes: tuple[int, ...], name: str = "", **keywords: Any) -> Sample:
    """A sample of one einsum."""
    return product(
        f"np.einsum {subscripts} {name}".strip(),
        lambda *arrays: np.einsum(subscripts, *arrays, **keywords),
        *shapes,
    )


EINSUMS = [
    einsum("ij,jk->ik", (2, 3), (3, 4)),
    einsum("ij,jk", (2, 3), (3, 4)),
    einsum("ba", (2, 3)),
    einsum("ij->ji", (2, 3)),
    einsum("abcd->bd", (3, 2, 4, 2)),
    einsum("ij->", (2, 3)),
    einsum("ii->", (3, 3)),
    einsum("ii", (3, 3)),
    einsum("ii->i", (3, 3)),
    einsum("iij->ji", (3, 3, 2)),
    einsum("iii->i", (3, 3, 3)),
    einsum("ijij->ij", (2, 3, 2, 3)),
    einsum("i,j->ij", (3,), (2,)),
    einsum("i,i->", (3,), (3,)),
    einsum("i,i->i", (3,), (3,)),
    einsum("ij,ij->i", (2, 3), (2, 3)),
    einsum("ij,j->i", (2, 3), (3,)),
    einsum("ij,kj->", (2, 3), (4, 3)),
    einsum("ij,k->i", (2, 3), (4,)),
    einsum("ii,i->i", (3, 3), (3,)),
    einsum("ii,jj->ij", (2, 2), (3, 3)),
    einsum("bnij,bnjc->bnic", (1, 1, 5, 3), (1, 1, 3, 2)),
    einsum("bij,bjk->bik", (1, 2, 3), (4, 3, 2), name="broadcast"),
    einsum("ij,ij->ij", (1, 3), (2, 1), name="broadcast"),
    einsum("ij,ij->j", (2, 1), (1, 3), name="broadcast"),
    einsum("i,i->", (3,), (1,), name="broadcast"),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    einsum("i,ij,j->", (2,), (2, 3), (3,)),
    einsum("i,j,k->kji", (2,), (3,), (2,)),
    einsum("ij,jk,kl,li->", (2, 3), (3, 2), (2, 3), (3, 2)),
    einsum("...ij,...jk->...ik", (2, 2, 3), (3, 2)),
    einsum("...i,...i->...", (4, 1, 3), (2, 3)),
    einsum("...i,...i", (2, 3), (3,)),
    einsum("i...->...", (3, 2, 2)),
    einsum("...", (2, 2)),
    einsum("...,...->...", (3,), ()),
    einsum("i...,...j->j...i", (2, 3), (3, 4)),
    einsum("...ii->...i", (2, 3, 3)),
    einsum("ij,jk->ik", (2, 3), (3, 4), name="optimize", optimize=True),
    einsum("ij,jk,kl->il", (2, 3), (3, 4), (4, 2), name="greedy", optimize="greedy"),
    einsum("ij,jk,kl->li", (2, 3), (3, 4), (4, 2), name="optimal", optimize="optimal"),
    einsum(
        "ij,jk,kl->il",
        (2, 3),
        (3, 4),
        (4, 2),
        name="path",
        optimize=["einsum_path", (0, 1), (0, 1)],
    ),
    einsum(
        "ij,jk->ik",
        (2, 3),
        (3, 4),
        name="keywords",
        dtype=np.float64,
        casting="same_kind",
        order="F",
    ),
    einsum("ij,jk->ki", (20, 15), (15, 12), name="by matrix product"),
    einsum("bij,jkb->ikb", (4, 6, 15), (15, 12, 4), name="by matrix product"),
    einsum("i j , j k -> i k", (2, 3), (3, 4)),
    product(
        "np.einsum lists",
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        (2, 3),
        (3, 4),
    ),
    product("np.einsum lists implicit", lambda a, b: np.einsum(a, [1, 0], b, [0]), (2, 3), (3,)),
    product(
        "np.einsum lists ellipsis",
        lambda a, b: np.einsum(a, [Ellipsis, 0], b, [0, Ellipsis], [Ellipsis]),
        (2, 3),
        (3, 2),
    ),
    product("np.einsum one array twice", lambda a: np.einsum("i,i->", a, a), (3,)),
    product("np.einsum one array thrice", lambda a: np.einsum("ij,jk,ki->", a, a, a), (3, 3)),
    product("np.einsum plain operand", lambda a: np.einsum("ij,jk,k->i", M, a, [1.0, 2.0]), (3, 2)),
    product("np.einsum number", lambda a: np.einsum("i,->i", a, 2.0), (3,)),
    product(
        "np.einsum out",
        lambda a: np.einsum("ij,kj->ik", a, a, out=np.zeros_like(a, shape=(2, 2), order="C")),
        (2, 3),
    ),
    product(
        "np.einsum transposed", lambda a, b: np.einsum("ij,jk->ik", a.T, b[::-1]), (3, 2), (3, 2)
    ),
    Sample("np.einsum complex", lambda a, b: np.einsum("ij,jk->ik", a, b), waves((2, 3), (3, 2))),
    Sample("np.einsum complex trace", lambda a: np.einsum("ii", a), waves((2, 2))),
    Sample("np.einsum real complex", lambda a, b: np.einsum("ij,j->i", a, b), mixed((2, 3), (3,))),
]
SAMPLES = [*MATMULS, *VECTORS, *PRODUCTS, *EINSUMS]
