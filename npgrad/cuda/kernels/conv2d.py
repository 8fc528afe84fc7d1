"""conv2d forward: the tile kernel of grad-input with a convolution's own taps and stride."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..launch import backend_of
from . import conv_products, conv_tile, sixteen
from .conv2d_grad_input import check, flatten, output_size, pair, run_tiles


@functools.cache
def problem(
    groups: int, channels: int, outputs: int, size: Any, out_size: Any, kernel: Any, *geometry: Any
) -> tuple[conv_tile.Problem, tuple[int, ...]]:
    """The launch and the flat filter positions of its taps; channels are per group."""
    stride, padding, dilation = geometry
    taps = tuple(
        (r * dilation[0] - padding[0], s * dilation[1] - padding[1])
        for r in range(kernel[0])
        for s in range(kernel[1])
    )
    made = conv_tile.Problem(
        groups=groups,
        channels=channels,
        height=size[0],
        width=size[1],
        out_channels=outputs,
        rows=out_size[0],
        columns=out_size[1],
        stride=stride,
        taps=taps,
        out_height=out_size[0],
        out_width=out_size[1],
        out_start=(0, 0),
        out_step=(1, 1),
    )
    return flatten(made), tuple(range(len(taps)))


def forward(
    x: Any,
    w: Any,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    *,
    tf32: bool = False,
    kind: str | None = None,
) -> Any:
    """y on the device, of the type of `x`, float32-accurate; None where no tile of the kernel fits.

    16-bit types as in `conv2d_grad_input.backward`.
    """
    backend = backend_of(x)
    mode = sixteen.kind_of(kind, x, w) or ("tf32" if tf32 else "tf32x3")
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    kernel, size = (int(w.shape[2]), int(w.shape[3])), (int(x.shape[2]), int(x.shape[3]))
    out_size = output_size(size, kernel, stride, padding, dilation)
    shape = (int(x.shape[0]), int(w.shape[0]), *out_size)
    check(x.shape, w, shape, stride, padding, dilation, groups)
    x, w = backend.contiguous(x), backend.contiguous(w)
    channels, outputs = int(w.shape[1]), int(w.shape[0]) // groups
    if not x.size or not w.size or not backend.aligned(x, w):
        return None
    way = conv_products.way(x.shape, shape, kernel, stride, padding, groups, mode)
    if way is not None:
        y = backend.empty(shape, x.dtype)
        if way == "rows":
            conv_products.correlate(backend, x, w, y, padding, dilation, mode, False)
        else:
            conv_products.planes_of_planes(backend, x, w, y, False)
        return y
    if not mode.startswith("tf32"):
        wide = sixteen.widened(x, mode), sixteen.widened(w, mode)
        y = forward(*wide, stride, padding, dilation, groups, tf32=True)
        return None if y is None else sixteen.narrowed(y, mode)
    p, flat = problem(groups, channels, outputs, size, out_size, kernel, stride, padding, dilation)
    y = backend.empty(shape, np.float32)
    return y if run_tiles(backend, p, flat, x, w, y, shape[0], False, mode) else None
