"""spatial, ndimage, sparse and interpolate against SciPy's functions and differences of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.interpolate as splines
import scipy.ndimage as images
import scipy.spatial.distance as distances
from scipy import sparse

import npgrad
from npgrad.scipy import interpolate, ndimage
from npgrad.scipy import sparse as our_sparse
from npgrad.scipy.spatial import distance
from tests.scipy.checks import check

RNG = np.random.default_rng(8)
A, B = RNG.normal(size=(6, 3)), RNG.normal(size=(4, 3))
METRICS = {
    "euclidean": {}, "sqeuclidean": {}, "cityblock": {}, "chebyshev": {}, "cosine": {},
    "correlation": {}, "seuclidean": {}, "mahalanobis": {}, "canberra": {}, "braycurtis": {},
    "minkowski": {"p": 3},
}  # fmt: skip


def single_check(ours, theirs, *args, **more):
    check(ours, theirs, *args, single=False, **more)
    narrow = [np.asarray(x, np.float32) for x in args]
    assert npgrad.vjp(ours, *narrow)[0].dtype == np.float32


@pytest.mark.parametrize("metric", METRICS)
def test_distances(metric):
    more = METRICS[metric]
    single_check(
        lambda a, b: distance.cdist(a, b, metric, **more),
        lambda a, b: distances.cdist(a, b, metric, **more),
        A,
        B,
    )
    single_check(
        lambda a: distance.pdist(a, metric, **more),
        lambda a: distances.pdist(a, metric, **more),
        A,
    )
    if metric not in ("seuclidean", "mahalanobis"):
        single_check(
            lambda u, v: getattr(distance, metric)(u, v, **more),
            lambda u, v: getattr(distances, metric)(u, v, **more),
            A[0],
            B[0],
        )


def test_squareform():
    upper = RNG.uniform(1.0, 2.0, 6)
    single_check(distance.squareform, distances.squareform, upper)
    # a matrix must be symmetric: its upper triangle is what is taken
    weights = np.cos(np.arange(6.0))
    found = npgrad.grad(lambda m: np.sum(weights * distance.squareform(m)))(
        distances.squareform(upper)
    )
    expected = np.zeros((4, 4))
    expected[np.triu_indices(4, 1)] = weights
    assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match="binomial"):
        npgrad.vjp(distance.squareform, upper[:5])
    with pytest.raises(ValueError, match="symmetric"):
        npgrad.vjp(distance.squareform, np.arange(4.0).reshape(2, 2))


def test_distances_with_parameters():
    v, vi, w = np.array([1.0, 2.0, 0.5]), np.eye(3) + 0.1, np.array([1.0, 0.5, 2.0])
    for metric, more in [
        ("seuclidean", {"V": v}),
        ("mahalanobis", {"VI": vi}),
        ("minkowski", {"p": 1.5, "w": w}),
    ]:
        check(
            lambda a, metric=metric, more=more: distance.cdist(a, B, metric, **more),
            lambda a, metric=metric, more=more: distances.cdist(a, B, metric, **more),
            A,
            single=False,
        )


def test_where_points_meet_the_gradient_is_zero():
    for metric in ("euclidean", "minkowski", "cityblock", "chebyshev"):
        f = lambda a, metric=metric: np.sum(distance.cdist(a, a.copy(), metric))
        assert np.all(np.isfinite(npgrad.grad(f)(A)))
        g = lambda a, metric=metric: distance.cdist(a, A[:1], metric)[0, 0]
        assert np.all(npgrad.grad(g)(A[:1]) == 0)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean"])
def test_points_far_from_the_origin_keep_their_differences(metric):
    a, b = 2.0**20 + A, 2.0**20 + B
    f = lambda a, b: np.sum(distance.cdist(a, b, metric))
    near = npgrad.grad(f, (0, 1))(a - 2.0**20, b - 2.0**20)  # exact differences
    for far, right in zip(npgrad.grad(f, (0, 1))(a, b), near, strict=True):
        np.testing.assert_allclose(far, right, rtol=1e-12)


def test_refused_metrics():
    with pytest.raises(npgrad.errors.NoDerivative, match="hamming"):
        npgrad.grad(lambda a: distance.cdist(a, B, "hamming").sum())(A)
    for w in (-np.ones(3), np.ones(4), np.ones((1, 3))):  # as SciPy says
        with pytest.raises(ValueError, match=r"weights|1-D|shapes \(4,\)"):
            npgrad.grad(lambda a, w=w: distance.cdist(a, B, "cityblock", w=w).sum())(A)
    with pytest.raises(TypeError):
        npgrad.grad(lambda a: distance.cdist(a, B, "seuclidean", w=np.ones(3)).sum())(A)


WEIGHTED = [name for name in METRICS if name not in ("seuclidean", "mahalanobis")]


@pytest.mark.parametrize("metric", WEIGHTED)
def test_distances_with_weights(metric):
    """By both points and by the weights; chebyshev asks only which weights are not zero."""
    more, w = METRICS[metric], np.array([0.7, 1.3, 2.1])
    for a, b, name in ((A, B, "cdist"), (A[0], B[0], metric)):
        place = () if name == metric else (metric,)
        single_check(
            lambda a, b, w, n=name, p=place: getattr(distance, n)(a, b, *p, w=w, **more),
            lambda a, b, w, n=name, p=place: getattr(distances, n)(a, b, *p, w=w, **more),
            a,
            b,
            w,
        )
    check(
        lambda a, w: distance.pdist(a, metric, w=w, **more),
        lambda a, w: distances.pdist(a, metric, w=w, **more),
        A,
        w,
        single=False,
    )


@pytest.mark.parametrize("size", [1e200, 1e160, 1e-160, 1e-200])
@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_distances_of_vectors_whose_squares_are_no_numbers(size, p):
    """They grow in proportion, and their gradients do not."""
    x, zero = np.array([1.0, 2.0, 3.0]), np.zeros(3)
    for f in (lambda u: distance.minkowski(u, zero, p), lambda u: distance.euclidean(u, zero)):
        value, pull = npgrad.vjp(f, size * x)
        near, back = npgrad.vjp(f, x)
        assert value == pytest.approx(size * near, rel=1e-14)
        np.testing.assert_allclose(pull(1.0)[0], back(1.0)[0], rtol=1e-14)
    assert np.array_equal(npgrad.grad(lambda u: distance.euclidean(u, u + 0.0))(size * x), zero)


def test_other_words_of_the_distances():
    for words in ({"p": np.inf}, {"p": np.inf, "w": np.array([1.0, 0.0, 2.0])}):
        check(
            lambda a, words=words: distance.cdist(a, B, "minkowski", **words),
            lambda a, words=words: distances.cdist(a, B, "minkowski", **words),
            A,
            single=False,
        )
    check(
        lambda u, v, w: distance.correlation(u, v, w, centered=False),
        lambda u, v, w: distances.correlation(u, v, w, centered=False),
        A[0],
        B[0],
        np.array([0.7, 1.3, 2.1]),
        single=False,
    )
    single_check(
        lambda a, b: distance.cdist(a, b, "Eu"), lambda a, b: distances.cdist(a, b, "Eu"), A, B
    )
    same = np.array([[0.1, 0.2, 0.7]])  # the quotient rounds to more than 1
    value = npgrad.vjp(lambda a: distance.cdist(a, 3 * same, "cosine"), same)[0]
    assert value[0, 0] >= 0
    with pytest.raises(ValueError, match="1-D"):
        npgrad.grad(lambda a: distance.cityblock(a, a))(A)


@pytest.mark.parametrize("metric", METRICS)
def test_of_a_point_that_is_nan_the_gradient_is_nan(metric):
    more = {"V": np.ones(3)} if metric == "seuclidean" else METRICS[metric]
    more = {"VI": np.eye(3)} if metric == "mahalanobis" else more
    a = A.copy()
    a[1, 2] = np.nan
    value, pull = npgrad.vjp(lambda a: distance.cdist(a, B, metric, **more), a)
    assert np.all(np.isnan(value[1])) and np.all(np.isfinite(value[0]))
    gradient = pull(np.ones_like(value))[0]
    assert np.any(np.isnan(gradient[1])) and np.all(np.isfinite(gradient[0]))
    pair = npgrad.grad(lambda u: distance.canberra(u, B[0]))(a[1])  # SciPy leaves the NaN out
    assert np.isfinite(distances.canberra(a[1], B[0])) and np.array_equal(pair[2:], [0])


X = RNG.normal(size=(5, 4))
MODES = ["reflect", "constant", "nearest", "mirror", "wrap"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (1, 4)])
def test_image_convolutions(mode, name, shape):
    w = RNG.normal(size=shape)
    single_check(
        lambda x, w: getattr(ndimage, name)(x, w, mode=mode, cval=0.7),
        lambda x, w: getattr(images, name)(x, w, mode=mode, cval=0.7),
        X,
        w,
    )


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_image_convolutions_off_centre_and_along_an_axis(name):
    single_check(
        lambda x, w: getattr(ndimage, name)(x, w, origin=(1, -1)),
        lambda x, w: getattr(images, name)(x, w, origin=(1, -1)),
        X,
        RNG.normal(size=(3, 3)),
    )
    single_check(
        lambda x, w: getattr(ndimage, name + "1d")(x, w, axis=0, origin=1),
        lambda x, w: getattr(images, name + "1d")(x, w, axis=0, origin=1),
        X,
        RNG.normal(size=4),
    )


@pytest.mark.parametrize("name", ["correlate", "convolve", "correlate1d", "convolve1d"])
@pytest.mark.parametrize("dtypes", [(complex, complex), (float, complex), (complex, float)])
def test_complex_images_and_weights(name, dtypes):
    """SciPy conjugates the weights of a correlation; the result is linear in each."""
    made = lambda shape, dtype: (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x, dx = made((4, 5), dtypes[0]), made((4, 5), dtypes[0])
        shape = (3,) if name.endswith("1d") else (2, 3)
        w, dw = made(shape, dtypes[1]), made(shape, dtypes[1])
    f, g = getattr(ndimage, name), getattr(images, name)
    cases = [
        (lambda x: f(x, w), (x,), (dx,), g(dx, w)),
        (lambda w: f(x, w), (w,), (dw,), g(x, dw)),
        (f, (x, w), (dx, dw), g(dx, w) + g(x, dw)),
    ]
    for function, point, moves, slope in cases:
        value, tangent = npgrad.jvp(function, point, moves)
        assert value.dtype == g(x, w).dtype
        np.testing.assert_allclose(value, g(x, w), rtol=1e-12)
        np.testing.assert_allclose(tangent, slope, rtol=1e-12)
        u = made(value.shape, complex)
        back = npgrad.vjp(function, *point)[1](u)
        got = sum(np.vdot(b, m).real for b, m in zip(back, moves, strict=True))
        assert got == pytest.approx(np.vdot(u, slope).real, rel=1e-10)


@pytest.mark.parametrize("mode", [*MODES, ("wrap", "nearest")])
def test_image_filters(mode):
    for name, args in [
        ("uniform_filter", (3,)),
        ("uniform_filter", ((2, 4),)),
        ("gaussian_filter", (0.8,)),
        ("gaussian_filter", ((0.5, 1.1), (1, 2))),
    ]:
        single_check(
            lambda x, name=name, args=args: getattr(ndimage, name)(x, *args, mode=mode, cval=0.3),
            lambda x, name=name, args=args: getattr(images, name)(x, *args, mode=mode, cval=0.3),
            X,
        )


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_of_an_empty_image(shape):
    w, x = np.ones((2, 2)), np.zeros(shape)
    for name, args in [
        ("uniform_filter", (3,)), ("gaussian_filter", (1.0,)), ("correlate", (w,)),
        ("convolve", (w,)),
    ]:  # fmt: skip
        value, pull = npgrad.vjp(lambda x, n=name, a=args: getattr(ndimage, n)(x, *a), x)
        assert value.shape == getattr(images, name)(x, *args).shape == pull(value)[0].shape


def test_width_of_a_gaussian_filter():
    check(
        lambda s: ndimage.gaussian_filter(X, s, radius=3),
        lambda s: images.gaussian_filter(X, s, radius=3),
        np.float64(0.9),
        single=False,
    )


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array"])
def test_sparse_products(kind):
    dense = np.where(RNG.random((4, 5)) < 0.5, RNG.normal(size=(4, 5)), 0)
    matrix = getattr(sparse, kind)(dense)
    for x in (RNG.normal(size=5), RNG.normal(size=(5, 2))):
        check(lambda x: our_sparse.matmul(matrix, x), lambda x: matrix @ x, x, single=False)
    for x in (RNG.normal(size=4), RNG.normal(size=(2, 4))):
        check(lambda x: our_sparse.matmul(x, matrix), lambda x: x @ matrix, x, single=False)
    narrow = getattr(sparse, kind)(dense.astype(np.float32))
    gradient = npgrad.grad(lambda x: our_sparse.matmul(narrow, x).sum())(np.ones(5, np.float32))
    assert gradient.dtype == np.float32


KNOTS = np.array([0.0, 0.7, 1.5, 2.0, 3.2])
VALUES = RNG.normal(size=5)
POINTS = np.array([-0.3, 0.2, 0.7, 1.9, 3.2, 3.5])


@pytest.mark.parametrize(
    "bc_type", ["not-a-knot", "natural", "clamped", ((1, 0.4), (2, -0.3)), ("natural", (1, 2.0))]
)
@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_cubic_spline(bc_type, count):
    inside = np.array([-0.3, 0.2, 1.1, 2.3])
    for nu in (0, 1, 2):
        check(
            lambda x, y, p, nu=nu: interpolate.CubicSpline(x, y, bc_type=bc_type)(p, nu),
            lambda x, y, p, nu=nu: splines.CubicSpline(x, y, bc_type=bc_type)(p, nu),
            KNOTS[:count],
            VALUES[:count],
            inside,
            single=False,
            tol=1e-5,
        )


@pytest.mark.parametrize("extrapolate", [True, False])
def test_cubic_spline_of_several_values(extrapolate):
    y = RNG.normal(size=(2, 5, 3))
    check(
        lambda y: interpolate.CubicSpline(KNOTS, y, 1, extrapolate=extrapolate)(POINTS[1:5]),
        lambda y: splines.CubicSpline(KNOTS, y, 1, extrapolate=extrapolate)(POINTS[1:5]),
        y,
        single=False,
    )
    outside = lambda y: interpolate.CubicSpline(KNOTS, y, extrapolate=False)(9.0)
    assert np.isnan(npgrad.vjp(outside, VALUES)[0])


def test_plain_splines_at_recorded_points():
    spline = interpolate.CubicSpline(KNOTS, VALUES)
    want = splines.CubicSpline(KNOTS, VALUES)
    assert npgrad.grad(spline)(1.1) == pytest.approx(want(1.1, 1))
    assert spline.integrate(0, 1) == want.integrate(0, 1)
    closed = VALUES.copy()
    closed[-1] = closed[0]
    wave = interpolate.CubicSpline(KNOTS, closed, bc_type="periodic")
    slope = splines.CubicSpline(KNOTS, closed, bc_type="periodic")(5.1, 1)
    assert npgrad.grad(wave)(5.1) == pytest.approx(slope)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_periodic_cubic_spline(count):
    """The last value is made of the first one, so that differences keep the curve closed."""
    points = np.array([-1.35, 0.2, 0.55, 1.1, 7.8])  # between the knots

    def made(library, nu):
        def f(x, y, p):
            closed = np.concatenate((y, y[:1]))
            return library.CubicSpline(x, closed, bc_type="periodic")(p, nu)

        return f

    for nu in (0, 1, 2):
        for values in (VALUES[: count - 1], RNG.normal(size=(count - 1, 2))):
            check(
                made(interpolate, nu),
                made(splines, nu),
                KNOTS[:count],
                values,
                points,
                single=False,
                tol=1e-5,
            )


ROUNDED = {
    "correlate": lambda x, w: ndimage.correlate(x, w),
    "convolve": lambda x, w: ndimage.convolve(x, w),
    "correlate1d": lambda x, w: ndimage.correlate1d(x, w[0]),
    "convolve1d": lambda x, w: ndimage.convolve1d(x, w[0]),
    "uniform_filter": lambda x, w: ndimage.uniform_filter(x, cval=w[0, 0]),
    "gaussian_filter": lambda x, w: ndimage.gaussian_filter(x, 1 + w[0, 0] ** 2),
}


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, bool])
@pytest.mark.parametrize("name", ROUNDED)
def test_an_image_of_integers_is_refused(name, dtype):
    x = np.arange(16).reshape(4, 4).astype(dtype)
    w = np.full((3, 3), 0.3)
    assert ROUNDED[name](x, w).dtype == dtype  # SciPy rounds
    message = rf"ndimage\.\w+ of an image of {np.dtype(dtype)}: SciPy rounds .*astype\(float\)"
    with pytest.raises(npgrad.errors.NoDerivative, match=message):
        npgrad.grad(lambda w: np.sum(ROUNDED[name](x, w)))(w)
    value = npgrad.vjp(lambda w: ROUNDED[name](x.astype(float), w), w)[0]
    np.testing.assert_allclose(value, ROUNDED[name](x.astype(float), w), rtol=1e-13)


def test_what_a_recorded_spline_has_not_is_said_with_what_to_write():
    for name in ("roots", "solve"):
        with pytest.raises(AttributeError, match=rf"has no '{name}'.*implicit\.root"):
            npgrad.grad(lambda y, n=name: getattr(interpolate.CubicSpline(KNOTS, y), n))(KNOTS)
    with pytest.raises(ValueError, match="negative"):
        npgrad.grad(lambda y: interpolate.CubicSpline(KNOTS, y)(0.5, -1))(KNOTS)


@pytest.mark.parametrize("nu", [-4, -2, -1, 0, 1, 2, 3, 5])
def test_derivatives_and_antiderivatives_of_a_spline(nu):
    inside = np.array([0.2, 1.1, 2.3, 3.5])
    for name in ("derivative", "antiderivative"):
        check(
            lambda x, y, p, n=name: getattr(interpolate.CubicSpline(x, y), n)(nu)(p),
            lambda x, y, p, n=name: getattr(splines.CubicSpline(x, y), n)(nu)(p),
            KNOTS,
            VALUES,
            inside,
            tol=1e-5,
        )
    y = RNG.normal(size=(2, 5, 3))
    check(
        lambda y, p: interpolate.CubicSpline(KNOTS, y, 1).antiderivative(nu)(p),
        lambda y, p: splines.CubicSpline(KNOTS, y, 1).antiderivative(nu)(p),
        y,
        inside,
        single=False,
        tol=1e-5,
    )


@pytest.mark.parametrize("limits", [(0.3, 2.9), (2.9, 0.3), (-0.4, 3.6), (0.8, 0.9), (1.1, 1.1)])
def test_integrals_of_a_spline(limits):
    """Between the knots: at one the second derivative by a limit has a kink."""
    for extra in ({}, {"extrapolate": True}):
        check(
            lambda x, y, a, b, e=extra: interpolate.CubicSpline(x, y).integrate(a, b, **e),
            lambda x, y, a, b, e=extra: splines.CubicSpline(x, y).integrate(a, b, **e),
            KNOTS,
            VALUES,
            *map(np.float64, limits),
            tol=1e-5,
        )


@pytest.mark.parametrize("limits", [(0.3, 2.9), (-5.0, 9.0), (9.3, -2.0), (3.3, 3.4)])
def test_integrals_of_a_periodic_spline(limits):
    def integral(library):
        def f(x, y, a, b):
            closed = np.concatenate((y, y[:1]))
            return library.CubicSpline(x, closed, bc_type="periodic").integrate(a, b)

        return f

    check(
        integral(interpolate), integral(splines), KNOTS, VALUES[:4], *map(np.float64, limits),
        single=False, tol=1e-5,
    )  # fmt: skip


def test_outside_of_a_spline_that_is_not_continued_the_gradient_is_nan():
    points = np.array([1.0, 9.0])
    f = lambda y: interpolate.CubicSpline(KNOTS, y, extrapolate=False)(points)
    value, pull = npgrad.vjp(f, VALUES)
    assert np.array_equal(np.isnan(value), [False, True])
    assert np.all(np.isfinite(pull(np.array([1.0, 0.0]))[0]))
    assert np.any(np.isnan(pull(np.array([0.0, 1.0]))[0]))
    assert np.isnan(npgrad.jacfwd(f)(VALUES)[1]).any()
    whole = lambda y: interpolate.CubicSpline(KNOTS, y, extrapolate=False).integrate(1.0, 9.0)
    assert np.isnan(splines.CubicSpline(KNOTS, VALUES, extrapolate=False).integrate(1.0, 9.0))
    assert np.any(np.isnan(npgrad.grad(whole)(VALUES)))


@pytest.mark.parametrize("mode", [*MODES, "grid-mirror", "grid-wrap", "grid-constant"])
@pytest.mark.parametrize("order", [0, 1, 2, 3, (1, 2)])
def test_width_of_a_gaussian_filter_in_every_mode(mode, order):
    words = {"mode": mode, "order": order, "cval": 0.3, "radius": 3}
    f = lambda s: ndimage.gaussian_filter(X, s, **words)
    widths = np.array([0.9, 1.3])
    check(f, lambda s: images.gaussian_filter(X, s, **words), widths, single=False)
    curves = [
        second(first(f))(widths)
        for first in (npgrad.jacrev, npgrad.jacfwd)
        for second in (npgrad.jacrev, npgrad.jacfwd)
    ]
    for curve in curves[1:]:
        np.testing.assert_allclose(curve, curves[0], rtol=1e-9, atol=1e-12)
