"""No float leaves a recording in silence; what may leave, leaves as a NumPy user expects."""

import array as array_module
import cmath
import contextlib
import copy
import ctypes
import ctypes.util
import io
import json
import math
import numbers
import pickle
import struct
import threading
import warnings

import numpy as np
import pytest

import npgrad
from npgrad.errors import GradientLost, NoDerivative


def recorded(*shape: int) -> npgrad.GradArray:
    leaf = npgrad.array(np.arange(1.0, 1.0 + math.prod(shape)).reshape(shape))
    return leaf * 2.0


# Some lambdas could be the function itself; a table of calls reads better when all look alike.
LEAKS = {
    "float": lambda x: float(x[0]),
    "float of an array of one": lambda x: float(x[:1]),
    "complex": lambda x: complex(x[0]),
    "math.sin": lambda x: math.sin(x[0]),
    "math.hypot": lambda x: math.hypot(x[0], 1.0),
    "math.fsum": lambda x: math.fsum(x),
    "cmath.exp": lambda x: cmath.exp(x[0]),
    "percent format": lambda x: "%f" % x[0],
    "np.asarray": lambda x: np.asarray(x),
    "np.array": lambda x: np.array(x),
    "np.array of a list": lambda x: np.array([x[0], x[1]]),
    "np.array of a nested list": lambda x: np.array([[x[0], 1.0], [2.0, x[1]]]),
    "np.asarray with dtype": lambda x: np.asarray([x[0]], dtype=float),
    "np.float64": lambda x: np.float64(x[0]),
    "np.float32": lambda x: np.float32(x[0]),
    "np.ascontiguousarray": lambda x: np.ascontiguousarray(x),
    "np.fromiter": lambda x: np.fromiter(x, float),
    "np.frombuffer": lambda x: np.frombuffer(x),
    "plain[0] = x": lambda x: np.zeros(3).__setitem__(0, x[0]),
    "plain[:] = x": lambda x: np.zeros(3).__setitem__(slice(None), x),
    "plain[mask] = x": lambda x: np.zeros(3).__setitem__(np.array([True] * 3), x),
    "plain.fill": lambda x: np.zeros(3).fill(x[0]),
    "plain.flat": lambda x: np.zeros(3).flat.__setitem__(0, x[0]),
    "plain.itemset by put": lambda x: np.zeros(3).put([0], x[0]),
    "plain.dot": lambda x: np.ones(3).dot(x),
    "plain.searchsorted": lambda x: np.arange(3.0).searchsorted(x),
    "np.linspace": lambda x: np.linspace(0.0, float(x[0]), 3),
    "memoryview": lambda x: memoryview(x),
    "array.array": lambda x: array_module.array("d", x),
    "struct.pack": lambda x: struct.pack("d", x[0]),
    "json": lambda x: json.dumps(x[0]),
    "pickle": lambda x: pickle.dumps(x),
    "tobytes": lambda x: x.tobytes(),
    "dump": lambda x: x.dumps(),
    "np.save": lambda x: np.save(io.BytesIO(), x),
    "np.savetxt": lambda x: np.savetxt(io.StringIO(), x),
    "random": lambda x: np.random.default_rng(0).normal(x),
    "sum into plain": lambda x: np.add(x, 1.0, out=np.zeros(3)),
    "plain +=": lambda x: np.zeros(3).__iadd__(x),
    "np.copyto plain": lambda x: np.copyto(np.zeros(3), x),
    "np.add.at plain": lambda x: np.add.at(np.zeros(3), [0, 1, 2], x),
    "astype object": lambda x: x.astype(object),
    "statistics": lambda x: __import__("statistics").fmean(x),
    "decimal": lambda x: __import__("decimal").Decimal(x[0]),
    "round to digits": lambda x: np.zeros(3).__setitem__(0, round(float(x[0]), 2)),
}


