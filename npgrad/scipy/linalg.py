"""``scipy.linalg``: equations, factorizations and functions of matrices; other names are SciPy's.

Recorded matrices are the last two axes, whatever stands before them. A symmetric argument, of which
SciPy reads one triangle (``assume_a`` of "pos", "sym", "her"; ``cholesky``, ``cho_factor``), counts
as a function of a Hermitian matrix (of a symmetric one for "sym"), as in ``np.linalg``, and so does
its gradient. The special matrices and the structured equations are in ``_structured``.
"""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import scipy.linalg

from ..rules.linalg import adjoint, cotangent_read, hermitian_part, tangent_read, transposed
from ..table import reverse
from ._declare import array_of, as_imported, finite, operation, plain, stand_in, theirs
from ._structured import block_diag, solve_banded, solve_sylvester, solveh_banded, toeplitz

original: Any = as_imported(scipy.linalg)

Array = Any

__all__ = [
    "block_diag",
    "cho_factor",
    "cho_solve",
    "cholesky",
    "det",
    "expm",
    "inv",
    "logm",
    "norm",
    "pinv",
    "solve",
    "solve_banded",
    "solve_sylvester",
    "solve_triangular",
    "solveh_banded",
    "sqrtm",
    "toeplitz",
]


def __getattr__(name: str) -> Any:
    return theirs(scipy.linalg, name)


# ------------------------------------------------------------------------------------- triangles
@operation("scipy.linalg.mirrored")
def _mirrored(a: Array, lower: bool, conjugate: bool) -> Array:
    """The Hermitian (or symmetric) matrix of one triangle of `a`."""
    half, main = _triangle(a, lower, True), _main(a)
    other = np.swapaxes(half, -1, -2)
    return half + main + (other.conj() if conjugate else other)


def _main(a: Array) -> Array:
    """The diagonal alone; not a product: the rest may be NaN."""
    return np.where(np.eye(a.shape[-1], dtype=bool), a, 0)


def _mirrored_pull(g: Array, a: Array, lower: bool, conjugate: bool) -> Array:
    """As in ``np.linalg``: symmetric, or of the triangle that is read if they differ."""
    if conjugate or a.dtype.kind != "c":
        return cotangent_read(hermitian_part(g), a, lower)
    part = 0.5 * (g + transposed(g))
    return part if _is_symmetric(a) else _triangle(2 * part, lower, True) + _main(part)


def _mirrored_push(g: Array, a: Array, lower: bool, conjugate: bool) -> Array:
    """What `_mirrored_pull` transposes."""
    if conjugate or a.dtype.kind != "c":
        return tangent_read(g, a, lower)
    return 0.5 * (g + transposed(g)) if _is_symmetric(a) else _mirrored(g, lower, False)


def _is_symmetric(a: Array) -> bool:
    a = plain(a)
    return bool(np.array_equal(a, np.swapaxes(a, -1, -2)))


reverse(_mirrored, _mirrored_pull, _mirrored_push, holomorphic=False)


@operation("scipy.linalg.solve_triangular")
def _triangular(a: Array, b: Array, turned: bool, lower: bool, unit: bool) -> Array:
    """Solve with one triangle of `a`, transposed if `turned`; `b` holds matrices."""
    return original.solve_triangular(
        a, b, trans=int(turned), lower=lower, unit_diagonal=unit, check_finite=False
    )


def _triangle(m: Array, lower: bool, unit: bool) -> Array:
    """The entries that are read."""
    return np.tril(m, -int(unit)) if lower else np.triu(m, int(unit))


def _triangular_matrix(g: Array, a: Array, y: Array, turned: bool, lower: bool, unit: bool) -> Any:
    """With T^T z = g: -z y^T of what is read of T."""
    z = _triangular(a, g, not turned, lower, unit)
    outer = y @ transposed(z) if turned else z @ transposed(y)
    return -_triangle(outer, lower, unit)


def _triangular_push(g: Array, a: Array, y: Array, turned: bool, lower: bool, unit: bool) -> Any:
    """T dy = -dT y."""
    moved = _triangle(g, lower, unit)
    return -_triangular(a, (transposed(moved) if turned else moved) @ y, turned, lower, unit)


reverse(
    _triangular,
    {
        "a": _triangular_matrix,
        "b": lambda g, a, turned, lower, unit: _triangular(a, g, not turned, lower, unit),
    },
    {
        "a": _triangular_push,
        "b": lambda g, a, turned, lower, unit: _triangular(a, g, turned, lower, unit),
    },
)

_TRANS: dict[Any, int] = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


