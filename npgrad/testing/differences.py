"""Derivatives by finite differences that know their own error, and by a complex step."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from npgrad.errors import NotDifferentiable
from npgrad.graph import backend
from npgrad.transforms.run import Argnums, argnums_of
from npgrad.transforms.trees import arrays_in, place, spots
from npgrad.transforms.values import value

Function = Callable[..., Any]

LEVELS = 5  # steps h, h/2, ...: the error falls as h**2, h**4, ..., h**10


def fresh(args: Sequence[Any]) -> list[Any]:
    """`args` for a call that may write into them: the arrays are copies."""
    made = []
    for arg in args:
        parts, rebuild = arrays_in(arg)
        made.append(rebuild([p.copy("K") if isinstance(p, np.ndarray) else p for p in parts]))
    return made


class Estimate(NamedTuple):
    """A derivative by differences, how far off it may be, and how far off rounding alone puts it.

    The first `error` is what the steps show (and the rounding); `rounding` is what the rounding of
    the function's value does over the steps taken.
    """

    value: Any
    error: float
    rounding: float = 0.0


CLEAR = 1e-3  # a derivative wrong by 1 % is seen where the error is a tenth of that
REMEDY = (
    "Scale the argument so that f changes slowly over a few percent of it, or give a smaller step "
    "(step=... of finite_difference_grad); f must not jump or have a kink here, nor be noisy, nor "
    "hide what depends on the argument under a large constant."
)


def can_judge(estimate: Estimate, size: float, found: float = 0.0, clear: float = CLEAR) -> bool:
    """Whether the error of `estimate` is small beside a derivative of that size.

    Or whether both the derivative and what was `found` are zero as far as the rounding of the
    function lets anything be seen: more cannot be asked of a function that does not change.
    """
    if estimate.error <= clear * size:
        return True
    nothing = _size(estimate) <= 3 * estimate.error and found <= 0.01 * estimate.rounding
    return nothing and estimate.error <= 10 * estimate.rounding


def _careful(
    difference: Callable[[float], Any], h: float, nearest: float, noise: float, levels: int
) -> Estimate:
    """`_extrapolated` from `h`, and from much smaller steps where that is no good (near a pole).

    The last of those is `nearest`, relative to the point itself. `noise` is the rounding of one
    value of the function: over a small step it may be all that a difference shows, and it shows as
    no error at all where both values round to the same.
    """
    best = _extrapolated(difference, h, levels)
    best = Estimate(best.value, best.error + 4 * noise / h, 4 * noise / h)
    for step in (h / 2**levels, h / 4**levels, nearest):
        if best.error <= 1e-7 * _size(best):
            break
        if step < h:
            found = _extrapolated(difference, step, levels)
            rounding = noise * 2 ** (levels - 1) / step
            better = Estimate(found.value, found.error + rounding, rounding)
            best = min(best, better, key=_doubt)
    return best


ANOTHER = (
    "returns another value at each call, so that no derivative can be checked. Draw random numbers "
    "from a generator made in the function (np.random.default_rng(0)), or pass them in."
)


def repeats(f: Function, args: Sequence[Any]) -> bool:
    """Whether ``f(*args)`` is the same twice, up to what the order of additions may change."""
    with np.errstate(all="ignore"):
        first, second = (arrays_in(f(*args))[0] for _ in range(2))
    if len(first) != len(second):
        return False
    for one, other in zip(first, second, strict=True):
        a, b = (np.asarray(value(out)) for out in (one, other))
        if a.shape != b.shape:
            return False
        if a.dtype.kind not in "fc":
            continue
        near = 1e3 * _eps(a) * float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a)))
        if not np.all((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= near)):
            return False
    return True


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
    if math.isinf(best.error):  # nan at every step
        return Estimate(np.full(np.shape(before[0]), math.nan)[()], math.inf)
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


def widened(x: Any) -> Any:
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
    xs = [widened(x) for x in xs]
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


def inner(us: Sequence[Any], vs: Sequence[Any]) -> float:
    """``Re <u, v>``, summed over the arrays."""
    return float(sum(np.sum(np.real(np.conj(u) * v)) for u, v in zip(us, vs, strict=True)))


def random_like(rng: np.random.Generator, like: Any, size: float) -> Any:
    """A random direction of the shape and dtype of `like`, of that size."""
    shape, dtype = backend.describe(like)
    made = rng.standard_normal(shape)
    if dtype.kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return np.asarray(size * made).astype(dtype)[()]


def contracted(
    f: Function, xs: Sequence[Any], us: Sequence[Any], vs: Sequence[Any], least: float = 0.0
) -> Estimate:
    """The derivative along `vs` of ``<us, f(*xs)>``, where `f` returns a list of arrays.

    `least` is the rounding in each output at least.
    """

    def along(*ys: Any) -> Any:
        return np.float64(inner(us, [value(out) for out in f(*ys)]))

    def rounding(*ys: Any) -> tuple[float, float]:
        pairs = list(zip(us, [value(out) for out in f(*ys)], strict=True))
        eps = max(float(np.finfo(backend.describe(out)[1]).eps) for _, out in pairs)
        sizes = [np.abs(u) * np.maximum(eps * np.abs(out), least) for u, out in pairs]
        return eps, float(sum(np.sum(size) for size in sizes))

    return directional(along, xs, vs, rounding=rounding)


def differentiated(args: Sequence[Any], argnums: Argnums) -> tuple[tuple[int, ...], bool]:
    """`argnums` as positions, and whether it was a single one."""
    which, single = argnums_of(argnums)
    for key in which:
        if not isinstance(key, int):
            raise TypeError("npgrad.testing: argnums are positions here, not names")
        if not -len(args) <= key < len(args):
            raise TypeError(f"npgrad.testing: argnums={key}, but there are {len(args)} arguments")
        for spot, leaf in zip(spots(args[key]), arrays_in(args[key])[0], strict=True):
            if type(leaf) is bool or not (type(leaf) in backend.NUMBERS or _numeric(leaf)):
                raise NotDifferentiable(
                    f"npgrad.testing: {place(args[key], f'argument {key}', spot)} is "
                    f"{type(leaf).__module__}.{type(leaf).__qualname__}; arrays and numbers, real "
                    "or complex, have a derivative by differences."
                )
    return tuple(int(key) % len(args) for key in which), single


def _numeric(leaf: Any) -> bool:
    """Whether `leaf` is an array whose entries can be moved; not a matrix or a masked array."""
    known = backend.is_scalar(leaf) or type(leaf) is np.ndarray or not isinstance(leaf, np.ndarray)
    return known and getattr(getattr(leaf, "dtype", None), "kind", "") in tuple("fciu")


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

    Warns
    -----
    RuntimeWarning
        The differences do not settle: an entry may be off by more than a percent of itself.

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
    parts, rebuild = arrays_in(args[k])
    made = []
    for j in range(len(parts)):
        x = widened(parts[j])
        if x.dtype.kind not in "fc":
            x = x.astype(np.float64)
        found = [entry(f, args, k, j, i, step, levels) for i in np.ndindex(x.shape)]
        for index, estimate in zip(np.ndindex(x.shape), found, strict=True):
            _warn_if_bad(estimate, k, index)
        columns = [estimate.value for estimate in found]
        shape = np.shape(columns[0]) if columns else np.shape(np.asarray(f(*fresh(args))))
        block = np.array(columns).reshape((*x.shape, *shape))
        block = np.moveaxis(block, range(x.ndim), range(-x.ndim, 0)) if x.ndim else block
        made.append(block[()])
    return rebuild(made)


def _warn_if_bad(estimate: Estimate, k: int, index: tuple[int, ...]) -> None:
    """Say that an entry is no derivative: its error is not small beside it."""
    size = _size(estimate)
    rounded = size <= 10 * estimate.error <= 100 * estimate.rounding  # as at every optimum
    if not (estimate.error <= 0.01 * size or rounded):
        warnings.warn(
            f"npgrad: finite differences do not settle at entry {list(index)} of argument {k}: "
            f"{size:.3g}, and off by {estimate.error:.1g} or more. {REMEDY}",
            RuntimeWarning,
            stacklevel=4,
        )


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
    return Estimate(
        real.value + 1j * imag.value, real.error + imag.error, real.rounding + imag.rounding
    )


def _mover(
    f: Function, args: Sequence[Any], k: int, j: int, index: tuple[int, ...]
) -> tuple[Callable[[Any], Any], Any]:
    """``f`` as a function of a change of one entry, and the array that it is an entry of."""
    parts, rebuild = arrays_in(args[k])
    x = widened(parts[j])
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)

    def moved(change: Any) -> Any:
        y = x.astype(np.result_type(x.dtype, np.asarray(change).dtype))
        y[index] += change
        y = y if np.ndim(parts[j]) else y[()]
        filled = rebuild([*parts[:j], y, *parts[j + 1 :]])
        return np.asarray(f(*fresh([*args[:k], filled, *args[k + 1 :]])))

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
