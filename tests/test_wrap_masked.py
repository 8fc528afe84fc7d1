"""Masked arrays with recorded values, in wrapped code: NumPy's values, and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, NoDerivative
from tests.test_wrap_subclasses import differences

X = np.array([1.0, 2.0, 3.0])
HIDDEN = np.ma.array([1.0, 5.0, 3.0], mask=[0, 1, 0])
SHOWN = np.ma.array([1.0, 5.0, 3.0])
WHERE = np.array([[0.5, 2.0, 1.0], [3.0, 0.1, 0.2]])


def a(x):
    return np.ma.array(x * x, mask=[True, False, False])


def two(x):
    return np.ma.masked_where(WHERE < 0.4, WHERE * x)


def added(x):
    made = a(x)
    made += x
    made *= HIDDEN
    return made.sum()


def written(x):
    made = a(x)
    made[0] = x[2] * 3
    made[1] = np.ma.masked
    assert list(made.mask) == [False, True, False]
    return made.sum() + made[0] ** 2


def masked_later(x):
    m = np.ma.array(x.copy())
    assert isinstance(m, np.ma.MaskedArray) and isinstance(m, np.ma.masked_array)
    m[0] = np.ma.masked
    m[1] = 5.0
    return m.sum() + m.compressed()[1]


def mask_items(x):
    m = np.ma.array(x * 1)
    m.mask = False
    m.mask[0] = True
    return m.sum() + m.count() * x[1]


def standardised(x):
    m = np.ma.array(x * x, mask=[0, 0, 1])
    m -= m.mean()
    m /= m.std()
    return (m**3 * np.ma.array([1.0, 2.0, 3.0])).sum() + m[0]


def buffer(x):
    m = np.ma.zeros(3)
    m[:] = x
    m += x
    m[2] = np.ma.masked
    return m.sum()


def by_comparison(x):
    m = a(x * 1)
    m[m > 5] = np.ma.masked
    return m.sum()


def into_plain(x):
    """An array without a mask takes all entries."""
    total = np.zeros(3)
    total += a(x)
    total *= HIDDEN
    y = x * 1
    y[1:] -= a(x)[:2]
    return np.sum(total) + np.sum(y**2)


def hard(x):
    made = np.ma.array(x * 1, mask=[0, 1, 0], hard_mask=True)
    made[1] = x[0] * 9
    made[0] = x[2]
    return made.filled(0).sum() + made.data[1]


FUNCTIONS = {
    "sum": lambda x: a(x).sum(),
    "mean of a product": lambda x: (HIDDEN * x).mean(),
    "reflected": lambda x: (x * HIDDEN).sum() + np.multiply(x, HIDDEN).sum(),
    "union of masks": lambda x: (a(x) + HIDDEN * x).filled(7.0).sum(),
    "compressed": lambda x: np.sum(np.ma.masked_greater(x, 2.5).compressed() ** 2),
    "std": lambda x: a(x).std() + (HIDDEN * x * x).var(),
    "std of nothing": lambda x: (HIDDEN - HIDDEN * x / x).std() + x[0],
    "var by rows": lambda x: two(x).var(axis=1, ddof=0).sum() + two(x).std(axis=0).sum(),
    "quotient": lambda x: (a(x) / a(x + 1)).sum() + (1 / a(x)).sum() + (a(x) / 2).sum(),
    "quotient by 0": lambda x: (a(x) / np.array([1.0, 0.0, 2.0])).sum(),
    "ufuncs": lambda x: np.exp(a(x)).sum() + np.ma.log(a(x)).mean() + np.sqrt(a(x)).sum(),
    "logarithm of what is masked": lambda x: np.ma.log(a(x) - 5.0).sum(),
    "power": lambda x: (a(x) ** 3).sum() + (-a(x)).sum() + abs(a(x)).sum(),
    "extremes": lambda x: a(x).max() - a(x).min() + a(x).ptp(),
    "items": lambda x: a(x)[1:].sum() * a(x)[1],
    "cumsum, prod": lambda x: a(x).cumsum()[2] + a(x).prod(),
    "shapes": lambda x: (a(x)[None] * np.ones((2, 1))).T.sum(axis=0).sum(),
    "reshape": lambda x: (a(x).reshape(3, 1) * X).sum(),
    "by rows": lambda x: np.sum(two(x).sum(axis=1).filled(0) ** 2) + two(x).mean(axis=0).sum(),
    "numpy's names": lambda x: np.sum(a(x)) * np.mean(a(x)) + np.ma.sum(a(x)) ** 2,
    "anomalies": lambda x: (a(x).anom() ** 2).sum(),
    "invalid": lambda x: np.ma.masked_invalid(x / np.array([1.0, 0.0, 1.0])).sum(),
    "joined": lambda x: np.ma.concatenate([a(x), a(x) * 2]).sum(),
    "filled": lambda x: np.sum(np.ma.filled(a(x), 1.0) * x),
    "count": lambda x: a(x).count() * x[0] + np.ma.count_masked(a(x)) * x[1],
    "nothing hidden": lambda x: np.sum((SHOWN - x) ** 2) + np.dot(SHOWN, x) + np.dot(x, SHOWN),
    "without a mask, then with": masked_later,
    "a mask written by items": mask_items,
    "standardised": standardised,
    "a buffer of np.ma": buffer,
    "by a comparison": by_comparison,
    "divide outside of the domain": lambda x: np.ma.divide(x, np.array([1.0, 0.0, 2.0])).sum(),
    "log outside of the domain": lambda x: np.ma.log(x - 1.5).sum(),
    "ufunc outside of the domain": lambda x: np.log(np.ma.array(x - 2.5)).sum(),
    "sqrt, arcsin": lambda x: (np.ma.sqrt(x - 1.5) + np.ma.arcsin(x - 1.5)).sum(),
    "power that is no number": lambda x: (np.ma.array(x - 1.5) ** 0.5).sum(),
    "np.ma.power": lambda x: np.ma.power(x - 2.5, 0.5).sum(),
    "remainder by 0": lambda x: np.ma.remainder(x + 0.3, np.array([1.0, 0.0, 2.0])).sum(),
    "a second mask": lambda x: np.ma.masked_where([0, 0, 1], a(x) * x).sum(),
    "a mask on a mask": lambda x: np.ma.array(a(x), mask=[0, 1, 0]).sum() + np.ma.array(a(x)).sum(),
    "the class": lambda x: np.ma.MaskedArray(x, [0, 1, 0]).sum() * np.ma.array(x).filled(0).sum(),
    "of whole numbers": lambda x: np.ma.array([1, 2, 3], mask=[0, 1, 0]).sum() * x[0],
    "products of one without gaps": lambda x: np.sum(np.dot(np.ones((2, 3)), np.ma.array(x))),
    "one masked, one plain": lambda x: np.ma.concatenate([a(x), x]).sum(),
    "mask by position": lambda x: np.ma.masked_array([x[0], x[1], x[2]], [0, 1, 0]).sum(),
    "mask by name": lambda x: np.ma.array(x, float, mask=[0, 1, 0]).sum(),
    "items by a comparison": lambda x: a(x)[a(x) > 5].sum() + (a(x) > 5).sum() * x[0],
    "ravel": lambda x: (a(x).ravel() * x).sum() + x[0] * bool((a(x) > 5).any()),
    "functions that call a method": lambda x: np.var(a(x)) + np.max(a(x)) - np.min(a(x)),
    "into a plain array": into_plain,
    "a hard mask": hard,
    "in place": added,
    "written": written,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_derivatives(name) -> None:
    f = FUNCTIONS[name]
    value, gradient = npgrad.value_and_grad(f)(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-13)
    np.testing.assert_allclose(gradient, differences(f, X), rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(npgrad.jacfwd(f)(X), gradient, rtol=1e-11, atol=1e-13)


def test_masks_and_types_are_numpys() -> None:
    def f(x):
        made = a(x) + HIDDEN
        assert isinstance(made, np.ma.MaskedArray) and np.ma.isMaskedArray(made)
        np.testing.assert_array_equal(made.mask, [True, True, False])
        np.testing.assert_array_equal(np.ma.getmaskarray(made[1:]), [True, False])
        assert made[0] is np.ma.masked and made.count() == 1 and np.ma.is_masked(made)
        assert "--" in str(made)
        return made.sum()

    np.testing.assert_allclose(npgrad.grad(f)(X), [0, 0, 6])


def test_a_kalman_filter_with_a_missing_measurement() -> None:
    """Whose branch asks for the mask, as pykalman does."""
    seen = np.ma.array([1.0, -2.0, 0.5], mask=[0, 1, 0])

    def f(x):
        mean, total = x[0], 0.0
        for z in seen:
            mean = x[1] * mean
            if not np.any(np.ma.getmask(z)):
                mean = mean + x[2] * (z - mean)
                total = total + mean**2
        return total

    np.testing.assert_allclose(npgrad.grad(f)(X / 4), differences(f, X / 4), rtol=1e-8)


def test_what_is_refused() -> None:
    for f in (lambda x: (HIDDEN / x).sum(), lambda x: np.ma.sort(a(x)).sum()):
        with pytest.raises(GradientLost):
            npgrad.grad(f)(X)
    with pytest.raises(NoDerivative, match="clip of a masked array"):
        npgrad.grad(lambda x: a(x).clip(0, 5).sum())(X)
    for f in (lambda x: np.inner(a(x), x), lambda x: np.append(a(x), 1.0), lambda x: np.diff(a(x))):
        with pytest.raises(NoDerivative, match="of a masked array that hides"):  # NumPy drops masks
            npgrad.grad(lambda x, f=f: np.sum(f(x)))(X)
    with pytest.raises(NoDerivative, match="too few"):
        npgrad.grad(lambda x: np.ma.masked_greater(x, 1.5).var(ddof=1))(X)