@stand_in(original.solve_triangular)
def solve_triangular(
    a: Any,
    b: Any,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """SciPy's ``solve_triangular``; the gradient is zero in the triangle that is not read.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda a: np.sum(npgrad.scipy.linalg.solve_triangular(a, np.ones(2)))
    >>> npgrad.grad(f)(np.array([[2.0, 0.0], [7.0, 2.0]])) + 0.0
    array([[-0.25, -0.25],
           [ 0.  , -0.25]])
    """
    a, b = array_of(a), array_of(b)
    finite(check_finite, a, b)
    turned = _TRANS[trans]
    if turned == 2 and a.dtype.kind == "c":
        a = np.conj(a)
    vector = b.ndim == 1
    if vector:
        b = b[:, None]
    x = _triangular(a, b, turned > 0, bool(lower), bool(unit_diagonal))
    return x[..., 0] if vector else x


# ------------------------------------------------------------------------------------- equations
_LOWER = ("lower triangular", "lower")
_UPPER = ("upper triangular", "upper")


def _structured(a: Array, assume_a: Any, lower: bool) -> Array:
    """The matrix that SciPy solves with, given `assume_a`."""
    if assume_a in (None, "gen", "general", "banded"):
        return a
    if assume_a in ("pos", "positive definite", "her", "hermitian"):
        return _mirrored(a, lower, True)
    if assume_a in ("sym", "symmetric"):
        return _mirrored(a, lower, False)
    if assume_a in _LOWER:
        return np.tril(a)
    if assume_a in _UPPER:
        return np.triu(a)
    if assume_a in ("diagonal", "tridiagonal"):
        k = int(assume_a == "tridiagonal")
        return np.triu(np.tril(a, k), -k)
    raise ValueError(f"{assume_a} is not a recognized matrix structure")


@stand_in(original.solve)
def solve(
    a: Any,
    b: Any,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    assume_a: str | None = None,
    transposed: bool = False,
) -> Any:
    """SciPy's ``solve``; what `assume_a` says of `a` holds for its gradient too.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> f = lambda b: npgrad.scipy.linalg.solve(np.diag([2.0, 4.0]), b).sum()
    >>> npgrad.grad(f)(np.ones(2))
    array([0.5 , 0.25])
    """
    a, b = array_of(a), array_of(b)
    finite(check_finite, a, b)
    a = _structured(a, assume_a, lower)
    return np.linalg.solve(np.swapaxes(a, -1, -2) if transposed else a, b)


@stand_in(original.inv)
def inv(
    a: Any,
    overwrite_a: bool = False,
    check_finite: bool = True,
    *,
    assume_a: str | None = None,
    lower: bool = False,
) -> Any:
    """SciPy's ``inv``."""
    a = array_of(a)
    finite(check_finite, a)
    return np.linalg.inv(_structured(a, assume_a, lower))


@stand_in(original.pinv)
def pinv(
    a: Any,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: bool = False,
    check_finite: bool = True,
) -> Any:
    """SciPy's ``pinv``, where the rank stays the same."""
    a = array_of(a)
    finite(check_finite, a)
    sizes = np.linalg.svd(plain(a), compute_uv=False)
    largest = np.max(sizes, initial=0.0)
    if rtol is None:
        rtol = max(a.shape) * np.finfo(a.dtype).eps
    least = (0.0 if atol is None else atol) + rtol * largest
    made = np.linalg.pinv(a, least / largest if largest > 0 else 0.0)
    return (made, int(np.sum(sizes > least))) if return_rank else made


@stand_in(original.det)
def det(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """SciPy's ``det``; right for singular matrices too."""
    a = array_of(a)
    finite(check_finite, a)
    return np.linalg.det(a)


@stand_in(original.norm)
def norm(
    a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True
) -> Any:
    """SciPy's ``norm``."""
    a = array_of(a)
    finite(check_finite, a)
    if axis is None and not keepdims and ord in (None, 2) and a.ndim == 1:
        most = np.max(np.abs(plain(a)), initial=0)
        if 0 < most < np.inf and not 1e-140 < most < 1e140:  # BLAS scales what NumPy squares
            return most * np.linalg.norm(a / most)
    return np.linalg.norm(a, ord=ord, axis=axis, keepdims=keepdims)


# -------------------------------------------------------------------------------------- Cholesky
@stand_in(original.cholesky)
def cholesky(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    """SciPy's ``cholesky``: the upper factor, unless `lower`.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(lambda a: npgrad.scipy.linalg.cholesky(a)[0, 0])(4.0 * np.eye(2))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    a = array_of(a)
    finite(check_finite, a)
    factor = np.linalg.cholesky(_mirrored(a, bool(lower), True))
    return factor if lower else adjoint(factor)


@stand_in(original.cho_factor)
def cho_factor(
    a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, bool]:
    """SciPy's ``cho_factor``, with zeros in the triangle where SciPy leaves what was there."""
    return cholesky(a, lower, check_finite=check_finite), lower


@stand_in(original.cho_solve)
def cho_solve(
    c_and_lower: tuple[Any, bool], b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> Any:
    """SciPy's ``cho_solve``: two triangular solves."""
    c, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    half = solve_triangular(c, b, trans=first, lower=lower, check_finite=check_finite)
    return solve_triangular(c, half, trans=second, lower=lower, check_finite=False)


# --------------------------------------------------------------------------- functions of matrices
def _blocks(a: Array, e: Array) -> Array:
    """[[a, e], [0, a]]: a function of it holds in its corner the derivative at a along e."""
    a, e = np.broadcast_arrays(a, e)
    top = np.concatenate((a, e), axis=-1)
    bottom = np.concatenate((np.zeros_like(a), a), axis=-1)
    return np.concatenate((top, bottom), axis=-2)


def _through_blocks(function: Any) -> tuple[Any, Any]:
    """VJP and JVP of a function of matrices (Mathias 1996): the derivative is f's own corner."""

    def along(a: Array, e: Array) -> Array:
        n = a.shape[-1]
        corner = function(_blocks(a, e.astype(a.dtype) if e.dtype.kind != "c" else e))
        return corner[..., :n, n:]

    def pull(g: Array, a: Array) -> Array:
        return along(transposed(a), g)

    def push(g: Array, a: Array) -> Array:
        return along(a, g)

    return pull, push


@operation("scipy.linalg.expm")
def _expm(a: Array) -> Array:
    return original.expm(a)


@operation("scipy.linalg.logm")
def _logm(a: Array, quiet: bool = False) -> Array:
    """In double precision, or SciPy warns of an error that single precision cannot but have.

    Stacks of matrices one by one: older SciPy knows no stacks here. `quiet`: of a derivative's
    blocks SciPy's estimate of the error says little; it is kept to the value.
    """
    wide = a.astype(np.result_type(a.dtype, np.float64))
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", RuntimeWarning)
        found = [original.logm(m) for m in wide.reshape((-1, *a.shape[-2:]))]
    y = np.stack(found).reshape(a.shape)
    narrow = a.dtype.itemsize < wide.dtype.itemsize
    return y.astype(np.complex64 if y.dtype.kind == "c" else a.dtype) if narrow else y


def _off_the_cut(blocks: Array) -> Array:
    """Matrices with eigenvalues on the negative axis, turned so far that these lie above it.

    The two equal eigenvalues of [[a, e], [0, a]] must not fall on either side of the cut. The
    logarithm of exp(-i phi) a is that of a less i phi, if no eigenvalue crosses the cut: half of
    the angle that is free above -pi is turned. The corner stays what it is.
    """
    n = blocks.shape[-1] // 2
    angles = np.angle(np.linalg.eigvals(plain(blocks)[..., :n, :n]))
    angles = np.where(angles < CUT - np.pi, np.pi, angles)  # below by rounding alone
    near = np.max(angles, axis=-1) > np.pi - CUT
    if not np.any(near):
        return blocks
    turn = np.where(near, 0.5 * (np.min(angles, axis=-1) + np.pi), 0)
    factor = np.exp(-1j * turn)[..., None, None]
    return blocks * factor.astype(np.result_type(blocks.dtype, np.complex64))


CUT = 1e-6  # how near the negative axis an eigenvalue counts as on it


@operation("scipy.linalg.sqrtm")
def _sqrtm(a: Array) -> Array:
    """Stacks one by one, as `_logm`."""
    if a.ndim == 2:
        return original.sqrtm(a)
    found = [original.sqrtm(m) for m in a.reshape((-1, *a.shape[-2:]))]
    return np.stack(found).reshape(a.shape)


reverse(_expm, *_through_blocks(_expm))
reverse(_logm, *_through_blocks(lambda a: _logm(_off_the_cut(a), True)), ignores=("quiet",))
# X dX + dX X = dA (Higham 2008, section 6.1)
reverse(
    _sqrtm,
    lambda g, y: solve_sylvester(transposed(y), transposed(y), g),
    lambda g, y: solve_sylvester(y, y, g),
)


@stand_in(original.expm)
def expm(A: Any) -> Any:
    """SciPy's ``expm``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(lambda a: np.trace(npgrad.scipy.linalg.expm(a)))(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _expm(array_of(A))


# SciPy 1.16 replaced the default True by a mark of "not given", which is told apart from True
_GIVEN = inspect.signature(original.sqrtm).parameters
_DISP, _BLOCKSIZE = (getattr(_GIVEN.get(name), "default", None) for name in ("disp", "blocksize"))


def _displayed(function: Any, theirs: Any, a: Array, disp: Any, **given: Any) -> Any:
    """`function` of `a`; with ``disp=False`` SciPy's estimate of the error too, a plain number."""
    if disp is not _DISP:
        given["disp"] = disp
    if not given:
        return function(a)
    told = theirs(plain(a), **given)  # SciPy warns of what it does not want any more
    return (function(a), told[1]) if isinstance(told, tuple) else function(a)


@stand_in(original.logm)
def logm(A: Any, disp: Any = _DISP) -> Any:
    """SciPy's ``logm``, the principal branch."""
    return _displayed(_logm, original.logm, array_of(A), disp)


@stand_in(original.sqrtm)
def sqrtm(A: Any, disp: Any = _DISP, blocksize: Any = _BLOCKSIZE) -> Any:
    """SciPy's ``sqrtm``, the principal branch."""
    given = {} if blocksize is _BLOCKSIZE else {"blocksize": blocksize}
    return _displayed(_sqrtm, original.sqrtm, array_of(A), disp, **given)
