"""Finance and economics: option prices, yields, growth models."""

from __future__ import annotations

import numpy as np

from tests.programs_public.registry import Case, program

STRIKES = np.array([90.0, 100.0, 110.0])


@program("pyfeng", "Bsm.price: Black-Scholes by spot and volatility")
def black_scholes() -> Case:
    import pyfeng as pf

    return Case(
        lambda p: pf.Bsm(p[1], intr=0.03).price(STRIKES, p[0], 1.2),
        np.array([102.0, 0.2]),
        step=1e-4,
    )


@program("pyfeng", "Norm.price: Bachelier by spot and volatility")
def bachelier() -> Case:
    import pyfeng as pf

    return Case(
        lambda p: pf.Norm(p[1]).price(STRIKES, p[0], 1.2), np.array([102.0, 20.0]), step=1e-4
    )


@program("pyfeng", "SabrHagan2002.vol_smile by its parameters")
def sabr() -> Case:
    import pyfeng as pf

    return Case(
        lambda p: pf.SabrHagan2002(p[0], vov=p[1], rho=p[2], beta=0.6).vol_for_price(
            np.array([0.9, 1.0, 1.2]), 1.05, 1.0
        ),
        np.array([0.2, 0.4, -0.3]),
    )


@program("numpy_financial", "npv and pmt of a cash flow")
def cash_flow() -> Case:
    import numpy_financial as npf

    return Case(
        lambda c: npf.npv(0.07, c) + npf.pv(0.05, 10, c[1], c[2]), np.array([-10.0, 4.0, 5.0, 6.0])
    )


@program("numpy_financial", "fv, pv, pmt by rate")
def annuity() -> Case:
    import numpy_financial as npf

    return Case(
        lambda r: npf.fv(r, 10, -100.0, -50.0) + npf.pmt(r, 12, 1000.0) * npf.pv(r, 5, -1.0),
        np.array([0.05, 0.08]),
    )


@program("empyrical", "the Sharpe ratio and volatility of returns")
def sharpe() -> Case:
    import empyrical

    return Case(
        lambda r: empyrical.sharpe_ratio(r) + empyrical.annual_volatility(r),
        np.array([0.01, -0.02, 0.015, 0.03, -0.01]),
    )


@program("quantecon", "solve_discrete_lyapunov: a stationary covariance by the transition")
def stationary_covariance() -> Case:
    import quantecon as qe

    return Case(
        lambda a: qe.solve_discrete_lyapunov(a, np.eye(2)), np.array([[0.5, 0.2], [-0.1, 0.4]])
    )


@program("quantecon", "LQ: the optimal policy of a linear-quadratic problem by its costs")
def linear_quadratic() -> Case:
    import quantecon as qe

    a, b = np.array([[1.0, 0.1], [0.0, 0.9]]), np.array([[0.0], [1.0]])

    def policy(r):
        lq = qe.LQ(np.eye(1), r, a, b, T=4, Rf=np.eye(2))
        for _ in range(4):
            lq.update_values()
        return lq.F

    return Case(policy, np.array([[1.0, 0.2], [0.2, 0.7]]))


@program("quantecon", "gini_coefficient, lorenz_curve (Numba)")
def gini() -> Case:
    import quantecon as qe

    return Case(lambda y: qe.gini_coefficient(y), np.array([1.0, 2.5, 0.7, 4.0]))


@program(
    "quantecon",
    "LinearStateSpace: the moment sequence of a stochastic process",
)
def state_moments() -> Case:
    import quantecon as qe

    def moments(a):
        model = qe.LinearStateSpace(a, np.eye(2) * 0.3, np.ones((1, 2)), mu_0=np.ones(2))
        sequence = model.moment_sequence()
        for _ in range(3):
            mean, _, covariance, _ = next(sequence)
        return np.sum(mean) + np.sum(covariance**2)

    return Case(moments, np.array([[0.5, 0.2], [-0.1, 0.4]]))
