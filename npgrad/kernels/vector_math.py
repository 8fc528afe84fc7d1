"""exp, expm1, log, log1p, tanh, sigmoid, erf, sin, cos as branch-free scalar functions for kernels.

Numba calls libm for each of these, one number at a time. The functions here are arithmetic and
selections only, so that LLVM turns the loop they are called from into vector instructions: inside a
fused loop the exponential of a million float32 takes 0.33 ms (NumPy's own, AVX-512: 0.5 ms).
They are called from kernels (``exp(x)`` picks the body for x's type), not from Python. The bodies
of sin and cos stand in ``vector_trig.py``, those of the exponentials in ``vector_exp.py``.

Every one is within 2 ulp over its whole range, subnormals, signed zeros, infinities and NaN
included (``tests/kernels/test_vector_math.py``).
Polynomials are minimax fits made for this file by the Remez exchange in 60 digits; a comment gives
each one's error before rounding.

Arguments are reduced as W. J. Cody and W. Waite do (Software Manual for the Elementary Functions,
1980): ``x - k * high - k * low`` with a `high` of so few bits that ``k * high`` is exact. Adding
1.5 * 2**52 (2**23) finds the nearest integer k: it then stands in the low bits of the sum, from
where a shift makes it an exponent. No float becomes an integer otherwise: of NaN that is undefined.
(Numba wants to see the type of what ``view`` reinterprets: hence ``f32(t).view(i32)``.)
"""

from __future__ import annotations

import numpy as np

from npgrad.kernels._compile import by_type, njit
from npgrad.kernels.vector_exp import (
    LN2_HIGH32,
    LN2_HIGH64,
    LN2_LOW32,
    LN2_LOW64,
    ROUND32,
    ROUND64,
    ROUND_BITS32,
    ROUND_BITS64,
    exp,
    exp_negative,
    exp_negative32,
    exp_negative64,
    expm1,
    expm1_32,
    expm1_64,
    f32,
    f64,
    i32,
    i64,
)
from npgrad.kernels.vector_trig import cos, sin

__all__ = [
    "cos",
    "erf",
    "exp",
    "exp_negative",
    "expm1",
    "log",
    "log1p",
    "sigmoid",
    "sin",
    "tanh",
]

INF32, INF64 = f32(np.inf), f64(np.inf)
NAN32, NAN64 = f32(np.nan), f64(np.nan)
ROOT_HALF_BITS32 = i32(f32(np.sqrt(0.5)).view(i32))
ROOT_HALF_BITS64 = i64(f64(np.sqrt(0.5)).view(i64))
SIGN32, SIGN64 = i32(-(2**31)), i64(-(2**63))

_contract = njit(fastmath={"contract"}, forceinline=True)  # as in ``vector_exp.py``
_exact = njit(forceinline=True)  # nothing may be fused or reordered


@_exact
def _with_sign32(y, x):  # type: ignore[no-untyped-def]
    """A y >= 0 with the sign of x, that of a zero included."""
    return i32(f32(y).view(i32) | (f32(x).view(i32) & SIGN32)).view(f32)


@_exact
def _with_sign64(y, x):  # type: ignore[no-untyped-def]
    """A y >= 0 with the sign of x, that of a zero included."""
    return i64(f64(y).view(i64) | (f64(x).view(i64) & SIGN64)).view(f64)


# -- log and log1p: x = 2**k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), s = f / (2 + f),
#    log(1 + f) = 2 artanh(s) = 2 s + s**3 P(s**2) = f - (f**2/2 - s (f**2/2 + s**2 P(s**2)))


@_contract
def _log_parts32(u, c):  # type: ignore[no-untyped-def]
    """log(u) + c for a normal or subnormal u > 0 and a correction c; P to 2**-22.3."""
    tiny = u < f32(1.1754943508222875e-38)
    u = u * f32(2.0**24) if tiny else u
    n = i32(f32(u).view(i32) - ROOT_HALF_BITS32) >> 23
    m = i32(f32(u).view(i32) - (n << 23)).view(f32)
    k = i32(n + ROUND_BITS32).view(f32) - ROUND32
    k = k - f32(24.0) if tiny else k
    f = m - f32(1.0)
    s = f / (f32(2.0) + f)
    z = s * s
    p = f32(0.295924574136734)
    p = p * z + f32(0.3998848795890808)
    p = p * z + f32(0.6666668653488159)
    h = f32(0.5) * f * f
    return k * LN2_HIGH32 - ((h - (s * (h + z * p) + (k * LN2_LOW32 + c))) - f)


