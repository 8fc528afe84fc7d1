"""Matrices of which one triangle is filled: functions that read it are functions of it alone."""

import numpy as np
import pytest

import npgrad

SIZE = 3
COUNT = SIZE * (SIZE + 1) // 2
rng = np.random.default_rng(11)
WEIGHTS = rng.normal(size=(SIZE, SIZE)) + 1j * rng.normal(size=(SIZE, SIZE))
REAL = rng.uniform(-0.5, 0.5, COUNT)


def filled(x, lower, junk=0.0, imaginary=False):
    """A positive definite matrix of `x` in one triangle; the other holds junk."""
    a = np.zeros((SIZE, SIZE), dtype=complex if imaginary else float)
    k = 0
    for i in range(SIZE):
        for j in range(i + 1):
            value = x[k] + (3.0 + i if i == j else 0.0)
            if imaginary and i != j:
                value = value + 1j * x[k] ** 2
            a[(i, j) if lower else (j, i)] = value
            if i != j:
                a[(j, i) if lower else (i, j)] = junk
            k += 1
    return a


def summed(y):
    return np.sum(np.real(y * WEIGHTS[..., : np.shape(y)[-1]]))


NUMPY = {
    "cholesky": (True, lambda a: summed(np.linalg.cholesky(a))),
    "cholesky, upper": (False, lambda a: summed(np.linalg.cholesky(a, upper=True))),
    "eigh, values": (True, lambda a: np.sum(np.linalg.eigh(a)[0] * [1.0, 2.0, 5.0])),
    "eigh, vectors": (True, lambda a: np.sum(np.abs(np.linalg.eigh(a)[1][:, 0] @ WEIGHTS) ** 2)),
    "eigh, upper": (False, lambda a: np.sum(np.linalg.eigh(a, "U")[0] * [1.0, 2.0, 5.0])),
    "eigvalsh": (True, lambda a: np.sum(np.linalg.eigvalsh(a) * [1.0, 2.0, 5.0])),
    "eigvalsh, upper": (False, lambda a: np.sum(np.linalg.eigvalsh(a, "U") * [1.0, 2.0, 5.0])),
    "svd": (True, lambda a: np.sum(np.linalg.svd(a, hermitian=True)[1] * [1.0, 2.0, 5.0])),
    "svd, values": (
        True,
        lambda a: np.sum(np.linalg.svd(a, hermitian=True, compute_uv=False) * [1.0, 2.0, 5.0]),
    ),
    "pinv": (True, lambda a: summed(np.linalg.pinv(a, hermitian=True))),
}


def differences(f, x):
    return np.array([(f(x + h) - f(x - h)) / 2e-5 for h in 1e-5 * np.eye(x.size)])


@pytest.mark.parametrize("imaginary", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("junk", [0.0, 7.5], ids=["zeros", "junk"])
@pytest.mark.parametrize("name", NUMPY)
def test_one_triangle(name, junk, imaginary):
    lower, function = NUMPY[name]
    f = lambda x: function(filled(x, lower, junk, imaginary))
    gradient = npgrad.grad(f)(REAL)
    np.testing.assert_allclose(gradient, differences(f, REAL), rtol=1e-6, atol=1e-8)
    tangents = [npgrad.jvp(f, (REAL,), (row,))[1] for row in np.eye(COUNT)]
    np.testing.assert_allclose(tangents, gradient, rtol=1e-9, atol=1e-11)
    direction = np.linspace(-1.0, 1.0, COUNT)
    second = differences(lambda x: npgrad.grad(f)(x) @ direction, REAL)
    np.testing.assert_allclose(npgrad.hvp(f, REAL, direction), second, rtol=1e-5, atol=1e-6)


def test_what_is_not_read_has_no_gradient():
    a = np.array([[2.0, np.nan], [0.7, 1.5]])
    gradient = npgrad.grad(lambda a: np.linalg.eigh(a)[0][1])(a)
    v = np.linalg.eigh(a)[1]
    outer = np.outer(v[:, 1], v[:, 1])
    np.testing.assert_allclose(gradient, [[outer[0, 0], 0], [2 * outer[1, 0], outer[1, 1]]])


def test_symmetric_matrices_keep_symmetric_gradients():
    """Also where rounding alone tells the triangles apart, and beside others in a stack."""
    b = rng.normal(size=(SIZE, SIZE))
    spd = b @ b.T + 3 * np.eye(SIZE)
    nearly = spd * (1 + 1e-16 * np.arange(9).reshape(3, 3))
    nearly[0, 1] = np.nextafter(nearly[0, 1], 9)
    logdet = lambda a: 2 * np.sum(np.log(np.diagonal(np.linalg.cholesky(a), axis1=-2, axis2=-1)))
    np.testing.assert_allclose(npgrad.grad(logdet)(nearly), np.linalg.inv(spd), rtol=1e-10)
    stack = np.stack([spd, np.tril(spd)])
    inverse = np.linalg.inv(spd)
    triangle = 2 * np.tril(inverse, -1) + np.diag(np.diagonal(inverse))
    np.testing.assert_allclose(npgrad.grad(logdet)(stack), [inverse, triangle], rtol=1e-10)


def test_scipys_functions_of_one_triangle():
    linalg = pytest.importorskip("scipy.linalg")
    b = np.array([1.0, -2.0, 0.5])
    cases = [
        (False, lambda a: np.sum(npgrad.scipy.linalg.cholesky(a) * WEIGHTS.real)),
        (True, lambda a: np.sum(npgrad.scipy.linalg.cholesky(a, lower=True) * WEIGHTS.real)),
        (False, lambda a: npgrad.scipy.linalg.solve(a, b, assume_a="pos") @ b**2),
        (True, lambda a: npgrad.scipy.linalg.solve(a, b, assume_a="sym", lower=True) @ b**2),
        (False, lambda a: npgrad.scipy.linalg.cho_solve(npgrad.scipy.linalg.cho_factor(a), b) @ b),
    ]
    assert linalg is not None
    for lower, function in cases:
        for junk in (0.0, 7.5):
            f = lambda x, lower=lower, junk=junk, function=function: function(
                filled(x, lower, junk)
            )
            gradient = npgrad.grad(f)(REAL)
            np.testing.assert_allclose(gradient, differences(f, REAL), rtol=1e-6, atol=1e-8)
            tangents = [npgrad.jvp(f, (REAL,), (row,))[1] for row in np.eye(COUNT)]
            np.testing.assert_allclose(tangents, gradient, rtol=1e-9, atol=1e-11)
