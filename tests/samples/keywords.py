"""Samples of keywords that the chapters leave out: ``out=``, ``dtype=`` and the rarer ones."""

from __future__ import annotations

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


def holed(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` of an array one entry of which is NaN."""

    def call(a: Any, **kwargs: Any) -> Any:
        hole = np.zeros(a.shape, bool)
        hole[(0,) * a.ndim] = True
        return f(np.where(hole, np.nan, a), **kwargs)

    return call


KEPT = [[True, False, True, True], [True, True, True, False], [True, True, False, True]]


SAMPLES: list[Sample] = [
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
