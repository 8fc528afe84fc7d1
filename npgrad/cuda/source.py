"""Text of generated kernels: a line writer, element types, and the emission of block-wide reductions.

Kernels are straight-line Python, specialised to their sizes: Numba keeps what stands in named variables in registers, and the
text itself is the cache key. No array library and no Numba here.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Sequence

__all__ = ["ELEMENTS", "Element", "Writer", "block_reduce", "power_of_two_at_least"]


@dataclasses.dataclass(frozen=True)
class Element:
    """How one dtype is kept in memory and computed with."""

    name: str
    word: str  # NumPy and Numba name of the stored word
    bytes: int
    vector: int  # elements in 16 bytes
    real: str  # arithmetic type

    @property
    def pointer(self) -> str:
        """Parameter type in a kernel's signature."""
        return f"{self.word}*"

    def load(self, width: int) -> str:
        """Name of the intrinsic that loads `width` elements."""
        return f"load{width}_{self.name}"

    def store(self, width: int) -> str:
        """Name of the intrinsic that stores `width` elements."""
        return f"store{width}_{self.name}"


ELEMENTS = {
    "float32": Element("f32", "float32", 4, 4, "float32"),
    "float16": Element("f16", "uint16", 2, 8, "float32"),
    "bfloat16": Element("bf16", "uint16", 2, 8, "float32"),
}


# families of intrinsics whose names carry their sizes: STEM_INT_INT_...
MACROS = (
    "copies",
    "tile_products",
    "tile_put",
    "weight_step",
    "weight_load",
    "weight_ahead",
    "weight_store",
    "clear",
    "flush",
)


def generated(text: str) -> list[str]:
    """Names of the sized intrinsics that a source calls; they are made on demand."""
    return sorted(set(re.findall(rf"\b(?:{'|'.join(MACROS)})(?:_\d+)+\b", text)))


class Writer:
    """Collects lines at the current indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def __call__(self, *lines: str) -> None:
        """Add lines at the current indentation."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextlib.contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A compound statement: its head, then the body one level deeper."""
        self(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self("pass")
        self.depth -= 1

    def text(self) -> str:
        """The source so far."""
        return "\n".join(self.lines) + "\n"


def power_of_two_at_least(n: int) -> int:
    """Smallest power of two >= n (1 for n <= 1)."""
    return 1 << max(0, n - 1).bit_length()


def lanes_reduce(w: Writer, names: Sequence[str], width: int, combine: str = "add") -> None:
    """All-lanes reduction over groups of `width` neighbouring lanes (butterfly)."""
    step = width // 2
    while step >= 1:
        for name in names:
            other = f"shfl_xor_f32(int32(-1), {name}, int32({step}))"
            w(f"{name} += {other}" if combine == "add" else f"{name} = max({name}, {other})")
        step //= 2


def block_reduce(
    w: Writer, names: Sequence[str], threads: int, combine: str = "add", groups: int = 1
) -> None:
    """Reduce `names` over `threads` threads; every thread ends with the result.

    One warp or less: shuffles. More: each warp leaves its result in ``red`` (two halves used in turn, so one barrier a
    reduction is enough), then every warp reads all of them. The writer's kernel declares ``red`` and ``half``; with several
    `groups` of `threads` in a block, ``group`` and ``warp`` (within the group), and each group has a barrier of its own.
    """
    lanes_reduce(w, names, min(threads, 32), combine)
    if threads <= 32:
        return
    warps = threads // 32
    padded = power_of_two_at_least(warps)
    neutral = "float32(0)" if combine == "add" else "float32(-math.inf)"
    if groups == 1:
        w(f"red_at = half * {len(names) * warps}")
    else:
        w(f"red_at = (half + group * int32(2)) * {len(names) * warps}")
    with w.block("if lane == 0:"):
        for i, name in enumerate(names):
            w(f"red[red_at + {i * warps} + warp] = {name}")
    w("cuda.syncthreads()" if groups == 1 else f"barrier_some(group + int32(1), int32({threads}))")
    w(f"peer = lane & {padded - 1}")
    for i, name in enumerate(names):
        w(f"{name} = red[red_at + {i * warps} + peer] if peer < {warps} else {neutral}")
    lanes_reduce(w, names, padded, combine)
    w("half ^= 1")