@_contract
def _log_parts64(u, c):  # type: ignore[no-untyped-def]
    """log(u) + c for a normal or subnormal u > 0 and a correction c; P to 2**-51.4."""
    tiny = u < 2.2250738585072014e-308
    u = u * 2.0**54 if tiny else u
    n = (f64(u).view(i64) - ROOT_HALF_BITS64) >> 52
    m = i64(f64(u).view(i64) - (n << 52)).view(f64)
    k = i64(n + ROUND_BITS64).view(f64) - ROUND64
    k = k - 54.0 if tiny else k
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 0.1463134594502894
    p = p * z + 0.1533050011909624
    p = p * z + 0.18182926430494273
    p = p * z + 0.2222221061390521
    p = p * z + 0.2857142862923095
    p = p * z + 0.39999999999892155
    p = p * z + 0.666666666666667
    h = 0.5 * f * f
    return k * LN2_HIGH64 - ((h - (s * (h + z * p) + (k * LN2_LOW64 + c))) - f)


@_contract
def log32(x):  # type: ignore[no-untyped-def]
    """The natural logarithm."""
    y = _log_parts32(x, f32(0.0))
    y = y if x < INF32 else x
    y = -INF32 if x == f32(0.0) else y
    return NAN32 if x < f32(0.0) else y


@_contract
def log64(x):  # type: ignore[no-untyped-def]
    """The natural logarithm."""
    y = _log_parts64(x, 0.0)
    y = y if x < INF64 else x
    y = -INF64 if x == 0.0 else y
    return NAN64 if x < 0.0 else y


@_contract
def log1p32(x):  # type: ignore[no-untyped-def]
    """log(1 + x): the logarithm of u = fl(1 + x), and what the rounding left behind over u."""
    u = f32(1.0) + x
    y = _log_parts32(u, (x - (u - f32(1.0))) / u)
    y = y if x < INF32 else x
    y = -INF32 if x == f32(-1.0) else y
    y = NAN32 if x < f32(-1.0) else y
    return x if x == f32(0.0) else y


@_contract
def log1p64(x):  # type: ignore[no-untyped-def]
    """log(1 + x): the logarithm of u = fl(1 + x), and what the rounding left behind over u."""
    u = 1.0 + x
    y = _log_parts64(u, (x - (u - 1.0)) / u)
    y = y if x < INF64 else x
    y = -INF64 if x == -1.0 else y
    y = NAN64 if x < -1.0 else y
    return x if x == 0.0 else y


# -- tanh, sigmoid, erf: two formulas are weighed by 0 and 1, since a selection becomes a branch in
#    LLVM when either side is long; each side sees its argument clamped to where it is meant


@_contract
def tanh32(x):  # type: ignore[no-untyped-def]
    """As x + x**3 P(x**2) up to 0.55 (P to 2**-26.3), 1 - 2 / (expm1(2|x|) + 2) beyond."""
    a = abs(x)
    b = f32(0.55) if a > f32(0.55) else a
    z = b * b
    p = f32(-0.0066212816163897514)
    p = p * z + f32(0.021316099911928177)
    p = p * z + f32(-0.05391070246696472)
    p = p * z + f32(0.13333120942115784)
    p = p * z + f32(-0.3333333134651184)
    near = b + b * z * p
    b = f32(10.0) if a > f32(10.0) else a
    far = f32(1.0) - f32(2.0) / (expm1_32(b + b) + f32(2.0))
    w = f32(1.0) if a > f32(0.55) else f32(0.0)
    return _with_sign32(far * w + near * (f32(1.0) - w), x)


@_contract
def tanh64(x):  # type: ignore[no-untyped-def]
    """expm1(2|x|) / (expm1(2|x|) + 2), with the sign of x."""
    a = abs(x)
    a = 22.0 if a > 22.0 else a
    e = expm1_64(a + a)
    return _with_sign64(e / (e + 2.0), x)


