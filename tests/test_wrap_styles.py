"""Each way of writing NumPy code records as it is; its derivative is that of the plain program."""

import builtins
import math
import pickle
import struct
import sys

import numpy as np
import pytest

import npgrad
import tests.wrapped
from tests.test_wrap import differences
from tests.wrapped import spellings, styles, types_called

X = np.array([0.7, 1.3, 1.9])


def forget_late() -> None:
    """So that the next one to ask for it imports it."""
    if sys.modules.pop("tests.wrapped.imported_late", None) is not None:
        del tests.wrapped.imported_late


@pytest.mark.parametrize(
    "f",
    [*styles.PROGRAMS, *types_called.PROGRAMS, *spellings.PROGRAMS],
    ids=lambda f: getattr(f, "__name__", "instance"),
)
def test_style(f) -> None:
    forget_late()
    before = dict(vars(styles))
    types_before, spellings_before = dict(vars(types_called)), dict(vars(spellings))
    importer = builtins.__import__
    held_before = dict(types_called.FUNCTIONS), vars(types_called.xp).copy()
    class_before = dict(vars(types_called.Backend))
    tangent = npgrad.jvp(f, (X,), (np.array([1.0, -2.0, 0.5]),))[1]
    expected = differences(f, X)
    for _ in range(3):  # the second call reads what the function needs
        np.testing.assert_allclose(npgrad.jacobian(f)(X), expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(tangent, expected @ [1.0, -2.0, 0.5], rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(npgrad.value(npgrad.wrap(f)(npgrad.array(X))), f(X))
    assert vars(styles).keys() == before.keys()
    assert all(vars(styles)[name] is value for name, value in before.items())
    assert all(vars(types_called)[name] is value for name, value in types_before.items())
    assert all(vars(spellings)[name] is value for name, value in spellings_before.items())
    assert spellings.Cell.__array__.__module__ == spellings.__name__
    assert builtins.__import__ is importer and spellings.Outer.Inner.make is np.zeros
    assert (types_called.FUNCTIONS, vars(types_called.xp)) == held_before
    assert dict(vars(types_called.Backend)) == class_before


def test_defaults_and_closures_are_numpys_own_afterwards() -> None:
    npgrad.grad(styles.defaults)(X)
    npgrad.jacobian(styles.closure)(X)
    assert styles.defaults.__defaults__ == (np.empty,)
    assert styles.defaults.__kwdefaults__ == {"xp": np}
    held = [cell.cell_contents for cell in styles.closure.__closure__]
    assert held == [np.zeros, np]


def test_a_module_imported_inside_keeps_plain_constants() -> None:
    forget_late()
    npgrad.grad(styles.imports_inside)(X)
    late = sys.modules["tests.wrapped.imported_late"]
    assert type(late.TABLE) is np.ndarray and late.np is np
    assert type(late.fill(X)) is np.float64


def test_compiled_code_is_refused() -> None:
    """A C function that needs a number says so; it never gets one in silence."""
    table = [math.sin]  # where no name stands for it
    with pytest.raises(npgrad.errors.GradientLost, match=r"np\.sin"):
        npgrad.grad(lambda x: table[0](x[0]))(X)
    with pytest.raises((struct.error, npgrad.errors.GradientLost), match=r"not a float|npgrad"):
        npgrad.grad(lambda x: struct.pack("d", x[0]))(X)


def test_an_import_that_somebody_replaces_during_the_call_stays() -> None:
    usual, calls = builtins.__import__, []

    def theirs(*args, **kwargs):
        calls.append(args[0])
        return usual(*args, **kwargs)

    def program(x):
        builtins.__import__ = theirs
        return spellings.makes_text(x)

    assert spellings.imports_numpy(X) > 0.0  # so that the package's plan watches imports
    try:
        npgrad.grad(npgrad.wrap(program))(X)
        assert builtins.__import__ is theirs
        npgrad.grad(spellings.imports_numpy)(X)
        assert builtins.__import__ is theirs and "numpy" in calls
    finally:
        builtins.__import__ = usual


def test_ufuncs_of_lists_answer_as_ufuncs() -> None:
    def asks(x):
        made = np.exp([x[0], x[1]])
        assert isinstance(np.exp, np.ufunc) and np.exp == exp and {exp: 1}[np.exp] == 1
        assert np.exp.nin == 1 and repr(np.exp) == "<ufunc 'exp'>"
        assert pickle.loads(pickle.dumps(np.exp)) == exp
        return np.sum(made)

    exp = np.exp
    assert np.allclose(npgrad.grad(asks)(X), [*np.exp(X[:2]), 0.0])


def general_cosine(x):
    from scipy.signal import windows

    return np.sum(windows.general_cosine(7, x, sym=False) ** 2)


def r2_score(x):
    from sklearn.metrics import r2_score

    return r2_score(np.array([1.0, 2.0, 4.0]), x)


def chapters(x):
    from scipy import integrate, interpolate, stats
    from scipy.special import gammaln

    spline = interpolate.CubicSpline(np.arange(3.0), x)(1.3)
    flow = integrate.solve_ivp(lambda t, y: -x[0] * y, (0, 1), [x[1]], rtol=1e-9, atol=1e-9)
    area = integrate.quad(lambda t: np.exp(-x[0] * t) * x[1], 0, 1)[0]
    return spline + flow.y[0, -1] + area + stats.norm.logpdf(*x) + gammaln(x[0])


def pieces(x):
    return np.sum(np.piecewise(x, [x < 1.0, x >= 1.5], [lambda t: t * x[0], 2.0, np.sin]) ** 2)


@pytest.mark.parametrize(
    "f", [general_cosine, r2_score, pieces, chapters], ids=lambda f: f.__name__
)
def test_buffers_of_a_librarys_namespace(f) -> None:
    pytest.importorskip("sklearn")
    wrapped = npgrad.wrap(f, also=("scipy", "sklearn"))
    expected = differences(f, X)
    np.testing.assert_allclose(npgrad.grad(wrapped)(X), expected, rtol=1e-6, atol=1e-8)


PLAIN = np.ones((2, 3))


@pytest.mark.parametrize(
    "f", [lambda x: PLAIN.dot(x), lambda x: PLAIN @ [x[0], x[1], x[2]]], ids=["dot", "at"]
)
def test_what_a_plain_array_does_itself_is_refused_in_code_that_is_not_wrapped(f) -> None:
    with pytest.raises(npgrad.errors.GradientLost, match=r"Instead: np\.dot\(a, x\), or a @ x"):
        npgrad.jacobian(f, wrap=False)(X)


def test_a_class_that_numpy_converts_records_where_numpy_does_it() -> None:
    made = npgrad.jacobian(npgrad.wrap(lambda x: np.exp(spellings.Cell(x))))(X)
    np.testing.assert_allclose(made, np.diag(np.exp(X)), rtol=1e-14)


def test_compiled_code_that_asks_for_memory_is_explained() -> None:
    def subclass(x):
        return np.ndarray.__new__(np.matrix, (1, 3), float, x)

    with pytest.raises(TypeError) as caught:
        npgrad.jacobian(subclass)(X)
    assert "npgrad.register_vjp" in caught.value.__notes__[0]


def test_a_function_that_no_name_of_its_module_leads_to():
    """Each asks for another builtin, in a module that does not use it."""
    space = {"np": np}
    made = eval("lambda x: float(x[0]) * x[1] + abs(complex(x[1], x[2]))", space)
    other = eval("lambda x: np.exp([x[0], x[1]]).sum()", space)
    for f in (made, other, made):
        expected = differences(f, X)
        np.testing.assert_allclose(npgrad.grad(f)(X), expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(npgrad.grad(npgrad.wrap(f))(X), expected, rtol=1e-6, atol=1e-8)
    assert "float" not in space
