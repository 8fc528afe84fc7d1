"""`check_grads`: npgrad's own derivatives of a function beside finite differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from npgrad.errors import NotDifferentiable
from npgrad.graph import backend
from npgrad.testing.differences import (
    ANOTHER,
    CLEAR,
    REMEDY,
    Estimate,
    Function,
    can_judge,
    contracted,
    fresh,
    inner,
    random_like,
    repeats,
    widened,
)
from npgrad.testing.handwritten import as_args
from npgrad.transforms.forward import jvp
from npgrad.transforms.grad import prepare, vjp
from npgrad.transforms.trees import flatten, is_single
from npgrad.transforms.values import value

# By the precision of the arguments: its eps at most, then rtol and atol. In single precision a
# second derivative of a few operations is right to about 1e-5; a rule wrong by 1 % must be seen.
FINE = 1e-6  # an atol beside which a derivative wrong by 1 % is seen along any direction
TOLERANCES = ((1e-10, 1e-6, 1e-8), (1e-6, 1e-3, 1e-4), (1.0, 1e-2, 1e-3))


def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("rev", "fwd"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    samples: int = 1,
    seed: int | None = 0,
) -> None:
    """Check npgrad's derivatives of `f` against finite differences, along random directions.

    Parameters
    ----------
    f : callable
        Returns an array or a nested container of arrays.
    args : sequence
        Where; every floating or complex array in it is differentiated, integers stay as they are.
        A single array is taken for the only argument.
    order : int
        The highest derivative checked: the derivative of order 1 is itself a function that is
        checked, and so on.
    modes : sequence of str
        ``"rev"`` (vjp) and ``"fwd"`` (jvp); for a higher order every combination.
    rtol, atol : float, optional
        Both relative: allowed is ``rtol`` of the derivative along the direction and ``atol`` of the
        length of the gradient times that of the direction, here or at a point beside. By default
        1e-6 and 1e-8 in double precision, 1e-3 and 1e-4 in single, 1e-2 and 1e-3 in half. The
        differences are those of `f` in double precision, where it computes so for such arguments.
    samples : int
        How many random directions, at least one.
    seed : int, optional
        Of the directions; None draws one. It is part of the message.

    Raises
    ------
    AssertionError
        A derivative that differs, a gradient of another shape or dtype than its argument, a
        function that returns another value at each call, or one for which differences cannot judge:
        their own error is not small beside the derivative.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.testing import check_grads
    >>> check_grads(lambda x, y: np.sin(x) / y, (np.array([0.3, 1.0]), 2.0), order=3)
    """
    __tracebackhide__ = True
    if not modes or set(modes) - {"rev", "fwd"}:
        raise ValueError(f"npgrad: modes are 'rev' and 'fwd', at least one is needed: {modes!r}")
    if order < 1 or samples < 1:
        raise ValueError(
            f"npgrad: at least one order and one sample are needed, not {order} and {samples}: "
            "nothing would be checked"
        )
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    args = as_args(args)
    flat, xs = _flat_function(f, args)
    if not xs:
        raise NotDifferentiable("npgrad: check_grads needs a floating or complex argument")
    if not any(np.size(value(x)) for x in xs):
        raise NotDifferentiable("npgrad: check_grads of empty arrays: nothing would be checked")
    eps = max(float(np.finfo(backend.describe(x)[1]).eps) for x in xs)
    close = next(close for largest, *close in TOLERANCES if eps <= largest)
    rtol = close[0] if rtol is None else rtol
    atol = close[1] if atol is None else atol
    if not repeats(flat, xs):
        name = getattr(f, "__name__", type(f).__name__)
        raise AssertionError(f"{name} {ANOTHER}")
    rng = np.random.default_rng(seed)
    for _ in range(samples):
        problem = _check(flat, xs, order, tuple(modes), rng, rtol, atol, "")
        if problem:
            name = getattr(f, "__name__", type(f).__name__)
            raise AssertionError(f"derivatives of {name}, seed {seed}: {problem}")


def _flat_function(f: Function, args: Sequence[Any]) -> tuple[Function, list[Any]]:
    """`f` as a function of its floating arrays that returns the list of its floating outputs."""
    f = prepare(f, True)  # as the transforms call it: what they are given here is `flat`
    parts, rebuild = flatten(tuple(args))
    places = [i for i, p in enumerate(parts) if is_single(p) and _inexact(p)]
    xs = [parts[i] for i in places]
    rest = [None if i in places else p for i, p in enumerate(parts)]  # `f` may write into xs

    def flat(*xs: Any) -> list[Any]:
        filled = list(rest)
        for i, x in zip(places, xs, strict=True):
            filled[i] = x
        outs, _ = flatten(f(*rebuild(fresh(filled))))
        return [p for p in outs if is_single(p) and _inexact(p)]

    return flat, xs


def _inexact(part: Any) -> bool:
    return type(part) in (float, complex) or (
        hasattr(part, "dtype") and backend.is_inexact(part.dtype)
    )


def _largest(x: Any) -> float:
    """The largest finite entry."""
    sizes = np.abs(np.asarray(value(x)))
    return float(np.max(sizes[np.isfinite(sizes)], initial=0.0))


def _length(us: Sequence[Any]) -> float:
    """The Euclidean length of all entries together."""
    largest = max(map(_largest, us), default=0.0)
    if not largest:
        return 0.0
    parts = [np.abs(np.asarray(value(u))) / largest for u in us]
    return largest * math.sqrt(sum(float(np.sum(part * part)) for part in parts))


def _balanced(gradients: Sequence[Any], vs: Sequence[Any], eps: float) -> list[Any] | None:
    """`vs` shortened where an entry contributes most, so that small ones are seen beside it.

    None where the contributions are within a factor of a hundred. What would drown in the rounding
    of the function is left aside.
    """
    parts = [np.abs(np.asarray(g * v)) for g, v in zip(gradients, vs, strict=True)]
    every = np.concatenate([part.ravel() for part in parts])
    every = every[np.isfinite(every) & (every > 0)]
    if not every.size:
        return None
    least = max(float(every.min()), float(every.max()) * eps ** (1 / 3))
    if least * 100 > every.max():
        return None
    return [
        (v * np.minimum(1.0, least / np.maximum(part, least))).astype(np.asarray(v).dtype)[()]
        for v, part in zip(vs, parts, strict=True)
    ]


def _aligned(gradients: Sequence[Any], vs: Sequence[Any]) -> list[Any] | None:
    """`vs` turned so that no two entries' contributions cancel; None where there are few.

    The contributions of thousands of entries come to little along a random direction, beside what
    the coarse tolerance of single precision allows.
    """
    if sum(np.size(v) for v in vs) < 100:
        return None
    turned = []
    for g, v in zip(gradients, vs, strict=True):
        part = np.real(np.conj(np.asarray(value(g))) * v)
        turned.append(np.where(part < 0, -v, v)[()])
    return turned


class Lost(NamedTuple):
    """The rounding in each output of a derivative: of the terms that cancel in one that is zero.

    `here` where the derivative is computed, `wide` at the double precision points of differences.
    """

    here: float = 0.0
    wide: float = 0.0


NOTHING = Lost()


def _precision(outs: Sequence[Any]) -> float:
    """The largest eps of the outputs."""
    return max(float(np.finfo(backend.describe(out)[1]).eps) for out in outs)


def _narrow(x: Any) -> bool:
    """Whether `x` is of less than double precision."""
    return float(np.finfo(backend.describe(x)[1]).eps) > 1e-15


class _Comparison:
    """The derivatives of one function along `us` and `vs` beside differences."""

    def __init__(
        self, f: Function, xs: Sequence[Any], us: Any, rtol: float, atol: float, lost: Lost
    ) -> None:
        self.f = f
        self.xs = xs
        self.us = us
        self.rtol = rtol
        self.atol = atol
        self.lost = lost

    def estimate(self, vs: Sequence[Any]) -> Estimate:
        """By differences."""
        return contracted(self.f, self.xs, self.us, vs, self.lost.wide)

    def noise(self) -> float:
        """What the rounding of the derivatives checked may come to along `us`."""
        return self.lost.here * float(sum(np.sum(np.abs(u)) for u in self.us))

    def problem(self, name: str, found: float, wanted: Estimate, size: Any, vs: Any) -> str:
        """What is wrong with `found`; ``size(xs)`` is the length of the gradient at a point."""
        off = abs(found - wanted.value)
        close = allowed = self.rtol * abs(wanted.value) + 10 * wanted.error
        largest = max(abs(found), abs(wanted.value))
        clear = min(max(CLEAR, 10 * self.rtol), 0.1)
        for move in (None, lambda x: x, _moved):
            if move is not None:
                length = size([move(x) for x in self.xs], vs)
                allowed = close + self.atol * length
                largest = max(largest, length)
            if off <= allowed and can_judge(wanted, largest, abs(found), clear):
                return ""
        if abs(wanted.value) <= 3 * wanted.error and largest <= self.noise():
            return ""  # zero, up to the rounding of single precision
        if off <= allowed or not can_judge(wanted, abs(wanted.value), clear=0.1):
            return (
                f"{name}: finite differences cannot judge: along a random direction they give "
                f"{wanted.value:.10g} +- {wanted.error:.1g}, npgrad {found:.10g}. {REMEDY}"
            )
        return (
            f"{name}: npgrad gives {found:.10g} along a random direction, finite differences "
            f"{wanted.value:.10g} +- {wanted.error:.1g} (off by {off:.3g}, allowed {allowed:.3g})"
        )


def _moved(x: Any) -> Any:
    """A point beside `x`: the gradient is seldom zero at both."""
    x = np.asarray(x)
    return (x + 0.01 * np.maximum(np.abs(x), 0.1)).astype(x.dtype)[()]


def _check(
    f: Function, xs: Sequence[Any], order: int, modes: tuple[str, ...], rng: np.random.Generator,
    rtol: float, atol: float, path: str, lost: Lost = NOTHING,
) -> str:  # fmt: skip
    """Check the first derivatives of `f`, and those derivatives as functions, to `order`."""
    with np.errstate(all="ignore"):
        outs = [value(out) for out in f(*xs)]
    if not outs:
        return f"{path or 'f'} has no floating output"
    # sizes that make all arguments, and all outputs, count
    vs = [random_like(rng, x, max(_largest(x), 0.1)) for x in xs]
    us = [random_like(rng, out, 1 / (max(_largest(out), lost.here) or 1.0)) for out in outs]
    comparison = _Comparison(f, xs, us, rtol, atol, lost)
    directions = [(vs, comparison.estimate(vs))]
    if not all(map(math.isfinite, directions[0][1])):
        return f"{path or 'f'}: finite differences found no derivative (nan or inf near the point)"
    eps = _precision(outs)
    with np.errstate(all="ignore"):
        wide = _precision(f(*map(widened, xs))) if any(map(_narrow, xs)) else eps
    terms = sum(float(np.sum(np.abs(u) * np.abs(out))) for u, out in zip(us, outs, strict=True))
    still = False  # whether an entry's derivative is zero here, where any multiple of it is too
    for mode in modes:
        name = f"{path}{mode}"
        if mode == "rev":
            gradients = vjp(f, *xs)[1](us)
            still = still or any(np.any(np.asarray(value(g)) == 0) for g in gradients)
            for k, (g, x) in enumerate(zip(gradients, xs, strict=True)):
                if backend.describe(g) != backend.describe(x):
                    return (
                        f"{name}: the gradient of array {k} is {backend.describe(g)}, the array "
                        f"{backend.describe(x)}"
                    )
            balanced = _balanced(gradients, vs, eps)
            if len(directions) == 1:
                more = [balanced, _aligned(gradients, vs) if atol > FINE else None]
                directions += [(v, comparison.estimate(v)) for v in more if v is not None]
            for along, estimate in directions:
                problem = comparison.problem(
                    name,
                    inner(gradients, along),
                    estimate,
                    lambda ys, along: _length(vjp(f, *ys)[1](us)) * _length(along),
                    along,
                )
                if problem:
                    return problem
            cancelled = terms / min(max(_largest(x), 0.1) for x in xs)
            derivative: Function = lambda *ys: list(vjp(f, *ys)[1](us))  # noqa: E731
        else:
            for along, estimate in directions:
                found = inner(us, jvp(f, tuple(xs), tuple(along))[1])
                still = still or found == 0
                problem = comparison.problem(
                    name,
                    found,
                    estimate,
                    lambda ys, along: _length(jvp(f, tuple(ys), tuple(along))[1]) * _length(us),
                    along,
                )
                if problem:
                    return problem
            cancelled = max(map(_largest, outs))
            derivative = lambda *ys: list(jvp(f, tuple(ys), tuple(vs))[1])  # noqa: E731
        if order > 1:
            then = Lost(eps * cancelled, wide * cancelled)
            problem = _check(derivative, xs, order - 1, modes, rng, rtol, atol, f"{name} of ", then)
            if problem:
                return problem
    return _beside(f, xs, modes, rng, rtol, atol) if still and not path else ""


def _beside(
    f: Function, xs: Sequence[Any], modes: tuple[str, ...], rng: np.random.Generator,
    rtol: float, atol: float,
) -> str:  # fmt: skip
    """What differences clearly say against the derivatives at a point beside `xs`."""
    try:
        with np.errstate(all="ignore"):
            problem = _check(f, list(map(_moved, xs)), 1, modes, rng, rtol, atol, BESIDE)
    except Exception:  # the function is not defined there
        return ""
    return "" if "cannot judge" in problem or "no derivative" in problem else problem


BESIDE = "at a point beside, where it is not zero, "
