"""The derivative of a scalar function as Python source, for Numba to compile.

Forward differentiation of the syntax tree: beside each variable that depends on an input stands
its tangent, one for each direction asked for. Branches, loops and whatever depends on no input
stay as they are written. The result is Python of the same kind, so it can be differentiated again.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import textwrap
import types
from typing import Any

import numpy as np

from npgrad.compiled.formulas import FLAT, HELPERS, LINEAR, PARTIALS
from npgrad.compiled.typing import original

Directions = frozenset[int]
_count = itertools.count()


class NoSource(Exception):
    """The source cannot be had, or it holds something that is not differentiated here."""


def made(text: str, name: str, space: dict[str, Any]) -> Any:
    """A function compiled from `text`, which it remembers."""
    exec(compile(text, f"<npgrad derivative {name}>", "exec"), space)
    function = space[name]
    function.npgrad_source = text
    return function


def tree_of(function: Any) -> ast.FunctionDef:
    """The syntax tree of a function defined by ``def``, or by the only lambda of its lines."""
    text = getattr(function, "npgrad_source", None)
    if text is None:
        try:
            text = textwrap.dedent(inspect.getsource(function))
        except (OSError, TypeError) as error:
            raise NoSource("its source cannot be read") from error
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise NoSource("its source stands within another statement") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__code__.co_name:
            return node
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) != 1:
        raise NoSource("it is one of several lambdas on its lines")
    body: list[ast.stmt] = [ast.Return(found[0].body)]
    tree_made = ast.FunctionDef("a_lambda", found[0].args, body, [])
    return ast.fix_missing_locations(tree_made)


def names_of(function: Any) -> dict[str, Any]:
    """The globals and closure that the function's code names."""
    code, space = function.__code__, function.__globals__
    found = {name: original(space[name]) for name in code.co_names if name in space}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        found[name] = original(cell.cell_contents)
    return found


def python_function(value: Any) -> Any:
    """The Python function behind a compiled one, or behind a helper; None for anything else."""
    if isinstance(value, types.FunctionType):
        return value if hasattr(value, "npgrad_source") or value in HELPERS.values() else None
    source = getattr(value, "py_func", None) or getattr(
        getattr(value, "_dispatcher", None), "py_func", None
    )
    return source if isinstance(source, types.FunctionType) else None


def compiled(value: Any) -> Any:
    """`value` as compiled code may call it."""
    if isinstance(value, types.FunctionType) and python_function(value) is not None:
        return _compile(value)
    return value


@functools.cache
def _compile(function: Any) -> Any:
    import numba

    space = dict(function.__globals__)
    space.update({name: compiled(value) for name, value in names_of(function).items()})
    copy = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, function.__closure__
    )
    # Called from compiled code alone: no wrapper for Python, which takes time to compile.
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(error_model="numpy", nogil=True, **bare)(copy)


def compile_loop(function: Any) -> Any:
    """A loop made here, as Python may call it."""
    import numba

    return numba.njit(error_model="numpy", nogil=True)(function)


@functools.cache
def dual(function: Any, active: tuple[Directions, ...]) -> Any:
    """``f(args, tangents) -> (value, (tangent for each direction))``.

    `active` says for each argument along which directions it moves; the tangents follow the
    arguments in that order.
    """
    return _Dual(function, active).build()


