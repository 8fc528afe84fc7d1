"""What a transform was given is the caller's: changing it later changes no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import npgrad


@pytest.mark.parametrize("shape", [(), (3,), (40, 60)])
def test_an_argument_changed_before_the_pull(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 2.0)
    _, pull = npgrad.vjp(lambda a: a * a, x)
    _, push = npgrad.linearize(lambda a: a * a, x)
    x *= 10
    np.testing.assert_array_equal(pull(np.ones(shape))[0], np.full(shape, 4.0))
    np.testing.assert_array_equal(push(np.ones(shape)), np.full(shape, 4.0))


def test_a_container_changed_before_the_pull() -> None:
    parameters = {"w": np.array([1.0, 2.0]), "b": np.array(3.0)}
    _, pull = npgrad.vjp(lambda p: np.sum(p["w"] ** 2) * p["b"], parameters)
    for array in parameters.values():
        array -= 1
    (found,) = pull(1.0)
    np.testing.assert_array_equal(found["w"], [6.0, 12.0])
    np.testing.assert_array_equal(found["b"], 5.0)


@pytest.mark.parametrize("size", [3, 2_000, 10_000, 131_072])
def test_a_function_that_overwrites_what_it_was_called_with(size: int) -> None:
    """NumPy's parameter would change too; the leaf does not."""
    x = np.linspace(1.0, 3.0, size)

    def f(a: Any) -> Any:
        x[:] = 7.0
        return np.sum(a * a)

    with pytest.raises(npgrad.errors.OperandMutated, match="argument 0 was changed in place"):
        npgrad.grad(f, wrap=False)(x)
    x[:] = np.linspace(1.0, 3.0, size)
    with pytest.raises(npgrad.errors.OperandMutated):
        npgrad.grad(lambda p: f(p["x"]), wrap=False)({"x": x})


def test_a_function_that_writes_what_is_there_already() -> None:
    """As a model does that stores the parameters that it is asked about."""
    x = np.array([1.0, np.nan, 3.0])

    def f(a: Any) -> Any:
        x[:] = npgrad.value(a)
        return np.sum(a[::2] ** 2)

    np.testing.assert_array_equal(npgrad.grad(f)(x), [2.0, 0.0, 6.0])


X = np.array([1.0, 2.0, 3.0])


def _double(z: Any) -> None:
    z *= 2


def _by_alias(z: Any) -> None:
    y = z
    y += 1


def _by_rows(z: Any) -> None:
    for row in z[None]:
        row *= 2


