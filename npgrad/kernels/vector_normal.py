"""The normal distribution function Phi, x Phi(x), the exact form of gelu, and its derivative.

As 1 + erf, Phi would lose its lower tail to cancellation: at -5 a fifth of float32's value. So it
is ``exp(-x**2 / 2) h(|x|)`` for negative x and one less that for positive. One exponential serves
Phi and its density.

In float32 h is a polynomial in (a - 4) / (a + 4), fitted to ``exp(a**2 / 2) erfc(a / sqrt(2)) / 2``
up to 14.5 by the Remez exchange, to 2**-25.8: relative to the true value Phi is within 4e-7 for
x > -4, and 2e-6 at -8, where the square's rounding counts. In float64 h is a polynomial in
(a - 6) / (a + 6) over 1 + sqrt(2) a, which M. M. Shepherd and J. G. Laframboise (Math. Comp. 36,
1981) found to be nearly constant, and the square is taken in two parts: within 8 ulp as far as
numbers reach (-38).
"""

from __future__ import annotations

from npgrad.kernels._compile import by_type, njit
from npgrad.kernels.vector_exp import exp_negative32, exp_negative64, f32, f64

__all__ = ["gelu_erf", "gelu_erf_slope", "normal_cdf"]

_contract = njit(fastmath={"contract"}, forceinline=True)


@_contract
def _phi32(x, a, e):  # type: ignore[no-untyped-def]
    """Phi(x) from a = |x|, at most 14.5, and e = exp(-a**2 / 2)."""
    t = (a - f32(4.0)) / (a + f32(4.0))
    q = f32(-6.528562516905367e-05)
    q = q * t + f32(-0.00016782709280960262)
    q = q * t + f32(0.0006577629828825593)
    q = q * t + f32(0.0005025523714721203)
    q = q * t + f32(-0.008497917093336582)
    q = q * t + f32(0.030865497887134552)
    q = q * t + f32(-0.07170674204826355)
    q = q * t + f32(0.12437920272350311)
    q = q * t + f32(-0.17039774358272552)
    q = q * t + f32(0.09441064298152924)
    tail = e * q
    return tail if x < f32(0.0) else f32(1.0) - tail


@_contract
def _phi64(x, a, e):  # type: ignore[no-untyped-def]
    """Phi(x) from a = |x|, at most 40, and e = exp(-a**2 / 2)."""
    t = (a - 6.0) / (a + 6.0)
    q = 2.4717005803231345e-10
    q = q * t + 2.9600083396489008e-09
    q = q * t + 3.79502599908667e-09
    q = q * t + -2.536067841154232e-08
    q = q * t + -2.705219684567335e-08
    q = q * t + 1.9977834599842152e-07
    q = q * t + -2.496410594031447e-08
    q = q * t + -1.4624390488700694e-06
    q = q * t + 2.818329582583495e-06
    q = q * t + 6.043277185662129e-06
    q = q * t + -3.95410017297197e-05
    q = q * t + 6.194513338260266e-05
    q = q * t + 0.0001638581598217783
    q = q * t + -0.0013036569234067751
    q = q * t + 0.004571429507773791
    q = q * t + -0.011399844515240065
    q = q * t + 0.022398208683184116
    q = q * t + -0.03581897714352668
    q = q * t + 0.04647063914636897
    q = q * t + -0.04636447320660514
    q = q * t + 0.02774168962788739
    q = q * t + 0.012465016640197472
    q = q * t + -0.06921426268054653
    q = q * t + 0.6144500235976215
    tail = e * q / (1.0 + 1.4142135623730951 * a)
    return tail if x < 0.0 else 1.0 - tail


@_contract
def _bell64(a):  # type: ignore[no-untyped-def]
    """exp(-a**2 / 2): the square of a rounded `near`, which is exact, and what is left of it."""
    near = f64(f32(a))
    rest = 0.5 * (a - near) * (a + near)
    e = exp_negative64(-0.5 * near * near)
    return e - e * (rest * (1.0 - rest * (0.5 - rest / 6.0)))


@_contract
def normal_cdf32(x):  # type: ignore[no-untyped-def]
    """Phi(x)."""
    a = abs(x)
    a = f32(14.5) if a > f32(14.5) else a
    return _phi32(x, a, exp_negative32(f32(-0.5) * a * a))


@_contract
def normal_cdf64(x):  # type: ignore[no-untyped-def]
    """Phi(x)."""
    a = abs(x)
    a = 40.0 if a > 40.0 else a
    return _phi64(x, a, _bell64(a))


@_contract
def gelu_erf32(x):  # type: ignore[no-untyped-def]
    """x Phi(x)."""
    return x * normal_cdf32(x)


@_contract
def gelu_erf64(x):  # type: ignore[no-untyped-def]
    """x Phi(x)."""
    return x * normal_cdf64(x)


@_contract
def gelu_erf_slope32(x):  # type: ignore[no-untyped-def]
    """The derivative of x Phi(x)."""
    a = abs(x)
    a = f32(14.5) if a > f32(14.5) else a
    e = exp_negative32(f32(-0.5) * a * a)
    near = -a if x < f32(0.0) else a  # no infinity, which would meet a zero
    return _phi32(x, a, e) + near * (f32(0.3989422804014327) * e)


@_contract
def gelu_erf_slope64(x):  # type: ignore[no-untyped-def]
    """The derivative of x Phi(x)."""
    a = abs(x)
    a = 40.0 if a > 40.0 else a
    e = _bell64(a)
    near = -a if x < 0.0 else a  # no infinity, which would meet a zero
    return _phi64(x, a, e) + near * (0.3989422804014327 * e)


normal_cdf = by_type(normal_cdf32, normal_cdf64)
gelu_erf = by_type(gelu_erf32, gelu_erf64)
gelu_erf_slope = by_type(gelu_erf_slope32, gelu_erf_slope64)