class _Dual:
    """One function being differentiated."""

    def __init__(self, function: Any, active: tuple[Directions, ...]) -> None:
        self.function = function
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
        self.lines: list[str] = []
        self.depth = 1
        self.temporaries = itertools.count()
        self.mark = next(_count)

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

    def moves(self, node: ast.AST) -> Directions:
        """The directions along which an expression moves."""
        if isinstance(node, ast.Name):
            return self.active.get(node.id, frozenset())
        if isinstance(node, (ast.Compare, ast.BoolOp)):
            return frozenset()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
            return frozenset()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
            return frozenset()
        if isinstance(node, ast.IfExp):
            return self.moves(node.body) | self.moves(node.orelse)
        if isinstance(node, ast.Call) and self.resolve(node.func) in FLAT:
            return frozenset()
        parts = [self.moves(child) for child in ast.iter_child_nodes(node)]
        return frozenset().union(*parts)

    def resolve(self, node: ast.expr) -> Any:
        """The object that a name or a dotted name stands for outside of the function."""
        if isinstance(node, ast.Name):
            if node.id in self.local:
                return None
            import builtins

            return self.space.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None else original(getattr(owner, node.attr, None))
        return None

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

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def tangent(self, name: str, direction: int) -> str:
        return f"{name}_d{direction}_{self.mark}"

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def inner(self, body: list[ast.stmt]) -> None:
        self.depth += 1
        before = len(self.lines)
        self.block(body)
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def statement(self, node: ast.stmt) -> None:
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
            parts = "".join(f"{tangents.get(d, _zero(node.value))}, " for d in self.directions)
            self.emit(f"return ({value_text}, ({parts}))")
        elif isinstance(node, (ast.Pass, ast.Break, ast.Continue, ast.Raise, ast.Assert)):
            self.emit(ast.unparse(node))
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise NoSource(f"it holds a statement `{ast.unparse(node).splitlines()[0]}`")

    def still(self, name: str) -> None:
        """A variable that is assigned something that does not move."""
        for d in sorted(self.active.get(name, ())):
            self.emit(f"{self.tangent(name, d)} = 0.0")

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            text, tangents = self.expression(value)
            # both sides of `x = x * y` read the old x
            new = [
                (self.tangent(target.id, d), tangents.get(d, _zero(value)))
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

    # -- expressions -----------------------------------------------------------------------------
    def temporary(self, text: str) -> str:
        name = f"t{next(self.temporaries)}_{self.mark}"
        self.emit(f"{name} = {text}")
        return name

    def expression(self, node: ast.expr) -> tuple[str, dict[int, str]]:
        """The text of the value, and of its tangents."""
        if not self.moves(node):
            return f"({ast.unparse(node)})", {}
        if isinstance(node, ast.Name):
            return node.id, {d: self.tangent(node.id, d) for d in self.active[node.id]}
        if isinstance(node, ast.UnaryOp):
            sign = "-" if isinstance(node.op, ast.USub) else "+"
            text, tangents = self.expression(node.operand)
            return f"({sign}{text})", {d: f"({sign}{t})" for d, t in tangents.items()}
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.IfExp):
            return self.choice(node)
        if isinstance(node, ast.Tuple):
            return self.group(node.elts)
        if isinstance(node, ast.Subscript) and not self.moves(node.slice):
            text, tangents = self.expression(node.value)
            index = ast.unparse(node.slice)
            return f"{text}[{index}]", {d: f"{t}[{index}]" for d, t in tangents.items()}
        if isinstance(node, ast.Attribute) and node.attr in ("real", "imag"):
            text, tangents = self.expression(node.value)
            return f"{text}.{node.attr}", {d: f"({t}).{node.attr}" for d, t in tangents.items()}
        if isinstance(node, ast.Call):
            return self.call(node)
        raise NoSource(f"it holds an expression `{ast.unparse(node)}`")

    def group(self, elements: list[ast.expr]) -> tuple[str, dict[int, str]]:
        parts = [self.expression(element) for element in elements]
        zeros = [_zero(element) for element in elements]
        moving = frozenset().union(*[frozenset(t) for _, t in parts])
        texts = "".join(f"{text}, " for text, _ in parts)
        return f"({texts})", {
            d: f"({''.join(t.get(d, z) + ', ' for (_, t), z in zip(parts, zeros, strict=True))})"
            for d in moving
        }

    def choice(self, node: ast.IfExp) -> tuple[str, dict[int, str]]:
        moving = sorted(self.moves(node))
        names = [f"t{next(self.temporaries)}_{self.mark}" for _ in range(len(moving) + 1)]
        for head, branch in ((f"if {ast.unparse(node.test)}:", node.body), ("else:", node.orelse)):
            self.emit(head)
            self.depth += 1
            text, tangents = self.expression(branch)
            self.emit(f"{names[0]} = {text}")
            for name, d in zip(names[1:], moving, strict=True):
                self.emit(f"{name} = {tangents.get(d, _zero(branch))}")
            self.depth -= 1
        return names[0], dict(zip(moving, names[1:], strict=True))

    def binary(self, node: ast.BinOp) -> tuple[str, dict[int, str]]:
        left, left_t = self.expression(node.left)
        right, right_t = self.expression(node.right)
        kind = type(node.op)
        if kind is ast.Add or kind is ast.Sub:
            sign = "+" if kind is ast.Add else "-"
            tangents = {}
            for d in {*left_t, *right_t}:
                if d not in left_t:
                    tangents[d] = right_t[d] if sign == "+" else f"(-{right_t[d]})"
                elif d in right_t:
                    tangents[d] = f"({left_t[d]} {sign} {right_t[d]})"
                else:
                    tangents[d] = left_t[d]
            return self.held(f"{left} {sign} {right}", tangents)
        a, b = self.temporary(left), self.temporary(right)
        if kind is ast.Mult:
            y = self.temporary(f"{a} * {b}")
            return self.combined(y, [(b, left_t), (a, right_t)])
        if kind is ast.Div:
            y = self.temporary(f"{a} / {b}")
            return self.combined(y, [(f"1 / {b}", left_t), (f"-{y} / {b}", right_t)])
        if kind is ast.Mod:
            y = self.temporary(f"{a} % {b}")
            return self.combined(y, [("1", left_t), (f"-_np.floor({a} / {b})", right_t)])
        if kind is ast.Pow:
            constant = _constant(node.right)
            y = self.temporary(f"{a} ** {right if constant is not None else b}")
            if constant is None:
                by_base = f"ng_power_base({a}, {b})" if left_t else ""
                return self.combined(
                    y, [(by_base, left_t), (f"ng_power_exponent({a}, {b})", right_t)]
                )
            if constant == 0:
                return y, {}
            lower = constant - 1
            power = "1" if lower == 0 else a if lower == 1 else f"{a} ** ({lower!r})"
            return self.combined(y, [(f"{constant!r} * {power}", left_t)])
        raise NoSource(f"it holds an operator in `{ast.unparse(node)}`")

    def held(self, text: str, tangents: dict[int, str]) -> tuple[str, dict[int, str]]:
        return self.temporary(text), {d: self.temporary(t) for d, t in tangents.items()}

    def combined(
        self, y: str, terms: list[tuple[str, dict[int, str]]]
    ) -> tuple[str, dict[int, str]]:
        """The tangents of y from the partial derivatives and the tangents of the arguments."""
        sums: dict[int, list[str]] = {}
        for partial, tangents in terms:
            if not tangents:
                continue
            p = "" if partial in ("1", "-1") else self.temporary(partial)
            for d, t in tangents.items():
                sums.setdefault(d, []).append(f"{p} * {t}" if p else f"({partial[:-1]}{t})")
        return y, {d: self.temporary(" + ".join(parts)) for d, parts in sums.items()}

    def call(self, node: ast.Call) -> tuple[str, dict[int, str]]:
        method = node.func if isinstance(node.func, ast.Attribute) else None
        if method and method.attr in ("conjugate", "conj") and self.moves(method.value):
            text, tangents = self.expression(method.value)
            return f"_np.conj({text})", {d: f"_np.conj({t})" for d, t in tangents.items()}
        function = self.resolve(node.func)
        if any(isinstance(a, ast.Starred) for a in node.args):
            raise NoSource("it calls a function with *args")
        name = ast.unparse(node.func)
        inner = python_function(function)
        if inner is not None:
            return self.callee(node, inner)
        if node.keywords:
            raise NoSource(f"it calls {name} with keywords")
        pairs = [self.expression(a) for a in node.args]
        arguments = [self.temporary(text) for text, _ in pairs]
        if _hashable(function) and function in LINEAR:
            moving = frozenset().union(*[frozenset(t) for _, t in pairs])
            value = self.temporary(f"{name}({', '.join(arguments)})")
            return value, {
                d: self.temporary(f"{name}({', '.join(t.get(d, '0.0') for _, t in pairs)})")
                for d in moving
            }
        texts = PARTIALS.get(function) if _hashable(function) else None
        if texts is None or len(texts) != len(arguments):
            raise NoSource(f"no derivative is known of {name} with {len(arguments)} arguments")
        y = self.temporary(f"{name}({', '.join(arguments)})")
        words = {"a": arguments[0], "b": arguments[-1], "y": y}
        return self.combined(
            y,
            [
                (_filled(text, words) if t else "", t)
                for text, (_, t) in zip(texts, pairs, strict=True)
            ],
        )

    def callee(self, node: ast.Call, inner: Any) -> tuple[str, dict[int, str]]:
        """A call of another compiled function: of its own derivative."""
        try:
            bound = inspect.signature(inner).bind(
                *node.args, **{k.arg: k.value for k in node.keywords if k.arg}
            )
        except TypeError as error:
            raise NoSource(f"it calls {inner.__name__} with the wrong arguments") from error
        bound.apply_defaults()
        pairs: list[tuple[str, dict[int, str]]] = []
        for value in bound.arguments.values():
            if isinstance(value, ast.expr):
                pairs.append(self.expression(value))
            else:
                key = f"c{next(_count)}"
                self.space[key] = value
                pairs.append((key, {}))
        active = tuple(frozenset(t) for _, t in pairs)
        moving = sorted(frozenset().union(*active))
        place = {d: i for i, d in enumerate(moving)}
        function = dual(inner, tuple(frozenset(place[d] for d in a) for a in active))
        key = f"f{next(_count)}_{inner.__code__.co_name.strip('<>')}"
        self.space[key] = function
        given = [text for text, _ in pairs]
        given += [t[d] for _, t in pairs for d in sorted(t)]
        result = self.temporary(f"{key}({', '.join(given)})")
        return f"{result}[0]", {d: f"{result}[1][{i}]" for d, i in place.items()}


def _zero(node: ast.expr) -> str:
    """The tangent of an expression that does not move."""
    if isinstance(node, ast.Tuple):
        return f"({''.join(_zero(element) + ', ' for element in node.elts)})"
    return "0.0"


def _stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _hashable(value: Any) -> bool:
    return callable(value) and value.__hash__ is not None


def _constant(node: ast.expr) -> Any:
    """The number that an exponent is written as."""
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if type(value) in (int, float) else None


def _filled(text: str, words: dict[str, str]) -> str:
    tree = ast.parse(text, mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = words.get(node.id, node.id)
    return ast.unparse(tree)
