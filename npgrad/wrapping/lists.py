"""Lists of recorded numbers, and ``np.poly1d``: what NumPy's functions take for arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from npgrad.graph import backend
from npgrad.graph.array import GradArray, recorded
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.graph.protocols import array_function
from npgrad.graph.stacking import has_recorded, items_of, stacked
from npgrad.wrapping.structured import structured

Maker = Callable[..., Any]


def constant(made: Any) -> Any:
    """`made` as a constant GradArray if it is a floating or complex array."""
    if type(made) is np.ndarray:
        if backend.is_inexact(made.dtype):
            return GradArray(made, None)
        if made.dtype.names is not None:
            return structured(made)
    return made


def vector(a: Any) -> Any:
    """`a` as an array if it is a sequence of recorded numbers; anything else as it is."""
    kind = type(a)
    if kind is list or kind is tuple:
        return stacked(a) if has_recorded(a) else a
    items = None if kind in _USUAL else items_of(a)
    return stacked(items) if items is not None and has_recorded(items) else a


_USUAL = frozenset((GradArray, np.ndarray, int, float, bool, complex, str, type(None)))


def holds_recorded(value: Any) -> bool:
    """Whether `value` is recorded, or a container that holds what is."""
    if type(value) is GradArray:
        return recorded(value)
    if isinstance(value, dict):
        return any(map(holds_recorded, value.values()))
    return isinstance(value, (list, tuple)) and any(map(holds_recorded, value))


# Functions that programs hand lists of numbers to, besides those that take sequences of arrays.
_TAKE_LISTS = """
    sum prod max min amax amin mean std var median ptp average cumsum cumprod diff gradient
    dot inner outer cross vdot kron tensordot einsum convolve correlate trapezoid interp polyval
    nansum nanprod nanmax nanmin nanmean nanstd nanvar nanmedian quantile percentile
    sort argmax argmin argsort searchsorted any all allclose isclose array_equal count_nonzero
    reshape ravel transpose squeeze flip roll repeat tile where clip diag diagflat trace triu tril
    atleast_1d atleast_2d atleast_3d broadcast_to expand_dims swapaxes rot90 nan_to_num
    real imag angle round around shape ndim size cov corrcoef vander meshgrid take
    append insert put place putmask copyto compress digitize delete ediff1d fliplr flipud
    moveaxis unwrap sinc nancumsum nancumprod nanargmax nanargmin nanquantile nanpercentile
    array_equiv
    polyfit poly bincount histogram histogram2d histogram_bin_edges pad resize unique extract
    array_split split broadcast_arrays fill_diagonal partition argpartition lexsort i0 real_if_close
    nonzero argwhere flatnonzero isreal iscomplex isrealobj iscomplexobj union1d setdiff1d
    intersect1d setxor1d cumulative_sum cumulative_prod matrix_transpose vecdot permute_dims
"""
# Those whose arrays are new, and so buffers: a matrix of a list of variances, a file's numbers.
_FRESH = "diag diagflat repeat tile vander loadtxt genfromtxt fromstring fromfile"
# Arguments that NumPy does not ask whether they are recorded: from which position on, their names.
_UNASKED = {
    "pad": (3, "constant_values end_values"),
    "select": (2, "default"),
    "interp": (3, "left right period"),
    **dict.fromkeys(("sum", "prod", "nansum", "nanprod"), (4, "initial")),
    **dict.fromkeys(("max", "min", "amax", "amin", "nanmax", "nanmin"), (3, "initial")),
    **dict.fromkeys(("var", "std", "nanvar", "nanstd"), (4, "ddof correction")),
}
_NORMS = ("norm", "vector_norm", "matrix_norm")  # whose order may be
UNASKED = frozenset(name for _, names in _UNASKED.values() for name in names.split()) | {"ord"}
_PICK = ("select", "choose")  # of several arrays, the second argument
_JOIN = "concatenate stack hstack vstack dstack column_stack"
_LINALG_LISTS = """
    norm det inv solve slogdet eig eigvals eigh eigvalsh cholesky pinv matrix_power lstsq svd
    svdvals qr cond matrix_rank matrix_norm vector_norm cross outer trace diagonal matmul tensordot
    matrix_transpose tensorinv tensorsolve vecdot
"""
_FFT_LISTS = """
    fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn fftshift
    ifftshift
"""


def listed(function: Any) -> Maker:
    """A function of arrays for which a list of recorded numbers is an array."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if ACTIVE.get():
            for a in args:
                kind = type(a)
                if kind is list or kind is tuple:
                    if not has_recorded(a):
                        continue
                elif kind in _USUAL:
                    continue
                args = tuple([vector(b) for b in args])
                break
            if kwargs:
                kwargs = {k: b if k == "out" else vector(b) for k, b in kwargs.items()}
        return function(*args, **kwargs)

    return call


def _fresh(function: Any, usual: Maker | None) -> Maker:
    """A function of plain values whose array records what is written into it."""
    compute: Maker = function if usual is None else usual

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not ACTIVE.get():
            return function(*args, **kwargs)
        made = compute(*args, **kwargs)
        return constant(made) if type(made) is np.ndarray and made.flags.writeable else made

    return call


