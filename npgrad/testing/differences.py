"""Derivatives by finite differences that know their own error, and by a complex step."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from npgrad.transforms.run import Argnums, argnums_of
from npgrad.transforms.trees import flatten

Function = Callable[..., Any]

LEVELS = 5  # steps h, h/2, ...: the error falls as h**2, h**4, ..., h**10


class Estimate(NamedTuple):
    """A derivative by differences, and how far off it may be."""

    value: Any
    error: float


def _careful(
    difference: Callable[[float], Any], h: float, nearest: float, noise: float, levels: int
) -> Estimate:
    """`_extrapolated` from `h`, and from much smaller steps where that is no good (near a pole).

    The last of those is `nearest`, relative to the point itself. `noise` is the rounding of one
    value of the function: over a small step it may be all that a difference shows, and it shows as
    no error at all where both values round to the same.
    """
    best = _extrapolated(difference, h, levels)
    best = Estimate(best.value, best.error + 4 * noise / h)
    for step in (h / 2**levels, h / 4**levels, nearest):
        if best.error <= 1e-7 * _size(best):
            break
        if step < h:
            found = _extrapolated(difference, step, levels)
            rounding = noise * 2 ** (levels - 1) / step
            best = min(best, Estimate(found.value, found.error + rounding), key=_doubt)
    return best


def _size(estimate: Estimate) -> float:
    return float(np.max(np.abs(estimate.value), initial=0.0))


def _doubt(estimate: Estimate) -> tuple[float, float]:
    """How little an estimate says: relative error where it says anything, then absolute error.

    Relative first: past a pole differences are wrong by little beside those at the pole.
    """
    if not math.isfinite(estimate.error):
        return math.inf, math.inf
    clear = estimate.error <= 1e-3 * _size(estimate)
    return (estimate.error / (_size(estimate) or 1.0) if clear else 1.0), estimate.error


def _extrapolated(difference: Callable[[float], Any], h: float, levels: int) -> Estimate:
    """Richardson's extrapolation of a central difference, as Ridders stops it.

    Rows of Neville's tableau for halved steps; the entry whose neighbours differ least from it is
    the answer, and that difference its error (C. J. F. Ridders, Adv. Eng. Software 4, 1982).
    """
    best = Estimate(math.nan, math.inf)
    before: list[Any] = []
    for level in range(levels):
        row = [difference(h / 2**level)]
        for k, old in enumerate(before):
            row.append(row[k] + (row[k] - old) / (4.0 ** (k + 1) - 1.0))
            error = float(max(np.max(abs(row[-1] - row[k])), np.max(abs(row[-1] - old))))
            if error < best.error:
                best = Estimate(row[-1], error)
        before = row
    return best


def _step(x: Any, direction: Any, eps: float, least: float = 0.1) -> float:
    """The largest step: no entry of `x` moves by more than some percent of itself (or of `least`).

    Without a least, entries that are zero do not count.
    """
    moves = np.abs(direction)
    room = 2.0 * eps ** (1 / 9) * np.maximum(np.abs(x), least)  # 0.036 of x in double precision
    counts = (moves > 0) & (room > 0)
    ratios = room[counts] / moves[counts]
    return float(ratios.min()) if ratios.size else 1.0


def _noise(out: Any) -> float:
    """The rounding of a value of a function."""
    return _eps(out) * float(np.max(np.abs(out), initial=0.0))


def _eps(out: Any) -> float:
    dtype = np.asarray(out).dtype
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 2.2e-16


def _wide(x: Any) -> Any:
    """`x` in double precision, where a step is not lost to rounding."""
    x = np.asarray(x)
    return x.astype(np.result_type(x.dtype, np.float64)) if x.dtype.kind in "fc" else x


def directional(
    f: Function,
    xs: Sequence[Any],
    vs: Sequence[Any],
    levels: int = LEVELS,
    rounding: Callable[..., tuple[float, float]] | None = None,
) -> Estimate:
    """The derivative of ``f(*xs)``, one array, along the direction `vs`, by differences.

    ``rounding(*xs)`` gives the precision that `f` computes in and the rounding of its value there;
    by default those of the value's own dtype.
    """
    xs = [_wide(x) for x in xs]
    with np.errstate(all="ignore"):
        here = f(*xs) if rounding is None else None
        eps, noise = (_eps(here), _noise(here)) if rounding is None else rounding(*xs)
        h = min(_step(x, v, eps) for x, v in zip(xs, vs, strict=True))
        nearest = min(_step(x, v, eps, 0.0) for x, v in zip(xs, vs, strict=True))

        def difference(t: float) -> Any:
            ahead = f(*(x + t * v for x, v in zip(xs, vs, strict=True)))
            behind = f(*(x - t * v for x, v in zip(xs, vs, strict=True)))
            return (np.asarray(ahead) - np.asarray(behind)) / (2 * t)

        return _careful(difference, h, nearest, noise, levels)


def differentiated(args: Sequence[Any], argnums: Argnums) -> tuple[tuple[int, ...], bool]:
    """`argnums` as positions, and whether it was a single one."""
    which, single = argnums_of(argnums)
    for key in which:
        if not isinstance(key, int):
            raise TypeError("npgrad.testing: argnums are positions here, not names")
    return tuple(int(key) % len(args) for key in which), single


def finite_difference_grad(
    f: Function, args: Sequence[Any], argnums: Argnums = 0, *, step: float | None = None,
    levels: int = LEVELS,
) -> Any:  # fmt: skip
    """The gradient of ``f(*args)`` by central differences with Richardson extrapolation.

    Parameters
    ----------
    f : callable
        Returns a real number, or an array; then the result is the Jacobian, of the shape
        ``output.shape + argument.shape``.
    args : sequence
        Where; arrays, numbers, or nested containers of them.
    argnums : int or tuple of int
        The arguments to differentiate.
    step : float, optional
        The largest step. By default each entry moves by 3.6 % of itself, or of 0.1 where it is
        smaller (34 % in single precision), and `levels` - 1 halvings of that follow: the error of
        the extrapolated value is then of the order of ``step ** (2 * levels)``.
    levels : int
        How many steps; ``2 * levels`` calls of `f` an entry.

    Returns
    -------
    ndarray, or the structure of the argument (a tuple of them for several `argnums`)
        For complex arguments of a real `f` the gradient is du/dx + i du/dy.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.testing import finite_difference_grad
    >>> finite_difference_grad(lambda x: np.sum(x ** 3), (np.array([1.0, 2.0]),)).round(10)
    array([ 3., 12.])
    """
    which, single = differentiated(args, argnums)
    found = [_difference_of(f, args, k, step, levels) for k in which]
    return found[0] if single else tuple(found)


def _difference_of(
    f: Function, args: Sequence[Any], k: int, step: float | None, levels: int
) -> Any:
    parts, rebuild = flatten(args[k])
    made = []
    for j in range(len(parts)):
        x = _wide(parts[j])
        if x.dtype.kind not in "fc":
            x = x.astype(np.float64)
        columns = [entry(f, args, k, j, i, step, levels).value for i in np.ndindex(x.shape)]
        shape = np.shape(columns[0]) if columns else np.shape(np.asarray(f(*args)))
        block = np.array(columns).reshape((*x.shape, *shape))
        block = np.moveaxis(block, range(x.ndim), range(-x.ndim, 0)) if x.ndim else block
        made.append(block[()])
    return rebuild(made)


def entry(
    f: Function, args: Sequence[Any], k: int, j: int, index: tuple[int, ...], step: float | None,
    levels: int,
) -> Estimate:  # fmt: skip
    """The derivative with respect to one entry of array `j` of argument `k`."""
    moved, x = _mover(f, args, k, j, index)
    if x.dtype.kind != "c":
        return _along(moved, x[index], 1.0, step, levels)
    real = _along(moved, x[index], 1.0, step, levels)
    imag = _along(moved, x[index], 1j, step, levels)
    return Estimate(real.value + 1j * imag.value, real.error + imag.error)


def _mover(
    f: Function, args: Sequence[Any], k: int, j: int, index: tuple[int, ...]
) -> tuple[Callable[[Any], Any], Any]:
    """``f`` as a function of a change of one entry, and the array that it is an entry of."""
    parts, rebuild = flatten(args[k])
    x = _wide(parts[j])
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)

    def moved(change: Any) -> Any:
        y = x.astype(np.result_type(x.dtype, np.asarray(change).dtype))
        y[index] += change
        y = y if np.ndim(parts[j]) else y[()]
        return np.asarray(f(*args[:k], rebuild([*parts[:j], y, *parts[j + 1 :]]), *args[k + 1 :]))

    return moved, x


def _along(
    moved: Callable[[Any], Any], at: Any, direction: Any, step: float | None, levels: int
) -> Estimate:
    with np.errstate(all="ignore"):

        def difference(t: float) -> Any:
            return (moved(t * direction) - moved(-t * direction)) / (2 * t)

        if step is not None:
            return _extrapolated(difference, step, levels)
        here = moved(0.0)
        h, nearest = (
            _step(np.asarray([at]), np.ones(1), _eps(here), least) for least in (0.1, 0.0)
        )
        return _careful(difference, h, nearest, _noise(here), levels)


def complex_step(f: Function, args: Sequence[Any], k: int, j: int, index: tuple[int, ...]) -> Any:
    """``Im f(x + ih) / h``, exact to rounding for analytic `f`; text where it does not apply."""
    moved, x = _mover(f, args, k, j, index)
    if x.dtype.kind == "c":
        return "does not apply to a complex argument"
    h = 1e-30
    try:
        with np.errstate(all="ignore"):
            out = moved(1j * h)
    except Exception as error:  # the function was never meant for complex numbers
        return f"does not apply ({type(error).__name__})"
    if out.dtype.kind != "c":
        return "does not apply (f drops the imaginary part)"
    return out.imag / h
