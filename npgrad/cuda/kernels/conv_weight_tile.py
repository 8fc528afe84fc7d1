"""How conv2d_grad_weight divides its work: the sizes of a launch, tiles, and which tile is chosen."""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import dataclasses
import functools

from ..launch import SHARED_LIMIT


@dataclasses.dataclass(frozen=True)
class Problem:
    """Sizes, constants of the generated kernel except the number of images; channels are per group."""

    groups: int
    channels: int
    outputs: int
    height: int
    width: int
    rows: int
    columns: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Tile:
    """Work split of a block."""

    mt: int  # 16-channel tiles of g a warp
    wm: int  # warps along output channels
    wn: int  # warps along input channels and filter rows
    ng: int  # groups of 8 input channels a warp
    filter_rows: int  # filter rows a warp
    rows: int  # output rows a stage
    ahead: bool = False  # fragments of the next step are loaded before the products of this one
    blocks: int = 1


class Layout:
    """Shared-memory layout of a stage, and how many blocks there are."""

    def __init__(self, p: Problem, t: Tile) -> None:
        (kr, ks), st, pad, dil = p.kernel, p.stride, p.padding, p.dilation
        self.padded = -(-p.columns // 8) * 8
        self.row_groups = kr // t.filter_rows
        self.channel_warps = t.wn // self.row_groups
        self.block_c = self.channel_warps * t.ng * 8
        self.block_m = t.wm * t.mt * 16
        self.threads = 32 * t.wm * t.wn
        self.patch_rows = (t.rows - 1) * st[0] + (kr - 1) * dil[0] + 1
        span = (self.padded - 1) * st[1] + (ks - 1) * dil[1] + 1
        self.vx = 4 if p.width % 4 == 0 else 2 if p.width % 2 == 0 else 1
        self.vg = 4 if p.columns % 4 == 0 else 2 if p.columns % 2 == 0 else 1
        self.zero = -(-pad[1] // self.vx) * self.vx  # shared column of input column 0
        self.shift = self.zero - pad[1]  # shared column of pixel 0, tap 0
        extent = max(self.zero + p.width, self.shift + span)
        step = max(2, self.vx)
        self.row = -(-extent // step) * step
        plane = self.patch_rows * self.row
        wanted = (8, 24) if st[1] == 1 else (18, 14, 10, 22) if self.vx < 4 else (20, 12, 4, 28)
        while plane % 32 not in wanted or plane % step:
            plane += 1
        self.plane = plane
        pitch = t.rows * self.padded
        while pitch % 32 not in (8, 24):
            pitch += 4
        self.pitch = pitch
        self.g_words = self.block_m * pitch
        self.x_words = self.block_c * plane
        self.stage = self.g_words + self.x_words
        self.bytes = 8 * self.stage
        self.row_tiles = -(-p.rows // t.rows)
        self.blocks_m = -(-p.outputs // self.block_m)
        self.blocks_c = -(-p.channels // self.block_c)
        self.sums = t.mt * t.ng * t.filter_rows * ks * 4


def candidates(p: Problem, mode: str, limit: int = SHARED_LIMIT) -> list[Tile]:
    """Tiles worth trying, the wished one first; those that do not fit in shared memory are left out."""
    kr, ks = p.kernel
    triple = mode == "tf32x3"
    found: list[Tile] = []
    sums_limit = 72 if triple else 144
    whole_rows = 4 * kr * ks <= sums_limit
    filter_rows = kr if whole_rows else 1
    row_groups = kr // filter_rows
    if row_groups > 16 or 4 * ks * filter_rows > sums_limit:
        return []
    per_mt = 4 * filter_rows * ks
    m_tiles = -(-p.outputs // 16)
    area = p.columns
    for rows in (7, 4, 2, 1, 8, 3):
        if rows > p.rows or (rows > 1 and rows * area > 160):
            continue
        for mt in (4, 2, 1):
            if mt * per_mt > sums_limit or mt > m_tiles:
                continue
            ng = max(1, min(8, sums_limit // (mt * per_mt), -(-p.channels // 8)))
            ng = 1 << (ng.bit_length() - 1)
            for wm in (1, 2, 4):
                if mt * wm > max(m_tiles, 1) and wm > 1:
                    continue
                for channel_warps in (8, 4, 2, 1):
                    wn = channel_warps * row_groups
                    if channel_warps > 1 and channel_warps * ng * 8 >= 2 * max(8, p.channels):
                        continue
                    if wm * wn > 16 or wm * wn < min(4, row_groups):
                        continue
                    tile = Tile(mt, wm, wn, ng, filter_rows, rows, kr == 3)
                    needed = (
                        mt * ng * per_mt * (2 if triple else 1) + 50
                    )  # registers; two sets of sums when flushed
                    if needed > min(255, 65536 // (32 * wm * wn)):
                        continue
                    if Layout(p, tile).bytes <= limit:
                        found.append(tile)
    return found


def ranked(p: Problem, mode: str, limit: int = SHARED_LIMIT) -> list[Tile]:
    """Tiles by estimated time, best first."""
    costs: list[tuple[float, int, Tile]] = []
    for i, t in enumerate(candidates(p, mode, limit)):
        lay = Layout(p, t)
        warps = lay.threads // 32
        waste = (
            lay.blocks_m
            * lay.block_m
            / p.outputs
            * lay.blocks_c
            * lay.block_c
            / p.channels
            * lay.padded
            / p.columns
            * lay.row_tiles
            * t.rows
            / p.rows
        )
        tiles = lay.blocks_m * lay.blocks_c * p.groups
        rounds = -(-tiles // 132) / (tiles / 132) if tiles > 132 else 1.0
        # words copied a product, fragments loaded a product, and enough warps to hide latency
        copied = lay.stage / (
            lay.block_m * lay.block_c * p.kernel[0] * p.kernel[1] * t.rows * lay.padded
        )
        loads = 1 / t.mt + 1 / (t.ng * t.filter_rows * p.kernel[1])
        few = 1.0 if warps >= 7 else 1.25 if warps >= 4 else 2.0
        costs.append((waste * rounds * (1 + 60 * copied + 0.25 * loads) * few, i, t))
    return [t for _, _, t in sorted(costs)]


@functools.cache
def choose(p: Problem, mode: str, limit: int = SHARED_LIMIT) -> Tile | None:
    """The tile with the least estimated time, or None."""
    return next(iter(ranked(p, mode, limit)), None)
