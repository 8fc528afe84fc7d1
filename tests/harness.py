"""The promises as functions of one sample, and the tables of samples found by chapter.

A check raises AssertionError with the sample's name, what was got and what was expected. The test
files run them over every sample; ``test_broken_rules`` runs them over rules broken on purpose.

Every expected number comes from plain NumPy: from central differences of fourth order,
``f' = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h``, whose error at ``h = 1e-4`` is some
``1e-16 f'''''`` from the formula and ``1e-12 f`` from rounding; or from the adjoint identity
``<u, J t> == <J' u, t>`` under ``Re(vdot)``, which needs no step and is exact to rounding.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from unittest import mock

import numpy as np
import pytest

import npgrad
import tests.samples
import tests.special_values
from npgrad.graph import forward
from npgrad.table import Rule, all_rules
from tests.samples.core import Sample, Special

STEP = 1e-4
FEW = 6  # entries of an argument whose second derivatives are looked at one by one
ROWS = 24  # at most so many rows of a jacobian are compared
COMPLEX = {"float32": "complex64", "float64": "complex128", "longdouble": "clongdouble"}


# ----------------------------------------------------------------------------------- the tables
def _chapters(package: Any) -> Iterator[Any]:
    """The modules of `package`, ``core`` left out; one that cannot be imported is an error."""
    for info in pkgutil.iter_modules(package.__path__):
        if info.name != "core":
            yield importlib.import_module(f"{package.__name__}.{info.name}")


# What older versions lack, or do otherwise: clip's bounds by their new names and without any,
# insert at a mask, cond of a complex matrix in real numbers; SciPy's own values of two functions.
NEWER_NUMPY = {"np.clip min max", "np.clip max only", "np.clip no bounds", "np.insert mask",
               "np.linalg.cond complex", "clip one bound"}  # fmt: skip
NEWER_SCIPY = {"special.log_wright_bessel", "special.ncfdtr"}


def _applies(name: str) -> bool:
    """Whether the versions at hand have what the row `name` is about."""
    if name in NEWER_NUMPY and np.lib.NumpyVersion(np.__version__) < "2.1.0":
        return False
    return name not in NEWER_SCIPY or np.lib.NumpyVersion(_version("scipy")) >= "1.15.0"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "0.0.0"


SAMPLES: list[Sample] = [
    s for chapter in _chapters(tests.samples) for s in chapter.SAMPLES if _applies(s.name)
]
SPECIAL: list[Special] = [
    s for chapter in _chapters(tests.special_values) for s in chapter.SPECIAL if _applies(s.name)
]


def parameters(samples: list[Sample]) -> list[Any]:
    """`samples` as pytest parameters, their names as ids and their marks kept."""
    return [pytest.param(sample, id=sample.name, marks=sample.marks) for sample in samples]


# ------------------------------------------------------------------------- arrays of one sample
def generator(sample: Sample | Special, salt: str = "") -> np.random.Generator:
    """Random numbers that depend on the sample's name alone, so that a failure repeats."""
    return np.random.default_rng(zlib.crc32((sample.name + salt).encode()))


def cast(array: Any, dtype: str) -> Any:
    """`array` in the precision `dtype`, complex where it was complex."""
    kind = np.asarray(array).dtype.kind
    return np.asarray(array).astype(COMPLEX[dtype] if kind == "c" else dtype)


def arguments(sample: Sample, dtype: str = "float64") -> tuple[Any, ...]:
    """The sample's arrays in the precision `dtype`."""
    return tuple(cast(x, dtype) for x in sample.args(generator(sample)))


def inexact(y: Any) -> bool:
    """Whether `y` is an array (recorded or not) of floating or complex numbers."""
    return getattr(getattr(y, "dtype", None), "kind", "") in "fc" and hasattr(y, "dtype")


def leaves(y: Any) -> list[Any]:
    """The inexact arrays in nested tuples, lists and dicts, in order."""
    if isinstance(y, (tuple, list)):
        return [leaf for part in y for leaf in leaves(part)]
    if isinstance(y, dict):
        return [leaf for part in y.values() for leaf in leaves(part)]
    return [y] if inexact(y) else []


def function(sample: Sample) -> Callable[..., Any]:
    """The sample's call; of several results, a tuple of the inexact ones."""

    def f(*arrays: Any) -> Any:
        y = sample.call(*arrays)
        return tuple(leaves(y)) if isinstance(y, (tuple, list, dict)) else y

    return f


