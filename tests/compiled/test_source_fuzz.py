"""Random scalar functions: the derivative made of their source, their recording, and differences.

The source's derivative is Python, so most are run as Python; a few are compiled as well.
"""

import math

import numpy as np
import pytest

import npgrad
from npgrad.compiled.source import dual

numba = pytest.importorskip("numba")


@numba.njit
def helper(a, b=0.5):
    """A compiled function that others call."""
    total = a * b
    for _ in range(2):
        total = np.sin(total) + b
    return total if a > b else total * a


class Author:
    """Writes a function of `x`, `y` and the whole number `n`."""

    def __init__(self, seed: int, callees: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.names = ["x", "y"]
        self.lines: list[str] = []
        self.callees = callees

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def number(self) -> str:
        return f"{self.rng.uniform(-1.5, 1.5):.3f}"

    def expression(self, depth: int) -> str:
        if depth == 0:
            return self.pick([*self.names, *self.names, self.number()])
        a, b = self.expression(depth - 1), self.expression(depth - 1)
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * {b})", f"(-{a})",
            f"({a} / (1.5 + {b} * {b}))", f"{a} ** 2", f"({a}) ** 3",
            f"(1.2 + {a} * {a}) ** np.tanh({b})",
            f"np.sin({a})", f"math.cos({a})", f"np.exp(-({a}) * ({a}))", f"math.tanh({a})",
            f"np.arctan2({a}, 1.0 + {b} * {b})", f"np.hypot({a}, 0.3)", f"abs({a})",
            f"max({a}, {b})", f"min({a}, {b})", f"np.maximum({a}, {b})", f"float({a})",
            f"np.log1p({a} * {a})", f"math.sqrt(1.0 + {a} * {a})", f"np.arctan({a})",
            f"({a} if {b} > {self.number()} else {b})", f"np.tanh({a}) * n", f"({a}, {b})[1]",
            f"np.power(1.1 + {a} * {a}, np.sin({b}))", f"np.expm1(np.sin({a}))", f"math.erf({a})",
            f"np.square({a})", f"np.floor({a} * 3.0) * {b}", f"np.logaddexp({a}, {b})",
        ]  # fmt: skip
        if self.callees:
            forms += [f"helper({a})", f"helper(b={b}, a={a})"]
        return self.pick(forms)

    def condition(self) -> str:
        a = self.expression(1)
        forms = [f"{a} > {self.number()}", f"{a} <= {self.expression(1)}", f"not ({a} < 0.1)"]
        forms.append(f"{a} > 0.0 and {self.expression(1)} < 0.7 or n > 5")
        return self.pick(forms)

    def statement(self, indent: int, depth: int) -> None:
        pad = "    " * indent
        name = self.pick(["u", "v", "w", "x"])
        old = self.pick(self.names)
        kind = int(self.rng.integers(9 if depth else 4))
        if kind <= 1:
            self.lines.append(f"{pad}{name} = math.tanh({self.expression(2)})")
            if indent == 1 and name not in self.names:
                self.names.append(name)
        elif kind == 2:
            self.lines.append(
                f"{pad}{old} {self.pick(['+=', '-=', '*='])} np.tanh({self.expression(1)})"
            )
        elif kind == 3:
            one, two = self.pick(self.names), self.pick(self.names)
            if one == two:
                return
            self.lines.append(f"{pad}{one}, {two} = {two}, np.sin({one} + {self.expression(1)})")
        elif kind <= 6:
            self.lines.append(f"{pad}if {self.condition()}:")
            self.block(indent + 1, depth - 1)
            if kind > 4:
                self.lines.append(f"{pad}else:")
                self.block(indent + 1, depth - 1)
        elif kind == 7:
            self.lines.append(f"{pad}for i in range({self.pick(['3', 'n', '1, 4'])}):")
            self.lines.append(f"{pad}    {old} = math.tanh({old} * (0.3 * i + {self.number()}))")
            if self.rng.random() < 0.4:
                word = self.pick(["break", "continue"])
                self.lines.append(f"{pad}    if {self.condition()}:\n{pad}        {word}")
            self.block(indent + 1, depth - 1)
        else:
            count = f"k{len(self.lines)}"
            self.lines.append(f"{pad}{count} = 0\n{pad}while {count} < 3:")
            self.lines.append(f"{pad}    {count} += 1")
            self.block(indent + 1, depth - 1)

    def block(self, indent: int, depth: int) -> None:
        start = len(self.lines)
        for _ in range(int(self.rng.integers(1, 3))):
            self.statement(indent, depth)
        if len(self.lines) == start:
            self.lines.append("    " * indent + "pass")

    def write(self) -> str:
        self.lines.append("def f(x, y, n):")
        for _ in range(int(self.rng.integers(3, 7))):
            self.statement(1, 2)
        if self.rng.random() < 0.3:
            self.lines.append(f"    if {self.condition()}:\n        return {self.expression(2)}")
        total = " + ".join(self.names)
        self.lines.append(f"    return {self.expression(2)} + 0.5 * ({total})")
        return "\n".join(self.lines) + "\n"


