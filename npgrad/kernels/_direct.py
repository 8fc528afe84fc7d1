"""Convolution with few channels a group (depthwise, grouped): taps added along whole planes.

    y[n, o, p, q] = sum of w[o, c, i, j] x[n, c, p sh + i dh - top, q sw + j dw - left]

Images are first copied into a border of zeros, rows and columns of one remainder modulo the stride
together, each such plane as one line: a tap then reads the line from some offset on, and the sum
over taps runs along the line without asking where a row ends (what it puts between rows is not
kept). So vectors are full however narrow the image is.

Depthwise 3x3 filters whose output is as wide as the image go to ``_beside.py``, without a border.

What a processor waits for here is loading and storing. So four filters and three taps (or, where a
group has a single 3x3 filter, nine taps) share what is loaded. One item is an image and a group;
results do not depend on how items are spread over threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.graph.memory import empty
from npgrad.kernels import _beside
from npgrad.kernels._arrays import Array
from npgrad.kernels._compile import njit
from npgrad.kernels._threads import spread

__all__ = ["LARGEST", "Lines", "forward", "grad_input", "grad_weight"]

Shape = tuple[int, ...]

# Weights of one filter up to which direct loops are taken: a BLAS product with fewer rows than this
# spends its time on building the columns.
LARGEST = 160
# Entries of the line at a time; a constant, so that LLVM sees four sums that cannot overlap.
WIDTH = 512


@njit()
def _border(planes, frame, lines):  # type: ignore[no-untyped-def]
    """Planes (c, h, w) of one image into `lines` (c, phases, rows * row), zeros around them.

    Entry (r, q) stands at (r step + top, q step + left) of the bordered plane.
    """
    top, left, step, stride, rows, row = frame
    sh, sw = stride
    height, width = planes.shape[1:]
    # the rows of the image that lie inside; what does not depend on the row is found once, for a
    # row of 56 numbers is copied in less time than three divisions
    low = max(0, -(top // step[0]))
    high = min(height, (rows * sh - 1 - top) // step[0] + 1)
    for c in range(planes.shape[0]):
        plane = planes[c]
        lines[c] = 0
        for b in range(sw):
            # columns of the border with remainder b: column k sw + b holds entry q
            if step[1] == 1:
                k0 = max(0, -((b - left) // sw))
                k1 = min(row, (width - 1 + left - b) // sw + 1)
                begin = k0 * sw + b - left
            else:  # only with sw = 1: from entry `begin` to entry k1
                begin = max(0, -(left // step[1]))
                k0 = begin * step[1] + left
                k1 = min(width, (row - 1 - left) // step[1] + 1)
            for r in range(low, high):
                p = r * step[0] + top
                s = p // sh
                to = lines[c, (p - s * sh) * sw + b, s * row : (s + 1) * row]
                if step[1] == 1:
                    if k1 > k0:
                        inner = to[k0:k1]
                        source = plane[r, begin:]
                        if sw == 1:
                            for k in range(inner.size):
                                inner[k] = source[k]
                        else:
                            for k in range(inner.size):
                                inner[k] = source[k * sw]
                elif k1 > begin:
                    source = plane[r, begin:k1]
                    inner = to[k0:]
                    for k in range(source.size):
                        inner[k * step[1]] = source[k]


@njit()
def _empty_lines(channels, frame, x):  # type: ignore[no-untyped-def]
    """Room for the lines of `channels` planes; a line ends in a spare row."""
    _, _, _, stride, rows, row = frame
    return np.empty((channels, stride[0] * stride[1], (rows + 1) * row), x.dtype)


@njit(fastmath={"contract", "nsz"})
def _forward(start, stop, x, w, phase, offset, groups, frame, y):  # type: ignore[no-untyped-def]
    """Images and groups ``start <= n groups + group < stop``; w is (o, c, taps)."""
    row = frame[-1]
    out = y.shape[1] // groups
    channels, taps = w.shape[1:]
    bordered = _empty_lines(channels, frame, x)
    height, width = y.shape[2:]
    zero = y.dtype.type(0)
    sums = np.empty(4 * WIDTH, y.dtype)
    length = (height - 1) * row + width
    planes = np.empty((4, height * row), y.dtype)
    for item in range(start, stop):
        n = item // groups
        group = item % groups
        _border(x[n, group * channels : (group + 1) * channels], frame, bordered)
        for o in range(group * out, (group + 1) * out, 4):
            # a filter beyond the group's last repeats it, and is not stored
            last = (group + 1) * out - 1
            w0 = w[o]
            w1 = w[min(o + 1, last)]
            w2 = w[min(o + 2, last)]
            w3 = w[min(o + 3, last)]
            for begin in range(0, length, WIDTH):
                count = min(WIDTH, length - begin)
                for q in range(4 * WIDTH):
                    sums[q] = zero
                for c in range(channels):
                    lines = bordered[c]
                    for t in range(0, taps - 2, 3):
                        place = begin + offset[t]
                        s0 = lines[phase[t], place : place + count]
                        place = begin + offset[t + 1]
                        s1 = lines[phase[t + 1], place : place + count]
                        place = begin + offset[t + 2]
                        s2 = lines[phase[t + 2], place : place + count]
                        a0 = w0[c, t]
                        a1 = w1[c, t]
                        a2 = w2[c, t]
                        a3 = w3[c, t]
                        b0 = w0[c, t + 1]
                        b1 = w1[c, t + 1]
                        b2 = w2[c, t + 1]
                        b3 = w3[c, t + 1]
                        c0 = w0[c, t + 2]
                        c1 = w1[c, t + 2]
                        c2 = w2[c, t + 2]
                        c3 = w3[c, t + 2]
                        for q in range(s0.size):
                            u = s0[q]
                            v = s1[q]
                            z = s2[q]
                            sums[q] += a0 * u + b0 * v + c0 * z
                            sums[WIDTH + q] += a1 * u + b1 * v + c1 * z
                            sums[2 * WIDTH + q] += a2 * u + b2 * v + c2 * z
                            sums[3 * WIDTH + q] += a3 * u + b3 * v + c3 * z
                    for t in range(taps - taps % 3, taps):
                        place = begin + offset[t]
                        s0 = lines[phase[t], place : place + count]
                        a0 = w0[c, t]
                        a1 = w1[c, t]
                        a2 = w2[c, t]
                        a3 = w3[c, t]
                        for q in range(s0.size):
                            u = s0[q]
                            sums[q] += a0 * u
                            sums[WIDTH + q] += a1 * u
                            sums[2 * WIDTH + q] += a2 * u
                            sums[3 * WIDTH + q] += a3 * u
                for k in range(4):
                    to = planes[k, begin : begin + count]
                    part = sums[k * WIDTH : k * WIDTH + count]
                    for q in range(to.size):
                        to[q] = part[q]
            for k in range(min(4, last - o + 1)):
                for p in range(height):
                    to = y[n, o + k, p]
                    part = planes[k, p * row : p * row + width]
                    for q in range(to.size):
                        to[q] = part[q]


@njit(fastmath={"contract", "nsz"})
def _forward_nine(start, stop, x, w, phase, offset, groups, frame, y):  # type: ignore[no-untyped-def]
    """`_forward` for one filter of nine taps a group: nothing is stored between the taps."""
    row = frame[-1]
    channels = w.shape[1]
    bordered = _empty_lines(channels, frame, x)
    height, width = y.shape[2:]
    length = (height - 1) * row + width
    plane = np.empty(height * row, y.dtype)
    for item in range(start, stop):
        n = item // groups
        o = item % groups
        _border(x[n, o * channels : (o + 1) * channels], frame, bordered)
        for c in range(channels):
            lines = bordered[c]
            x0 = lines[phase[0], offset[0] : offset[0] + length]
            x1 = lines[phase[1], offset[1] : offset[1] + length]
            x2 = lines[phase[2], offset[2] : offset[2] + length]
            x3 = lines[phase[3], offset[3] : offset[3] + length]
            x4 = lines[phase[4], offset[4] : offset[4] + length]
            x5 = lines[phase[5], offset[5] : offset[5] + length]
            x6 = lines[phase[6], offset[6] : offset[6] + length]
            x7 = lines[phase[7], offset[7] : offset[7] + length]
            x8 = lines[phase[8], offset[8] : offset[8] + length]
            f = w[o, c]
            f0, f1, f2, f3, f4 = f[0], f[1], f[2], f[3], f[4]
            f5, f6, f7, f8 = f[5], f[6], f[7], f[8]
            for q in range(x0.size):
                total = f0 * x0[q] + f1 * x1[q] + f2 * x2[q]
                total += f3 * x3[q] + f4 * x4[q] + f5 * x5[q]
                total += f6 * x6[q] + f7 * x7[q] + f8 * x8[q]
                plane[q] = total + plane[q] if c else total
        for p in range(height):
            to = y[n, o, p]
            part = plane[p * row : p * row + width]
            for q in range(to.size):
                to[q] = part[q]


@njit(fastmath={"contract", "reassoc", "nsz"})
def _weight(start, stop, g, x, phase, offset, groups, frame, parts):  # type: ignore[no-untyped-def]
    """The cotangent of the filters from an image and a group, in ``parts[n]`` (o, c, taps).

    The rows of g are set apart like those of x, with zeros between them.
    """
    row = frame[-1]
    out = g.shape[1] // groups
    channels, taps = parts.shape[2:]
    length = g.shape[2] * row
    plain = (0, 0, (1, 1), (1, 1), g.shape[2], row)
    bordered = _empty_lines(channels, frame, x)
    given = _empty_lines(out, plain, g)
    zero = g.dtype.type(0)
    for item in range(start, stop):
        n = item // groups
        group = item % groups
        first = group * out
        _border(x[n, group * channels : (group + 1) * channels], frame, bordered)
        _border(g[n, first : first + out], plain, given)
        for o in range(first, first + out, 4):
            last = first + out - 1
            o1 = min(o + 1, last)
            o2 = min(o + 2, last)
            o3 = min(o + 3, last)
            g0 = given[o - first, 0, :length]
            g1 = given[o1 - first, 0, :length]
            g2 = given[o2 - first, 0, :length]
            g3 = given[o3 - first, 0, :length]
            for c in range(channels):
                lines = bordered[c]
                for t in range(0, taps - 2, 3):
                    s0 = lines[phase[t], offset[t] : offset[t] + length]
                    s1 = lines[phase[t + 1], offset[t + 1] : offset[t + 1] + length]
                    s2 = lines[phase[t + 2], offset[t + 2] : offset[t + 2] + length]
                    a0 = a1 = a2 = b0 = b1 = b2 = zero
                    c0 = c1 = c2 = d0 = d1 = d2 = zero
                    for q in range(g0.size):
                        u = s0[q]
                        v = s1[q]
                        z = s2[q]
                        a0 += g0[q] * u
                        a1 += g0[q] * v
                        a2 += g0[q] * z
                        b0 += g1[q] * u
                        b1 += g1[q] * v
                        b2 += g1[q] * z
                        c0 += g2[q] * u
                        c1 += g2[q] * v
                        c2 += g2[q] * z
                        d0 += g3[q] * u
                        d1 += g3[q] * v
                        d2 += g3[q] * z
                    # a filter beyond the group's last repeats it: the same numbers once more
                    to = parts[n, o, c]
                    to[t], to[t + 1], to[t + 2] = a0, a1, a2
                    to = parts[n, o1, c]
                    to[t], to[t + 1], to[t + 2] = b0, b1, b2
                    to = parts[n, o2, c]
                    to[t], to[t + 1], to[t + 2] = c0, c1, c2
                    to = parts[n, o3, c]
                    to[t], to[t + 1], to[t + 2] = d0, d1, d2
                for t in range(taps - taps % 3, taps):
                    s0 = lines[phase[t], offset[t] : offset[t] + length]
                    a0 = b0 = c0 = d0 = zero
                    for q in range(g0.size):
                        u = s0[q]
                        a0 += g0[q] * u
                        b0 += g1[q] * u
                        c0 += g2[q] * u
                        d0 += g3[q] * u
                    parts[n, o, c, t] = a0
                    parts[n, o1, c, t] = b0
                    parts[n, o2, c, t] = c0
                    parts[n, o3, c, t] = d0


@njit(fastmath={"contract", "reassoc", "nsz"})
def _weight_nine(start, stop, g, x, phase, offset, groups, frame, parts):  # type: ignore[no-untyped-def]
    """`_weight` for one filter of nine taps a group: nine sums in one pass over g."""
    row = frame[-1]
    channels = parts.shape[2]
    length = g.shape[2] * row
    plain = (0, 0, (1, 1), (1, 1), g.shape[2], row)
    bordered = _empty_lines(channels, frame, x)
    given = _empty_lines(1, plain, g)
    zero = g.dtype.type(0)
    for item in range(start, stop):
        n = item // groups
        o = item % groups
        _border(x[n, o * channels : (o + 1) * channels], frame, bordered)
        _border(g[n, o : o + 1], plain, given)
        line = given[0, 0, :length]
        for c in range(channels):
            lines = bordered[c]
            x0 = lines[phase[0], offset[0] : offset[0] + length]
            x1 = lines[phase[1], offset[1] : offset[1] + length]
            x2 = lines[phase[2], offset[2] : offset[2] + length]
            x3 = lines[phase[3], offset[3] : offset[3] + length]
            x4 = lines[phase[4], offset[4] : offset[4] + length]
            x5 = lines[phase[5], offset[5] : offset[5] + length]
            x6 = lines[phase[6], offset[6] : offset[6] + length]
            x7 = lines[phase[7], offset[7] : offset[7] + length]
            x8 = lines[phase[8], offset[8] : offset[8] + length]
            t0 = t1 = t2 = t3 = t4 = t5 = t6 = t7 = t8 = zero
            for q in range(line.size):
                v = line[q]
                t0 += v * x0[q]
                t1 += v * x1[q]
                t2 += v * x2[q]
                t3 += v * x3[q]
                t4 += v * x4[q]
                t5 += v * x5[q]
                t6 += v * x6[q]
                t7 += v * x7[q]
                t8 += v * x8[q]
            to = parts[n, o, c]
            to[0], to[1], to[2], to[3], to[4] = t0, t1, t2, t3, t4
            to[5], to[6], to[7], to[8] = t5, t6, t7, t8


class Lines:
    """Where the taps of a filter stand in the lines of bordered planes."""

    def __init__(self, size: Shape, filters: Shape, geometry: Any) -> None:
        (sh, sw), (dh, dw) = geometry.stride, geometry.dilation
        self.stride = sh, sw
        i, j = np.divmod(np.arange(filters[2] * filters[3]), filters[3])
        self.rows = size[0] + (filters[2] - 1) * dh // sh
        self.row = size[1] + (filters[3] - 1) * dw // sw
        self.phase = i * dh % sh * sw + j * dw % sw
        self.offset = i * dh // sh * self.row + j * dw // sw

    def frame(self, top: int, left: int, step: tuple[int, int] = (1, 1)) -> tuple[Any, ...]:
        """How `_border` places an image."""
        return top, left, step, self.stride, self.rows, self.row


def forward(x: Array, w: Array, geometry: Any, size: Shape) -> Array:
    """The convolution."""
    if _beside.suits(x.shape, w.shape, geometry, size):
        return _beside.forward(x, w, geometry, size)
    lines = Lines(size, w.shape, geometry)
    return _run(x, w, lines, lines.frame(geometry.top, geometry.left), geometry.groups, size)


def _run(x: Array, w: Array, lines: Lines, frame: Any, groups: int, size: Shape) -> Array:
    """The convolution of images placed in `frame`."""
    y = empty((len(x), len(w), *size), x.dtype)
    taps = w.reshape(len(w), w.shape[1], -1)
    kernel = _forward_nine if len(w) == groups and taps.shape[2] == 9 else _forward
    cost = y[0].size / groups * w[0].size * 0.05
    arguments = (x, taps, lines.phase, lines.offset, groups, frame, y)
    spread(kernel, len(x) * groups, cost, *arguments)
    return y


def grad_input(g: Array, w: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in x for any stride: zeros between the entries of g make it a convolution."""
    groups, (out, channels, height, width) = geometry.groups, w.shape
    dh, dw = geometry.dilation
    flipped = w.reshape(groups, out // groups, channels, height, width)[..., ::-1, ::-1]
    flipped = np.ascontiguousarray(flipped.swapaxes(1, 2))
    flipped = flipped.reshape(groups * channels, out // groups, height, width)
    lines = Lines(shape[2:], w.shape, geometry._replace(stride=(1, 1)))
    # entry (p, q) of g belongs at (p sh - top, q sw - left) of x, less the reach of the filter
    top, left = dh * (height - 1) - geometry.top, dw * (width - 1) - geometry.left
    frame = lines.frame(top, left, geometry.stride)
    return _run(g, flipped, lines, frame, groups, shape[2:])


def grad_weight(g: Array, x: Array, shape: Shape, geometry: Any) -> Array:
    """The transpose in w; images are summed in order."""
    if _beside.suits(x.shape, shape, geometry, g.shape[2:]):
        return _beside.grad_weight(g, x, shape, geometry)
    groups = geometry.groups
    lines = Lines(g.shape[2:], shape, geometry)
    parts = np.empty((len(g), *shape[:2], shape[2] * shape[3]), g.dtype)
    kernel = _weight_nine if shape[0] == groups and parts.shape[3] == 9 else _weight
    cost = g[0].size / groups * shape[1] * parts.shape[3] * 0.05
    frame = lines.frame(geometry.top, geometry.left)
    spread(kernel, len(g) * groups, cost, g, x, lines.phase, lines.offset, groups, frame, parts)
    return np.sum(parts, axis=0).reshape(shape)
