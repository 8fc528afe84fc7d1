"""Elementwise functions whose derivative is compiled from their own source.

A `Scalar` is a Python function of numbers, its value as it is computed now (the user's compiled
function, or a loop made here), and how many results it has. Its derivatives are Scalars again:
all cotangents of one call come out of one loop over the elements, at the function's own speed.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from npgrad import table
from npgrad.compiled.frozen import Constants, constants_of, refuse_random
from npgrad.compiled.reading import NoSource, compile_loop, compiled, made, python_function, tree_of
from npgrad.compiled.source import dual
from npgrad.errors import NoDerivative
from npgrad.graph.array import GradArray, current
from npgrad.graph.record import call

_SIGNATURE = inspect.signature(lambda inputs: None)
_count = itertools.count()
Kinds = tuple[str, ...]  # of each argument: "f" real, "c" complex, "-" constant


class Scalar:
    """An elementwise function: Python source, and what computes its values."""

    def __init__(self, source: Any, name: str, count: int, run: Callable[..., Any] | None) -> None:
        self.source = source
        self.name = name
        self.label = name  # what the user calls it
        self.count = count  # results; 0 for one that is not in a tuple
        self.run = run if run is not None else self.loop
        self.cotangents = 0  # how many of the first arguments are cotangents
        self._reverse: dict[Kinds, Scalar] = {}
        self._forward: dict[Kinds, Scalar] = {}
        self._rules: dict[Kinds, table.Rule] = {}
        self._loops: dict[tuple[bool, ...], Any] = {}
        self.dtypes: tuple[int, ...] | None = None  # the argument whose dtype each result has

    # -- values ----------------------------------------------------------------------------------
    def loop(self, *inputs: Any) -> Any:
        """The values, in one loop of compiled code over the broadcast elements."""
        arrays = [np.asarray(x) for x in inputs]
        shape = np.broadcast_shapes(*[a.shape for a in arrays])
        single = tuple(a.size == 1 for a in arrays)
        given = [
            a.reshape(()).item()
            if one and a.dtype.kind in "iub"
            else a.reshape(-1)[0]
            if one
            else np.broadcast_to(a, shape).reshape(-1)
            for a, one in zip(arrays, single, strict=True)
        ]
        assert self.dtypes is not None
        outs = [np.empty(shape, arrays[i].dtype) for i in self.dtypes]
        size = outs[0].size if outs else 0
        from numba.core.errors import NumbaError

        try:
            self._loop(single)(size, *given, *[out.reshape(-1) for out in outs])
        except NumbaError as error:
            said = str(error)
            hint = ""
            if "ng_sign" in said and "complex" in said:
                hint = "write np.sqrt(z.real**2 + z.imag**2) for abs(z) of a complex number, or "
            raise NoDerivative(
                f"npgrad: Numba cannot compile the derivative of {self.label}, made from its "
                f"source ({said.strip().splitlines()[-1]}). Instead: {hint}give it a rule with "
                "npgrad.register_vjp, or differentiate its Python source with npgrad.njit, or "
                "npgrad.value(x) to cut the gradient on purpose."
            ) from error
        return tuple(out[()] for out in outs)

    def _loop(self, single: tuple[bool, ...]) -> Any:
        found = self._loops.get(single)
        if found is None:
            assert self.dtypes is not None
            words = [f"x{i}" if one else f"x{i}[i]" for i, one in enumerate(single)]
            names = [f"x{i}" for i in range(len(single))]
            outs = [f"o{i}" for i in range(len(self.dtypes))]
            stores = "".join(f"        {o}[i] = r[{k}]\n" for k, o in enumerate(outs))
            if self.cotangents:
                # Zero stays zero where the derivative is infinite. Here and not in the source:
                # the derivative with respect to a zero cotangent is not zero.
                still = " and ".join(f"{word} == 0" for word in words[: self.cotangents])
                zeros = "".join(f"            {o}[i] = 0\n" for o in outs)
                stores = f"        if {still}:\n{zeros}            continue\n{stores}"
            text = (
                f"def loop_{self.name}({', '.join(['n', *names, *outs])}):\n"
                f"    for i in range(n):\n        r = f({', '.join(words)})\n{stores}"
            )
            function = made(text, f"loop_{self.name}", {"f": compiled(self.source)})
            found = self._loops[single] = compile_loop(function)
        return found

    # -- derivatives -----------------------------------------------------------------------------
    def reverse(self, kinds: Kinds) -> Scalar:
        """``(cotangents, arguments) -> cotangents of the arguments that are not constant``."""
        found = self._reverse.get(kinds)
        if found is None:
            found = self._reverse[kinds] = self._make_reverse(kinds)
        return found

    def _make_reverse(self, kinds: Kinds) -> Scalar:
        args, kinds, complex_out = self._named(kinds)
        numbers = itertools.count()
        active, seeds, moving = [], [], []
        for i, kind in enumerate(kinds):
            own = [next(numbers) for _ in range({"-": 0, "f": 1, "c": 2}[kind])]
            active.append(frozenset(own))
            seeds += [f"one{i}", f"1j * one{i}"][: len(own)]
            if own:
                moving.append((i, own))
        results = max(self.count, 1)
        gs = [f"g{k}" for k in range(results)]
        body = [f"one{i} = e{i}" for i, _ in moving]
        ones = [f"e{i}" for i, _ in moving]
        body.append(f"r = derivative({', '.join([*args, *seeds])})")
        texts = []
        for _, own in moving:
            parts = []
            for d in own:
                terms = [
                    self._product(g, f"r[1][{d}][{k}]" if self.count else f"r[1][{d}]", complex_out)
                    for k, g in enumerate(gs)
                ]
                parts.append(" + ".join(terms))
            texts.append(parts[0] if len(own) == 1 else f"({parts[0]}) + 1j * ({parts[1]})")
        name = f"reverse_{next(_count)}_{self.name}"
        lines = "".join(f"    {line}\n" for line in body)
        text = (
            f"def {name}({', '.join([*gs, *ones, *args])}):\n{lines}"
            f"    return ({''.join(t + ', ' for t in texts)})\n"
        )
        function = made(text, name, {"derivative": dual(self.source, tuple(active)), "_np": np})
        scalar = Scalar(function, name, len(moving), None)
        scalar.label = self.label
        scalar.cotangents = results
        first = results + len(moving)
        scalar.dtypes = tuple(first + i for i, _ in moving)
        return scalar

    def forward(self, kinds: Kinds) -> Scalar:
        """``(tangents of what is not constant, arguments) -> tangents of the results``."""
        found = self._forward.get(kinds)
        if found is None:
            args, kinds, _ = self._named(kinds)
            active = tuple(frozenset() if kind == "-" else frozenset({0}) for kind in kinds)
            tangents = [f"t{i}" for i, kind in enumerate(kinds) if kind != "-"]
            name = f"forward_{next(_count)}_{self.name}"
            results = max(self.count, 1)
            likes = [f"y{k}" for k in range(results)]
            parts = [f"r[1][0][{k}]" for k in range(results)] if self.count else ["r[1][0]"]
            text = (
                f"def {name}({', '.join([*likes, *tangents, *args])}):\n"
                f"    r = derivative({', '.join([*args, *tangents])})\n"
                f"    return ({''.join(p + ', ' for p in parts)})\n"
            )
            function = made(text, name, {"derivative": dual(self.source, active)})
            found = self._forward[kinds] = Scalar(function, name, results, None)
            found.label = self.label
            found.dtypes = tuple(range(results))
        return found

    @staticmethod
    def _product(g: str, tangent: str, complex_out: bool) -> str:
        return f"(_np.conj({g}) * {tangent}).real" if complex_out else f"{g} * {tangent}"

    def _named(self, kinds: Kinds) -> tuple[list[str], Kinds, bool]:
        *inputs, out = kinds
        return [f"x{i}" for i in range(len(inputs))], tuple(inputs), out == "c"

    # -- recording -------------------------------------------------------------------------------
    def record(self, inputs: tuple[Any, ...], frame: FrameType) -> Any:
        """The result on recorded inputs."""
        kinds = []
        complex_in = False
        for x in inputs:
            array, node = current(x) if type(x) is GradArray else (x, None)
            kind = np.asarray(array).dtype.kind
            complex_in = complex_in or kind == "c"
            kinds.append("-" if node is None or kind not in "fc" else kind)
        kinds.append("c" if complex_in else "f")
        found = self._rules.get(tuple(kinds))
        if found is None:
            found = self._rules[tuple(kinds)] = self._rule(tuple(kinds))
        if all(kind == "-" for kind in kinds[:-1]):
            values = [current(x)[0] if type(x) is GradArray else x for x in inputs]
            result = self.run(*values)
            many = isinstance(result, tuple)
            return tuple(GradArray(r, None) for r in result) if many else GradArray(result, None)
        return call(found, (list(inputs),), {}, frame)

    def _rule(self, kinds: Kinds) -> table.Rule:
        if any(kind != "-" for kind in kinds[:-1]):
            self.reverse(kinds)  # what cannot be differentiated says so when it is recorded

        def run(inputs: Any) -> Any:
            return self.run(*inputs)

        def pull(g: Any, inputs: Any) -> Any:
            cotangents = list(g) if isinstance(g, tuple) else [g]
            cotangents = [0.0 if part is None else part for part in cotangents]
            moving = [i for i, kind in enumerate(kinds[:-1]) if kind != "-"]
            ones = [_one(inputs[i]) for i in moving]
            parts = _apply(self.reverse(kinds), (*cotangents, *ones, *inputs))
            found = dict(zip(moving, parts, strict=True))
            return [found.get(i) for i in range(len(inputs))]

        def push(g: Any, inputs: Any, y: Any) -> Any:
            tangents = [t for t, kind in zip(g, kinds[:-1], strict=True) if kind != "-"]
            likes = [_one(part) for part in (y if isinstance(y, tuple) else (y,))]
            parts = _apply(self.forward(kinds), (*likes, *tangents, *inputs))
            return parts if isinstance(y, tuple) else parts[0]

        return table.Rule(
            "reverse",
            run,
            name=self.name,
            signature=_SIGNATURE,
            vjps={"*inputs": pull},
            jvps={"*inputs": push},
            holomorphic=False,
        )


def _one(like: Any) -> Any:
    return np.asarray(current(like)[0] if type(like) is GradArray else like).dtype.type(1)


def _apply(scalar: Scalar, values: tuple[Any, ...]) -> Any:
    """The results; recorded if an input is."""
    if any(type(v) is GradArray for v in values):
        return scalar.record(values, sys._getframe(1))
    return scalar.run(*values)


def identifier(function: Any) -> str:
    """A name that generated code may hold."""
    name = str(function.__name__)
    return "a_lambda" if name == "<lambda>" else name


def _results(source: Any) -> int:
    """How many results a function returns as a tuple; 0 if it returns none or one."""
    returns = [n.value for n in ast.walk(tree_of(source)) if isinstance(n, ast.Return) and n.value]
    parts = [e for value in returns if isinstance(value, ast.Tuple) for e in value.elts]
    if any(isinstance(part, (ast.Tuple, ast.List)) for part in parts):
        raise NoSource("it returns a tuple inside of a tuple")
    counts = {
        len(node.value.elts) if isinstance(node.value, ast.Tuple) else 0
        for node in ast.walk(tree_of(source))
        if isinstance(node, ast.Return) and node.value is not None
    }
    if len(counts) > 1:
        raise NoSource("it returns tuples of several lengths")
    return counts.pop() if counts else 0


_scalars: dict[Any, tuple[Scalar, Constants]] = {}


def scalar_of(function: Any) -> Scalar:
    """The `Scalar` of a compiled function; NoSource if it has no source."""
    source = python_function(function)
    if source is None:
        raise NoSource("its source cannot be read")
    constants = constants_of(source)
    found, before = _scalars.get(function, (None, None))
    if found is None or before != constants:
        refuse_random(function, identifier(source))
        found = Scalar(source, identifier(source), _results(source), function)
        _scalars[function] = found, constants
    return found