def function(seed: int, callees: bool = False):
    """A random function, and its source."""
    text = Author(seed, callees).write()
    space = {"np": np, "math": math, "helper": helper, "__name__": "written"}
    exec(compile(text, "<written>", "exec"), space)
    space["f"].npgrad_source = text
    return space["f"], text


def central(f, x, y, h):
    """The gradient by differences of fourth order."""

    def along(dx, dy):
        near = f(x + h * dx, y + h * dy, 4) - f(x - h * dx, y - h * dy, 4)
        far = f(x + 2 * h * dx, y + 2 * h * dy, 4) - f(x - 2 * h * dx, y - 2 * h * dy, 4)
        return (8 * near - far) / (12 * h)

    return np.array([along(1.0, 0.0), along(0.0, 1.0)])


BOTH = (frozenset({0}), frozenset({1}), frozenset())


def by_source(f, x, y):
    """Value and gradient of the derivative as Python."""
    value, (dx, dy) = dual(f, BOTH)(x, y, 4, 1.0, 1.0)
    return value, np.array([dx, dy], dtype=float)


def second_by_source(f, x, y):
    """The Hessian: the derivative of the derivative, along both directions."""
    outer = (frozenset({0}), frozenset({1}), frozenset(), frozenset(), frozenset())
    twice = dual(dual(f, BOTH), outer)
    _, tangents = twice(x, y, 4, 1.0, 1.0, 1.0, 1.0)
    return np.array([[float(t[1][0]), float(t[1][1])] for t in tangents])


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_a_random_function(start):
    compared = 0
    for seed in range(start, start + 20):
        f, text = function(seed)
        x, y = np.random.default_rng(seed + 1000).uniform(-1.2, 1.2, 2)
        value, gradient = by_source(f, x, y)
        assert value == f(x, y, 4), text
        first, second = (central(f, x, y, h) for h in (1e-4, 2e-4))
        scale = 1.0 + np.max(np.abs(first))
        if np.max(np.abs(first - second)) < 1e-7 * scale:  # no kink between the points
            np.testing.assert_allclose(gradient, first, rtol=0, atol=1e-6 * scale, err_msg=text)
            compared += 1
        at = np.array([x, y])
        wrapped = npgrad.wrap(f)
        recorded = npgrad.grad(lambda p, f=wrapped: f(p[0], p[1], 4))
        np.testing.assert_allclose(recorded(at), gradient, rtol=1e-9, atol=1e-12, err_msg=text)
        hessian = npgrad.hessian(lambda p, f=wrapped: f(p[0], p[1], 4))(at)
        found = second_by_source(f, x, y)
        np.testing.assert_allclose(found, hessian, rtol=1e-7, atol=1e-9, err_msg=text)
    assert compared >= 12


@pytest.mark.parametrize("seed", [507])
def test_a_random_function_compiled(seed):
    """With calls of another compiled function; both modes."""
    f, text = function(seed, callees=True)
    assert "helper" in text
    elementwise = numba.vectorize(f)
    at = np.random.default_rng(seed).uniform(-1.2, 1.2, (2, 3))
    weight = np.array([1.0, -0.5, 2.0])
    gradient = npgrad.grad(lambda p: np.sum(weight * elementwise(p[0], p[1], 4)))(at)
    dx, dy = np.random.default_rng(seed + 1).normal(size=(2, 3))
    tangent = npgrad.jvp(lambda p: elementwise(p[0], p[1], 4), (at,), (np.stack([dx, dy]),))[1]
    for i, (x, y) in enumerate(at.T):
        expected = central(f, x, y, 1e-4)
        close = {"rtol": 1e-6, "atol": 1e-8, "err_msg": text}
        np.testing.assert_allclose(gradient[:, i], weight[i] * expected, **close)
        np.testing.assert_allclose(tangent[i], expected @ [dx[i], dy[i]], **close)
