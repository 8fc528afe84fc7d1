"""A derivative of no axes is a NumPy scalar, whatever the rules made of it on the way."""

from __future__ import annotations

import numpy as np
import pytest

import npgrad

FUNCTIONS = {
    "product": lambda x: x * x,
    "exp": np.exp,
    "where": lambda x: np.where(x > 0, x, 0) * 1,
    "clip": lambda x: np.clip(x, 0, 1),
    "norm": lambda x: np.linalg.norm(np.stack([x, x])),
    "maximum": lambda x: np.maximum(x, 0),
    "asarray": lambda x: np.asarray(x) ** 2,
    "reshape": lambda x: np.sum(np.reshape(x, (1,))),
    "constant": lambda x: 3.0,
}
CALLS = {
    "grad": lambda f, x: npgrad.grad(f)(x),
    "value_and_grad": lambda f, x: npgrad.value_and_grad(f)(x)[1],
    "grad of grad": lambda f, x: npgrad.grad(npgrad.grad(f))(x),
    "hessian": lambda f, x: npgrad.hessian(f)(x),
    "hvp": lambda f, x: npgrad.hvp(f, x, 1.0),
    "vjp": lambda f, x: npgrad.vjp(f, x)[1](1.0)[0],
    "jvp": lambda f, x: npgrad.jvp(f, (x,), (1.0,))[1],
    "jacrev": lambda f, x: npgrad.jacrev(f)(x),
    "jacfwd": lambda f, x: npgrad.jacfwd(f)(x),
    "elementwise_grad": lambda f, x: npgrad.elementwise_grad(f)(x),
    "in a container": lambda f, x: npgrad.grad(lambda p: f(p["x"]))({"x": x})["x"],
}


@pytest.mark.parametrize("x", [2.0, 2, np.float64(2.0), np.array(2.0), np.float32(2.0)], ids=repr)
@pytest.mark.parametrize("name", CALLS)
def test_a_number_has_a_number(name, x):
    want = np.float32 if getattr(x, "dtype", None) == np.float32 else np.float64
    for f in FUNCTIONS.values():
        if f is FUNCTIONS["constant"] and name == "jvp":
            want = np.float64  # the tangent is of the kind of the output
        assert type(CALLS[name](f, x)) is want


def test_no_derivative_by_a_constant_memory():
    """`.data` and `.ctypes` are of constants alone."""
    x = npgrad.array([1.0, 2.0])
    for name in ("data", "ctypes"):
        assert not hasattr(x, name)
        with pytest.raises(AttributeError, match=rf"no \.{name}.*npgrad\.value\(x\)"):
            getattr(x, name)
    constant = npgrad.stop_gradient(x)
    assert bytes(constant.data) == np.array([1.0, 2.0]).tobytes() and constant.ctypes.data
