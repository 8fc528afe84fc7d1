"""`assert_grad`: a gradient that somebody wrote by hand beside npgrad's, and who is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from npgrad.errors import NotDifferentiable
from npgrad.testing.differences import (
    CLEAR,
    LEVELS,
    REMEDY,
    Function,
    can_judge,
    complex_step,
    contracted,
    differentiated,
    entry,
    fresh,
    inner,
    random_like,
)
from npgrad.transforms.grad import grad
from npgrad.transforms.jacobian import jacobian
from npgrad.transforms.run import Argnums
from npgrad.transforms.trees import arrays_in, is_single
from npgrad.transforms.values import value

ATOL = 1e-8  # of the largest entry; a smaller one that is wrong in itself is left to differences
SHOWN = 5  # entries listed in a message


def assert_grad(
    f: Function,
    analytic: Any,
    args: Sequence[Any],
    argnums: Argnums = 0,
    rtol: float = 1e-6,
    atol: float = ATOL,
) -> None:
    """Assert that `analytic` is the gradient of `f`.

    Parameters
    ----------
    f : callable
        Returns a number, or an array (then `analytic` is its Jacobian, of the shape
        ``output.shape + argument.shape``).
    analytic : callable or array_like
        The gradient to check: ``analytic(*args)``, or its value. For a tuple `argnums` a sequence,
        one for each: of values, or of functions.
    args : sequence
        Where; a single array is taken for the only argument.
    argnums : int or tuple of int
        The arguments that `analytic` differentiates.
    rtol, atol : float
        Both relative: allowed is ``rtol`` of npgrad's entry and ``atol`` of the largest entry of
        npgrad's gradient, here or at a point beside (at an optimum all that is here is rounding).
        With the default `atol`, an entry below that which is off by much of itself is judged by
        differences.

    Raises
    ------
    AssertionError
        It is not. The message lists the entries that are furthest off, with what npgrad, finite
        differences and a complex step give for them, and says who is wrong. Differences are asked
        also where npgrad agrees, along a random direction; where they cannot judge, it is said.

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.testing import assert_grad
    >>> assert_grad(lambda x: np.sum(x ** 2), lambda x: 2 * x, (np.array([1.0, 3.0]),))
    >>> assert_grad(lambda x: np.sum(x ** 2), lambda x: x, (np.array([1.0, 3.0]),))
    Traceback (most recent call last):
      ...
    AssertionError: the gradient of <lambda> with respect to argument 0 is wrong at 2 of 2 entries
      entry [1]: analytic 3.0, npgrad 6.0, off by 3.0; finite differences 6.0, complex step 6.0
      entry [0]: analytic 1.0, npgrad 2.0, off by 1.0; finite differences 2.0, complex step 2.0
    Finite differences agree with npgrad: the analytic gradient is wrong.
    """
    __tracebackhide__ = True
    args = as_args(args)
    which, single = differentiated(args, argnums)
    # npgrad's first: a function that remembers its last result (astropy's Voigt1D does) would hand
    # out a plain one.
    wanted = _npgrad(f, args, which)
    given = analytic(*fresh(args)) if callable(analytic) else analytic
    per_argument = [given] if single else given
    if not isinstance(per_argument, (tuple, list)) and np.ndim(value(given)) == 0:
        per_argument = [given]  # one number, for several arguments
    if len(per_argument) != len(which):
        raise AssertionError(
            f"the analytic gradient has {len(per_argument)} parts for {len(which)} argnums: return "
            "a tuple, one gradient for each"
        )
    for k, part, want in zip(which, per_argument, wanted, strict=True):
        got = part(*fresh(args)) if callable(part) else part
        problem = _compare(f, args, k, got, want, rtol, atol)
        if problem:
            raise AssertionError(problem)


def as_args(args: Any) -> tuple[Any, ...]:
    """`args` as a tuple; a single array is the only argument."""
    return (args,) if is_single(args) else tuple(args)


def _npgrad(f: Function, args: Sequence[Any], which: tuple[int, ...]) -> tuple[Any, ...]:
    """npgrad's gradients, or Jacobians where the output is an array."""
    floats = fresh([_floating(arg) if k in which else arg for k, arg in enumerate(args)])
    if any(_complex(part) for k in which for part in arrays_in(floats[k])[0]):
        try:
            return tuple(grad(f, which)(*floats))
        except NotDifferentiable as error:
            if "scalar" not in str(error) and "complex-valued" not in str(error):
                raise
            raise NotDifferentiable(
                "npgrad: assert_grad by a complex argument is for functions that return one real "
                "number, whose gradient is du/dx + i du/dy. Check np.real and np.imag of an entry, "
                "or use npgrad.testing.check_grads."
            ) from error
    return tuple(jacobian(f, which)(*floats))


