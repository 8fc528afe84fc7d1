"""Random NumPy programs as source text, for ``test_programs_fuzz``.

A writer holds the program's variables as plain arrays while it writes, so that every statement it
adds is one that NumPy accepts: shapes are known, no array is read-only, every write fits. Values
stay moderate (products are of ``tanh``, sums are scaled), and every statement is smooth except at
isolated kinks, which the test recognises by differences that disagree with each other.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

UNARY = (
    "np.sin({a})",
    "np.tanh({a})",
    "np.cos({a}) - 0.5",
    "-{a}",
    "np.exp(-{a} * {a})",
    "np.log1p({a} ** 2)",
    "np.sqrt(1.0 + {a} * {a})",
    "np.arctan({a})",
    "np.abs({a})",
    "{a} ** 2 * 0.5",
    "1.0 / (1.5 + {a} ** 2)",
    "np.clip({a}, -0.6, 0.7)",
    "np.where({a} > 0.1, {a}, 0.2 * {a})",
    "np.where({a} > 0, np.sqrt(np.abs({a})), 0.0)",
    "np.square({a}) * 0.3",
    "2.0 - {a}",
    "abs({a}) * {a}",
    "np.logaddexp(0.0, {a})",
    "np.sinc({a})",
    "np.arcsinh({a}) * np.expm1(0.3 * {a})",
    "np.select([{a} > 0.3, {a} < -0.3], [{a} ** 2, -{a}], 0.5 * {a})",
    "np.interp({a}, [-1.0, 0.0, 1.0], [0.3, -0.2, 0.5])",
    "np.real(np.exp(1j * {a}))",
    "np.abs({a} + 0.5j) * np.angle({a} + 1.5j)",
    "np.remainder({a}, 0.7)",
    "np.polyval([0.2, -0.5, 1.0], {a})",
    "np.piecewise({a}, [{a} > 0.1], [np.sin, lambda t: 0.5 * t])",
    "np.where({a} > 0, np.log(np.maximum({a}, 0.0)) * {a}, 0.0)",
    "np.nan_to_num({a}) * np.cbrt(2.0 + {a} * {a})",
)
BINARY = (
    "{a} + {b}",
    "{a} - 0.5 * {b}",
    "np.tanh({a}) * {b}",
    "{a} / (1.5 + {b} * {b})",
    "np.maximum({a}, {b})",
    "np.minimum({a}, 0.3 + {b})",
    "np.where({a} > {b}, {a}, 0.5 * {b})",
    "np.hypot({a}, 1.0 + {b} * {b})",
    "np.arctan2({a}, 1.5 + {b} * {b})",
    "np.logaddexp({a}, {b})",
    "(1.2 + np.tanh({a})) ** {b}",
    "np.divide({a}, 2.0 + np.sin({b}))",
    "np.interp({a}, [-1.0, 1.0], [0.0, 1.0]) * {b}",
    "np.fmin({a}, {b}) - np.copysign({a}, {b})",
    "np.float_power(1.1 + np.abs({a}), {b})",
    "np.select([{a} > {b}], [{a} * {b}], 0.1)",
)
SHAPED = (  # an array of at least one axis in, any shape out
    "np.cumsum({a}, axis={axis}) * 0.4",
    "np.cumprod(np.tanh({a}), axis={axis})",
    "np.sort({a}, axis={axis})",
    "np.flip({a}, axis={axis})",
    "np.roll({a}, 1, axis={axis})",
    "np.repeat({a}, 2, axis={axis})",
    "np.concatenate([{a}, 0.5 * {a}], axis={axis})",
    "np.stack([{a}, np.sin({a})], axis={axis})",
    "np.moveaxis({a}, {axis}, 0)",
    "np.expand_dims({a}, {axis})",
    "np.pad({a}, 1)",
    "np.take({a}, [0, -1, 0], axis={axis})",
    "np.diff({a}, axis={axis}, prepend=0.5)",
    "np.array_split({a}, 2, axis={axis})[0]",
    "{a}.copy()",
    "np.multiply.outer({a}, np.array([0.5, -1.0]))",
    "np.partition({a}, 0, axis={axis})",
    "np.real(np.fft.fft({a}, axis={axis})) * 0.3",
    "np.fft.irfft(np.fft.rfft({a}, axis={axis}) * (0.5 - 0.2j), n=4, axis={axis})",
    "np.take_along_axis({a}, np.argsort({a}, axis={axis}), {axis})",
    "np.insert({a}, 0, 0.4, axis={axis})",
    "np.append({a}, np.cos({a}), axis={axis})",
    "np.tile({a}, 2)",
    "np.maximum.accumulate({a}, axis={axis})",
    "np.logaddexp.accumulate({a}, axis={axis})",
    "np.add.reduceat({a}, [0, 0], axis={axis})",
    "np.lib.stride_tricks.sliding_window_view({a}, 1, axis={axis})",
    "np.apply_along_axis(lambda row: row * row[0], {axis}, {a})",
    "np.broadcast_to({a}, (2, *np.shape({a})))",
    "np.percentile({a}, [20.0, 70.0], axis={axis})",
    "np.trapezoid({a}, axis={axis})",
    "np.nancumsum({a}, axis={axis}) * 0.3",
)
REDUCTIONS = (
    "np.sum({a}, axis={axis}, keepdims={keep}) * 0.3",
    "np.mean({a}, axis={axis}, keepdims={keep})",
    "np.max({a}, axis={axis}, keepdims={keep})",
    "np.min({a}, axis={axis}, keepdims={keep})",
    "np.prod(np.cos({a}), axis={axis}, keepdims={keep})",
    "np.var({a}, axis={axis}, keepdims={keep})",
    "{a}.sum(axis={axis}, keepdims={keep}) * 0.3",
    "{a}.mean(axis={axis}, keepdims={keep})",
    "np.linalg.norm(0.1 + {a}, axis={axis}, keepdims={keep})",
    "np.median({a}, axis={axis}, keepdims={keep})",
    "np.std({a} * np.arange(1.0, 2.0 + np.shape({a})[-1])[1:], axis={axis}, keepdims={keep})",
    "np.nanmean({a}, axis={axis}, keepdims={keep})",
    "np.ptp({a}, axis={axis}, keepdims={keep})",
    "np.average({a}, axis={axis}, weights=np.exp({a}), keepdims={keep})",
    "np.quantile({a}, 0.3, axis={axis}, keepdims={keep})",
    "np.logaddexp.reduce({a}, axis={axis}, keepdims={keep})",
    "np.sum({a}, axis={axis}, keepdims={keep}, where={a} > 0.0)",
    "np.max({a}, axis={axis}, keepdims={keep}, initial=0.2)",
    "np.multiply.reduce(np.sin({a}), axis={axis}, keepdims={keep})",
)
VIEWS = (
    "{a}.T",
    "{a}.reshape(-1)",
    "np.ravel({a})",
    "{a}[...]",
    "{a}[None]",
    "{a}[::-1]",
    "{a}[1:]",
    "{a}[::2]",
    "{a}[-1:]",
    "np.atleast_2d({a})",
    "{a}.swapaxes(0, -1)",
    "np.expand_dims({a}, -1)",
    "np.diagonal(np.atleast_2d({a}))",
    "np.flip({a})",
    "np.squeeze({a})",
    "{a}[..., 0]",
    "{a}.real",
)
INDICES = (
    "0",
    "-1",
    "1:",
    "::2",
    "::-1",
    "[0, -1]",
    "[0, 0, -1]",
    "...",
    ":-1",
    "..., 0",
    "..., ::2",
    "None, ..., -1",
    "..., [0, -1, 0]",
    "[[0, -1], [-1, -1]]",
    "[0], ...",
)


@dataclass(frozen=True)
class Program:
    """A function of arrays ``x`` and ``y`` as text, with the shapes and seed of its arguments."""

    source: str
    shapes: tuple[tuple[int, ...], tuple[int, ...]]
    seed: int

    def compiled(self, **names: Any) -> Callable[..., Any]:
        """The function, with `names` beside ``np``; its lines show in tracebacks and messages."""
        name = f"<program {hash(self.source):x}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        space: dict[str, Any] = {"np": np, **names}
        exec(compile(self.source, name, "exec"), space)

        def program(*arrays: Any) -> Any:
            # A program may write into its arguments; plain ones are used again by the checks.
            return space["program"](*(x.copy() if type(x) is np.ndarray else x for x in arrays))

        return program

    def arguments(self) -> tuple[Any, ...]:
        """The numbers that the program is checked at."""
        rng = np.random.default_rng(self.seed)
        return tuple(rng.uniform(-1.2, 1.2, size=shape) for shape in self.shapes)


class Writer:
    """Adds statements that fit the variables so far; `draw` makes every choice."""

    def __init__(self, draw: Callable[[Any], Any], program: Program) -> None:
        self.draw = draw
        self.program = program
        self.lines: list[str] = []
        self.space: dict[str, Any] = {"np": np}
        self.space["x"], self.space["y"] = program.arguments()
        self.count = 0
        self.names: list[str] = []
        self.emit(self.choice(["a = x * 1.0", "a = x"]), "a")
        self.emit(self.choice(["b = y + 0.0", "b = y"]), "b")

    def emit(self, text: str, made: str | None = None) -> None:
        """Add the statements `text`, run them, and remember the variable `made`."""
        with np.errstate(all="ignore"):
            exec(text, self.space)
        self.lines += text.splitlines()
        if made is not None:
            self.names.append(made)

    def fresh(self) -> str:
        """A new variable's name."""
        self.count += 1
        return f"v{self.count}"

    def choice(self, options: Any) -> Any:
        """One of `options`."""
        return self.draw(st.sampled_from(list(options)))

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable."""
        return np.shape(self.space[name])

    def variable(self, least: int = 0, largest: int = 60) -> str | None:
        """A variable of at least `least` axes, none of them empty, of moderate size."""
        fit = [
            n
            for n in self.names
            if len(self.shape(n)) >= least and 0 < np.size(self.space[n]) <= largest
        ]
        return self.choice(fit) if fit else None

    def buffer(self) -> str | None:
        """A variable that can be written into: an array, as opposed to a scalar."""
        fit = []
        for n in self.names:
            value = self.space[n]
            if isinstance(value, np.ndarray) and value.ndim and value.flags.writeable:
                fit.append(n)
        return self.choice(fit) if fit else None

    def partner(self, shape: tuple[int, ...], into: bool = False) -> str:
        """An expression that broadcasts with `shape` (`into`: that does not widen it)."""

        def fits(name: str) -> bool:
            try:
                wide = np.broadcast_shapes(self.shape(name), shape)
            except ValueError:
                return False
            return np.prod(wide, dtype=int) <= 60 and (not into or wide == shape)

        return self.choice([*(n for n in self.names if fits(n)), "0.7", "np.sum(a) * 0.1"])

    def axis(self, name: str) -> int:
        """An axis of the variable, counted from either end."""
        ndim = len(self.shape(name))
        return self.draw(st.integers(-ndim, ndim - 1))

    # ------------------------------------------------------------------------------ statements
    def unary(self) -> None:
        a = self.variable()
        v = self.fresh()
        self.emit(f"{v} = " + self.choice(UNARY).format(a=a), v)

    def binary(self) -> None:
        a = self.variable()
        v = self.fresh()
        b = self.partner(self.shape(a))
        self.emit(f"{v} = " + self.choice(BINARY).format(a=a, b=b), v)

    def shaped(self) -> None:
        a = self.variable(least=1, largest=30)
        if a is None:
            return
        v = self.fresh()
        text = self.choice(SHAPED)
        if "moveaxis" in text and len(self.shape(a)) < 2:
            return
        self.emit(f"{v} = " + text.format(a=a, axis=self.axis(a)), v)

    def reduction(self) -> None:
        a = self.variable(least=1)
        if a is None:
            return
        v = self.fresh()
        axis = self.choice([None, self.axis(a)])
        text = self.choice(REDUCTIONS).format(a=a, axis=axis, keep=self.choice([False, True]))
        if "norm" in text and axis is None and len(self.shape(a)) > 2:
            return
        self.emit(f"{v} = {text}", v)

    def view(self) -> None:
        a = self.buffer()
        if a is None or np.size(self.space[a]) == 0:
            return
        v = self.fresh()
        self.emit(f"{v} = " + self.choice(VIEWS).format(a=a), v)

    def index(self) -> str:
        """Text of an index."""
        return self.choice(INDICES)

    def read(self) -> None:
        a = self.variable(least=1)
        if a is None:
            return
        v = self.fresh()
        self.emit(f"{v} = {a}[{self.index()}]", v)

    def masked_read(self) -> None:
        a = self.variable(least=1)
        if a is None:
            return
        v = self.fresh()
        self.emit(f"{v} = np.sum({a}[{a} > 0.1] ** 2)", v)

    def write(self) -> None:
        a = self.buffer()
        if a is None or np.size(self.space[a]) == 0:
            return
        index = self.index()
        region = eval(f"{a}[{index}]", self.space)
        value = self.partner(np.shape(region), into=True)
        operator = self.choice(["=", "+=", "-=", "*="])
        scaled = f"np.tanh({value})" if operator == "*=" else f"0.5 * {value}"
        self.emit(f"{a}[{index}] {operator} {scaled}")

    def masked_write(self) -> None:
        a = self.buffer()
        if a is None:
            return
        value = self.choice(["0.3", "np.sum(b) * 0.1", f"np.sin({a}[{a} > 0.2])"])
        self.emit(f"{a}[{a} > 0.2] = {value}")

    def augmented(self) -> None:
        a = self.buffer()
        if a is None:
            return
        value = self.partner(self.shape(a), into=True)
        self.emit(f"{a} {self.choice(['+=', '-=', '*='])} np.sin({value})")

    def overlap(self) -> None:
        a = self.buffer()
        if a is None or self.shape(a)[0] < 2:
            return
        self.emit(
            self.choice(
                [
                    f"{a}[1:] = {a}[:-1]",
                    f"{a}[:-1] += {a}[1:]",
                    f"{a}[0], {a}[-1] = {a}[-1] * 1.0, {a}[0] * 0.5",
                    f"{a}[:] = {a}[::-1]",
                ]
            )
        )

    def ufunc_write(self) -> None:
        a = self.buffer()
        if a is None or np.size(self.space[a]) == 0:
            return
        value = self.partner(self.shape(a), into=True)
        row = self.partner(self.shape(a)[1:], into=True)
        self.emit(
            self.choice(
                [
                    f"np.add.at({a}, [0, -1, 0], 0.3 * {row})",
                    f"np.sin({value}, out={a}[...])"
                    if self.shape(a) == np.shape(eval(value, self.space))
                    else f"np.multiply({a}, 0.5 * {value}, out={a})",
                    f"np.copyto({a}, 0.5 * {value}, where={a} > 0.0)",
                    f"np.add({a}, {value}, out={a}, where={a} < 0.1)",
                    f"np.multiply.at({a}, [0, -1, 0], 1.0 + 0.3 * np.tanh({row}))",
                    f"np.maximum.at({a}, [0, -1, 0], {row})",
                    f"np.putmask({a}, {a} > 0.2, 0.5 * {value})",
                    f"np.put({a}, [0, -1, 0], np.sum({value}) * 0.1)",
                    f"{a}.flat[[0, -1, 0]] = np.ravel({a})[[-1, 0, -1]] * 0.5",
                    f"{a}.T[...] = 0.5 * np.transpose({a})",
                    f"{a}.sort()",
                    f"np.cumsum(0.4 * {a}, axis=-1, out={a})",
                    f"np.clip({a}, -0.5, 0.8, out={a})",
                ]
            )
        )

    def matmul(self) -> None:
        a = self.variable(least=1, largest=30)
        if a is None:
            return
        v = self.fresh()
        r, m = f"np.ravel({a})[:4]", min(4, int(np.size(self.space[a])))
        self.emit(
            f"{v} = "
            + self.choice(
                [
                    f"{a}.T @ np.sin({a}) * 0.2",
                    f"np.einsum('...i,...i->...', {a}, {a}) * 0.2",
                    f"np.einsum('...i->...', {a}) * 0.2",
                    f"np.dot({a}, np.ones({self.shape(a)[-1]}) * 0.3)",
                    f"np.outer({a}, np.array([0.3, -0.2]))",
                    f"np.tensordot({a}, {a}, {len(self.shape(a))}) * 0.1",
                    f"np.linalg.solve(np.eye({m}) * 4.0 + np.outer(np.tanh({r}), {r}), {r})",
                    f"np.linalg.inv(np.eye({m}) * 4.0 + np.outer(np.tanh({r}), {r}))",
                    f"np.linalg.det(np.eye({m}) * 2.0 + np.outer(np.tanh({r}), np.sin({r})))",
                    f"np.linalg.cholesky(np.eye({m}) * 2.0 + np.outer({r}, {r}))",
                    f"np.kron(np.tanh({a}), np.array([0.5, -0.2]))",
                    f"np.convolve({r}, np.array([0.5, 0.3, -0.1]), mode='same')",
                    f"np.cross(np.resize({r}, 3), np.array([0.5, 0.3, -0.1]))",
                    f"np.cov({r}, np.sin({r}), ddof=0)",
                ]
                if len(self.shape(a)) <= 2
                else [f"np.einsum('...ij,...kj->...ik', {a}, {a}) * 0.2"]
            ),
            v,
        )

    def branch(self) -> None:
        a = self.variable()
        c = self.variable()
        v = self.fresh()
        first, second = self.choice(UNARY), self.choice(UNARY)
        self.emit(
            f"if np.sum({c}) > 0.1:\n    {v} = {first.format(a=a)}\n"
            f"else:\n    {v} = {second.format(a=a)}",
            v,
        )

    def loop(self) -> None:
        a = self.variable(least=1)
        if a is None:
            return
        v = self.fresh()
        n = self.shape(a)[0]
        self.emit(
            self.choice(
                [
                    f"{v} = np.zeros_like({a})\n"
                    f"for i in range({n}):\n    {v}[i] = np.sin({a}[i]) + 0.5 * {v}[i - 1]",
                    f"{v} = 0.0\nfor row in {a}:\n    {v} = {v} * 0.5 + np.tanh(row)",
                    f"{v} = {a} * 1.0\n"
                    f"for i in range(1, {n}):\n    {v}[i] += 0.5 * {v}[i - 1] ** 2",
                    f"rows = []\nfor row in {a}:\n    rows.append(np.tanh(row) * 0.5)\n"
                    f"{v} = np.stack(rows + rows[:1])",
                    f"{v} = {a} * 1.0\ni = 0\nwhile np.sum({v} ** 2) > 0.3 and i < 5:\n"
                    f"    {v} *= 0.7\n    i += 1",
                    f"{v} = sum([np.sum(np.sin(row)) * 0.3 for row in {a}], 0.0)",
                ]
            ),
            v,
        )

    def source(self) -> str:
        """The whole program; it returns its last variables, added where their sums are scalars."""
        last = self.names[-1]
        rest = " + ".join(f"0.1 * np.sum(np.sin({n}))" for n in self.names[-4:-1])
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"def program(x, y):\n{body}    return {last} + {rest or '0.0'}\n"


KINDS = [
    *["unary", "binary", "binary", "shaped", "reduction", "matmul", "branch", "loop"],
    *["view", "view", "read", "masked_read"],
    *["write", "write", "masked_write", "augmented", "overlap", "ufunc_write"],
]
SHAPES = (
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3, 2), (3, 1)),
    ((4,), ()),
    ((2, 2), (2, 2)),
    ((1, 3), (2, 1)),
    ((2, 1, 2), (2,)),
)


@st.composite
def programs(draw: Callable[[Any], Any], longest: int = 9) -> Program:
    """Programs of up to `longest` statements after the first two."""
    shapes = draw(st.sampled_from(SHAPES))
    seed = draw(st.integers(0, 10_000))
    writer = Writer(draw, Program("", shapes, seed))
    for _ in range(draw(st.integers(1, longest))):
        getattr(writer, draw(st.sampled_from(KINDS)))()
    return Program(writer.source(), shapes, seed)
