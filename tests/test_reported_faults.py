"""Kinds of fault that people reported of libraries like this one, as properties of the whole kind.

Here stand the numbers: ties, zeros, masked branches, norms, indices, linear algebra, complex
numbers; types, shapes and the graph itself are in ``test_reported_faults_graph``. A kink is where
hypothesis likes to go: arrays of few small integers have ties, zeros and repeats in every example.
Expected values are closed forms or differences, written here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import npgrad
from tests.harness import quiet

SMALL = st.integers(-2, 2).map(float)


def vectors(least: int = 1, most: int = 6) -> st.SearchStrategy[Any]:
    """Vectors of few small integers, so that ties and zeros are common."""
    return arrays(np.float64, st.integers(least, most), elements=SMALL)


def matrices(most: int = 4) -> st.SearchStrategy[Any]:
    """Matrices of few small integers."""
    return arrays(np.float64, st.tuples(st.integers(1, most), st.integers(1, most)), elements=SMALL)


def weights(shape: Any, seed: int = 0) -> Any:
    """Fixed distinct weights, so that no two entries of a cotangent are alike."""
    return np.random.default_rng(seed).uniform(0.5, 2.0, size=shape)


def close(got: Any, want: Any, rtol: float = 1e-9, atol: float = 1e-10) -> None:
    np.testing.assert_allclose(npgrad.value(got), want, rtol=rtol, atol=atol)


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    """Central differences of the real scalar function `f` at `x`, complex `x` by both parts."""
    g = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            up, down = x.copy(), x.copy()
            up[index] += h * unit
            down[index] -= h * unit
            g[index] += unit * (f(up) - f(down)) / (2 * h)
    return g


# ------------------------------------------------------------------------------------------ ties
@given(matrices(), st.sampled_from([None, 0, 1, -1]), st.booleans())
def test_ties_of_extremes_share_equally(x: Any, axis: int | None, keepdims: bool) -> None:
    """max and min give each tied entry an equal share, and the shares sum to the cotangent."""
    for f in (np.max, np.min, np.amax, np.nanmax, np.nanmin):
        best = f(x, axis=axis, keepdims=True)
        tied = x == best
        w = weights(best.shape)
        want = tied * (w / np.sum(tied, axis=axis, keepdims=True))
        ct = w if keepdims else np.reshape(w, np.shape(f(x, axis=axis)))
        _, pull = npgrad.vjp(lambda x, f=f: f(x, axis=axis, keepdims=keepdims), x)
        close(pull(ct)[0], want)


@given(vectors(), st.data())
def test_ties_of_pairs_share_equally(a: Any, data: st.DataObject) -> None:
    """maximum and minimum give each of two equal entries one half."""
    b = data.draw(arrays(np.float64, a.shape, elements=SMALL))
    w = weights(a.shape)
    for f, wins in ((np.maximum, a > b), (np.minimum, a < b), (np.fmax, a > b), (np.fmin, a < b)):
        share = np.where(a == b, 0.5, wins)
        ga, gb = npgrad.grad(lambda a, b, f=f: np.sum(f(a, b) * w), argnums=(0, 1))(a, b)
        close(ga, w * share)
        close(gb, w * (1 - share))


@given(vectors(least=2), st.floats(0, 1))
def test_ties_of_order_statistics(x: Any, q: float) -> None:
    """median, quantile, percentile and sort: shares stay on the tied values and sum to one."""
    for f in (
        np.median,
        lambda x: np.quantile(x, q),
        lambda x: np.percentile(x, 100 * q),
        np.nanmedian,
        lambda x: np.sort(x)[0],
        lambda x: np.partition(x, -1)[-1],
    ):
        y, g = f(x), npgrad.grad(f)(x)
        assert np.all(g >= -1e-12)
        assert math.isclose(np.sum(g), 1.0, rel_tol=1e-9)
        # The value is a mean of the entries that have a share.
        assert math.isclose(np.sum(g * x), y, rel_tol=1e-9, abs_tol=1e-12)
        equal = [g[x == v] for v in set(x.tolist())]
        assert all(np.allclose(share, share[0], atol=1e-12) for share in equal)


@given(vectors(), st.sampled_from([-1.0, 0.0, 1.0]), st.sampled_from([0.0, 1.0, 2.0]))
def test_clip_passes_at_its_bounds(x: Any, low: float, high: float) -> None:
    """The gradient of clip is 1 on the closed interval; with its bounds the parts sum to one."""
    if low > high:
        return
    w = weights(x.shape)
    close(
        npgrad.grad(lambda x: np.sum(np.clip(x, low, high) * w))(x), w * ((x >= low) & (x <= high))
    )
    parts = npgrad.grad(lambda x, a, b: np.sum(np.clip(x, a, b) * w), argnums=(0, 1, 2))(
        x, np.full_like(x, low), np.full_like(x, high)
    )
    close(sum(parts), w)


@given(vectors())
def test_kinks_at_zero_have_gradient_zero(x: Any) -> None:
    for f in (np.abs, np.absolute, np.fabs, abs):
        close(npgrad.grad(lambda x, f=f: np.sum(f(x)))(x), np.sign(x))
    close(npgrad.grad(lambda x: np.sum(np.maximum(x, 0.0)))(x), np.where(x == 0, 0.5, x > 0))


def test_counts_of_ties_do_not_overflow_in_half_precision() -> None:
    x = np.zeros(70_000, np.float16)
    for f in (np.max, np.min):
        g = npgrad.grad(f)(x)
        assert g.dtype == np.float16
        assert abs(np.sum(g, dtype=np.float64) - 1) < 0.02


# ---------------------------------------------------------------------------- zeros in products
def products_of_the_others(x: Any) -> Any:
    return np.array([np.prod(np.delete(x, i)) for i in range(x.size)])


@given(vectors())
def test_prod_with_zeros(x: Any) -> None:
    """The gradient of a product is the product of the others; the second likewise."""
    n = x.size
    for f in (np.prod, np.nanprod, np.multiply.reduce, lambda x: np.cumprod(x)[-1]):
        close(npgrad.grad(f)(x), products_of_the_others(x))
        pairs = np.array(
            [[0.0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(n)] for i in range(n)]
        )
        close(npgrad.hessian(f)(x), pairs)


@given(matrices(), st.sampled_from([0, 1, -1, -2]))
def test_cumprod_with_zeros(x: Any, axis: int) -> None:
    w = weights(x.shape)

    def row(x: Any, w: Any) -> Any:
        return [
            sum(w[j] * np.prod(np.delete(x[: j + 1], i)) for j in range(i, x.size))
            for i in range(x.size)
        ]

    moved, mw = np.moveaxis(x, axis, -1), np.moveaxis(w, axis, -1)
    want = np.array([row(a, b) for a, b in zip(moved, mw, strict=True)]).reshape(moved.shape)
    got = npgrad.grad(lambda x: np.sum(np.cumprod(x, axis=axis) * w))(x)
    close(got, np.moveaxis(want, -1, axis))
    got = npgrad.grad(lambda x: np.sum(np.multiply.accumulate(x, axis=axis) * w))(x)
    close(got, np.moveaxis(want, -1, axis))


# --------------------------------------------------------------------------------- powers at zero
def summed_gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: np.sum(npgrad.grad(f)(x))


@given(vectors(), st.integers(0, 4))
def test_integer_powers_are_polynomials(x: Any, n: int) -> None:
    """x**n at 0 and below, for every way to write n, to third order."""
    exponents = (n, float(n), np.array(n), np.full(x.shape, float(n)), np.float64(n))
    for exponent in exponents:
        d = lambda x, e=exponent: np.sum(x**e)
        for k in range(1, 4):
            d = summed_gradient(d)
            factor = math.perm(n, k)
            want = factor * x ** (n - k) if n >= k else np.zeros_like(x)
            close(d(x), np.sum(want))


@given(vectors())
def test_power_of_zero_by_its_exponent(p: Any) -> None:
    """0**p is constant for p > 0, and its slope -inf or 0 elsewhere never turns into NaN."""
    with quiet():
        g = npgrad.grad(lambda p: np.sum(np.zeros_like(p) ** p))(np.abs(p) + 1)
    close(g, np.zeros_like(p))


@given(st.sampled_from([0.0, 1.0, 2.0]))
def test_second_order_in_the_exponent_at_zero(b: float) -> None:
    """For p = 2: d/dp b**p = b**2 log b (0 at 0), d2/dp2 = b**2 log(b)**2 (0 at 0)."""
    f = lambda b, p: b**p
    log = math.log(b) if b else 0.0
    point = (np.array(b), np.array(2.0))
    close(npgrad.grad(f, 1)(*point), b * b * log)
    close(npgrad.grad(npgrad.grad(f, 1), 1)(*point), b * b * log * log)
    close(npgrad.grad(npgrad.grad(f, 0), 0)(*point), 2.0)
    close(npgrad.grad(npgrad.grad(f, 0), 1)(*point), b + 2 * b * log)


# -------------------------------------------------------------------------------- masked branches
BRANCHES = {
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5),
    "log": (np.log, lambda x: 1 / x, lambda x: -1 / x**2),
    "reciprocal": (lambda x: 1 / x, lambda x: -1 / x**2, lambda x: 2 / x**3),
    "x**0.5": (lambda x: x**0.5, lambda x: 0.5 / np.sqrt(x), lambda x: -0.25 * x**-1.5),
    "exp of exp": (
        lambda x: np.exp(np.exp(np.where(x > 0, x, 900.0))),
        lambda x: np.exp(np.exp(x)) * np.exp(x),
        lambda x: np.exp(np.exp(x)) * np.exp(x) * (1 + np.exp(x)),
    ),
}


@pytest.mark.parametrize("name", BRANCHES)
@given(x=vectors())
def test_a_masked_branch_never_poisons(name: str, x: Any) -> None:
    """Where the branch was not taken the derivative is the other branch's: no 0 * inf."""
    f, d, dd = BRANCHES[name]
    mask = x > 0

    def by_where(x: Any) -> Any:
        return np.sum(np.where(mask, f(x), 0.0))

    def by_assignment(x: Any) -> Any:
        y = f(x)
        y[~mask] = 0.0
        return np.sum(y)

    def by_selection(x: Any) -> Any:
        return np.sum(np.select([mask], [f(x)], 0.0))

    with quiet():
        safe = np.where(mask, x, 1.0)
        for g in (by_where, by_assignment, by_selection):
            close(npgrad.grad(g)(x), np.where(mask, d(safe), 0.0))
            second = npgrad.grad(lambda x, g=g: np.sum(npgrad.grad(g)(x)))(x)
            close(second, np.where(mask, dd(safe), 0.0))