def _complex(part: Any) -> bool:
    return np.iscomplexobj(part)


def _floating(arg: Any) -> Any:
    """`arg` with integers as floats, as differences take them."""
    parts, rebuild = arrays_in(arg)
    return rebuild(
        [p.astype(float) if np.asarray(p).dtype.kind in "iu" and np.ndim(p) else p for p in parts]
    )


def _compare(
    f: Function, args: Sequence[Any], k: int, got: Any, want: Any, rtol: float, atol: float
) -> str:
    """What is wrong with `got`; nothing if it is right."""
    wanted = arrays_in(want)[0]
    parts = [got] if is_single(want) else arrays_in(got)[0]
    name = getattr(f, "__name__", type(f).__name__)
    head = f"the gradient of {name} with respect to argument {k}"
    if len(parts) != len(wanted):
        return f"{head} has {len(parts)} arrays, the argument has {len(wanted)}"
    pairs = [
        (np.asarray(value(a)), np.asarray(value(b))) for a, b in zip(parts, wanted, strict=True)
    ]
    for a, b in pairs:
        if a.shape != b.shape:
            return f"{head} has shape {a.shape}, it must be {b.shape}"
    total = sum(a.size for a, _ in pairs)
    wrong = _wrong(pairs, rtol, atol * _largest(wanted))
    if wrong:
        beside = _npgrad(f, _moved(args, k), (k,))[0]
        wrong = _wrong(pairs, rtol, atol * _largest([*wanted, *arrays_in(beside)[0]]))
    if not wrong and atol <= ATOL:
        wrong = _small_ones(f, args, k, pairs, rtol)
    if not wrong:
        return _asked(f, args, k, [a for a, _ in pairs], rtol, atol, head)
    wrong.sort(key=lambda entry: -entry[0] if entry[0] == entry[0] else -math.inf)
    lines = [f"{head} is wrong at {len(wrong)} of {total} entries"]
    votes: list[tuple[str, str]] = []
    for off_by, j, index, a, b in wrong[:SHOWN]:
        lines.append(_line(f, args, k, j, index, a, b, off_by, len(wanted) > 1, votes))
    if len(wrong) > SHOWN:
        lines.append(f"  and {len(wrong) - SHOWN} more")
    return "\n".join([*lines, _verdict(votes)])


def _asked(
    f: Function, args: Sequence[Any], k: int, parts: Sequence[Any], rtol: float, atol: float,
    head: str,
) -> str:  # fmt: skip
    """What differences say along a random direction to a gradient that both agree on.

    Both may be wrong in the same way. A complex step judges where differences cannot, and at a kink
    anything between the slopes on its two sides passes.
    """
    if not all(np.all(np.isfinite(part)) for part in parts):
        return ""  # infinite or nan, as npgrad has it too: no difference says that
    arrays, rebuild = arrays_in(_floating(args[k]))
    xs = [np.asarray(x) if np.ndim(x) else np.asarray(x, np.result_type(x, 0.0)) for x in arrays]
    wide = [x.astype(np.result_type(x, np.float64)) for x in xs]

    def called(*ys: Any) -> list[Any]:
        ys = tuple(y if np.ndim(y) else np.asarray(y)[()] for y in ys)
        return [value(f(*fresh([*args[:k], rebuild(list(ys)), *args[k + 1 :]])))]

    with np.errstate(all="ignore"):
        out = np.asarray(called(*wide)[0])
    if out.dtype.kind not in "fc" or not out.size or not sum(x.size for x in wide):
        return ""
    rng = np.random.default_rng(0)
    u = random_like(rng, out, 1 / (_largest([out]) or 1.0))
    vs = [random_like(rng, x, max(_largest([x]), 0.1)) for x in wide]

    def along(gradients: Sequence[Any], size: bool = False) -> float:
        """The derivative along the direction by `gradients`, or the size of its terms."""
        if size:
            pairs = [(np.abs(g), np.abs(v)) for g, v in zip(gradients, vs, strict=True)]
            moved = sum(np.tensordot(g, v, np.ndim(v)) for g, v in pairs)
            return float(np.sum(np.abs(u) * moved))
        if any(map(_complex, wide)):
            return inner(gradients, vs) * float(np.real(u))
        pairs = list(zip(gradients, vs, strict=True))
        return inner([u], [sum(np.tensordot(g, v, np.ndim(v)) for g, v in pairs)])

    found = along(parts)
    eps = max(float(np.finfo(a.dtype).eps) for a in (*parts, out, *xs) if a.dtype.kind in "fc")
    wanted = contracted(called, wide, [u], vs)
    size = along(parts, True)
    off = abs(found - wanted.value)
    close = max(rtol, 1e4 * eps) * abs(wanted.value) + 10 * wanted.error
    allowed = close + max(atol, 1e3 * eps) * size
    if not (off <= allowed and can_judge(wanted, size, abs(found))):
        beside = arrays_in(_npgrad(f, _moved(args, k), (k,))[0])[0]
        size = max(size, along([np.asarray(value(b)) for b in beside], True))
        allowed = close + max(atol, 1e3 * eps) * size
    judged = can_judge(wanted, max(size, abs(wanted.value)), abs(found))
    if judged and off <= allowed:
        return ""
    step = None if any(map(_complex, (*wide, out))) else _complex_along(called, wide, vs, u)
    if step is not None and abs(found - step) <= max(rtol, 1e4 * eps) * size:
        return ""
    text = (
        f"along a random direction the gradient gives {_short(found)}, finite differences "
        f"{_short(wanted.value, wanted.error)} +- {wanted.error:.1g}"
        + ("" if step is None else f", a complex step {_short(step)}")
    )
    settled = judged and can_judge(wanted, abs(wanted.value), clear=0.1)
    if not settled and step is None:
        return f"{head} is npgrad's, but finite differences cannot judge: {text}. {REMEDY}"
    if _between(called, wide, vs, u, found, allowed):
        return ""
    return (
        f"{head} is npgrad's, and both are wrong: {text}. Does f use npgrad.value, or a primitive "
        "with a wrong rule?"
    )


