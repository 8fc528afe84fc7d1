"""The derivative of a scalar function as Python source, for Numba to compile.

Forward differentiation of the syntax tree: beside each variable that depends on an input stands
its tangent, one for each direction asked for. Branches, loops and whatever depends on no input
stay as they are written. The result is Python of the same kind, so it can be differentiated again.
"""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np

from npgrad.compiled.expressions import Directions, Expressions, zero_of
from npgrad.compiled.formulas import HELPERS
from npgrad.compiled.frozen import Constants, constants_of, names_of
from npgrad.compiled.reading import NoSource, made, tree_of


def dual(function: Any, active: tuple[Directions, ...]) -> Any:
    """``f(args, tangents) -> (value, (tangent for each direction))``.

    `active` says for each argument along which directions it moves; the tangents follow the
    arguments in that order.
    """
    return _dual(function, active, constants_of(function))


@functools.cache
def _dual(function: Any, active: tuple[Directions, ...], constants: Constants) -> Any:
    return Dual(function, active).build()


class Dual(Expressions):
    """One function being differentiated."""

    def __init__(self, function: Any, active: tuple[Directions, ...]) -> None:
        super().__init__()
        self.tree = tree_of(function)
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            raise NoSource("it takes *args, **kwargs or keyword-only arguments")
        self.names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        self.active: dict[str, Directions] = dict(zip(self.names, active, strict=False))
        self.seeds = {name: self.active.get(name, frozenset()) for name in self.names}
        self.directions = sorted(frozenset().union(*active))
        self.space: dict[str, Any] = {"_np": np, **HELPERS, **names_of(function)}
        self.local = set(self.names) | {
            n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and _stored(n)
        }

    def differentiated(self, function: Any, active: tuple[Directions, ...]) -> Any:
        """See `Expressions.differentiated`."""
        return dual(function, active)

    # -- what depends on the inputs --------------------------------------------------------------
    def settle(self) -> None:
        """Which variables move along which directions, whatever the order of the statements."""
        changed = True
        while changed:
            changed = False
            for target, value in self.assignments():
                moves = self.moves(value)
                for name in (n.id for n in ast.walk(target) if isinstance(n, ast.Name)):
                    if not moves <= self.active.get(name, frozenset()):
                        self.active[name] = self.active.get(name, frozenset()) | moves
                        changed = True

    def assignments(self) -> list[tuple[ast.expr, ast.expr]]:
        """Every target of the function and what it is assigned."""
        found: list[tuple[ast.expr, ast.expr]] = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                found += [(target, node.value) for target in node.targets]
            elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value is not None:
                found.append((node.target, node.value))
            elif isinstance(node, (ast.For, ast.NamedExpr)):
                value = node.iter if isinstance(node, ast.For) else node.value
                found.append((node.target, value))
        return found

    # -- statements ------------------------------------------------------------------------------
    def build(self) -> Any:
        """The function, not compiled yet."""
        self.settle()
        taken = [n for n in self.names if self.active.get(n)]
        tangents = [f"{n}_d{d}_{self.mark}" for n in taken for d in sorted(self.given(n))]
        for name in taken:  # a parameter that moves later along more directions than it came with
            for d in sorted(self.active[name] - self.given(name)):
                self.emit(f"{self.tangent(name, d)} = 0.0")
        self.block(self.tree.body)
        name = f"d_{self.mark}"
        head = f"def {name}({', '.join([*self.names, *tangents])}):\n"
        text = head + "\n".join(self.lines) + "\n"
        return made(text, name, self.space)

    def given(self, name: str) -> Directions:
        """The directions whose tangents of this parameter are passed."""
        return self.seeds[name]

    def block(self, body: list[ast.stmt]) -> None:
        """The statements of a body."""
        for statement in body:
            self.statement(statement)

    def inner(self, body: list[ast.stmt]) -> None:
        """The body of a branch or a loop."""
        self.depth += 1
        before = len(self.lines)
        self.block(body)
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def statement(self, node: ast.stmt) -> None:
        """One statement, and before it what its tangents need."""
        if isinstance(node, ast.Assign):
            value = node.value
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign):
            if not isinstance(node.target, ast.Name):
                raise NoSource("it writes to items of an array")
            old = ast.Name(node.target.id, ast.Load())
            self.assign(node.target, ast.BinOp(old, node.op, node.value))
        elif isinstance(node, ast.If):
            self.emit(f"if {ast.unparse(node.test)}:")
            self.inner(node.body)
            if node.orelse:
                self.emit("else:")
                self.inner(node.orelse)
        elif isinstance(node, ast.While) and not node.orelse:
            self.emit(f"while {ast.unparse(node.test)}:")
            self.inner(node.body)
        elif isinstance(node, ast.For) and not node.orelse:
            if self.moves(node.iter) or not isinstance(node.target, ast.Name):
                raise NoSource("it iterates over something recorded")
            self.emit(f"for {ast.unparse(node.target)} in {ast.unparse(node.iter)}:")
            self.depth += 1
            self.still(node.target.id)
            self.depth -= 1
            self.inner(node.body)
        elif isinstance(node, ast.Return):
            if node.value is None:
                raise NoSource("it returns nothing")
            value_text, tangents = self.expression(node.value)
            parts = "".join(f"{tangents.get(d, zero_of(node.value))}, " for d in self.directions)
            self.emit(f"return ({value_text}, ({parts}))")
        elif isinstance(node, (ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Assert)):
            self.emit(ast.unparse(node))
        elif isinstance(node, (ast.For, ast.While)):
            raise NoSource(f"its loop `{ast.unparse(node).splitlines()[0]}` has an `else:`")
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise NoSource(f"it holds a statement `{ast.unparse(node).splitlines()[0]}`")

    def still(self, name: str) -> None:
        """A variable that is assigned something that does not move."""
        for d in sorted(self.active.get(name, ())):
            self.emit(f"{self.tangent(name, d)} = 0.0")

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        """``target = value``, tangents first where both sides share a name."""
        if isinstance(target, ast.Name):
            text, tangents = self.expression(value)
            # both sides of `x = x * y` read the old x
            new = [
                (self.tangent(target.id, d), tangents.get(d, zero_of(value)))
                for d in sorted(self.active.get(target.id, ()))
            ]
            if new:
                left = ", ".join([target.id, *[n for n, _ in new]])
                self.emit(f"{left} = {', '.join([text, *[t for _, t in new]])}")
            else:
                self.emit(f"{target.id} = {text}")
        elif isinstance(target, ast.Tuple) and all(isinstance(e, ast.Name) for e in target.elts):
            text, tangents = self.expression(value)
            # `a, b = b, a` reads every tangent before it sets one
            tangents = {d: self.temporary(t) for d, t in tangents.items()}
            self.emit(f"{ast.unparse(target)} = {text}")
            for i, element in enumerate(target.elts):
                assert isinstance(element, ast.Name)
                for d in sorted(self.active.get(element.id, ())):
                    part = f"{tangents[d]}[{i}]" if d in tangents else "0.0"
                    self.emit(f"{self.tangent(element.id, d)} = {part}")
        else:
            raise NoSource("it writes to items of an array")


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