def random_like(rng: np.random.Generator, x: Any) -> Any:
    """Normal numbers in the shape, dtype and realness of `x`, at most 1 in size."""
    shape, dtype = np.shape(x), np.asarray(x).dtype
    r: Any = rng.normal(size=shape)
    if dtype.kind == "c":
        r = r + 1j * rng.normal(size=shape)
    largest = np.max(np.abs(r), initial=1e-9)
    return np.asarray(r / largest).astype(dtype)


def like(rng: np.random.Generator, y: Any) -> Any:
    """`random_like` for one array or a tuple of them."""
    return tuple(like(rng, part) for part in y) if isinstance(y, tuple) else random_like(rng, y)


def inner(u: Any, y: Any) -> float:
    """Re(vdot(u, y)), summed over tuples, in double precision or better."""
    if isinstance(y, (tuple, list)):
        return sum(inner(a, b) for a, b in zip(u, y, strict=True))
    u, y = np.asarray(u), np.asarray(y)
    assert u.shape == y.shape, f"{u.shape} against {y.shape}"
    return float(np.sum((np.conj(u) * y).real, dtype=np.longdouble))


def size_of(u: Any, y: Any) -> float:
    """The sum of the absolute terms of `inner`: what its rounding error is relative to."""
    if isinstance(y, (tuple, list)):
        return sum(size_of(a, b) for a, b in zip(u, y, strict=True))
    return float(np.sum(np.abs(np.conj(u) * y)))


def project(u: Any, y: Any) -> Any:
    """Re(vdot(u, y)) of plain `u` and recorded `y`, made of decided functions."""
    if isinstance(u, tuple):
        total = project(u[0], y[0])
        for a, b in zip(u[1:], y[1:], strict=True):
            total = total + project(a, b)
        return total
    if np.asarray(u).dtype.kind == "c":
        return np.sum(np.real(np.conj(u) * y))
    return np.sum(u * y)


def projection(f: Callable[..., Any], u: Any) -> Callable[..., Any]:
    """x -> Re(vdot(u, f(x))), a real scalar."""
    return lambda *arrays: project(u, f(*arrays))


def moved(args: tuple[Any, ...], tangents: tuple[Any, ...], s: float) -> tuple[Any, ...]:
    """``args + s * tangents``, in new arrays of each argument's layout and dtype."""

    def one(x: Any, t: Any) -> Any:
        y = np.empty_like(x)  # keeps Fortran order, on which order="A" depends
        y[...] = x + np.asarray(s, dtype=t.real.dtype) * t
        return y

    return tuple(one(x, t) for x, t in zip(args, tangents, strict=True))