def _complex_along(f: Function, xs: Sequence[Any], vs: Sequence[Any], u: Any) -> float | None:
    """The derivative along `vs` by a complex step; None where it does not apply."""
    try:
        with np.errstate(all="ignore"):
            out = np.asarray(f(*(x + 1e-30j * v for x, v in zip(xs, vs, strict=True)))[0])
    except Exception:  # the function was never meant for complex numbers
        return None
    return inner([u], [out.imag / 1e-30]) if out.dtype.kind == "c" else None


def _between(
    f: Function, xs: Sequence[Any], vs: Sequence[Any], u: Any, found: float, allowed: float
) -> bool:
    """Whether there is a kink here, and `found` lies between the slopes on its two sides."""

    def slope(t: float) -> float:
        with np.errstate(all="ignore"):
            ahead, here = f(*(x + t * v for x, v in zip(xs, vs, strict=True))), f(*xs)
            return inner([u], [np.asarray(ahead[0]) - np.asarray(here[0])]) / t

    sides = [[slope(t), slope(-t)] for t in (1e-5, 1e-6)]
    gaps = [abs(ahead - behind) for ahead, behind in sides]
    if not gaps[1] > 0.5 * gaps[0]:  # it shrinks with the step: a bend, no kink
        return False
    room = max(allowed, 1e-3 * gaps[1])
    return bool(min(sides[1]) - room <= found <= max(sides[1]) + room)


