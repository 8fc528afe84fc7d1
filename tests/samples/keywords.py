"""Samples of keywords that the chapters leave out: ``out=``, ``dtype=`` and the rarer ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.samples.core import Sample
from tests.samples.reduction import complex_, normal

ONLY = ("float64",)  # the keyword decides the dtype, whatever goes in
DOUBLE = ("complex128",)


def into(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` written into a buffer, and used from there."""

    def call(*arrays: Any) -> Any:
        out = np.zeros_like(f(*arrays))
        assert f(*arrays, out=out) is out
        return out * out

    return call


def real_into(f: Callable[..., Any]) -> Callable[..., Any]:
    """A transform of real numbers, of a matrix where it wants one, written into a buffer."""

    def call(a: Any) -> Any:
        x = a if f.__name__ == "hfft" else np.reshape(a, (2, 3))
        out = np.zeros(f(x).shape, f(x).dtype, like=a)
        made = f(x, out=out)
        return np.real(made * np.conjugate(made))

    return call


def holed(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of an array one entry of which is NaN."""

    def call(a: Any, **kwargs: Any) -> Any:
        hole = np.zeros(a.shape, bool)
        hole[(0,) * a.ndim] = True
        return f(np.where(hole, np.nan, a), **kwargs)

    return call


KEPT = [[True, False, True, True], [True, True, True, False], [True, True, False, True]]


def written(write: Callable[..., Any], *shape: int) -> Callable[..., Any]:
    """What `write(buffer, values)` leaves in a buffer, times itself."""

    def call(a: Any) -> Any:
        buffer = np.ones(shape, like=a)
        write(buffer, a)
        return buffer * buffer

    return call


def piece(x: Any, k: float, m: float = 1.0) -> Any:
    """A piece of a piecewise function, with arguments of its own."""
    return x * x * k * m


FULL: dict[str, Any] = {"dtype": "f8", "order": "F", "device": "cpu"}
NEW = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # asanyarray and astype got more keywords
COPIED: dict[str, Any] = {**FULL, "copy": True} if NEW else {"dtype": "f8", "order": "F"}
# Arguments as NumPy names them, for functions that wrapped code makes arrays with.
MAKERS: list[tuple[str, Callable[..., Any]]] = [
    (
        "np.piecewise extra arguments",
        lambda a: np.piecewise(a, [a < 0, a >= 0], [piece, lambda x, k, m: x * k + m], 2.0, m=3.0),
    ),
    ("np.linspace device", lambda a: np.linspace(a[0], a[1], 4, device="cpu")),
    (
        "np.arange start stop step like",
        lambda a: np.arange(start=0, stop=6, step=1, dtype="f8", device="cpu", like=a) * a,
    ),
    (
        "np.full_like keywords",
        lambda a: np.full_like(np.reshape(a, (2, 3)), a[0], subok=False, **FULL),
    ),
    ("np.full keywords", lambda a: np.full(shape=(2, 3), fill_value=a[0], like=a, **FULL)),
    (
        "np.array keywords",
        lambda a: np.array(object=[a], dtype="f8", copy=True, order="F", subok=True, like=a) * a,
    ),
    (
        "np.array copy",
        lambda a: np.array(a, copy=None, like=a) * np.array(a * a, copy=None, like=a),
    ),
    ("np.array ndmin", lambda a: np.array([a[0], a[1] * a[2]], ndmin=2, like=a)),
    ("np.asarray keywords", lambda a: np.asarray(a=[a, a * a], copy=True, like=a, **FULL)),
    ("np.asanyarray keywords", lambda a: np.asanyarray(a=[a, a * a], like=a, **COPIED)),
    ("np.ascontiguousarray keywords", lambda a: np.ascontiguousarray(a=a.T, dtype="f8", like=a)),
    ("np.asfortranarray keywords", lambda a: np.asfortranarray(a=[a, a], dtype="f8", like=a) * a),
    (
        "np.require keywords",
        lambda a: np.require(a=a[::2], dtype="f8", requirements="CW", like=a) ** 2,
    ),
    (
        "np.fromiter keywords",
        lambda a: np.fromiter(iter=iter(range(6)), dtype="f8", count=6, like=a) * a,
    ),
    (
        "np.fromfunction keywords",
        lambda a: np.fromfunction(lambda i, k: i * k, (6,), dtype="f4", like=a, k=2) * a,
    ),
    (
        "np.histogram2d range weights",
        lambda a: np.histogram2d(
            np.linspace(0.1, 0.9, 6), np.ones(6) / 2, 2, range=[[0, 1], [0, 1]], weights=a * a
        )[0],
    ),
]
WRITES: list[tuple[str, Callable[..., Any]]] = [
    ("np.put", written(lambda b, a: np.put(a=b, ind=[0, -1, 7], v=a, mode="wrap"), 5)),
    (
        "np.place",
        written(lambda b, a: np.place(arr=b, mask=np.arange(5) > 1, vals=a[:2] * a[2:4]), 5),
    ),
    ("np.putmask", written(lambda b, a: np.putmask(b, mask=[1, 0, 1, 1, 0, 1], values=a), 6)),
    (
        "np.put_along_axis",
        written(
            lambda b, a: np.put_along_axis(
                arr=b, indices=np.array([[1], [0]]), values=np.reshape(a[:2], (2, 1)), axis=1
            ),
            *(2, 3),
        ),
    ),
    (
        "np.fill_diagonal",
        written(lambda b, a: np.fill_diagonal(a=b, val=a[:2], wrap=True), *(5, 2)),
    ),
    (
        "np.copyto",
        written(
            lambda b, a: np.copyto(dst=b, src=a, casting="unsafe", where=np.arange(6) % 2 == 0),
            6,
        ),
    ),
]
OTHERS: list[tuple[str, Callable[..., Any]]] = [
    ("np.arange step by name", lambda a: np.arange(5, step=0.31 * np.exp(0.1 * a[0])) * a[1]),
    ("np.stack casting", lambda a: np.stack([a, a * a], casting="safe")),
    ("np.hstack casting", lambda a: np.hstack([a, a * a], casting="safe")),
    (
        "np.percentile overwrite_input",
        lambda a: np.percentile(a * 1, [20, 30], overwrite_input=True),
    ),
    (
        "np.nanquantile overwrite_input",
        lambda a: np.nanquantile(a * 1, [0.2, 0.3], overwrite_input=True),
    ),
    (
        "np.nanpercentile overwrite_input",
        into(lambda a, **kw: np.nanpercentile(a * 1, [20, 30], overwrite_input=True, **kw)),
    ),
    ("np.quantile written out", into(lambda a, **kw: np.quantile(a, [0.2, 0.3], **kw))),
    ("np.clip dtype", lambda a: np.clip(a, -5, 5, dtype="f8", casting="same_kind") * a),
    (
        "np.clip where written out",
        lambda a: np.clip(a, -0.1, 5, out=a * a, where=np.arange(6) % 2 == 0),
    ),
    *(
        (
            f"np.{f.__name__} all keywords",
            into(
                lambda a, f=f, start=start, **kw: f(
                    np.reshape(a, (2, 3)),
                    axis=1,
                    keepdims=True,
                    initial=start,
                    where=[True, True, False],
                    **kw,
                )
            ),
        )
        for f, start in ((np.amax, -9.0), (np.amin, 9.0))
    ),
    *(
        (f"np.fft.{f.__name__} of real numbers written out", real_into(f))
        for f in (np.fft.hfft, np.fft.ifft2, np.fft.rfft2, np.fft.irfft2, np.fft.irfftn)
    ),
    ("ufunc subok and order", lambda a: np.multiply(a, a, order="F", subok=True)),
    ("ufunc reduce written out", into(lambda a, **kw: np.multiply.reduce(a, **kw))),
    ("ufunc accumulate written out", into(lambda a, **kw: np.multiply.accumulate(a, **kw))),
    (
        "ufunc reduceat written out",
        into(lambda a, **kw: np.add.reduceat(a * a, [0, 2, 3], dtype=a.dtype, **kw)),
    ),
    (
        "ufunc where written out",
        lambda a: np.multiply(a, a, out=a * 2, where=np.arange(6) % 2 == 0),
    ),
]

# What came after NumPy 2.0.
if hasattr(np, "cumulative_sum"):
    OTHERS += [
        (f"np.{f.__name__} written out", into(lambda a, f=f, **kw: f(a, dtype=a.dtype, **kw)))
        for f in (np.cumulative_sum, np.cumulative_prod)
    ]
if "device" in inspect.signature(np.astype).parameters:
    MAKERS.append(("np.astype device", lambda a: np.astype(a, np.float64, device="cpu") ** 2))
if "sorted" in inspect.signature(np.unique).parameters:
    OTHERS.append(("np.unique sorted", lambda a: np.sort(np.unique(a, sorted=False)) ** 2))
if "axis" in inspect.signature(np.trim_zeros).parameters:
    OTHERS.append(
        ("np.trim_zeros axis", lambda a: np.trim_zeros(np.reshape(a, (2, 3)), "fb", axis=0) ** 2)
    )


SAMPLES: list[Sample] = [
    *(Sample(name, call, normal(6), dtypes=ONLY) for name, call in MAKERS),
    *(Sample(f"{name} by name", call, normal(6)) for name, call in WRITES),
    *(Sample(name, call, normal(6)) for name, call in OTHERS),
    *(
        Sample(f"np.{f.__name__} written out", into(lambda a, f=f, **kw: f(a, **kw)), normal(3, 3))
        for f in (np.prod, np.max, np.min, np.std, np.trace)
    ),
    *(
        Sample(
            f"np.{f.__name__} written out",
            into(lambda a, f=f, **kw: holed(f)(a, axis=0, **kw)),
            normal(3, 4),
        )
        for f in (np.nanmean, np.nanmin, np.nanprod, np.nanstd, np.nansum, np.nanvar)
    ),
    *(
        Sample(f"np.{f.__name__} written out", into(lambda a, f=f, **kw: f(a, **kw)), normal(5))
        for f in (np.nancumsum, np.nancumprod)
    ),
    Sample("np.clip written out", into(lambda a, **kw: np.clip(a, -5, 5, **kw)), normal(4)),
    Sample(
        "np.compress written out",
        into(lambda a, **kw: np.compress([True, False, True], a, axis=0, **kw)),
        normal(3, 2),
    ),
    Sample(
        "np.choose written out",
        into(lambda a, b, **kw: np.choose([0, 1, 1], [a, b], **kw)),
        lambda rng: (rng.normal(size=3), rng.normal(size=3)),
    ),
    Sample(
        "np.nanquantile written out",
        into(lambda a, **kw: holed(np.nanquantile)(a, q=[0.2, 0.7], axis=0, **kw)),
        normal(5, 2),
    ),
    *(
        Sample(
            f"np.fft.{f.__name__} written out",
            lambda z, f=f: np.abs(into(f)(z)) ** 2,
            complex_(4, 4),
            dtypes=DOUBLE,
        )
        for f in (np.fft.ifftn, np.fft.irfft)  # ifft2 and hfft ignore out=
    ),
    *(
        Sample(
            f"np.{f.__name__} dtype",
            lambda a, f=f: holed(f)(a, dtype=np.float64),
            normal(3, 4),
            dtypes=ONLY,
        )
        for f in (np.nancumsum, np.nancumprod, np.nanmean, np.nanprod, np.nanstd, np.nansum)
    ),
    Sample("np.nanvar dtype", lambda a: np.nanvar(a, dtype="f8"), normal(3, 4), dtypes=ONLY),
    Sample("np.corrcoef dtype", lambda a: np.corrcoef(a, dtype="f8"), normal(3, 5), dtypes=ONLY),
    Sample(
        "np.linalg.trace dtype", lambda a: np.linalg.trace(a, dtype="f8"), normal(3, 3), dtypes=ONLY
    ),
    Sample("np.nanstd ddof", lambda a: holed(np.nanstd)(a, ddof=1), normal(3, 4)),
    Sample("np.nanstd correction", lambda a: holed(np.nanstd)(a, correction=1), normal(3, 4)),
    Sample("np.nanvar correction", lambda a: holed(np.nanvar)(a, correction=1), normal(3, 4)),
    Sample("np.nanvar where", lambda a: holed(np.nanvar)(a, axis=0, where=KEPT), normal(3, 4)),
    Sample("np.nanprod initial", lambda a: holed(np.nanprod)(a, initial=3.0), normal(3, 2)),
    Sample("np.nanmin initial", lambda a: holed(np.nanmin)(a, axis=0, initial=9.0), normal(3, 2)),
    Sample(
        "np.nanmin where",
        lambda a: holed(np.nanmin)(a, axis=0, initial=9.0, where=KEPT),
        normal(3, 4),
    ),
    *(
        Sample(
            f"np.{f.__name__} keepdims",
            lambda a, f=f, q=q: f(a, q, axis=0, keepdims=True) * a,
            normal(5, 2),
        )
        for f, q in ((np.nanquantile, 0.3), (np.nanpercentile, 30), (np.percentile, 30))
    ),
    Sample(
        "np.nanpercentile weights",
        lambda a: np.nanpercentile(a, 40, weights=[1, 2, 1, 3, 1], method="inverted_cdf"),
        normal(5),
    ),
    Sample("np.vstack casting", lambda a: np.vstack((a, a * 2), casting="safe"), normal(3)),
    Sample(
        "np.geomspace dtype",
        lambda a, b: np.geomspace(a, b, 4, dtype="f8"),
        lambda rng: (rng.uniform(1, 2), rng.uniform(3, 4)),
        dtypes=ONLY,
    ),
]
