"""exp, expm1, and the exponential of what is not positive, for kernels; see ``vector_math.py``."""

from __future__ import annotations

import numpy as np

from npgrad.kernels._compile import by_type, njit

__all__ = ["exp", "exp_negative", "expm1"]

f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64

ROUND32, ROUND64 = f32(1.5 * 2.0**23), f64(1.5 * 2.0**52)
ROUND_BITS32, ROUND_BITS64 = i32(ROUND32.view(i32)), i64(ROUND64.view(i64))
LOG2E32, LOG2E64 = f32(1.4426950408889634), f64(1.4426950408889634)
LN2_HIGH32, LN2_LOW32 = f32(0.693115234375), f32(3.1946183e-05)
LN2_HIGH64, LN2_LOW64 = f64(0.6931471803691238), f64(1.9082149292705877e-10)

# forceinline: a call that LLVM does not inline keeps the caller's loop from becoming vector code
_contract = njit(fastmath={"contract"}, forceinline=True)  # fused multiply-add where there is one


@_contract
def _power_of_two32(n):  # type: ignore[no-untyped-def]
    """2**n for -126 <= n <= 127."""
    return i32((n + 127) << 23).view(f32)


@_contract
def _power_of_two64(n):  # type: ignore[no-untyped-def]
    """2**n for -1022 <= n <= 1023."""
    return i64((n + 1023) << 52).view(f64)


# -- exp and expm1: x = k ln 2 + r, expm1(r) = r + r**2 Q(r) on |r| <= ln(2)/2 -----------------


@_contract
def _tail32(r):  # type: ignore[no-untyped-def]
    """expm1(r) - r; Q to 2**-23.9."""
    q = f32(0.001394121558405459)
    q = q * r + f32(0.008363237304498863)
    q = q * r + f32(0.04166637361049652)
    q = q * r + f32(0.16666576266288757)
    q = q * r + f32(0.5)
    return r * r * q


@_contract
def _tail64(r):  # type: ignore[no-untyped-def]
    """expm1(r) - r; Q to 2**-53.1."""
    q = 2.5110154340462048e-08
    q = q * r + 2.762020367160025e-07
    q = q * r + 2.7557242059340425e-06
    q = q * r + 2.4801521052860206e-05
    q = q * r + 0.00019841269886836392
    q = q * r + 0.0013888888917370848
    q = q * r + 0.008333333333322127
    q = q * r + 0.04166666666662381
    q = q * r + 0.16666666666666674
    q = q * r + 0.5
    return r * r * q


@_contract
def exp32(x):  # type: ignore[no-untyped-def]
    """e**x. The scale 2**k is applied in two halves, so that subnormal results are right."""
    x = f32(89.0) if x > f32(89.0) else x
    x = f32(-104.0) if x < f32(-104.0) else x
    t = x * LOG2E32 + ROUND32
    n = i32(f32(t).view(i32) - ROUND_BITS32)
    k = t - ROUND32
    r = (x - k * LN2_HIGH32) - k * LN2_LOW32
    half = n >> 1
    y = f32(1.0) + (r + _tail32(r))
    return y * _power_of_two32(half) * _power_of_two32(n - half)


@_contract
def exp64(x):  # type: ignore[no-untyped-def]
    """e**x. The scale 2**k is applied in two halves, so that subnormal results are right."""
    x = 710.0 if x > 710.0 else x
    x = -746.0 if x < -746.0 else x
    t = x * LOG2E64 + ROUND64
    n = f64(t).view(i64) - ROUND_BITS64
    k = t - ROUND64
    r = (x - k * LN2_HIGH64) - k * LN2_LOW64
    half = n >> 1
    y = 1.0 + (r + _tail64(r))
    return y * _power_of_two64(half) * _power_of_two64(n - half)


@_contract
def exp_negative32(x):  # type: ignore[no-untyped-def]
    """e**x for x <= 0, by one scale 2**(k + 64) and then 2**-64: four fifths of `exp32`'s time."""
    x = f32(-104.0) if x < f32(-104.0) else x
    t = x * LOG2E32 + ROUND32
    n = i32(f32(t).view(i32) - ROUND_BITS32)
    k = t - ROUND32
    r = (x - k * LN2_HIGH32) - k * LN2_LOW32
    y = f32(1.0) + (r + _tail32(r))
    return y * i32((n + i32(191)) << i32(23)).view(f32) * f32(2.0**-64)


@_contract
def exp_negative64(x):  # type: ignore[no-untyped-def]
    """See `exp_negative32`."""
    x = -746.0 if x < -746.0 else x
    t = x * LOG2E64 + ROUND64
    n = f64(t).view(i64) - ROUND_BITS64
    k = t - ROUND64
    r = (x - k * LN2_HIGH64) - k * LN2_LOW64
    y = 1.0 + (r + _tail64(r))
    return y * i64((n + 1087) << 52).view(f64) * 2.0**-64


@_contract
def expm1_32(x):  # type: ignore[no-untyped-def]
    """e**x - 1 = 2**k expm1(r) + (2**k - 1)."""
    y = f32(89.0) if x > f32(89.0) else x
    y = f32(-20.0) if y < f32(-20.0) else y
    t = y * LOG2E32 + ROUND32
    n = i32(f32(t).view(i32) - ROUND_BITS32)
    k = t - ROUND32
    r = (y - k * LN2_HIGH32) - k * LN2_LOW32
    half = n >> 1
    first = _power_of_two32(half)
    second = _power_of_two32(n - half)
    y = ((r + _tail32(r)) * first + (first - f32(1.0) / second)) * second
    return x if x == f32(0.0) else y


@_contract
def expm1_64(x):  # type: ignore[no-untyped-def]
    """e**x - 1 = 2**k expm1(r) + (2**k - 1)."""
    y = 710.0 if x > 710.0 else x
    y = -45.0 if y < -45.0 else y
    t = y * LOG2E64 + ROUND64
    n = f64(t).view(i64) - ROUND_BITS64
    k = t - ROUND64
    r = (y - k * LN2_HIGH64) - k * LN2_LOW64
    half = n >> 1
    first = _power_of_two64(half)
    second = _power_of_two64(n - half)
    y = ((r + _tail64(r)) * first + (first - 1.0 / second)) * second
    return x if x == 0.0 else y


exp = by_type(exp32, exp64)
exp_negative = by_type(exp_negative32, exp_negative64)
expm1 = by_type(expm1_32, expm1_64)