# ------------------------------------------------------------------------------- log-sum-exp
@given(
    st.lists(
        st.sampled_from([-np.inf, np.inf, -800.0, -1.0, 0.0, 2.0, 800.0]), min_size=2, max_size=2
    )
)
def test_logaddexp_weights(pair: list[float]) -> None:
    """Weights are in [0, 1] and sum to one, at infinities too (to at most one at -inf, -inf)."""
    a, b = (np.array(v) for v in pair)
    for f, base in ((np.logaddexp, math.e), (np.logaddexp2, 2.0)):
        with quiet():
            ga, gb = npgrad.grad(f, argnums=(0, 1))(a, b)
        if a == b:  # infinities of one sign: an equal share, or nothing at -inf
            assert ga == gb
            assert ga in {0.5} if a > -np.inf else {0.0, 0.5}
            continue
        with quiet():
            weight = 1 / (1 + base ** np.clip(b - a, -1e3, 1e3))
        close(ga, weight, rtol=1e-9, atol=1e-300)
        close(gb, 1 - weight, atol=1e-12)


# ------------------------------------------------------------------------ norm, std and var at zero
@given(matrices(), st.sampled_from([None, 0, 1, (0, 1)]), st.booleans())
def test_norms_at_zero(x: Any, axis: Any, zero: bool) -> None:
    """x / norm where the norm is not zero, 0 where it is; the square is smooth everywhere."""
    x = x * 0 if zero else x
    n = np.sqrt(np.sum(x * x, axis=axis, keepdims=True))
    w = weights(n.shape)
    want = np.where(n == 0, 0.0, w * x / np.where(n == 0, 1.0, n))
    with quiet():
        got = npgrad.grad(lambda x: np.sum(np.linalg.norm(x, axis=axis, keepdims=True) * w))(x)
        close(got, want)
        squared = lambda x: np.sum(np.linalg.norm(x, axis=axis) ** 2)
        close(npgrad.grad(squared)(x), 2 * x)
        if not zero and np.all(n > 0):
            v = weights(x.shape, 1)
            close(npgrad.hvp(squared, x, v), 2 * v)