def difference(f: Callable[..., Any], args: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
    """The derivative of plain `f` along `tangents`: fourth-order central differences."""

    def combine(a: Any, b: Any, c: Any, d: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(combine(*parts) for parts in zip(a, b, c, d, strict=True))
        return (8 * (np.asarray(a) - b) - (np.asarray(c) - d)) / (12 * STEP)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return combine(*(f(*moved(args, tangents, s * STEP)) for s in (1, -1, 2, -2)))


def only(k: int, args: tuple[Any, ...], tangent: Any) -> tuple[Any, ...]:
    """Tangents that are zero but for the one of argument `k`."""
    return tuple(tangent if i == k else np.zeros_like(x) for i, x in enumerate(args))


def close(what: str, got: Any, want: Any, allowed: float) -> None:
    """Scalars or arrays within an absolute `allowed`; NaN in the same places is equal."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    with np.errstate(invalid="ignore"):
        equal = (got == want) | (np.isnan(got) & np.isnan(want))
        near = np.abs(got - want) <= allowed
    if not np.all(equal | near):
        worst = np.max(np.where(equal | near, 0, np.abs(got - want)))
        raise AssertionError(
            f"{what}: got {got!r}, expected {want!r} (off by {worst}, allowed {allowed})"
        )


@contextmanager
def quiet() -> Iterator[None]:
    """No floating-point warnings: special points overflow and divide by zero on purpose."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# -------------------------------------------------------------------------------- the promises
def check_value(sample: Sample, got: Any, want: Any) -> None:
    """The recorded value has plain NumPy's shape, dtype and numbers."""
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert np.asarray(g).dtype == np.asarray(w).dtype, (
            f"{sample.name}: value of {np.asarray(g).dtype}, NumPy gives {np.asarray(w).dtype}"
        )
        eps = np.finfo(np.asarray(w).dtype).eps
        largest = np.max(np.abs(w), initial=0, where=np.isfinite(w))
        close(f"{sample.name}: value", g, w, float(64 * eps * largest))


def check_conforms(sample: Sample, grads: tuple[Any, ...], args: tuple[Any, ...]) -> None:
    """Each gradient is a plain array of its argument's shape, dtype and realness."""
    assert len(grads) == len(args), f"{sample.name}: {len(grads)} gradients, {len(args)} arguments"
    for k, (g, x) in enumerate(zip(grads, args, strict=True)):
        where = f"{sample.name}: gradient {k}"
        assert isinstance(g, (np.ndarray, np.generic)), f"{where} is a {type(g).__name__}"
        assert g.shape == x.shape, f"{where} has shape {g.shape}, its argument {x.shape}"
        assert g.dtype == x.dtype, f"{where} is {g.dtype}, its argument {x.dtype}"


def check_reverse(sample: Sample) -> None:
    """The VJP of a random cotangent agrees with differences along a random direction."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "reverse")
    out, pull = npgrad.vjp(f, *args)
    check_value(sample, out, f(*args))
    u = like(rng, out)
    grads = pull(u)
    check_conforms(sample, grads, args)
    scale = size_of(u, out)
    for k, g in enumerate(grads):
        t = random_like(rng, args[k])
        want = inner(u, difference(f, args, only(k, args, t)))
        allowed = sample.tol * (size_of(g, t) + abs(want)) + 1e-11 * scale
        close(f"{sample.name}: <gradient {k}, t>", inner(g, t), want, allowed)


def check_forward(sample: Sample) -> None:
    """The JVP agrees with differences entry by entry, and with the VJP by the adjoint identity."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "forward")
    for k in range(len(args)):
        tangents = only(k, args, random_like(rng, args[k]))
        out, tangent = npgrad.jvp(f, args, tangents)
        want = difference(f, args, tangents)
        several = isinstance(out, tuple)
        pairs = zip(
            tangent if several else (tangent,),
            want if several else (want,),
            out if several else (out,),
            strict=True,
        )
        for got, expected, y in pairs:
            where = f"{sample.name}: tangent of argument {k}"
            assert got.dtype == y.dtype, f"{where} is {got.dtype}, the output {y.dtype}"
            largest = np.max(np.abs(expected), initial=0)
            rounding = 1e-11 * np.max(np.abs(y), initial=0)
            close(where, got, expected, float(sample.tol * largest + rounding))


def check_adjoint(sample: Sample) -> None:
    """``<u, J t> == <J' u, t>`` under Re(vdot), to rounding: no step size."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "adjoint")
    out, pull = npgrad.vjp(f, *args)
    u, t = like(rng, out), tuple(random_like(rng, x) for x in args)
    grads = pull(u)
    _, tangent = npgrad.jvp(f, args, t)
    scale = max(size_of(u, tangent), size_of(grads, t))
    allowed = max(1e-12, sample.tol * 1e-4) * scale
    close(f"{sample.name}: <u, J t>", inner(u, tangent), inner(grads, t), allowed)


def check_linear(sample: Sample) -> None:
    """The pull of a combination is the combination of the pulls; zero goes to zero exactly."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "linear")
    out, pull = npgrad.vjp(f, *args)
    several = isinstance(out, tuple)

    def combination(a: float, u: Any, b: float, v: Any) -> Any:
        if isinstance(u, tuple):
            return tuple(combination(a, p, b, q) for p, q in zip(u, v, strict=True))
        return np.asarray(a * u + b * v, dtype=np.asarray(u).dtype)

    u, v = like(rng, out), like(rng, out)
    a, b = 0.75, -2.5
    left = pull(combination(a, u, b, v))
    gu, gv = pull(u), pull(v)
    for k, (got, p, q) in enumerate(zip(left, gu, gv, strict=True)):
        want = a * p + b * q
        largest = np.max(np.abs(a * p) + np.abs(b * q), initial=0)
        allowed = max(1e-12, sample.tol * 1e-4) * float(largest)
        close(f"{sample.name}: gradient {k} of a combination", got, want, allowed)
    zero = tuple(np.zeros_like(y) for y in out) if several else np.zeros_like(out)
    for k, g in enumerate(pull(zero)):
        close(f"{sample.name}: gradient {k} of a zero cotangent", g, np.zeros_like(g), 0.0)


def check_linear_forward(sample: Sample) -> None:
    """The push of a combination is the combination of the pushes."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "linear forward")
    t, v = (tuple(random_like(rng, x) for x in args) for _ in range(2))
    a, b = 0.75, -2.5
    mixed = tuple(np.asarray(a * p + b * q, dtype=p.dtype) for p, q in zip(t, v, strict=True))
    _, left = npgrad.jvp(f, args, mixed)
    _, first = npgrad.jvp(f, args, t)
    _, second = npgrad.jvp(f, args, v)
    several = isinstance(left, tuple)
    for got, p, q in zip(
        left if several else (left,),
        first if several else (first,),
        second if several else (second,),
        strict=True,
    ):
        largest = np.max(np.abs(a * p) + np.abs(b * q), initial=0)
        allowed = max(1e-12, sample.tol * 1e-4) * float(largest)
        close(f"{sample.name}: tangent of a combination", got, a * p + b * q, allowed)


# ---------------------------------------------------------------------------------- second order
def curved(f: Callable[..., Any], args: tuple[Any, ...], u: Any) -> Callable[..., Any]:
    """The projection of `f` on `u`, with a bend before it and a bowl after it.

    The bend is ``x + (x - x0)^2 / 2 s`` about `args`, the bowl ``sum |y - y0|^2 / 2 s^2`` about
    their image. Neither changes a first derivative at `args`; but for the second one the tangents
    that go into `f`, and the cotangents, move with x. So it asks how a rule depends on its tangent
    or cotangent too, which is all that there is to ask of a linear function.
    """
    sizes = [1.0 + float(np.max(np.abs(x), initial=0)) for x in args]
    center = f(*args)

    def bent(x: Any, x0: Any, size: float) -> Any:
        if not np.isfinite(size):
            return x
        away = x - x0
        return x + away * away * (0.5 / size)

    def bowl(y: Any, y0: Any) -> Any:
        size = 1.0 + float(np.max(np.abs(y0), initial=0))
        if not np.isfinite(size):
            return 0.0  # no bowl about an infinity
        d = (y - y0) * (1 / size)
        return 0.5 * np.sum(np.real(np.conj(d) * d) if d.dtype.kind == "c" else d * d)

    def total(*arrays: Any) -> Any:
        y = f(*map(bent, arrays, args, sizes))
        real = project(u, y)
        for part, y0 in zip(leaves(y), leaves(center), strict=True):
            real = real + bowl(part, y0)
        return real

    return total


def second_order(sample: Sample) -> tuple[Any, ...]:
    """What the second-order checks share: args, F, directions and the differences."""
    args, f, rng = arguments(sample), function(sample), generator(sample, "second order")
    u = like(rng, f(*args))
    real = curved(f, args, u)
    argnums = tuple(range(len(args)))
    gradient = npgrad.grad(real, argnums=argnums)
    t, v = (tuple(random_like(rng, x) for x in args) for _ in range(2))
    # The first gradient is checked against plain NumPy by check_reverse.
    change = difference(gradient, args, v)
    scale = size_of(t, gradient(*args))
    return args, real, gradient, argnums, t, v, change, scale


def check_reverse_over_reverse(sample: Sample) -> None:
    """The gradient of <t, gradient> along v agrees with differences of the gradient."""
    args, _, gradient, argnums, t, v, change, scale = second_order(sample)
    hessian_t = npgrad.grad(projection(gradient, t), argnums=argnums)(*args)
    check_conforms(sample, hessian_t, args)
    want = inner(t, change)
    allowed = sample.tol * 10 * (size_of(hessian_t, v) + abs(want)) + 1e-10 * scale
    close(f"{sample.name}: reverse over reverse", inner(hessian_t, v), want, allowed)


def check_forward_over_reverse(sample: Sample) -> None:
    """The JVP of the gradient along v agrees with differences of the gradient."""
    args, _, gradient, _, t, v, change, scale = second_order(sample)
    _, hessian_v = npgrad.jvp(gradient, args, v)
    want = inner(t, change)
    allowed = sample.tol * 10 * (size_of(hessian_v, t) + abs(want)) + 1e-10 * scale
    close(f"{sample.name}: forward over reverse", inner(t, hessian_v), want, allowed)


def check_reverse_over_forward(sample: Sample) -> None:
    """The gradient of the JVP along t agrees with differences of the gradient."""
    args, real, _, argnums, t, v, change, scale = second_order(sample)
    hessian_t = npgrad.grad(slope_of(real, t), argnums=argnums)(*args)
    check_conforms(sample, hessian_t, args)
    want = inner(t, change)
    allowed = sample.tol * 10 * (size_of(hessian_t, v) + abs(want)) + 1e-10 * scale
    close(f"{sample.name}: reverse over forward", inner(hessian_t, v), want, allowed)


def check_forward_over_forward(sample: Sample) -> None:
    """The JVP along v of the JVP along t agrees with differences of the gradient."""
    args, real, _, _, t, v, change, scale = second_order(sample)
    _, bent = npgrad.jvp(slope_of(real, t), args, v)
    allowed = sample.tol * 20 * size_of(t, change) + 1e-10 * scale
    close(f"{sample.name}: forward over forward", bent, inner(t, change), allowed)


def slope_of(real: Callable[..., Any], t: tuple[Any, ...]) -> Callable[..., Any]:
    """x -> the derivative of `real` along `t`, by forward mode."""
    return lambda *arrays: npgrad.jvp(real, arrays, t)[1]


# ------------------------------------------------------------------------- dtypes and layouts
def gradients(sample: Sample, args: tuple[Any, ...], salt: str = "gradients") -> Any:
    """(output, cotangent, gradients) for a cotangent that depends on names and shapes alone."""
    f = function(sample)
    out, pull = npgrad.vjp(f, *args)
    u = like(generator(sample, salt), out)
    return out, u, pull(u)


def check_precision(sample: Sample, dtype: str, rtol: float) -> None:
    """In `dtype` the value, gradients and tangents keep it and agree with float64's."""
    args, f = arguments(sample, dtype), function(sample)
    out, u, got = gradients(sample, args)
    check_value(sample, out, f(*args))
    check_conforms(sample, got, args)
    wide = tuple(cast(x, "float64") for x in args)
    _, pull = npgrad.vjp(f, *wide)
    u64 = tuple(cast(p, "float64") for p in u) if isinstance(u, tuple) else cast(u, "float64")
    want = pull(u64)
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        largest = float(np.max(np.abs(w), initial=0))
        close(f"{sample.name}: {dtype} gradient {k}", cast(g, "float64"), w, rtol * largest)
    if sample.forward:
        _, tangent = npgrad.jvp(f, args, tuple(random_like(generator(sample), x) for x in args))
        for t, y in zip(leaves(tangent), leaves(out), strict=True):
            assert t.dtype == y.dtype, f"{sample.name}: tangent of {t.dtype}, output {y.dtype}"


def every_other(x: Any) -> Any:
    """`x` as every other entry of a larger buffer, along each axis."""
    buffer = np.full(tuple(2 * n for n in x.shape), np.nan, dtype=x.dtype)
    buffer[(slice(None, None, 2),) * x.ndim] = x
    return buffer[(slice(None, None, 2),) * x.ndim]


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "Fortran order": lambda x: np.array(x, order="F"),
    "negative strides": lambda x: np.flip(np.ascontiguousarray(np.flip(x))),
    "strides of two": every_other,
}


def check_layout(sample: Sample, layout: str) -> None:
    """The same numbers in another memory layout have the same gradient."""
    args, f = arguments(sample), function(sample)

    def lay(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(lay, x))
        return LAYOUTS[layout](x) if np.ndim(x) else x

    laid = lay(args)
    if any(
        a.tobytes() != b.tobytes() for a, b in zip(leaves(f(*args)), leaves(f(*laid)), strict=True)
    ):
        return  # order="A" and "K" mean the layout: other numbers, another gradient
    _, u, want = gradients(sample, args)
    _, pull = npgrad.vjp(f, *laid)
    for k, (g, w) in enumerate(zip(pull(lay(u)), want, strict=True)):
        largest = float(np.max(np.abs(w), initial=0))
        allowed = max(1e-12, sample.tol * 1e-4) * largest
        close(f"{sample.name}: gradient {k}, {layout}", g, w, allowed)


def emptied(args: tuple[Any, ...], axis: int) -> tuple[Any, ...] | None:
    """`args` with `axis` cut to length 0 where there is one; None if nothing changes."""
    cut = tuple(np.take(x, [], axis=axis) if x.ndim else x for x in args)
    return cut if any(x.ndim for x in args) else None


def check_empty(sample: Sample, axis: int) -> bool:
    """Where plain NumPy accepts an axis of length 0, so does the gradient. False: it does not."""
    args, f = emptied(arguments(sample), axis), function(sample)
    if args is None:
        return False
    with quiet():
        try:
            plain = f(*args)
        except Exception:  # NumPy itself refuses: no promise is made
            return False
        out, _, got = gradients(sample, args)
        assert [np.shape(y) for y in leaves(out)] == [np.shape(y) for y in leaves(plain)]
        check_conforms(sample, got, args)
    return True


def real(sample: Sample) -> bool:
    """Whether arguments and results are real: a jacobian by complex numbers is not one matrix."""
    args = arguments(sample)
    with quiet():
        outputs = leaves(function(sample)(*args))
    return not any(x.dtype.kind == "c" for x in (*args, *outputs))


def check_batched(sample: Sample) -> None:
    """The jacobian by batched cotangents equals one pull a row; by batched tangents as well.

    Of a large result only some entries are looked at, so that a jacobian stays small.
    """
    args, f = arguments(sample), function(sample)
    rng = generator(sample, "batched")
    outputs = leaves(f(*args))
    for which, k in np.ndindex(len(outputs), len(args)):
        size = outputs[which].size
        entries = np.arange(size) if size <= ROWS else np.sort(rng.choice(size, ROWS, False))

        def of_one(x: Any, k: int = k, which: int = which, entries: Any = entries) -> Any:
            y = leaves(f(*args[:k], x, *args[k + 1 :]))[which]
            return y if y.size <= ROWS else np.ravel(y)[entries]

        x = args[k]
        try:
            y, pull = npgrad.vjp(of_one, x)
        except (npgrad.errors.InPlaceError, npgrad.errors.GradientLost):
            if len(args) == 1:
                raise
            continue  # NumPy does not dispatch on this argument alone, so it is refused
        shape = np.shape(y) + x.shape
        rows = [pull(one_hot(y, i))[0] for i in np.ndindex(np.shape(y))]
        want = np.stack(rows).reshape(shape) if rows else np.zeros(shape)
        allowed = max(1e-12, sample.tol * 1e-4) * float(np.max(np.abs(want), initial=0))
        where = f"{sample.name}: %s of output {which} by {k}"
        close(where % "jacrev", npgrad.jacrev(of_one)(x), want, allowed)
        if sample.forward:
            close(where % "jacfwd", npgrad.jacfwd(of_one)(x), want, allowed)
            with mock.patch.object(forward, "MANY", 1):  # by the rules of reverse mode
                close(where % "jacfwd, turned", npgrad.jacfwd(of_one)(x), want, allowed)


def check_nested_batches(sample: Sample) -> None:
    """A jacobian of a jacobian, whose sweeps have a batch each, equals one sweep after the other.

    Of two entries of a small real result, so that batches and arrays differ in shape.
    """
    args, f = arguments(sample), function(sample)
    rng = generator(sample, "nested batches")
    outputs = leaves(f(*args))
    for which, k in np.ndindex(len(outputs), len(args)):
        x, size = args[k], outputs[which].size
        kinds = x.dtype.kind + outputs[which].dtype.kind
        if kinds != "ff" or not 0 < x.size <= FEW or not 0 < size <= 100:
            continue
        entries = np.sort(rng.choice(size, min(2, size), False))

        def of_two(x: Any, k: int = k, which: int = which, entries: Any = entries) -> Any:
            return np.ravel(leaves(f(*args[:k], x, *args[k + 1 :]))[which])[entries]

        def row(i: int, hot: Any, x: Any = x, of_two: Callable[..., Any] = of_two) -> Any:
            first = npgrad.grad(lambda z: of_two(z)[i])
            return npgrad.grad(lambda z: np.sum(hot * first(z)))(x)

        try:
            largest = np.max(np.abs(npgrad.jacrev(of_two)(x)))
            spots = list(np.ndindex(x.shape))
            want = np.stack([row(i, one_hot(x, j)) for i in range(entries.size) for j in spots])
        except (npgrad.errors.InPlaceError, npgrad.errors.GradientLost):
            continue  # NumPy does not dispatch on this argument alone, so it is refused
        want = want.reshape(entries.shape + x.shape + x.shape)
        allowed = max(1e-9, sample.tol * 1e-3) * (float(np.max(np.abs(want))) + largest)
        where = f"{sample.name}: %s of output {which} by {k}"
        reverse, forward = npgrad.jacrev, npgrad.jacfwd
        close(where % "reverse over reverse", reverse(reverse(of_two))(x), want, allowed)
        if sample.forward:
            close(where % "forward over reverse", forward(reverse(of_two))(x), want, allowed)
            close(where % "forward over forward", forward(forward(of_two))(x), want, allowed)


def one_hot(y: Any, index: tuple[int, ...]) -> Any:
    """Zeros like `y` with a 1 at `index`."""
    hot = np.zeros_like(y)
    hot[index] = 1
    return hot


# -------------------------------------------------------------------------------- rules in use
def differentiable(rule: Rule) -> bool:
    """Whether `rule` promises a gradient; stand-ins for SciPy have tests of their own."""
    home = "" if isinstance(rule.fun, np.ufunc) else str(getattr(rule.fun, "__module__", ""))
    if home.startswith(("npgrad.scipy", "scipy")):
        return False
    return rule.kind in {"elementwise", "linear", "bilinear", "reverse", "composed", "writes"}


def recompile(rule: Rule) -> None:
    """Compile `rule` again, in the objects that hold it now: operators hold on to them."""
    op = rule.compiled
    if op is None:
        return
    variants = list(getattr(op, "variants", ()))
    op.__init__(rule)
    for i, variant in enumerate(variants):
        if variant is not None:
            vars(variant).update(vars(op.variants[i]))
            op.variants[i] = variant


@contextmanager
def replaced(replace: Callable[[Rule, Callable[..., Any]], Callable[..., Any]], rules: Any) -> Any:
    """Every derivative function of `rules` is ``replace(rule, function)`` inside the context."""
    before = [(rule, rule.vjps, rule.jvps) for rule in rules]

    def exchange(rule: Rule, functions: dict[str, Any]) -> dict[str, Any]:
        return {
            name: functools.wraps(f)(replace(rule, f)) if f is not None else None
            for name, f in functions.items()
        }

    try:
        for rule, vjps, jvps in before:
            rule.vjps, rule.jvps = exchange(rule, vjps), exchange(rule, jvps)
            recompile(rule)
        yield
    finally:
        for rule, vjps, jvps in before:
            rule.vjps, rule.jvps = vjps, jvps
            recompile(rule)


@contextmanager
def spied() -> Iterator[dict[int, str]]:
    """A dict that fills with the names of the rules, by identity, whose functions run."""
    seen: dict[int, str] = {}

    def spy(rule: Rule, f: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any) -> Any:
            seen[id(rule)] = rule.name
            return f(*args)

        return watched

    with replaced(spy, list(all_rules())):
        yield seen


@functools.cache
def uses() -> dict[str, frozenset[str]]:
    """By sample, the names of the rules that its gradient went through."""
    found = {}
    with spied() as seen, quiet():
        for sample in SAMPLES:
            seen.clear()
            try:
                gradients(sample, arguments(sample))
            except Exception:  # the sample's own tests tell
                found[sample.name] = frozenset()
            else:
                found[sample.name] = frozenset(seen.values())
    return found


# ------------------------------------------------------------------------------- special values
def total(row: Special) -> Callable[..., Any]:
    """The function of a special value as a real scalar."""

    def f(*arrays: Any) -> Any:
        y = row.f(*arrays)
        return np.sum(np.real(y)) if np.ndim(y) or np.iscomplexobj(y) else y

    return f


def copies(row: Special) -> tuple[Any, ...]:
    """Fresh arrays: a row's arrays are shared between tests."""
    return tuple(np.array(x) for x in row.x)


def summed_gradient_twice(row: Special) -> tuple[Any, ...]:
    """The gradients of the sum of the first gradients' real parts."""
    args = copies(row)
    argnums = tuple(range(len(args)))

    def summed(*arrays: Any) -> Any:
        grads = npgrad.grad(total(row), argnums=argnums)(*arrays)
        result = np.sum(np.real(grads[0]))
        for g in grads[1:]:
            result = result + np.sum(np.real(g))
        return result

    return npgrad.grad(summed, argnums=argnums)(*args)