def joined(function: Any) -> Maker:
    """A function of a sequence of arrays, among which may be lists of recorded numbers."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) in (list, tuple) and ACTIVE.get():
            args = ([vector(item) for item in args[0]], *args[1:])
        return function(*args, **kwargs)

    return call


def asked(function: Any, usual: Maker, first: int, names: frozenset[str]) -> Maker:
    """`usual`, which goes straight to the rule where an argument that NumPy ignores is recorded."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not ACTIVE.get():
            return function(*args, **kwargs)
        if len(args) > first or not names.isdisjoint(kwargs):
            given = [*args[first:], *(kwargs[name] for name in names & kwargs.keys())]
            for value in map(vector, given):
                if type(value) is GradArray:
                    if function in (np.select, np.choose):
                        args = _picking(function, args)
                    elif usual is not function:
                        args = tuple(map(vector, args))
                    return array_function(value, function, (GradArray,), args, kwargs)
        return usual(*args, **kwargs)

    return call


def picked(function: Any) -> Maker:
    """``np.select`` and ``np.choose``, whose arrays may be lists of recorded numbers."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*_picking(function, args), **kwargs)

    return call


def _picking(function: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    lists = len(args) > 1 and type(args[1]) in (list, tuple) and ACTIVE.get()
    if not lists or not has_recorded(args[1]):
        return args
    conditions = args[0]
    if function is np.select:
        conditions = [np.asarray(c) if type(c) in (list, tuple) else c for c in conditions]
    return conditions, [vector(item) for item in args[1]], *args[2:]


# Of a polynomial, NumPy gives a polynomial back, but for its values and its roots.
_OF_POLYNOMIALS = "polyadd polysub polymul polydiv polyder polyint polyval roots"


def of_polynomials(function: Any) -> Maker:
    """A function of coefficients, which a ``np.poly1d`` of recorded ones stands for as well.

    NumPy's protocols do not know that class, and its own ``__array__`` would convert them.
    """
    usual = listed(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        count = 1 if function is np.polyval else 2  # polyval gives a polynomial of a polynomial
        given = (*args[:count], *kwargs.values())
        if not (ACTIVE.get() and any(map(recorded_polynomial, given))):
            return usual(*args, **kwargs)
        args = (*map(_coefficients, args[:count]), *args[count:])
        made = usual(*args, **{k: a if k == "x" else _coefficients(a) for k, a in kwargs.items()})
        if function in (np.polyval, np.roots):
            return made
        return tuple(map(np.poly1d, made)) if type(made) is tuple else np.poly1d(made)

    return call


def recorded_polynomial(a: Any) -> bool:
    """Whether `a` is a polynomial with recorded coefficients."""
    held: Any = a.coeffs if isinstance(a, np.poly1d) else None
    return type(held) is GradArray


def _coefficients(a: Any) -> Any:
    return a.coeffs if isinstance(a, np.poly1d) else a


def read_only(windows: Maker) -> Maker:
    """``sliding_window_view``, which of recorded values gives windows that are not written to.

    Those that ask for ``writeable=True`` (SciPy's spectra) read them; a write raises as NumPy's.
    """

    @functools.wraps(windows)
    def call(*args: Any, **kwargs: Any) -> Any:
        if ACTIVE.get() and any(map(holds_recorded, args)):
            kwargs.pop("writeable", None)
        return windows(*args, **kwargs)

    return call


def _listed() -> dict[int, Maker]:
    present = [name for name in _TAKE_LISTS.split() if hasattr(np, name)]
    found = {id(getattr(np, name)): listed(getattr(np, name)) for name in present}
    found.update({id(getattr(np, name)): joined(getattr(np, name)) for name in _JOIN.split()})
    found.update({id(getattr(np, name)): picked(getattr(np, name)) for name in _PICK})
    for name in _FRESH.split():
        found[id(getattr(np, name))] = _fresh(getattr(np, name), found.get(id(getattr(np, name))))
    windows = np.lib.stride_tricks.sliding_window_view
    found[id(windows)] = read_only(listed(windows))
    found[id(np.linalg.multi_dot)] = joined(np.linalg.multi_dot)
    for name, (first, names) in _UNASKED.items():
        function = getattr(np, name)
        usual = found.get(id(function), function)
        found[id(function)] = asked(function, usual, first, frozenset(names.split()))
    for module, names in ((np.linalg, _LINALG_LISTS), (np.fft, _FFT_LISTS)):
        for name in names.split():
            if hasattr(module, name):
                function = getattr(module, name)
                usual = listed(function)
                order = module is np.linalg and name in _NORMS
                found[id(function)] = (
                    asked(function, usual, 1, frozenset({"ord"})) if order else usual
                )
    return found


POLYNOMIALS = {
    id(getattr(np, name)): of_polynomials(getattr(np, name)) for name in _OF_POLYNOMIALS.split()
}
LISTED = {key: call for key, call in _listed().items() if key not in POLYNOMIALS}


class _Polynomials(type):
    """The class of what stands for ``np.poly1d``: a class, of which there are instances."""

    def __call__(cls, c_or_r: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is not Polynomial:  # somebody's subclass
            return type.__call__(cls, c_or_r, *args, **kwargs)
        return np.poly1d(vector(c_or_r) if ACTIVE.get() else c_or_r, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if cls is Polynomial:
            return isinstance(instance, np.poly1d)
        return type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        inherits = type.__subclasscheck__
        return issubclass(subclass, np.poly1d) if cls is Polynomial else inherits(cls, subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or (cls is Polynomial and other is np.poly1d)

    def __hash__(cls) -> int:
        return hash(np.poly1d) if cls is Polynomial else type.__hash__(cls)


class Polynomial(np.poly1d, metaclass=_Polynomials):
    """``np.poly1d``, which may be given a list of recorded coefficients."""


Polynomial.__wrapped__ = np.poly1d  # type: ignore[attr-defined]
Polynomial.__name__ = Polynomial.__qualname__ = "poly1d"
POLYNOMIALS[id(np.poly1d)] = Polynomial