@given(vectors(), st.integers(0, 1), st.sampled_from([1.0, 1e-9, 1e-30]))
def test_std_of_any_spread(x: Any, ddof: int, scale: float) -> None:
    """(x - mean) / ((n - ddof) std) at every scale; 0 where all entries are equal."""
    if x.size <= ddof:
        return
    x = x * scale
    std = np.std(x, ddof=ddof)
    if np.ptp(x) == 0:
        want = np.zeros_like(x)
    else:
        want = (x - np.mean(x)) / ((x.size - ddof) * std)
    with quiet():
        if np.ptp(x) != 0 or std == 0:
            close(npgrad.grad(lambda x: np.std(x, ddof=ddof))(x), want)
    close(npgrad.grad(lambda x: np.var(x, ddof=ddof))(x), 2 * (x - np.mean(x)) / (x.size - ddof))


# ---------------------------------------------------------------------- repeated indices, scatter
@given(st.lists(st.integers(-4, 3), min_size=1, max_size=8), st.data())
def test_repeated_indices_add_up(index: list[int], data: st.DataObject) -> None:
    """Each use of an entry adds its cotangent, for every spelling of a gather."""
    x = np.arange(4.0) + 1
    i = np.array(index)
    w = weights(i.shape)
    want = np.zeros(4)
    np.add.at(want, i, w)
    spellings = [
        lambda x: x[i],
        lambda x: x[index],
        lambda x: np.take(x, i),
        lambda x: x.take(i),
        lambda x: np.take(x, i, mode="wrap"),
        lambda x: np.take_along_axis(x, i, 0),
        lambda x: np.stack([x[k] for k in index]),
    ]
    for f in spellings:
        close(npgrad.grad(lambda x, f=f: np.sum(f(x) * w))(x), want)
    f = data.draw(st.sampled_from(spellings))
    close(npgrad.grad(lambda x: np.sum((f(x) ** 2) * w))(x), 2 * x * want)


