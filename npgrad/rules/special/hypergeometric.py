"""Hypergeometric functions, Wright's Bessel function, parabolic cylinder functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special as sp

from npgrad.rules.special.words import several, smooth

smooth("hyp0f1", None, lambda g, x1, x2: g * sp.hyp0f1(x1 + 1, x2) / x1)  # DLMF 16.3.1
smooth(
    "hyp1f1",  # 13.3.15
    None,
    None,
    lambda g, x1, x2, x3: g * (x1 / x2) * sp.hyp1f1(x1 + 1, x2 + 1, x3),
)
smooth(
    "hyp2f1",  # 15.5.1
    None,
    None,
    None,
    lambda g, x1, x2, x3, x4: g * (x1 * x2 / x3) * sp.hyp2f1(x1 + 1, x2 + 1, x3 + 1, x4),
)
smooth(
    "hyperu",  # 13.3.22
    None,
    None,
    lambda g, x1, x2, x3: -g * x1 * sp.hyperu(x1 + 1, x2 + 1, x3),
)
smooth(
    "wright_bessel",  # 10.46.1, term by term
    None,
    None,
    lambda g, x1, x2, x3: g * sp.wright_bessel(x1, x1 + x2, x3),
)
smooth(
    "log_wright_bessel",  # 10.46.1 over the value
    None,
    None,
    lambda g, x1, x2, x3, y: g * np.exp(sp.log_wright_bessel(x1, x1 + x2, x3) - y),
)


def cylinder(v: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
    """The value's derivative is the second output; w'' = (x^2/4 - v - 1/2) w, 12.2.1."""
    return y[1], (0.25 * x * x - v - 0.5) * y[0]


def cylinder_w(a: Any, x: Any, y: tuple[Any, Any]) -> tuple[Any, Any]:
    """W'' = (a - x^2/4) W, 12.14.2."""
    return y[1], (a - 0.25 * x * x) * y[0]


several("pbdv", "v, x", x=cylinder)  # D and V obey one equation, 12.2(i)
several("pbvv", "v, x", x=cylinder)
several("pbwa", "a, x", x=cylinder_w)
