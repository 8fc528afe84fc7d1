"""Sparse matrices with recorded entries, and plain ones beside recorded arrays.

SciPy itself says what the values are; gradients are compared with central differences of it.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as sl

import npgrad
from npgrad.errors import GradientLost, NoDerivative

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")

X = np.array([1.5, 0.7, 2.2])
W = np.array([1.0, 2.0, 3.0])
ROWS, COLS = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 2])
A = sp.csr_matrix(np.array([[2.0, 0, 1], [0, 3, 0], [1, 0, 4]]))
B = sp.csr_array(A)


def entries(x):
    return np.array([x[0], x[1] ** 2, x[2], x[0] * x[1]])


def recorded(x):
    return sp.coo_matrix((entries(x), (ROWS, COLS)), shape=(3, 3))


def compressed(x):
    return sp.csr_array((entries(x), (ROWS, COLS)), shape=(3, 3))


def filled(x, make=sp.lil_matrix):
    M = make((3, 3))
    for i in range(3):
        M[i, i] = x[i] ** 2
    M[0, 1] = 2.0
    M[0, 1] += x[1]
    M[2, :] = x
    return W @ sl.spsolve(M.tocsc(), W)


def table(x):
    M = sp.dok_matrix((3, 3))
    for i in range(3):
        M[i, i] = x[i] ** 2
    M[0, 1] = 2.0
    return W @ (M.tocsr() @ x)


def assembled(x):
    """A finite-element matrix, block by block."""
    M = sp.lil_matrix((4, 4))
    for e in range(3):
        M[e : e + 2, e : e + 2] += x[e] * np.array([[1.0, -1], [-1, 1]])
    return sl.spsolve(M.tocsr()[1:, 1:], np.ones(3)).sum()


def repeated(x):
    """The same matrix, with an entry for each element and place."""
    i = np.concatenate([[e, e, e + 1, e + 1] for e in range(3)])
    j = np.concatenate([[e, e + 1, e, e + 1] for e in range(3)])
    data = np.concatenate([x[e] * np.array([1.0, -1, -1, 1]) for e in range(3)])
    M = sp.coo_matrix((data, (i, j)), shape=(4, 4)).tocsr()[1:, 1:]
    return sl.spsolve(M, np.ones(3)).sum()


def updated(x):
    M = A.copy()
    M[0, 0] = x[0]
    M[1, 2] = x[1] ** 2
    return W @ (M @ W)


def with_diagonal(x):
    M = A.tolil().copy()
    M.setdiag(x)
    M.setdiag(x[:2] ** 2, 1)
    return W @ (M @ x)


PROGRAMS = {
    # a plain matrix beside recorded arrays and numbers
    "A @ x": lambda x: W @ (A @ x),
    "x @ A": lambda x: (x @ A) @ W,
    "B @ x": lambda x: W @ (B @ x),
    "A * x": lambda x: W @ (A * x),
    "x * A": lambda x: (x * A) @ W,
    "A.dot": lambda x: W @ A.dot(x),
    "A @ X": lambda x: (A @ np.outer(x, x**2))[0].sum(),
    "X @ A": lambda x: (np.outer(x, x**2) @ A)[0].sum(),
    "A * k": lambda x: W @ ((A * x[0]) @ x),
    "k * A": lambda x: W @ ((x[0] * A) @ x),
    "A / k": lambda x: W @ ((A / x[0]) @ x),
    "B * x": lambda x: (B * x).sum(),
    "x * B": lambda x: W @ ((x * B) @ W),
    "B.multiply": lambda x: B.multiply(np.outer(x, x)).sum(),
    "B + dense": lambda x: ((B + np.outer(x, x)) ** 2).sum(),
    "A[i, j] =": updated,
    # recorded entries
    "toarray": lambda x: (recorded(x).toarray() ** 2).sum(),
    "T": lambda x: W @ (recorded(x).T @ x),
    "H": lambda x: W @ (compressed(x).T.conj() @ x),
    "C + A": lambda x: W @ ((recorded(x) + A) @ x),
    "A - C": lambda x: W @ ((A - recorded(x)) @ x),
    "C - A": lambda x: W @ ((recorded(x) - A) @ x),
    "A @ C": lambda x: W @ ((A @ recorded(x)) @ x),
    "C @ A": lambda x: W @ ((recorded(x) @ A) @ x),
    "A * C": lambda x: W @ ((A * recorded(x)) * x),
    "C @ C.T": lambda x: W @ ((recorded(x) @ recorded(x).T) @ x),
    "D * D": lambda x: (compressed(x) * compressed(x)).sum(),
    "C.multiply(A)": lambda x: recorded(x).multiply(A).sum(),
    "A.multiply(C)": lambda x: A.multiply(recorded(x)).sum(),
    "C.multiply(row)": lambda x: W @ (recorded(x).multiply(x) @ W),
    "C.multiply(column)": lambda x: W @ (recorded(x).multiply(x[:, None]) @ W),
    "C * 2": lambda x: (recorded(x) * 2).sum() + (2 * recorded(x)).sum(),
    "-C / k": lambda x: W @ ((-recorded(x) / x[0]) @ W),
    "x @ C": lambda x: (x @ recorded(x)) @ W + (W @ recorded(x)) @ W,
    "x * C": lambda x: (x * recorded(x)) @ W + (W * recorded(x)) @ W,
    "x * D": lambda x: (x * compressed(x)).sum() + (W * compressed(x)).sum(),
    "x + D": lambda x: ((np.outer(x, W) - compressed(x)) ** 2).sum(),
    "made @ C": lambda x: (np.ones(3) @ recorded(x)) @ W,
    "C**2": lambda x: W @ ((recorded(x).tocsr() ** 2) @ x),
    "power": lambda x: recorded(x).power(2).sum() + abs(recorded(x)).sum(),
    "sqrt": lambda x: recorded(x).sqrt().sum() + recorded(x).tocsr().log1p().sum(),
    "diagonals": lambda x: (
        recorded(x).diagonal() @ x + recorded(x).diagonal(2)[0] * x[1] + recorded(x).trace()
    ),
    "C[i, j]": lambda x: (
        recorded(x).tocsr()[0, 2] * recorded(x).tocsr()[1, -2] + recorded(x).tocsr()[0, 1]
    ),
    "C[rows]": lambda x: recorded(x).tocsr()[:2].sum() ** 2,
    "C[rows][:, cols]": lambda x: recorded(x).tocsr()[[0, 2]][:, [0, 2]].toarray()[0, 1] * x[1],
    "getrow": lambda x: recorded(x).tocsr().getrow(0).sum() ** 2,
    "sum": lambda x: (
        compressed(x).sum(axis=0) @ x + compressed(x).sum(axis=1)[0] * x[2] + compressed(x).mean()
    ),
    "data": lambda x: (
        (recorded(x).tocsr().data ** 2) @ np.arange(4.0) + recorded(x).tocsc().data[1]
    ),
    "indices": lambda x: (
        recorded(x).tocsr().data[recorded(x).tocsr().indptr[1]] * x[recorded(x).tocsr().indices[1]]
    ),
    "astype": lambda x: recorded(x).astype(np.float64).copy().sum() ** 2,
    "asked": lambda x: (
        (2.0 if sp.issparse(recorded(x)) and isinstance(recorded(x), sp.coo_matrix) else 5.0) * x[0]
    ),
    "triplets twice": lambda x: W @ (sp.csr_matrix((entries(x), ([0, 0, 1, 2], [0, 0, 1, 2]))) @ x),
    "compressed rows": lambda x: (
        W @ (sp.csr_matrix((entries(x), [0, 2, 1, 2], [0, 2, 3, 4]), shape=(3, 3)) @ x)
    ),
    "compressed columns": lambda x: (
        W @ (sp.csc_array((entries(x), [0, 2, 1, 2], [0, 2, 3, 4]), shape=(3, 3)) @ x)
    ),
    "diagonals stored": lambda x: (
        W @ (sp.dia_array((np.stack([x, x**2]), [0, 1]), shape=(3, 3)) @ x)
    ),
    "diags": lambda x: W @ (sp.diags([x, -1.0, x[:2] ** 2], [0, 1, -1], shape=(3, 3)) @ x),
    "diags of numbers": lambda x: W @ (sp.diags([x[0], x[1]], [0, 1], shape=(3, 3)) @ x),
    "diags one": lambda x: W @ (sp.diags(x) @ x) + W @ (sp.diags(x, 0).tocsc() @ x),
    "diags_array": lambda x: W @ (sp.diags_array([x, x[:2]], offsets=[0, 1]) @ x),
    "spdiags": lambda x: W @ (sp.spdiags(np.array([x, 2 * x]), [0, 1], 3, 3) @ x),
    "kron": lambda x: (sp.kron(sp.eye(2), recorded(x)) @ np.arange(6.0)).sum() ** 2,
    "kron right": lambda x: (sp.kron(recorded(x), A) @ np.arange(9.0))[:5].sum(),
    "hstack": lambda x: (sp.hstack([recorded(x), A]) @ np.arange(6.0)).sum() ** 2,
    "bmat": lambda x: (
        (sp.bmat([[recorded(x), None], [A, recorded(x).T]]) @ np.arange(6.0)) @ np.arange(6.0)
    ),
    "block_diag": lambda x: (sp.block_diag([recorded(x), A]) @ np.arange(6.0)).sum(),
    "tril": lambda x: sp.tril(recorded(x)).sum() ** 2 + sp.triu(recorded(x), 1).sum() ** 2,
    "identity minus": lambda x: W @ ((sp.identity(3) - 0.1 * recorded(x)) @ x),
    "lil": filled,
    "lil_array": lambda x: filled(x, sp.lil_array),
    "dok": table,
    "setdiag": with_diagonal,
    "assembled": assembled,
    "repeated": repeated,
    # equations
    "spsolve": lambda x: W @ sl.spsolve(recorded(x).tocsc(), x),
    "spsolve A": lambda x: W @ sl.spsolve(A.tocsc(), x),
    "spsolve matrix": lambda x: sl.spsolve(recorded(x).tocsc(), np.outer(x, W))[0].sum(),
    "splu": lambda x: (
        W @ sl.splu(recorded(x).tocsc()).solve(x) + x @ sl.splu(A.tocsc()).solve(x, "T")
    ),
    "factorized": lambda x: W @ sl.factorized(A.tocsc())(x) ** 2,
    "cg": lambda x: W @ sl.cg(A, x, rtol=1e-14)[0],
    "gmres": lambda x: W @ sl.gmres(recorded(x).tocsr(), x, rtol=1e-14)[0],
    "inv": lambda x: W @ (sl.inv(recorded(x).tocsc()) @ x),
    "norm": lambda x: sl.norm(recorded(x).tocsr()),
}
for _kind in ("coo", "csr", "csc", "lil", "dok", "bsr", "dia"):
    for _family in ("matrix", "array"):
        _make = getattr(sp, f"{_kind}_{_family}")
        PROGRAMS[f"{_make.__name__} of a dense one"] = lambda x, make=_make: (
            W @ (make(np.outer(x, x)) @ x)
        )


def differences(f, x, h=1e-3):
    gradient = np.empty_like(x)
    for i in range(x.size):
        step = np.zeros_like(x)
        step[i] = h
        near, far = f(x + step) - f(x - step), f(x + 2 * step) - f(x - 2 * step)
        gradient[i] = (8 * near - far) / (12 * h)
    return gradient


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradient(name):
    f = PROGRAMS[name]
    expected = differences(f, X)
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-8, atol=1e-9)
    forward = [npgrad.jvp(f, (X,), (unit,))[1] for unit in np.eye(3)]
    np.testing.assert_allclose(forward, gradient, rtol=1e-11, atol=1e-12)
    assert isinstance(A, sp.csr_matrix)
    assert "npgrad" not in sp.csr_matrix.__matmul__.__code__.co_filename


SECOND = ["A @ x", "C @ C.T", "spsolve", "spsolve A", "assembled", "kron", "sum", "C[rows]"]


@pytest.mark.parametrize("name", SECOND)
def test_second_order(name):
    hessian = npgrad.hessian(PROGRAMS[name])(X)
    gradient = npgrad.grad(PROGRAMS[name])
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9, atol=1e-11)
    for i in range(3):
        expected = differences(lambda x, i=i: gradient(x)[i], X)
        np.testing.assert_allclose(hessian[i], expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["A @ x", "x @ A", "B @ x", "A * x", "x * A", "x * B", "k * A"])
def test_operators_need_no_wrap(name):
    f = PROGRAMS[name]
    gradient = npgrad.grad(f, wrap=False)(X)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-8)


@pytest.mark.parametrize("name", ["A @ x", "A * k", "C + A", "spsolve", "lil", "diags", "C @ C.T"])
def test_scipy_wrapped_too(name):
    f = npgrad.wrap(PROGRAMS[name], also=("scipy",))
    expected = differences(PROGRAMS[name], X)
    np.testing.assert_allclose(npgrad.grad(f)(X), expected, rtol=1e-8, atol=1e-9)


def test_complex_entries():
    def f(x):
        z = np.array([x[0] + 1j * x[1], x[2] * 1j, x[1] + 0j, 1j * x[0]])
        M = sp.csc_matrix((z, (ROWS, COLS)), shape=(3, 3))
        y = sl.spsolve(M, x + 1j)
        return np.sum(np.abs(y) ** 2) + np.real(M.conj() @ y).sum() + (M.T @ W).imag.sum()

    np.testing.assert_allclose(npgrad.grad(f)(X), differences(f, X), rtol=1e-8)


def test_precision_is_kept():
    def f(x):
        M = sp.csr_matrix((x, ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
        assert M.dtype == np.float32 and (M @ x).dtype == np.float32
        return (M @ x).sum()

    gradient = npgrad.grad(f)(X.astype(np.float32))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, [X[1] + X[2], X[0] + X[2], X[0] + X[1]], rtol=1e-6)


def test_an_entry_that_is_zero_has_a_derivative():
    """SciPy drops it from what is made of a dense matrix; the function moves with it."""
    gradient = npgrad.grad(lambda x: (sp.csr_matrix(np.diag(x)) @ W).sum())(np.zeros(3))
    np.testing.assert_allclose(gradient, W)


def test_many_entries_cost_their_number():
    n = 3000

    def f(x):
        M = sp.lil_matrix((n, n))
        for i in range(n):
            M[i, (7 * i) % n] = x[i]
        return (M.tocsr() @ np.ones(n)).sum()

    np.testing.assert_allclose(npgrad.grad(f)(np.ones(n)), np.ones(n))


@pytest.mark.parametrize(
    ("f", "error", "match"),
    [
        (lambda x: np.sqrt(recorded(x)).sum(), GradientLost, "array of objects"),
        (lambda x: recorded(x).max(), NoDerivative, r"max of a sparse .* A\.toarray"),
        (lambda x: sl.eigsh(recorded(x), k=1)[0].sum(), GradientLost, "eigsh"),
        (lambda x: (recorded(x) / A).sum(), NoDerivative, "division by a sparse"),
        (lambda x: recorded(x).todense().sum(), NoDerivative, "todense"),
    ],
)
def test_what_is_refused_says_so(f, error, match):
    with pytest.raises(error, match=match):
        npgrad.grad(f)(X)


def test_shapes_that_do_not_fit():
    for f in (
        lambda x: recorded(x) @ x[:2],
        lambda x: recorded(x) + sp.eye(2),
        lambda x: recorded(x) @ sp.eye(2),
    ):
        with pytest.raises(ValueError, match=r"dimension|shape"):
            npgrad.grad(f)(X)
    with pytest.raises(IndexError):
        npgrad.grad(lambda x: compressed(x)[3, 0])(X)


class Touchy:
    """A name of a module whatever is asked of which fails, as some proxies."""

    def __getattr__(self, name):
        raise RuntimeError(name)


TOUCHY = Touchy()


def test_names_that_may_not_be_asked_anything():
    assert npgrad.grad(lambda x: (A @ x).sum() + 0 * (TOUCHY is None))(X)[0] == 3.0