@given(st.lists(st.integers(-4, 3), min_size=1, max_size=8))
def test_the_last_write_wins(index: list[int]) -> None:
    """Values written twice to one place: only the last one has a gradient; += counts once."""
    i, v = np.array(index), weights(len(index), 1)
    w = weights(4)

    def assign(v: Any) -> Any:
        y = np.zeros_like(v, shape=4)
        y[i] = v
        return np.sum(y * w)

    last = {k % 4: p for p, k in enumerate(index)}
    want = np.zeros(len(index))
    for k, p in last.items():
        want[p] = w[k]
    close(npgrad.grad(assign)(v), want)

    def augment(v: Any) -> Any:
        y = np.ones_like(v, shape=4)
        y[i] += v
        return np.sum(y * w)

    close(npgrad.grad(augment)(v), want)

    def add_at(v: Any) -> Any:
        y = np.ones_like(v, shape=4)
        np.add.at(y, i, v)
        return np.sum(y * w)

    close(npgrad.grad(add_at)(v), w[i])


# --------------------------------------------------------------------------- rank-deficient linalg
@given(arrays(np.float64, st.integers(1, 4).map(lambda n: (n, n)), elements=SMALL))
def test_det_of_any_matrix(a: Any) -> None:
    """The gradient of det is the matrix of cofactors, which exists for every rank."""
    n = len(a)
    want = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a, i, 0), j, 1)) for j in range(n)]
            for i in range(n)
        ]
    ).reshape(n, n)
    close(npgrad.grad(np.linalg.det)(a), want, atol=1e-8)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.integers(0, 100))
