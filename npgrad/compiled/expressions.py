"""The derivative of an expression as text: its value, and its tangents along each direction."""

from __future__ import annotations

import abc
import ast
import builtins
import inspect
import itertools
from typing import Any

from npgrad.compiled.formulas import FLAT, LINEAR, PARTIALS
from npgrad.compiled.reading import NoSource, python_function
from npgrad.compiled.typing import original

Directions = frozenset[int]
Moving = tuple[str, dict[int, str]]  # the text of a value, and of its tangents
number = itertools.count()


class Expressions(abc.ABC):
    """What a function being differentiated knows of expressions; statements come in `Dual`."""

    active: dict[str, Directions]  # which variables move along which directions
    space: dict[str, Any]  # globals of the function that is made
    local: set[str]

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.temporaries = itertools.count()
        self.mark = next(number)

    @abc.abstractmethod
    def differentiated(self, function: Any, active: tuple[Directions, ...]) -> Any:
        """The derivative of another function, which this one calls."""

    # -- what depends on the inputs --------------------------------------------------------------
    def moves(self, node: ast.AST) -> Directions:
        """The directions along which an expression moves."""
        if isinstance(node, ast.Name):
            return self.active.get(node.id, frozenset())
        if isinstance(node, ast.Compare):
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
            return self.space.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            owner = self.resolve(node.value)
            return None if owner is None else original(getattr(owner, node.attr, None))
        return None

    # -- lines -----------------------------------------------------------------------------------
    def emit(self, line: str) -> None:
        """Add a line to the function that is made."""
        self.lines.append("    " * self.depth + line)

    def tangent(self, name: str, direction: int) -> str:
        """The name of a tangent of variable `name`."""
        return f"{name}_d{direction}_{self.mark}"

    def temporary(self, text: str) -> str:
        """A new variable that holds `text`."""
        name = f"t{next(self.temporaries)}_{self.mark}"
        self.emit(f"{name} = {text}")
        return name

    def expression(self, node: ast.expr) -> Moving:
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
        if isinstance(node, ast.BoolOp):
            return self.either(node)
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

    def group(self, elements: list[ast.expr]) -> Moving:
        """A tuple."""
        parts = [self.expression(element) for element in elements]
        zeros = [zero_of(element) for element in elements]
        moving = frozenset().union(*[frozenset(t) for _, t in parts])
        texts = "".join(f"{text}, " for text, _ in parts)
        return f"({texts})", {
            d: f"({''.join(t.get(d, z) + ', ' for (_, t), z in zip(parts, zeros, strict=True))})"
            for d in moving
        }

    def choice(self, node: ast.IfExp) -> Moving:
        """``a if test else b``: both branches as statements, of which one runs."""
        moving = sorted(self.moves(node))
        names = [f"t{next(self.temporaries)}_{self.mark}" for _ in range(len(moving) + 1)]
        for head, branch in ((f"if {ast.unparse(node.test)}:", node.body), ("else:", node.orelse)):
            self.emit(head)
            self.depth += 1
            text, tangents = self.expression(branch)
            self.emit(f"{names[0]} = {text}")
            for name, d in zip(names[1:], moving, strict=True):
                self.emit(f"{name} = {tangents.get(d, zero_of(branch))}")
            self.depth -= 1
        return names[0], dict(zip(moving, names[1:], strict=True))

    def either(self, node: ast.BoolOp) -> Moving:
        """``a and b`` is b where a is true, else a; ``a or b`` is a where a is true, else b."""
        moving = sorted(self.moves(node))
        names = [f"t{next(self.temporaries)}_{self.mark}" for _ in range(len(moving) + 1)]
        depth = self.depth
        for place, operand in enumerate(node.values):
            if place:
                self.emit(f"if {'' if isinstance(node.op, ast.And) else 'not '}{names[0]}:")
                self.depth += 1
            text, tangents = self.expression(operand)
            self.emit(f"{names[0]} = {text}")
            for name, d in zip(names[1:], moving, strict=True):
                self.emit(f"{name} = {tangents.get(d, zero_of(operand))}")
        self.depth = depth
        return names[0], dict(zip(moving, names[1:], strict=True))

    def binary(self, node: ast.BinOp) -> Moving:
        """An operator with two operands."""
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

    def held(self, text: str, tangents: dict[int, str]) -> Moving:
        """A value and its tangents in variables, so that none is computed twice."""
        return self.temporary(text), {d: self.temporary(t) for d, t in tangents.items()}

    def combined(self, y: str, terms: list[Moving]) -> Moving:
        """The tangents of y from the partial derivatives and the tangents of the arguments."""
        sums: dict[int, list[str]] = {}
        for partial, tangents in terms:
            if not tangents:
                continue
            p = "" if partial in ("1", "-1") else self.temporary(partial)
            for d, t in tangents.items():
                sums.setdefault(d, []).append(_product(p, t) if p else f"({partial[:-1]}{t})")
        return y, {d: self.temporary(" + ".join(parts)) for d, parts in sums.items()}

    def call(self, node: ast.Call) -> Moving:
        """A call of a known function, or of one whose source is differentiated too."""
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

    def callee(self, node: ast.Call, inner: Any) -> Moving:
        """A call of another compiled function: of its own derivative."""
        try:
            bound = inspect.signature(inner).bind(
                *node.args, **{k.arg: k.value for k in node.keywords if k.arg}
            )
        except TypeError as error:
            raise NoSource(f"it calls {inner.__name__} with the wrong arguments") from error
        bound.apply_defaults()
        pairs: list[Moving] = []
        for value in bound.arguments.values():
            if isinstance(value, ast.expr):
                pairs.append(self.expression(value))
            else:
                key = f"c{next(number)}"
                self.space[key] = value
                pairs.append((key, {}))
        active = tuple(frozenset(t) for _, t in pairs)
        moving = sorted(frozenset().union(*active))
        place = {d: i for i, d in enumerate(moving)}
        function = self.differentiated(inner, tuple(frozenset(place[d] for d in a) for a in active))
        key = f"f{next(number)}_{inner.__code__.co_name.strip('<>')}"
        self.space[key] = function
        given = [text for text, _ in pairs]
        given += [t[d] for _, t in pairs for d in sorted(t)]
        result = self.temporary(f"{key}({', '.join(given)})")
        return f"{result}[0]", {d: f"{result}[1][{i}]" for d, i in place.items()}


def _product(partial: str, tangent: str) -> str:
    """A partial derivative times a tangent; 0 of a partial that is 0, were the tangent infinite.

    So it is in reverse mode, where that partial makes the cotangent 0 and the rest never runs: a
    logistic function that is saturated, 1 / (1 + exp(-x)) with an exponential that overflows.
    """
    finite = f"{tangent} - {tangent} == 0"
    return f"({partial} * {tangent} if {partial} != 0 or {finite} else {partial})"


def zero_of(node: ast.expr) -> str:
    """The tangent of an expression that does not move."""
    if isinstance(node, ast.Tuple):
        return f"({''.join(zero_of(element) + ', ' for element in node.elts)})"
    return "0.0"


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