WRITES: dict[str, Any] = {
    "a helper": _double,
    "an alias": _by_alias,
    "rows": _by_rows,
    "sort": lambda z: z.sort(),
    "add.at": lambda z: np.add.at(z, [0], 5.0),
    "copyto": lambda z: np.copyto(z, 5 * z),
    "setitem": lambda z: z.__setitem__(0, 9.0),
    "a slice": lambda z: _double(z[1:]),
    "out": lambda z: np.multiply(z, 2, z[:]),
    "fill": lambda z: z.fill(2.0),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("transform", ["grad", "list", "twice", "hessian", "hvp", "grad of grad"])
def test_a_written_argument_with_another_name_is_noticed(name: str, transform: str) -> None:
    """NumPy would change both; however it is written to, and at every order."""

    def f(x: Any) -> Any:
        WRITES[name](x)
        return np.sum(x * X)

    def two(x: Any, y: Any) -> Any:
        WRITES[name](x)
        return np.sum(x * y)

    calls: dict[str, Any] = {
        "grad": lambda: npgrad.grad(f)(X),
        "list": lambda: npgrad.grad(lambda p: two(*p))([X, X]),
        "twice": lambda: npgrad.grad(two)(X, X),
        "hessian": lambda: npgrad.hessian(f)(X),
        "hvp": lambda: npgrad.hvp(f, X, np.ones(3)),
        "grad of grad": lambda: npgrad.grad(lambda z: np.sum(npgrad.grad(f)(z)))(X),
    }
    with pytest.raises(npgrad.errors.InPlaceError, match="another name"):
        calls[transform]()
    np.testing.assert_array_equal(X, [1.0, 2.0, 3.0])


def test_the_other_name_is_an_attribute_that_is_written() -> None:
    class State:
        q = np.array([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        State.q += 1
        return np.sum(x**2)

    with pytest.raises(npgrad.errors.OperandMutated, match="another name"):
        npgrad.value_and_grad(f)(State.q)


FORMS = {
    "array": lambda f, x: npgrad.grad(f, wrap=False)(x),
    "dictionary": lambda f, x: npgrad.grad(lambda p: f(p["x"]), wrap=False)({"x": x}),
    "jacobian": lambda f, x: npgrad.jacobian(lambda a: np.stack([f(a)]), wrap=False)(x),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_large_array_that_the_function_overwrites_is_noticed(form: str) -> None:
    x = np.linspace(1.0, 3.0, 131_073)

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[:] = 7.0
        return result

    with pytest.raises(npgrad.errors.OperandMutated, match="argument 0 was changed in place"):
        FORMS[form](f, x)


def test_one_changed_entry_of_a_large_array_is_noticed_under_debug() -> None:
    x = np.linspace(1.0, 3.0, 200_000)

    def f(a: Any) -> Any:
        result = np.sum(a * a)
        x[77_777] = 7.0
        return result

    with npgrad.debug(), pytest.raises(npgrad.errors.OperandMutated):
        npgrad.grad(f, wrap=False)(x)


def test_a_large_parameter_may_be_written_to() -> None:
    x = np.linspace(1.0, 3.0, 200_000)
    before = x.copy()

    def f(a: Any) -> Any:
        a = a * 1.0
        a[0] = 0.0
        a *= 2.0
        return np.sum(a * a)

    found = npgrad.grad(f)(x)
    np.testing.assert_allclose(found[1:], 8 * before[1:])
    assert found[0] == 0.0
    np.testing.assert_array_equal(x, before)


def test_aux_keeps_the_derivative_of_an_outer_variable() -> None:
    def outer(a: Any) -> Any:
        return npgrad.grad(lambda y: (y * y, y * a), has_aux=True)(2.0)[1]

    assert npgrad.grad(outer)(3.0) == 2.0
    assert npgrad.jvp(outer, (3.0,), (1.0,))[1] == 2.0
    value = npgrad.value_and_grad(lambda y: (y * y, {"seen": y * 3.0}), has_aux=True)(2.0)[0][1]
    assert type(value["seen"]) is np.float64 or type(value["seen"]) is float


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.lib.stride_tricks.as_strided(np.array([1.0, 2.0, 3.0]), (2, 2), (8, 8)),
        lambda: np.broadcast_to(np.array([1.0, 2.0]), (2, 2)),
    ],
)
def test_an_argument_that_overlaps_itself_is_read_and_not_written(make) -> None:
    """Of the first, p[1, 0] is p[0, 1]; into the second NumPy does not write."""

    def writes(p):
        p[0, 1] = p[0, 0] * 5
        return p[1, 0] ** 2 + p.sum()

    with pytest.raises(npgrad.errors.InPlaceError, match="several entries lie in one place"):
        npgrad.grad(writes)(make())
    copy = make().copy()
    assert npgrad.grad(writes)(copy)[1, 0] == 2 * copy[1, 0] + 1
    assert (npgrad.grad(lambda p: (p**2).sum())(make()) == 2 * make()).all()


@pytest.mark.parametrize("layout", [lambda a: a[::-1, ::2], lambda a: a.T, lambda a: a[:, :1]])
def test_strided_arguments_are_written(layout) -> None:
    def writes(p):
        p[0, 0] = p[1, 0] * 5
        return p.sum()

    gradient = npgrad.grad(writes)(layout(np.arange(12.0).reshape(3, 4)))
    assert gradient[:2, 0].tolist() == [0.0, 6.0]
