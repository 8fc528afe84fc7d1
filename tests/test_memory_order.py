"""Results lie in memory as NumPy's do: it decides which later reshape is a view, and so a write.

And results without axes are numbers where NumPy's are: ``+=`` then binds a name and writes nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

import npgrad

X = np.array([[0.3, 0.9, 0.7], [1.2, 0.4, 0.55]])
LAYOUTS = {
    "rows": lambda x: x.copy(),
    "columns": lambda x: x.T.copy().T,
    "turned": lambda x: x[:, ::-1],
}
CALLS = {
    "reduceat along columns": lambda x: np.add.reduceat(x, [0, 1], 1),
    "reduceat along rows": lambda x: np.maximum.reduceat(x, [0, 1], 0),
    "gradient": lambda x: np.gradient(x)[0],
    "gradient along columns": lambda x: np.gradient(x, 0.5, axis=1),
    "choose": lambda x: np.choose(0, [x, x]),
    "select": lambda x: np.select([x > 0.5], [x]),
    "insert a column": lambda x: np.insert(x, 0, 1.0, 1),
    "insert a row": lambda x: np.insert(x, 1, x[0], 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_a_write_through_a_reshape_reaches_the_result_as_in_numpy(name, layout) -> None:
    def f(x):
        made = CALLS[name](LAYOUTS[layout](x))
        made.reshape(-1)[:1] = 7.0
        made.ravel()[-1:] *= 3.0
        made.T.reshape(-1)[:2] -= x[0, 0]
        return np.sum(made * np.arange(1.0, made.size + 1).reshape(made.shape))

    value, gradient = npgrad.value_and_grad(f)(X)
    assert value == f(X)
    v = np.array([[0.3, -0.2, 0.5], [0.7, 0.1, -0.4]])
    want = (f(X + 1e-6 * v) - f(X - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(np.sum(gradient * v), want, rtol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.choose(0, [x[0], x[1]]),
        lambda x: np.choose(np.array(0), [x[0], x[1]]),
        lambda x: x[0].view(),
        lambda x: np.real_if_close(x[0]),
        lambda x: np.where(True, x[0], x[1]),
        lambda x: np.copy(x[0]),
        lambda x: x[:1].squeeze(),
        lambda x: np.choose([0, 1], [x[0], x[1]]),
    ],
)
def test_adding_to_what_has_no_axes(make) -> None:
    def f(x):
        made = make(x)
        other = made
        other += x[1]
        return np.sum(made) * 2.0

    x = np.array([0.6, 1.3, 0.9])
    written = isinstance(make(x), np.ndarray)  # a number stays as it was
    assert f(x.copy()) == npgrad.value_and_grad(f)(x.copy())[0]
    gradient = npgrad.grad(f)(x.copy())
    assert gradient[1] != 0.0 if written else gradient.tolist() == [2.0, 0.0, 0.0]


def test_the_imaginary_part_of_real_numbers_is_nobodys_memory() -> None:
    with pytest.raises(ValueError, match="read-only"):
        npgrad.array(X).imag[...] = 3.0
    z = npgrad.array(X * 1j)
    z.imag[...] = 3.0
    assert (npgrad.value(z) == 3j).all()


SOLID = np.random.default_rng(3).normal(size=(2, 3, 4))
LAYOUTS_3D = {
    "C": SOLID,
    "F": np.asfortranarray(SOLID),
    **{
        f"axes {axes} in memory": np.ascontiguousarray(SOLID.transpose(axes)).transpose(
            np.argsort(axes)
        )
        for axes in ((1, 2, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1))
    },
    "turned": SOLID[::-1, :, ::-1],
    "gathered": SOLID[:, [1, 0, 2]],
    "a line": SOLID[:, :1],
}
DOUBLED = np.vectorize(lambda v: v * 2.0)
SUMMED = np.vectorize(lambda v, w: v + 2.0 * w, otypes=[float])
RESULTS = {
    "add.reduceat": lambda x, axis: np.add.reduceat(x, [0], axis),
    "maximum.reduceat": lambda x, axis: np.maximum.reduceat(x, [x.shape[axis] - 1, 0], axis),
    "subtract.reduceat": lambda x, axis: np.subtract.reduceat(x, [0, 0], axis),
    "subtract.accumulate": lambda x, axis: np.subtract.accumulate(x, axis),
    "maximum.accumulate": lambda x, axis: np.maximum.accumulate(x, axis),
    "gradient": lambda x, axis: np.gradient(x, axis=axis) if x.shape[axis] > 1 else x,
    "vectorize": lambda x, axis: DOUBLED(x),
    "vectorize of two": lambda x, axis: SUMMED(x, x.max(axis=axis, keepdims=True)),
    **{
        f"pad {mode}": lambda x, axis, mode=mode: np.pad(x, 1, mode)
        for mode in ("edge", "reflect", "linear_ramp", "mean", "maximum", "wrap")
    },
    "pad of two numbers": lambda x, axis: np.pad(x, 1, constant_values=(x[0, 0, 0], 2.0)),
}


@pytest.mark.parametrize("layout", LAYOUTS_3D)
@pytest.mark.parametrize("name", RESULTS)
def test_three_axes_lie_as_numpys(name: str, layout: str) -> None:
    x = LAYOUTS_3D[layout]
    for axis in range(3):
        plain, seen = RESULTS[name](x, axis), []

        def f(x: np.ndarray, axis: int = axis, seen: list = seen) -> float:
            made = RESULTS[name](x, axis)
            seen.append((made.flags.c_contiguous, made.flags.f_contiguous, made.strides))
            return np.sum(made)

        npgrad.grad(f)(x)
        assert seen[0][:2] == (plain.flags.c_contiguous, plain.flags.f_contiguous)
        long = [n > 1 for n in plain.shape]
        order = [sorted(zip(s, long, range(3), strict=True)) for s in (plain.strides, seen[0][2])]
        first, second = ([axis for _, flag, axis in rows if flag] for rows in order)
        assert first == second