@pytest.mark.parametrize("name", LEAKS)
def test_nothing_leaves_in_silence(name: str) -> None:
    x = recorded(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(
            (TypeError, ValueError, NotImplementedError, RuntimeError, BufferError, struct.error)
        ):
            LEAKS[name](x)


@pytest.mark.parametrize(
    "name", ["__array_interface__", "__array_struct__", "__cuda_array_interface__", "data",
             "ctypes", "__array_namespace__", "__dlpack__", "__index__"]
)  # fmt: skip
def test_no_attribute_hands_out_the_buffer(name: str) -> None:
    assert not hasattr(recorded(3), name)


def test_base_hands_out_nothing() -> None:
    assert recorded(3)[1:].base is None


def test_the_message_says_what_where_and_what_instead() -> None:
    x = recorded(3)
    with pytest.raises(GradientLost) as caught:
        math.sin(x[0])
    text = str(caught.value)
    assert "math.sin" in text and "np.sin" in text and "npgrad.value" in text
    assert "test_doors.py:" in text


def test_the_message_survives_assignment_into_a_plain_buffer() -> None:
    """NumPy hides the message of __float__ behind its own when the object has a length."""
    x = recorded(3)
    buffer = np.zeros(3)
    with pytest.raises((TypeError, ValueError)) as caught:
        buffer[0] = x[0]
    seen = ""
    error: BaseException | None = caught.value
    while error is not None:
        seen += str(error)
        error = error.__cause__ or error.__context__
    assert "np.zeros_like(x)" in seen


def test_njit_refuses_with_our_own_message() -> None:
    numba = pytest.importorskip("numba")

    @numba.njit
    def total(a: np.ndarray) -> float:
        s = 0.0
        for i in range(a.size):
            s += a[i]
        return s

    with pytest.raises(GradientLost, match="npgrad"):
        total(recorded(3))
    with pytest.raises(GradientLost, match="npgrad"):
        npgrad.grad(lambda x: total(x), wrap=False)(np.ones(3))
    assert total(np.ones(3)) == 3.0


def test_what_may_leave() -> None:
    x = recorded(3)
    s = x[0]
    assert bool(s > 1.0) is True and (x > 3.0).tolist() == [False, True, True]
    assert type(x > 3.0) is np.ndarray
    assert int(s) == 2 and type(int(s)) is int
    assert math.floor(s) == 2 and math.ceil(s) == 2 and math.trunc(s) == 2
    assert round(s) == 2 and type(round(s)) is int
    assert f"{s:.3f}" == "2.000" and str(x) == "[2. 4. 6.]"
    assert repr(x) == "GradArray([2., 4., 6.])"
    assert len(x) == 3 and x.shape == (3,) and x.dtype == np.float64 and x.ndim == 1
    assert x.size == 3 and x.nbytes == 24 and x.itemsize == 8 and x.strides == (8,)
    assert 4.0 in x and 5.0 not in x
    assert x.argmax() == 2 and np.argsort(x).tolist() == [0, 1, 2]
    assert np.isscalar(s) and isinstance(hash(x), int)
    assert isinstance(s, numbers.Number) and not isinstance(x, numbers.Number)
    assert not np.isscalar(x) and not np.isscalar(x.reshape(-1))  # statsmodels' norms ask so
    assert (x == None).tolist() == [False] * 3  # noqa: E711


def test_what_stays_connected() -> None:
    leaf = npgrad.array([1.0, 2.0, 3.0])

    def gradient(y: npgrad.GradArray) -> list[float]:
        return list(np.sum(y).backward(retain_graph=True)[leaf])

    assert gradient((leaf * 2).copy()) == [2, 2, 2]
    assert gradient(np.copy(leaf * 2)) == [2, 2, 2]
    assert gradient(copy.copy(leaf * 2)) == [2, 2, 2]
    assert gradient(copy.deepcopy(leaf * 2)) == [2, 2, 2]
    assert gradient((leaf * 2).astype(np.float32).astype(float)) == [2, 2, 2]
    assert gradient((leaf * 2)[1].item()) == [0, 2, 0]
    assert gradient(sum((leaf * 2).tolist())) == [2, 2, 2]
    assert gradient(np.array([leaf[0], leaf[1]], like=leaf)) == [1, 1, 0]
    assert gradient(leaf.to_device("cpu")) == [1, 1, 1]
    assert gradient(leaf.view()) == [1, 1, 1]


def test_leaves_are_copied_and_pickled_by_value() -> None:
    leaf = npgrad.array([1.0, 2.0])
    twin = copy.deepcopy(leaf)
    back = pickle.loads(pickle.dumps(leaf))
    assert npgrad.value(twin).tolist() == npgrad.value(back).tolist() == [1.0, 2.0]
    store = np.sum(leaf * twin * back).backward()
    assert store[leaf].tolist() == store[twin].tolist() == [1.0, 4.0]


def test_what_a_transform_passes_is_recorded() -> None:
    def f(x: npgrad.GradArray) -> npgrad.GradArray:
        return np.sum(copy.deepcopy(x) ** 2)

    assert npgrad.grad(f)(np.array([3.0])).tolist() == [6.0]
    with pytest.raises(GradientLost):
        npgrad.grad(lambda x: np.sum(pickle.loads(pickle.dumps(x)) ** 2))(np.array([3.0]))


def test_an_error_that_the_program_caught_is_raised_when_it_returns() -> None:
    def caught(x: npgrad.GradArray) -> npgrad.GradArray:
        try:
            factor = float(np.asarray(x)[0])
        except Exception:
            factor = -1.0
        return np.sum(x) * factor

    x = np.array([3.0])
    message = "caught this error and went on"
    for transform in (npgrad.grad, npgrad.value_and_grad, npgrad.jacrev, npgrad.jacfwd):
        with pytest.raises(GradientLost, match=message):
            transform(caught, wrap=False)(x)
    with pytest.raises(GradientLost, match=message):
        npgrad.vjp(npgrad.wrap(caught_by_a_library), x)
    with pytest.raises(GradientLost, match=message):
        npgrad.jvp(caught_by_a_library, (x,), (x,))

    def outer(x: npgrad.GradArray) -> npgrad.GradArray:
        try:
            return npgrad.grad(caught, wrap=False)(x)[0]
        except GradientLost:
            return x[0]

    with pytest.raises(GradientLost, match=message):
        npgrad.grad(outer, wrap=False)(x)
    assert npgrad.grad(lambda x: np.sum(x) * 2)(x).tolist() == [2.0]  # the next call knows nothing
    leaf = npgrad.array(x)
    with pytest.raises(GradientLost):
        float(leaf[0])
    assert npgrad.grad(lambda x: np.sum(x) * 2)(x).tolist() == [2.0]


def caught_by_a_library(x: npgrad.GradArray) -> npgrad.GradArray:
    try:
        return x * array_module.array("d", [x[0]])[0]
    except Exception:
        return 2 * x


def test_an_error_in_another_thread_is_not_this_calls() -> None:
    def f(x: npgrad.GradArray) -> npgrad.GradArray:
        def other() -> None:
            with contextlib.suppress(GradientLost):
                float(leaf[0])

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return np.sum(x) * 2

    leaf = npgrad.array([3.0])
    assert npgrad.grad(f)(np.array([3.0])).tolist() == [2.0]


def test_value_is_the_way_out_and_a_copy() -> None:
    x = npgrad.array([1.0, 2.0])
    y = np.exp(x)
    plain = npgrad.value(y)
    plain[:] = 0.0
    np.testing.assert_allclose(np.sum(y).backward()[x], np.exp([1.0, 2.0]))
    nested = npgrad.value({"a": x, "b": [y, 3]})
    assert type(nested["a"]) is np.ndarray and nested["b"][1] == 3


def test_constants_open_their_doors() -> None:
    x = npgrad.array([1.0, 2.0])
    buffer = np.zeros_like(x)
    shared = np.asarray(buffer)
    assert shared.tolist() == [0.0, 0.0]
    buffer[0] = 5.0  # constant: both see it, as NumPy's memory does
    assert shared.tolist() == [5.0, 0.0]
    with pytest.raises(npgrad.errors.InPlaceError, match="handed out"):
        buffer[1] = x[0]


def test_masked_object_and_string_arrays_are_refused() -> None:
    x = npgrad.array([1.0, 2.0])
    with pytest.raises(TypeError):
        np.ma.masked_array([1.0, 2.0], [True, False]) * x
    with pytest.raises(TypeError):
        x * np.array([object(), object()])
    with pytest.raises(TypeError):
        npgrad.array(np.array(["a", "b"]))
    with pytest.raises(TypeError):
        npgrad.array(np.ma.masked_array([1.0], [True]))


def test_an_undecided_function_is_refused_by_name() -> None:
    x = npgrad.array([1.0, 2.0])
    with pytest.raises(NoDerivative, match=r"np\.packbits"):
        np.packbits(x)


def test_foreign_protocol_arrays_get_the_first_say() -> None:
    class Loud:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):  # type: ignore[no-untyped-def]
            return "loud"

    x = npgrad.array([1.0])
    assert np.add(x, Loud()) == "loud"
    assert (x + Loud()) == "loud" if hasattr(Loud, "__radd__") else True


def test_refused_members_say_why() -> None:
    x = npgrad.array([1.0, 2.0])
    for call in (
        lambda: x.byteswap(),
        lambda: x.getfield(float),
        lambda: x.resize(3),
        lambda: x & x,
        lambda: ~x,
        lambda: x << 1,
    ):
        with pytest.raises((NotImplementedError, TypeError)):
            call()
    with pytest.raises(AttributeError):
        x.shape = (2, 1)
    with pytest.raises(TypeError):
        pow(x, 2, 3)
    with pytest.raises(ValueError, match="cannot delete"):
        del x[0]


def test_a_function_called_by_ctypes_names_the_gradient():
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    library.erf.restype, library.erf.argtypes = ctypes.c_double, [ctypes.c_double]
    with pytest.raises(ctypes.ArgumentError, match=r"a call by ctypes would cut the gradient"):
        npgrad.grad(lambda x: library.erf(x), wrap=False)(0.5)
    assert library.erf(npgrad.stop_gradient(npgrad.array(0.5))) == library.erf(0.5)
