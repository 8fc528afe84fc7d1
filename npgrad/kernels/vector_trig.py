"""sin and cos as branch-free scalar functions for kernels, which take them from `vector_math`.

|x| = m 2**e with an integer m, so (2 / pi) |x| = m ((2**e 2 / pi) mod 4) mod 4. The bracket comes
from a table over e, in pieces of so few bits that m (in float64 each half of m) times a piece is
exact (M. Payne and R. Hanek, 1983): every argument, 1e308 too, is reduced the same way.
"""

from __future__ import annotations

import numpy as np

from npgrad.kernels._compile import by_type, constant, njit

__all__ = ["cos", "sin"]

f32, f64, i32, i64 = np.float32, np.float64, np.int32, np.int64

ROUND64 = f64(1.5 * 2.0**52)

_exact = njit(forceinline=True)  # error-free transformations: nothing may be fused or reordered


def _two_over_pi(bits: int) -> int:
    """floor(2 / pi * 2**bits), by Machin's pi / 4 = 4 arctan(1/5) - arctan(1/239)."""
    one = 1 << (bits + 64)

    def arctan_inverse(n: int) -> int:
        total, term, k = 0, one // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan_inverse(5) - arctan_inverse(239))
    return (2 * one << bits) // pi


def _pieces(
    exponents: range, widths: tuple[int, ...]
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Rows ``(2**e 2 / pi) mod 4`` as sums of floats of the given widths; the last row is NaN."""
    bits = 1300
    two_over_pi = _two_over_pi(bits)
    table = np.full((len(exponents) + 1, len(widths)), np.nan)
    for row, e in enumerate(exponents):
        rest = (two_over_pi << e) % (4 << bits) if e >= 0 else two_over_pi >> -e
        for column, width in enumerate(widths):
            shift = max(rest.bit_length() - width, 0)
            table[row, column] = np.ldexp(float(rest >> shift), shift - bits)
            rest -= (rest >> shift) << shift
    return table


@constant
def TURNS32():  # type: ignore[no-untyped-def] # noqa: N802
    """One row for each biased exponent of a float32."""
    return _pieces(range(-127 - 23, 128 - 23), (29, 29, 53))


@constant
def TURNS64():  # type: ignore[no-untyped-def] # noqa: N802
    """One row for each biased exponent of a float64."""
    return _pieces(range(-1023 - 52, 1024 - 52), (26, 26, 26, 26, 26, 53))


@_exact
def _sine32(x, shift):  # type: ignore[no-untyped-def]
    """sin(|x| + shift pi / 2), in float64: half the lanes, but no second word anywhere."""
    b = f32(x).view(i32) & i32(0x7FFFFFFF)
    e = b >> 23
    m = f64(i32((b & 0x7FFFFF) | 0x3F800000).view(f32)) * 2.0**23
    t = m * TURNS32[e, 0]
    u = m * TURNS32[e, 1]
    k = (t + u) + ROUND64
    n = f64(k).view(i64) + shift
    r = ((t - (k - ROUND64)) + u + m * TURNS32[e, 2]) * 1.5707963267948966
    z = r * r
    # S to 2**-25.5 and C to 2**-28.8 of terms that are r**2 / 6 and r**4 / 24 of the whole
    s = (-0.00019582978576255573 * z + 0.008332725504998173) * z + -0.16666664546068766
    c = (2.4542998755693363e-05 * z + -0.0013888280094194621) * z + 0.041666664542018624
    w = 1.0 if n & 1 else 0.0
    y = ((1.0 - 0.5 * z) + z * z * c) * w + (r + r * z * s) * (1.0 - w)
    return f32(-y if n & 2 else y)


@_exact
def sin32(x):  # type: ignore[no-untyped-def]
    """The sine."""
    y = _sine32(x, 0)
    y = -y if x < f32(0.0) else y
    return x if abs(x) < f32(2.0**-12) else y


@_exact
def cos32(x):  # type: ignore[no-untyped-def]
    """The cosine."""
    y = _sine32(x, 1)
    return f32(1.0) if abs(x) < f32(2.0**-13) else y


@_exact
def _two_sum(a, b):  # type: ignore[no-untyped-def]
    """fl(a + b) and what it lost (D. E. Knuth)."""
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


@_exact
def _top(x):  # type: ignore[no-untyped-def]
    """The float x with the last 27 bits cleared: 26 remain."""
    return i64(f64(x).view(i64) & -134217728).view(f64)


@_exact
def _modulo4(x):  # type: ignore[no-untyped-def]
    """The float x less a multiple of 4, exactly: between -2 and 2."""
    return x - 4.0 * np.rint(0.25 * x)


@_exact
def both64(r, d):  # type: ignore[no-untyped-def]
    """sin(r + d) and cos(r + d) for |r| <= pi / 4 and a d that is lost beside r.

    The polynomials are S with sin(r) = r + r**3 S(r**2), to 2**-55.3, and C with
    cos(r) = 1 - r**2 / 2 + r**4 C(r**2), to 2**-59.3.
    """
    z = r * r
    s = 1.5915337022635126e-10
    s = s * z + -2.5051092724304014e-08
    s = s * z + 2.7557315913107235e-06
    s = s * z + -0.00019841269836390034
    s = s * z + 0.008333333333330703
    s = s * z + -0.16666666666666666
    c = -1.1380884626244868e-11
    c = c * z + 2.087612177964984e-09
    c = c * z + -2.755731715313201e-07
    c = c * z + 2.480158729853495e-05
    c = c * z + -0.0013888888888887244
    c = c * z + 0.041666666666666664
    one = 1.0 - 0.5 * z
    sine = r + (r * z * s + d * one)
    cosine = one + (((1.0 - one) - 0.5 * z) + (z * z * c - r * d))
    return sine, cosine


@_exact
def _sine64(x, shift):  # type: ignore[no-untyped-def]
    """sin(|x| + shift pi / 2)."""
    b = f64(x).view(i64) & 0x7FFFFFFFFFFFFFFF
    e = b >> 52
    m = i64((b & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000).view(f64) * 2.0**52
    high = _top(m)
    low = m - high
    # quarter turns as the sum f + g + h: the doubles nearest to a multiple of pi / 2 leave 2**-62
    # of one, so the sum is kept to 2**-115
    f, g = _two_sum(_modulo4(high * TURNS64[e, 0]), _modulo4(low * TURNS64[e, 0]))
    f, lost = _two_sum(f, _modulo4(high * TURNS64[e, 1]))
    g, h = _two_sum(g, lost)
    f, lost = _two_sum(f, low * TURNS64[e, 1])
    g, more = _two_sum(g, lost)
    h += more
    f, lost = _two_sum(f, high * TURNS64[e, 2])
    g, more = _two_sum(g, lost)
    h += more
    f, lost = _two_sum(f, low * TURNS64[e, 2])
    g, more = _two_sum(g, lost)
    h += more
    f, lost = _two_sum(f, high * TURNS64[e, 3])
    g, more = _two_sum(g, lost)
    h += more
    g, more = _two_sum(g, low * TURNS64[e, 3])
    h += more
    g, more = _two_sum(g, high * TURNS64[e, 4])
    h += more
    h += low * TURNS64[e, 4] + m * TURNS64[e, 5]
    k = f + ROUND64
    n = f64(k).view(i64) + shift
    f, g = _two_sum(f - (k - ROUND64), g)
    g += h
    # r + d = (f + g) pi / 2
    r = f * 1.5707963267948966
    ftop = _top(f)
    fend = f - ftop
    d = (
        (ftop * 1.5707963109016418 - r) + ftop * 1.5893254712295857e-08
    ) + fend * 1.5707963109016418
    d = (d + fend * 1.5893254712295857e-08) + (f * 6.123233995736766e-17 + g * 1.5707963267948966)
    sine, cosine = both64(r, d)
    w = 1.0 if n & 1 else 0.0
    y = cosine * w + sine * (1.0 - w)
    return -y if n & 2 else y


@_exact
def sin64(x):  # type: ignore[no-untyped-def]
    """The sine."""
    y = _sine64(x, 0)
    y = -y if x < 0.0 else y
    return x if abs(x) < 2.0**-27 else y


@_exact
def cos64(x):  # type: ignore[no-untyped-def]
    """The cosine."""
    y = _sine64(x, 1)
    return 1.0 if abs(x) < 2.0**-28 else y


sin = by_type(sin32, sin64)
cos = by_type(cos32, cos64)
