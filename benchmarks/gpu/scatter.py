"""index_add, take_along_axis backward and embedding backward under uniform, skewed, equal and sorted indices."""

# ruff: noqa: B008, B023, E501
# (bound on purpose; a measured lambda runs within its turn of the loop; generated kernel text and table rows are not broken)

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from npgrad.cuda.kernels import embedding, gather, index_add

from .timing import Record, error, given, host_cost, poison, seconds, sets_for, taken

aten = torch.ops.aten
CASES = [
    (1 << 20, 64, 100_000),
    (1 << 18, 256, 50_000),
    (1 << 16, 1024, 32_000),
    (1 << 22, 1, 1_000_000),
]
SPREADS = ("uniform", "zipf", "equal", "sorted")


def make_index(spread: str, count: int, rows: int, random: np.random.Generator) -> torch.Tensor:
    if spread == "equal":
        return torch.full((count,), rows // 3, device="cuda", dtype=torch.int64)
    if spread == "zipf":
        weights = 1.0 / np.arange(1, rows + 1) ** 1.1
        bounds = np.cumsum(weights / weights.sum())
        index = np.minimum(np.searchsorted(bounds, random.random(count)), rows - 1)
        return torch.from_numpy(random.permutation(rows)[index]).cuda()
    index = torch.from_numpy(random.integers(0, rows, count)).cuda()
    return index.sort()[0] if spread == "sorted" else index


def rows(record: Record) -> None:
    random = np.random.default_rng(1)
    for count, width, limit in CASES:
        for spread in SPREADS:
            if record.left() < 8:
                print("scatter: out of time")
                return
            shape = (width,) if width > 1 else ()
            size = (count * width + limit * width) * 4
            sets = [
                (
                    make_index(spread, count, limit, random),
                    torch.randn(count, *shape, device="cuda"),
                    torch.zeros(limit, *shape, device="cuda"),
                )
                for _ in range(sets_for(size, 3))
            ]
            i0, s0, o0 = sets[0]
            distinct = int(i0.unique().numel())
            moved = count * width * 4 + count * 8 + 2 * distinct * width * 4
            wanted = torch.zeros_like(o0, dtype=torch.float64).index_add_(0, i0, s0.double())
            by_add = seconds(
                [lambda i=i, s=s, o=o: o.index_add_(0, i, s) for i, s, o in sets], repeats=5
            )
            wide = [
                (i if width == 1 else i[:, None].expand(count, width), s, o) for i, s, o in sets
            ]
            by_scatter = seconds(
                [lambda i=i, s=s, o=o: o.scatter_add_(0, i, s) for i, s, o in wide], repeats=5
            )
            ours = [(taken(i), taken(s), taken(o)) for i, s, o in sets]
            for label, options in (
                ("", {}),
                ("ordered", {"deterministic": True}),
                ("unique", {"unique": True}),
            ):
                if label == "unique" and spread != "uniform":
                    continue
                mine = [
                    lambda i=i, s=s, o=o: index_add.add_into(o, i, s, **options) for i, s, o in ours
                ]
                o0.zero_()
                mine[0]()
                wrong = error(o0, wanted)
                record.put(
                    operation="index_add",
                    case=f"{count} x {width} -> {limit} {spread}",
                    kind="float32",
                    ours=seconds(mine, repeats=5),
                    torch=min(by_add, by_scatter),
                    index_add=by_add,
                    scatter_add=by_scatter,
                    copy=record.copy_seconds(moved),
                    error=wrong,
                    host=host_cost(mine[0]),
                    note=label,
                )
            if width > 1:
                theirs = seconds(
                    [
                        lambda i=i, s=s: aten.embedding_dense_backward(s, i, limit, -1, False)
                        for i, s, _ in sets
                    ],
                    repeats=5,
                )
                mine = [lambda i=i, s=s: embedding.backward(s, i, limit) for i, s, _ in ours]
                poison(limit * width * 4)
                record.put(
                    operation="embedding backward",
                    case=f"{count} x {width} -> {limit} {spread}",
                    kind="float32",
                    ours=seconds(mine, repeats=5),
                    torch=theirs,
                    error=error(given(mine[0]()), wanted),
                )


def along_axis(record: Record) -> None:
    for count, columns, taken_columns in (
        (8192, 4096, 4096),
        (8192, 4096, 512),
        (131072, 128, 128),
    ):
        for spread in ("uniform", "skewed", "equal", "sorted"):
            if record.left() < 8:
                print("along axis: out of time")
                return
            moved = count * taken_columns * 12 + count * columns * 4
            sets: list[Any] = []
            for _ in range(sets_for(moved, 3)):
                index = torch.randint(0, columns, (count, taken_columns), device="cuda")
                if spread == "equal":
                    index[...] = columns // 3
                elif spread == "sorted":
                    index = index.sort(1)[0]
                elif spread == "skewed":
                    index = torch.where(
                        torch.rand(count, taken_columns, device="cuda") < 0.3, columns // 3, index
                    )
                sets.append((index, torch.randn(count, taken_columns, device="cuda")))
            i0, g0 = sets[0]
            wanted = torch.zeros(count, columns, device="cuda", dtype=torch.float64).scatter_add_(
                1, i0, g0.double()
            )
            theirs = seconds(
                [
                    lambda i=i, g=g: torch.zeros(count, columns, device="cuda").scatter_add_(
                        1, i, g
                    )
                    for i, g in sets
                ],
                repeats=5,
            )
            mine = [
                lambda i=taken(i), g=taken(g): gather.backward(g, i, (count, columns))
                for i, g in sets
            ]
            poison(count * columns * 4)
            record.put(
                operation="take_along_axis bwd",
                case=f"({count}, {columns}) <- {taken_columns} {spread}",
                kind="float32",
                error=error(given(mine[0]()), wanted),
                ours=seconds(mine, repeats=5),
                torch=theirs,
                copy=record.copy_seconds(moved),
                host=host_cost(mine[0]),
            )
