"""Samples that differ on recorded CuPy arrays from NumPy's: refusals, and other results of CuPy's.

`RAISES`: reverse mode must raise an error (checked), so that no gradient is lost in silence.
`DIFFERS`: CuPy's result is another one by its own choice; the gradient is compared with the host's
through functions that do not depend on that choice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def outer(u: Any, k: int, vh: Any) -> Any:
    """Column `k` of `u` times row `k` of `vh`: a common sign or phase of the two cancels."""
    return u[..., :, k : k + 1] * vh[..., k : k + 1, :]


def adjoint(a: Any) -> Any:
    """The conjugate transpose."""
    return np.conj(np.swapaxes(a, -1, -2))


def combined(u: Any, vh: Any, count: int) -> Any:
    """The sum of ``(k + 1) outer(u, k, vh)``: each term counts, and none can stand for another."""
    total = outer(u, 0, vh)
    for k in range(1, count):
        total = total + (k + 1) * outer(u, k, vh)
    return total


def of_eigh(y: Any) -> Any:
    """Eigenvalues and weighted projectors."""
    w, v = y
    return w, combined(v, adjoint(v), w.shape[-1])


def of_svd(y: Any) -> Any:
    """Singular values, and the weighted projectors of both sides and of the pairs."""
    u, s, vh = y
    k = s.shape[-1]
    return (
        s,
        combined(u, vh, k),
        combined(u, adjoint(u), k),
        combined(adjoint(vh), vh, k),
    )


def of_qr(y: Any) -> Any:
    """The factors, and the projector on the space that completes Q to a square."""
    q, r = y
    size = min(r.shape[-1], q.shape[-1])
    rest = q[..., size:]
    return q[..., :size], r, rest @ adjoint(rest)


def outer_two(y: Any) -> Any:
    """The first and the last of three results; the one in between owes nothing to an array."""
    return y[0], y[2]


SIGNS = "the sign or phase of a vector is the library's choice"
TURNED = (
    "vectors of a null space do not turn among themselves on a device: no look at LAPACK's choice"
)
CONSTANT = "the part made of a Python number or list stays a host array"

DIFFERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    **{f"np.linalg.eigh{case}": (SIGNS, of_eigh) for case in ("", " UPLO", " stack")},
    **{f"np.linalg.svd{case}": (SIGNS, of_svd) for case in ("", " square", " stack", " wide")},
    **{f"np.linalg.eigh phases{case}": (SIGNS, of_eigh) for case in ("", ", upper stack")},
    **{
        f"np.linalg.svd {case}": (SIGNS, of_svd)
        for case in (
            "completion",
            "completion, complex",
            "completion, wide stack",
            "phases",
            "phases, wide",
        )
    },
    **{f"np.linalg.qr completion{case}": (TURNED, of_qr) for case in ("", ", complex stack")},
    "np.atleast_1d several": (CONSTANT, outer_two),
    "np.meshgrid sparse": (CONSTANT, outer_two),
    "np.linalg.eigvals no matrices": ("real where there are no eigenvalues", np.real),
}

PLAIN = "a host array, list or constant of the sample or of the rule meets the device's"
MAKERS = (
    "a maker with like= of a recorded device array, whose doors CuPy's constructor does not open"
)
BINS = "bin edges, ranks or bounds are host arrays that meet the device's inside the rule"
RANGES = "CuPy's linspace takes no device array as an end, and the ramp of np.pad is made of it"
TENSORDOT = "CuPy's tensordot takes no array of no axes, which the cotangent is"

RAISES: dict[str, str] = {
    **dict.fromkeys(
        (
            "np.add.reduceat",
            "np.add.reduceat axis",
            "np.append plain",
            "np.append to plain",
            "np.arctan2 one constant",
            "np.average weights of a plain array",
            "np.interp left right",
            "np.logaddexp one constant",
            "np.polyadd",
            "np.polysub",
            "np.polyval plain points",
            "np.select first wins",
            "softplus",
        ),
        PLAIN,
    ),
    **dict.fromkeys(
        (
            "np.arange like",
            "np.arange like written",
            "np.array like ndmin",
            "np.array like written",
            "np.asanyarray like",
            "np.asarray like",
            "np.asarray like itself",
            "np.asarray like written",
            "np.ascontiguousarray like",
            "np.asfortranarray like",
            "np.empty like written",
            "np.fromiter like",
            "np.require like",
            "np.zeros like written",
        ),
        MAKERS,
    ),
    **dict.fromkeys(
        (
            "np.histogram density of moving edges",
            "np.histogram range",
            "np.histogram weights",
            "np.histogram weights density",
            "np.histogram2d moving edges density",
            "np.histogram_bin_edges",
            "np.percentile five at once of a repeated array",
            "np.quantile six at once higher",
            "np.quantile six at once linear",
            "np.quantile six at once lower",
            "np.quantile six at once midpoint",
            "np.quantile six at once nearest",
        ),
        BINS,
    ),
    **dict.fromkeys(
        (
            "np.linspace",
            "np.linspace axis",
            "np.linspace axis 1",
            "np.linspace complex",
            "np.linspace dtype",
            "np.linspace of arrays",
            "np.linspace one",
            "np.linspace open",
            "np.linspace retstep",
            "np.linspace stop only",
            "np.logspace",
            "np.logspace base",
            "np.logspace bases",
            "np.logspace dtype",
            "np.pad linear_ramp",
            "np.pad linear_ramp ends",
            "np.pad linear_ramp recorded ends",
        ),
        RANGES,
    ),
    **dict.fromkeys(
        (
            "np.array copy",
            "np.array ndmin",
            "np.ascontiguousarray keywords",
            "np.fromiter keywords",
        ),
        MAKERS,
    ),
    **dict.fromkeys(
        ("numpy.polynomial polyval", "ufunc reduceat written out"),
        PLAIN,
    ),
    **dict.fromkeys(("np.histogram2d range weights",), BINS),
    **dict.fromkeys(
        ("np.tensordot all",),
        TENSORDOT,
    ),
}
