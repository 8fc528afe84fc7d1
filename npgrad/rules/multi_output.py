"""Ufuncs of several outputs: ``modf``, ``frexp``, ``divmod``.

Of their outputs one is smooth nearly everywhere and the other one is an integer, as a float or as
such. ``g`` and ``y`` are tuples; an entry of ``g`` is None where no cotangent arrived. The names
that a rule may use stand at the top of ``elementwise``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from npgrad.table import reverse

Outputs = tuple[Any, Any]


def modf_cotangent(g: Outputs) -> Any:
    """The fractional part moves with x; the integral part stays."""
    return np.zeros_like(g[1]) if g[0] is None else g[0]


def modf_tangent(g: Any) -> Outputs:
    """As `modf_cotangent`."""
    return g, np.zeros_like(g)


def frexp_cotangent(g: Outputs, y: Outputs) -> Any:
    """In x = m 2**e the exponent is constant and an integer, so only g[0] can arrive."""
    return np.ldexp(g[0], -y[1])


def frexp_tangent(g: Any, y: Outputs) -> tuple[Any, None]:
    """As `frexp_cotangent`; an integer has no tangent."""
    return np.ldexp(g, -y[1]), None


def dividend_cotangent(g: Outputs) -> Any:
    """x1 = q x2 + r with q constant."""
    return np.zeros_like(g[0]) if g[1] is None else g[1]


def divisor_cotangent(g: Outputs, y: Outputs) -> Any:
    """dr/dx2 = -q."""
    return np.zeros_like(g[0]) if g[1] is None else -g[1] * y[0]


def dividend_tangent(g: Any) -> Outputs:
    """As `dividend_cotangent`."""
    return np.zeros_like(g), g


def divisor_tangent(g: Any, y: Outputs) -> Outputs:
    """As `divisor_cotangent`."""
    return np.zeros_like(g), -g * y[0]


reverse(np.modf, modf_cotangent, modf_tangent, signature="x", batched=True)
reverse(np.frexp, frexp_cotangent, frexp_tangent, signature="x", batched=True)
reverse(
    np.divmod,
    {"x1": dividend_cotangent, "x2": divisor_cotangent},
    {"x1": dividend_tangent, "x2": divisor_tangent},
    signature="x1, x2",
)
