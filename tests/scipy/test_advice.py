"""A function of SciPy's that has no stand-in is named where it loses a gradient, with a remedy."""

from __future__ import annotations

import ctypes
import importlib

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
import scipy.stats

import npgrad
from npgrad.errors import GradientLost, NoDerivative

A = np.eye(3) * 2 + 0.1
X = np.ones(3)
KNOTS = np.arange(3.0)
SPARSE = scipy.sparse.csr_array(A)
MATRIX = scipy.sparse.csr_matrix(A)

# function, argument, what is named, what is said
LOST = {
    "decorated": (lambda a: scipy.linalg.lu_factor(a)[0], A, "linalg.lu_factor", "cho_factor"),
    "in NumPy": (lambda a: scipy.linalg.eigh(a)[0], A, "scipy.linalg.eigh", r"np\.linalg\.eigh"),
    "plain": (lambda x: scipy.signal.savgol_filter(x, 3, 1), X, "signal.savgol_filter", "lfilter"),
    "keyword": (lambda x: scipy.ndimage.median_filter(input=x, size=3), X, "ndimage.median_filter",
                "uniform_filter"),
    "statistic": (scipy.stats.skew, X, "scipy.stats.skew", "dirichlet"),
    "method": (scipy.stats.rayleigh.logpdf, X, "scipy.stats.rayleigh.logpdf", "norm"),
    "of several ufuncs": (lambda x: scipy.special.legendre_p(2, x), X, "scipy.special.legendre_p",
                          "logsumexp"),
    "method without a rule": (scipy.stats.dirichlet.mean, X, "scipy.stats.dirichlet.mean",
                              "logpdf, pdf alone"),
    "class": (lambda x: scipy.interpolate.interp1d(KNOTS, x)(0.5), X, "scipy.interpolate.interp1d",
              "CubicSpline"),
    "call": (lambda x: scipy.interpolate.interp1d(KNOTS, KNOTS)(x), X, "scipy.interpolate.interp1d",
             "CubicSpline"),
    "optimiser": (lambda x: scipy.optimize.minimize(lambda z: np.sum(z**2), x).x, X,
                  "scipy.optimize.minimize", r"implicit\.root"),
    "other chapter": (scipy.cluster.vq.whiten, A, "scipy.cluster.vq.whiten", r"npgrad\.primitive"),
    "of a part": (lambda x: scipy.sparse.linalg.spsolve(SPARSE, x), X,
                  "scipy.sparse.linalg.spsolve",
                  r"npgrad\.scipy\.sparse\.linalg\.spsolve in its place"),
    "sparse * number": (lambda x: SPARSE * x[0], X, "sparse matrix", r"x \* A and the functions"),
    "sparse / number": (lambda x: SPARSE / x[0], X, "sparse matrix", r"npgrad\.wrap\(f\)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LOST)
def test_the_function_and_a_remedy_are_named(name):
    f, x, called, remedy = LOST[name]
    leaf = npgrad.array(x)
    with pytest.raises(
        GradientLost, match=rf"npgrad: .*{called} takes plain .*Instead: .*{remedy}"
    ):
        f(leaf)


def test_a_stand_in_is_named_where_code_is_not_wrapped():
    with pytest.raises(GradientLost, match=r"Instead: npgrad\.scipy\.linalg\.solve in its place"):
        npgrad.grad(lambda a: np.sum(scipy.linalg.solve(a, X)), wrap=False)(A)
    with pytest.raises(GradientLost, match=r"npgrad\.scipy\.stats\.norm\.logpdf in its place"):
        scipy.stats.norm.logpdf(npgrad.array(X))


def test_a_call_of_the_users_own_is_not_blamed_on_scipy():
    """The integrand is the user's, though SciPy called it."""
    x = npgrad.array(2.0)
    with pytest.raises(GradientLost, match=r"npgrad: float\(x\)"):
        scipy.integrate.quad(lambda t: float(x) * t, 0, 1)


def test_sparse_products_give_what_the_remedy_says():
    product = lambda x: np.sum(npgrad.scipy.sparse.matmul(x, SPARSE))
    np.testing.assert_allclose(npgrad.grad(product)(X), A.sum(axis=1))


@pytest.mark.parametrize("method", ["Nelder-Mead", "COBYLA", "Powell", "BFGS"])
def test_optimisers_that_store_the_value_say_what_to_write(method):
    """NumPy and SciPy cover the refusal with errors of their own."""
    f = lambda c: scipy.optimize.minimize(lambda p: np.sum((p**2 - c) ** 2), [1.0], method=method)
    with pytest.raises(GradientLost, match=r"scipy\.optimize\.minimize takes .*implicit\.root"):
        npgrad.grad(lambda c: f(c).x[0])(2.0)


@pytest.mark.parametrize("kind", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("end", ["array", "matrix"])
def test_a_sparse_matrix_of_recorded_numbers_is_refused_where_nothing_is_wrapped(kind, end):
    made = getattr(scipy.sparse, f"{kind}_{end}")
    np.testing.assert_array_equal(npgrad.grad(lambda x: made(x).sum())(A), np.ones(A.shape))
    with pytest.raises(GradientLost, match=rf"scipy\.sparse\.{kind}_{end} takes plain"):
        npgrad.grad(lambda x: made(x).sum(), wrap=False)(A)


def test_a_part_of_a_chapter_can_be_imported():
    from npgrad.scipy.sparse.linalg import eigsh

    assert eigsh is scipy.sparse.linalg.eigsh


def test_an_error_of_the_users_that_a_refusal_caused_is_kept():
    def f(x):
        try:
            return float(x)
        except GradientLost as refusal:
            raise LookupError("mine") from refusal

    with pytest.raises(LookupError, match="mine"):
        npgrad.grad(f, wrap=False)(2.0)


def test_a_chapter_that_npgrad_has_not_is_scipys():
    from npgrad.scipy import constants, optimize

    assert optimize is scipy.optimize and constants.c == 299792458.0
    with pytest.raises(AttributeError):
        npgrad.scipy.no_such_chapter
    with pytest.raises(ImportError):  # it is not SciPy's under another name
        importlib.import_module("npgrad.scipy.linalg.blas")


@pytest.mark.parametrize("name", ["brentq", "bisect", "fsolve", "leastsq"])
def test_root_finders_that_call_the_function_from_c_say_what_to_write(name, capfd):
    """Their C code covers the refusal with an error of its own, or Python's SystemError."""
    finder = getattr(scipy.optimize, name)
    limits = (0.0, 3.0) if name in ("brentq", "bisect") else (1.0,)

    def f(c):
        found = finder(lambda p: p**3 - c, *limits)
        return np.sum(found[0] if isinstance(found, tuple) else found)

    said = rf"npgrad: scipy\.optimize\.{name} takes plain .*Instead: .*implicit\.root"
    for derivative in (
        lambda: npgrad.grad(f)(2.0),
        lambda: npgrad.jvp(f, (2.0,), (1.0,)),
        lambda: npgrad.jacobian(f)(2.0),
        lambda: npgrad.grad(f)(2.0),  # again: the same place, another refusal
    ):
        with pytest.raises(GradientLost, match=said):
            derivative()


def test_an_error_of_a_root_finder_stays_its_own():
    with pytest.raises(ValueError, match="different signs"):
        npgrad.grad(lambda c: c * scipy.optimize.brentq(lambda p: p**2 + 1, 0.0, 3.0))(2.0)


def test_a_compiled_integrand_is_refused_by_name():
    def integrand(x, data):
        return x

    signature = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_void_p)
    compiled = scipy.LowLevelCallable(signature(integrand))
    with pytest.raises(NoDerivative, match="LowLevelCallable: pass the function"):
        npgrad.grad(lambda x: scipy.integrate.quad(compiled, 0.0, x)[0])(2.0)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_of_numpys_says_what_records():
    with pytest.raises(GradientLost, match=r"arrays of two axes and a @ b"):
        npgrad.grad(lambda x: np.asmatrix(x).sum())(A)