@_contract
def sigmoid32(x):  # type: ignore[no-untyped-def]
    """1 - q, or e - e q for negative x, where e = e**-|x| and q = e / (1 + e).

    q itself would lack what rounding takes from 1 + e.
    """
    e = exp_negative32(-abs(x))
    q = e / (f32(1.0) + e)
    b = e if x < f32(0.0) else f32(1.0)
    return b - b * q


@_contract
def sigmoid64(x):  # type: ignore[no-untyped-def]
    """See `sigmoid32`."""
    e = exp_negative64(-abs(x))
    q = e / (1.0 + e)
    b = e if x < 0.0 else 1.0
    return b - b * q


@_contract
def erf_given32(x, e):  # type: ignore[no-untyped-def]
    """As x (1 + P(x**2)) up to 1 (2**-29.7), 1 - e**(-x**2) R((x - 3) / (x + 3)) on (2**-24.8)."""
    a = abs(x)
    b = f32(1.0) if a > f32(1.0) else a
    z = b * b
    p = f32(7.889119297033176e-05)
    p = p * z + f32(-0.0008020845707505941)
    p = p * z + f32(0.005189536605030298)
    p = p * z + f32(-0.026854446157813072)
    p = p * z + f32(0.11283600330352783)
    p = p * z + f32(-0.3761262595653534)
    p = p * z + f32(0.1283791066)
    near = b + b * p
    w = f32(1.0) if a > f32(1.0) else f32(0.0)
    a = f32(4.0) if a > f32(4.0) else a
    t = (a - f32(3.0)) / (a + f32(3.0))
    q = f32(0.002852852689102292)
    q = q * t + f32(-0.024966569617390633)
    q = q * t + f32(0.07163485884666443)
    q = q * t + f32(-0.15009883046150208)
    q = q * t + f32(0.24560514092445374)
    q = q * t + f32(-0.3262336850166321)
    q = q * t + f32(0.17900115251541138)
    far = f32(1.0) - e * q
    return _with_sign32(far * w + near * (f32(1.0) - w), x)


@_contract
def erf_given64(x, e):  # type: ignore[no-untyped-def]
    """As x (1 + P(x**2)) up to 1 (2**-62.8), 1 - e**(-x**2) R((x - 3) / (x + 3)) on (2**-55.1)."""
    a = abs(x)
    b = 1.0 if a > 1.0 else a
    z = b * b
    p = 5.960685338520971e-11
    p = p * z + -1.137495573607015e-09
    p = p * z + 1.466032872274226e-08
    p = p * z + -1.6350396222864617e-07
    p = p * z + 1.64610084778027e-06
    p = p * z + -1.4925595772180906e-05
    p = p * z + 0.0001205533113295582
    p = p * z + -0.0008548326981425542
    p = p * z + 0.005223977624828431
    p = p * z + -0.026866170645077875
    p = p * z + 0.11283791670954885
    p = p * z + -0.3761263890318375
    p = p * z + 0.1283791670955126
    near = b + b * p
    w = 1.0 if a > 1.0 else 0.0
    a = 6.0 if a > 6.0 else a
    t = (a - 3.0) / (a + 3.0)
    q = -3.085383170517642e-08
    q = q * t + 1.235413062777433e-06
    q = q * t + 2.0137711660860004e-06
    q = q * t + -7.99472073448926e-06
    q = q * t + -1.2842800707400694e-05
    q = q * t + 6.406056854726033e-05
    q = q * t + 4.525375131640308e-05
    q = q * t + -0.000597062331417299
    q = q * t + 0.0007077465148787014
    q = q * t + 0.004269136350438993
    q = q * t + -0.024392499320726086
    q = q * t + 0.07166583719760487
    q = q * t + -0.15011593650075045
    q = q * t + 0.24560380171233376
    q = q * t + -0.32623356004303733
    q = q * t + 0.17900115118138996
    far = 1.0 - e * q
    return _with_sign64(far * w + near * (1.0 - w), x)


@_contract
def erf32(x):  # type: ignore[no-untyped-def]
    """The error function."""
    return erf_given32(x, exp_negative32(-x * x))


@_contract
def erf64(x):  # type: ignore[no-untyped-def]
    """The error function."""
    return erf_given64(x, exp_negative64(-x * x))


log = by_type(log32, log64)
log1p = by_type(log1p32, log1p64)
tanh = by_type(tanh32, tanh64)
sigmoid = by_type(sigmoid32, sigmoid64)
erf = by_type(erf32, erf64)