def test_svd_reconstruction_at_any_rank(m: int, n: int, rank: int, seed: int) -> None:
    """u s v is the identity map: the gradient is the cotangent, zero singular values or not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    w = weights((m, n))

    def f(x: Any) -> Any:
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return np.sum(np.matmul(u * s, vh) * w)

    with quiet():
        close(npgrad.grad(f)(x), w, rtol=1e-6, atol=1e-6)


@given(st.integers(2, 4), st.integers(0, 100))
def test_functions_of_matrices_with_repeated_eigenvalues(n: int, seed: int) -> None:
    """v f(w) v' is smooth where eigenvalues coincide: for w**2 it is a @ a."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    a = (q * np.r_[2.0, 2.0, rng.normal(size=n - 2)]) @ q.T
    a = (a + a.T) / 2
    c = weights((n, n))

    def f(a: Any) -> Any:
        w, v = np.linalg.eigh(a)
        return np.sum(np.matmul(v * w**2, np.swapaxes(v, 0, 1)) * c)

    with quiet():
        g = npgrad.grad(f)(a)
    close((g + g.T) / 2, (c @ a + a @ c + (c @ a + a @ c).T) / 2, rtol=1e-6, atol=1e-6)


@given(st.integers(0, 100))
def test_pinv_at_constant_rank(seed: int) -> None:
    """pinv(a b') = b a' / (|a|^2 |b|^2)."""
    rng = np.random.default_rng(seed)
    a, b, w = rng.normal(size=4), rng.normal(size=3), rng.normal(size=(3, 4))
    plain = lambda a: float(np.sum(w * np.outer(b, a)) / ((a @ a) * (b @ b)))
    got = npgrad.grad(lambda a: np.sum(w * np.linalg.pinv(np.outer(a, b))))(a)
    close(got, differences(plain, a), rtol=1e-5, atol=1e-6)


# --------------------------------------------------------------------------------- einsum spellings
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 50))
def test_one_contraction_in_many_spellings(m: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, w = rng.normal(size=(m, k)), rng.normal(size=(k, n)), rng.normal(size=(m, n))
    spellings = [
        lambda a, b: a @ b,
        np.matmul,
        np.dot,
        lambda a, b: np.einsum("ij,jk->ik", a, b),
        lambda a, b: np.einsum("ij,jk", a, b),
        lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [0, 2]),
        lambda a, b: np.einsum("...ij,...jk->...ik", a, b, optimize=True),
        lambda a, b: np.tensordot(a, b, axes=1),
        lambda a, b: np.tensordot(a, b, axes=[[-1], [0]]),
        lambda a, b: np.inner(a, b.T),
        lambda a, b: np.sum(a[:, :, None] * b[None], axis=1),
        lambda a, b: np.linalg.multi_dot([a, b]),
        lambda a, b: np.einsum("aij,ajk->aik", a[None], b[None])[0],
    ]
    for f in spellings:
        ga, gb = npgrad.grad(lambda a, b, f=f: np.sum(f(a, b) * w), argnums=(0, 1))(a, b)
        close(ga, w @ b.T)
        close(gb, a.T @ w)


# -------------------------------------------------------------------------------- complex numbers
@given(st.integers(0, 100))
def test_one_complex_convention(seed: int) -> None:
    """Every spelling of |z|**2 has gradient 2 z: du/dx + i du/dy."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    for f in (
        lambda z: np.sum(np.abs(z) ** 2),
        lambda z: np.sum(np.real(z) ** 2 + np.imag(z) ** 2),
        lambda z: np.sum(np.real(z * np.conj(z))),
        lambda z: np.real(np.vdot(z, z)),
        lambda z: np.sum((z * z.conj()).real),
        lambda z: np.linalg.norm(z) ** 2,
        lambda z: np.sum(np.abs(np.fft.fft(z, norm="ortho")) ** 2),
        lambda z: np.real(np.einsum("i,i->", np.conj(z), z)),
    ):
        close(npgrad.grad(f)(z), 2 * z)
    g = lambda z: np.real(np.sum(np.exp(z) / (2 + np.sin(z))))
    close(npgrad.grad(g)(z), differences(g, z), rtol=1e-5, atol=1e-6)