def _wrong(
    pairs: Sequence[tuple[Any, Any]], rtol: float, atol: float
) -> list[tuple[float, int, tuple[int, ...], Any, Any]]:
    """The entries that differ: by how much, array, index, what was given and npgrad's."""
    found = []
    for j, (a, b) in enumerate(pairs):
        with np.errstate(invalid="ignore", over="ignore"):
            off = np.abs(a - b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        finite = np.isfinite(a) & np.isfinite(b)  # what is infinite is right to the sign alone
        bad = ~same & ~(finite & (off <= atol + rtol * np.abs(b)))
        found += [(float(off[i]), j, i, a[i], b[i]) for i in np.ndindex(a.shape) if bad[i]]
    return found


def _small_ones(
    f: Function, args: Sequence[Any], k: int, pairs: Sequence[tuple[Any, Any]], rtol: float
) -> list[tuple[float, int, tuple[int, ...], Any, Any]]:
    """Entries that are wrong by much of themselves, though by little beside the largest entry.

    Differences decide: what rounding does to a small entry is no fault, a missing term is one.
    """
    wanted = [b for _, b in pairs]
    rounding = 1e4 * max((float(np.finfo(b.dtype).eps) for b in wanted), default=0.0)
    found = _wrong(pairs, max(1e-3, rtol), rounding * _largest(wanted))
    if found:  # at an optimum all that is here is rounding
        beside = arrays_in(_npgrad(f, _moved(args, k), (k,))[0])[0]
        found = _wrong(pairs, max(1e-3, rtol), rounding * _largest([*wanted, *beside]))
    found.sort(key=lambda w: -w[0] / (abs(w[3]) + abs(w[4])))
    wrong = []
    for w in found[:SHOWN]:
        votes: list[tuple[str, str]] = []
        _line(f, args, k, *w[1:], w[0], False, votes)
        if votes[0][0]:
            wrong.append(w)
    return wrong


def _largest(arrays: Sequence[Any]) -> float:
    """The largest finite entry."""
    sizes = [np.abs(np.asarray(value(array))) for array in arrays]
    return max((float(np.max(s, initial=0.0, where=np.isfinite(s))) for s in sizes), default=0.0)


def _moved(args: Sequence[Any], k: int) -> tuple[Any, ...]:
    """`args` with every entry of argument `k` moved by up to a percent of itself, or of 0.1."""
    rng = np.random.default_rng(0)
    parts, rebuild = arrays_in(_floating(args[k]))
    made = []
    for part in parts:
        x = np.asarray(part)
        room = 0.01 * np.maximum(np.abs(x), 0.1)
        y = (x + room * rng.uniform(-1.0, 1.0, x.shape)).astype(np.result_type(x, np.float16))
        made.append(y if x.ndim else y[()])
    return (*args[:k], rebuild(made), *args[k + 1 :])


def _line(
    f: Function, args: Sequence[Any], k: int, j: int, index: tuple[int, ...], a: Any, b: Any,
    off_by: float, several: bool, votes: list[tuple[str, str]],
) -> str:  # fmt: skip
    """One entry: who says what; adds to `votes` whom the differences agree with."""
    rank = np.ndim(arrays_in(args[k])[0][j])
    inner = index[len(index) - rank :]  # of the argument; what comes before is of the output
    outer = index[: len(index) - rank]
    estimate = entry(f, args, k, j, inner, None, LEVELS)
    difference = np.asarray(estimate.value)[outer][()]
    step = complex_step(f, args, k, j, inner)
    step = step if isinstance(step, str) else np.asarray(step)[outer][()]
    scale = min(1.0, float(np.fmax(abs(a), abs(b))))
    allowed = 10 * estimate.error + 1e-7 * abs(difference) + 1e-10 * scale
    near = [who for who, x in (("analytic", a), ("npgrad", b)) if abs(x - difference) <= allowed]
    # an error as large as what the two are apart by judges nothing, whoever is near
    if estimate.error > CLEAR * max(abs(difference), min(abs(a), abs(b)), CLEAR * scale):
        near = []
    by = "Finite differences agree"
    if not isinstance(step, str):
        allowed = 1e-9 * abs(step) + 1e-14 * scale
        exact = [who for who, x in (("analytic", a), ("npgrad", b)) if abs(x - step) <= allowed]
        if len(near) != 1 or (near == ["analytic"] and exact != near):
            by, near = "Finite differences cannot tell, the complex step agrees", exact
    votes.append((near[0], by) if len(near) == 1 else ("", ""))
    where = f"array {j}, entry" if several else "entry"
    shown = step if isinstance(step, str) else _short(step)
    return (
        f"  {where} {list(map(int, index))}: analytic {_short(a)}, npgrad {_short(b)}, off by "
        f"{_short(off_by)}; finite differences {_short(difference, estimate.error)}, complex step "
        f"{shown}"
    )


def _short(x: Any, error: float | None = None) -> str:
    """`x` to ten digits, or to those that `error` leaves."""
    size = float(abs(x))
    digits = 10
    if error and size:
        digits = max(1, min(10, int(-math.log10(error / size)))) if error < size else 1
    if np.isrealobj(x) and (x == 0 or 1e-4 < size < 1e7):
        return str(np.format_float_positional(x, precision=digits, fractional=False, trim="0"))
    return f"{x:.{digits}g}"


def _verdict(votes: list[tuple[str, str]]) -> str:
    winners = {who for who, _ in votes}
    by = votes[0][1]
    if winners == {"npgrad"}:
        return f"{by} with npgrad: the analytic gradient is wrong."
    if winners == {"analytic"}:
        return (
            f"{by} with the analytic gradient: npgrad is wrong here, which is a fault to report (or"
            " f is at a kink, where npgrad takes a convention)."
        )
    return (
        "Finite differences agree with neither everywhere: f may have a kink or a discontinuity "
        "here, be noisy, or return another value at each call."
    )
