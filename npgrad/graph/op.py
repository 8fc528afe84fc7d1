"""Operations as the graph runs them: a rule of the table compiled, or one of the graph's own.

An operation knows how to spread a cotangent to its parents (``spread``) and how to push tangents
to its output (``push``). `Elementwise` is apart because its sweep is written out in the loop.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import NoDerivative
from ..table import Rule, rule_parameters
from . import backend
from .array import GradArray, unwrap
from .node import Node

Pull = Callable[[Any, tuple[Any, ...], Any], Any]
Plan = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]

# What a parameter is, where it is not the slot of an array.
OPTION, STRICT, SPECIAL = -1, -2, -3


def _adapter(rule: Callable[..., Any], place: dict[str, int]) -> Pull:
    """``(g, kept, parent) -> rule(g, ...)``: what the rule names is looked up by position."""
    words = []
    for name in rule_parameters(rule):
        if name in ("shape", "dtype"):
            words.append(f"p.{name}")
        else:
            words.append(f"k[{place[name]}]")
    source = f"lambda g, k, p: rule({', '.join(['g', *words])})"
    return eval(source, {"rule": rule})  # type: ignore[no-any-return]


class Op:
    """What every operation has; the graph's own operations derive from it."""

    name = "?"
    risky = False
    masks = False  # whether a careful sweep masks its rules
    single: Callable[..., Any] | None = None
    quick: tuple[Pull | None, ...] | None = None
    reuse: tuple[Any, int] | None = None
    both: Callable[[Any, tuple[Any, ...]], tuple[Pull, ...] | None] | None = None
    overwrites = False
    width = 1 << 30  # entries of ``kept`` beyond the width are guards of plain operands
    holomorphic = True

    def lift(self, node: Node) -> tuple[Any, ...]:
        """``node.kept`` with recorded values as GradArrays, for a sweep that is recorded."""
        assert node.kept is not None
        return node.kept

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """Give each parent its cotangent."""
        raise NotImplementedError

    def pushes_batches(self, tangents: list[Any]) -> bool:
        """Whether `push` takes tangents with a leading batch axis."""
        return True

    def weight(self, g: Any) -> int:
        """How many entries a node keeps, roughly, for a cotangent `g`."""
        return 0

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """The tangent of the output; None in `tangents` is zero."""
        raise NotImplementedError


def _together(function: Callable[..., Any], place: dict[str, int]) -> Any:
    """``(g, kept) -> two rules that hand out what `function` made``, or None where it cannot."""
    places = [place[name] for name in rule_parameters(function)]

    def both(g: Any, kept: tuple[Any, ...]) -> tuple[Pull, Pull] | None:
        made = function(g, *[kept[i] for i in places])
        if made is None:
            return None
        first, second = made
        return lambda g, kept, parent: first, lambda g, kept, parent: second

    return both


def _lifted(value: Any, node: Node | None) -> Any:
    """`value` as a handle of `node`; constants and what is not kept stay as they are."""
    return value if node is None or value is None else GradArray(value, node)


class Elementwise:
    """A ufunc of one output: a `Variant` for each set of inputs that may be recorded."""

    __slots__ = ("missing", "name", "nin", "rule", "variants")

    def __init__(self, rule: Rule) -> None:
        assert rule.signature is not None
        self.rule = rule
        self.name = rule.name
        names = tuple(rule.signature.parameters)
        self.nin = len(names)
        self.missing = sum(1 << i for i, name in enumerate(names) if rule.vjps[name] is None)
        self.variants: list[Any] = [
            Variant(self, names, mask) if mask and not mask & self.missing else None
            for mask in range(1 << self.nin)
        ]


class Variant(Op):
    """An elementwise operation with a given set of inputs recorded.

    ``parents`` are those inputs alone, ``kept`` only what their rules name: no look at what is not
    there. ``quick`` holds the rules of a variant of two, ``single`` the rule of a variant of one,
    called as ``single(g, *kept)``; the sweep writes these two out.
    """

    masks = True

    def __init__(self, base: Elementwise, names: tuple[str, ...], mask: int) -> None:
        rule = base.rule
        recorded = [i for i in range(base.nin) if mask >> i & 1]
        self.base = base
        self.name = base.name
        self.rule = rule
        self.risky = rule.risky
        self.holomorphic = rule.holomorphic
        self.recorded = recorded
        functions = [rule.vjps[names[i]] for i in recorded]
        forwards = [rule.jvps[names[i]] for i in recorded]
        wanted: list[str] = []
        for f in (*functions, *forwards):
            wanted += (
                [n for n in rule_parameters(f) if n not in (*wanted, "shape", "dtype")] if f else []
            )
        place = {name: i for i, name in enumerate((*names, "y"))}
        self.keep = tuple(place[name] for name in wanted)  # positions in (x1, ..., y), in order
        self.code = sum(1 << i for i in self.keep) if self.keep == tuple(sorted(self.keep)) else -1
        self.width = len(wanted)
        where = {name: i for i, name in enumerate(wanted)}
        self.backs = tuple(_adapter(f, where) for f in functions)  # type: ignore[arg-type]
        self.forwards = tuple(_adapter(f, where) if f else None for f in forwards)
        self.single = self.quick = None
        # (ufunc, place in kept) of the last recorded input, if its rule may overwrite g
        last = rule.in_place.get(names[recorded[-1]])
        self.reuse = (last[0], where[last[1]]) if last is not None else None
        if rule.both is not None and len(recorded) == base.nin == 2:
            self.both = _together(rule.both, where)
        self.overwrites = self.reuse is not None or self.both is not None
        if len(recorded) == 1:
            alone = functions[0]
            assert alone is not None
            if rule_parameters(alone) == tuple(wanted):
                self.single = alone
        if self.single is None and len(recorded) <= 2:
            self.quick = self.backs
        self.guarded = _Guarded(self)

    def pack(self, values: Sequence[Any], result: Any) -> tuple[Any, ...]:
        """What to keep of the inputs and the output."""
        nin = len(values)
        return tuple([result if i == nin else values[i] for i in self.keep])

    def lift(self, node: Node) -> tuple[Any, ...]:
        """See `Op.lift`."""
        assert node.kept is not None
        lifted = []
        for i, value in zip(self.keep, node.kept, strict=False):
            if i == self.base.nin:
                lifted.append(_lifted(value, node))
            elif i in self.recorded:
                lifted.append(_lifted(value, node.parents[self.recorded.index(i)]))
            else:
                lifted.append(value)
        return tuple(lifted)

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        turn = node.dtype.kind == "c" and self.holomorphic
        if turn:
            g = g.conj()
        for back, parent in zip(self.backs, node.parents, strict=True):
            if parent is not None and walk.wants(parent):
                value = back(g, kept, parent)
                if walk.careful:
                    value = backend.masked(g, value)
                walk.add(parent, value.conj() if turn else value, g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        total = None
        for forward, tangent, parent in zip(self.forwards, tangents, node.parents, strict=True):
            if tangent is not None:
                tangent = walk.aligned(tangent, parent, node)
                part = walk.guarded(self, forward(tangent, kept, parent), tangent)  # type: ignore[misc]
                total = part if total is None else total + part
        return total

    def weight(self, g: Any) -> int:
        """See `Op.weight`."""
        return getattr(g, "size", 0)


class _Guarded(Op):
    """A `Variant` some of whose kept operands are guarded: the sweep takes the long way."""

    masks = True

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.name = variant.name
        self.rule = variant.rule
        self.risky = variant.risky
        self.width = variant.width
        self.lift = variant.lift  # type: ignore[method-assign]
        self.spread = variant.spread  # type: ignore[method-assign]
        self.push = variant.push  # type: ignore[method-assign]
        self.weight = variant.weight  # type: ignore[method-assign]


class Slots:
    """What a rule of the sequence parameter gets as ``shape`` and ``dtype``: one per element."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[Any, ...], dtype: tuple[Any, ...]) -> None:
        self.shape = shape
        self.dtype = dtype


class Zeros:
    """Stands for a constant argument of a linear function: its tangent is zeros of its shape."""

    __slots__ = ("shape",)

    def __init__(self, value: Any) -> None:
        self.shape = backend.describe(value)[0]


class General(Op):
    """A NumPy function decided as linear, bilinear or reverse.

    ``parents`` are the array parameters in the order of `arrays`, then the elements of the
    sequence parameter, if there is one. ``kept`` has a place for each parameter (arrays that no
    rule names are None), then the output, then the `Slots` of the sequence.
    """

    def __init__(self, rule: Rule) -> None:
        assert rule.signature is not None
        self.rule = rule
        self.name = rule.name
        self.fun = rule.fun
        self.view = rule.view
        self.batched = rule.batched
        self.holomorphic = rule.holomorphic
        parameters = rule.signature.parameters
        self.names = tuple(parameters)
        self.defaults = tuple(p.default for p in parameters.values())
        self.bind = _binder(self.name, rule.signature)
        self.invoke = _caller(rule.signature)
        count = len(self.names)
        self.width = count + 2
        place = {name: i for i, name in enumerate(self.names)}
        self.place = place
        self.out = place.get("out", -1)
        sequences = [name for name in rule.arrays if name.startswith("*")]
        if len(sequences) > 1:
            raise TypeError(f"{self.name}: at most one sequence of arrays, got {sequences}")
        simple = [name for name in rule.arrays if not name.startswith("*")]
        self.sequence = place[sequences[0][1:]] if sequences else -1
        self.arrays = tuple(place[name] for name in simple)
        self.slot = {place[name]: i for i, name in enumerate(simple)}
        self.order = (*simple, *sequences)
        where = {**place, "y": count}
        self.backs = tuple(
            _adapter(f, where) if (f := rule.vjps.get(n)) else None for n in self.order
        )
        self.forwards = tuple(
            _adapter(f, where) if (f := rule.jvps.get(n)) else None for n in self.order
        )
        named = {"out", *rule.ignores}
        for f in (*rule.vjps.values(), *rule.jvps.values()):
            named |= set(rule_parameters(f)) if f else set()
        self.strict = tuple(
            i
            for name, i in place.items()
            if i not in self.arrays and i != self.sequence and name not in named
        )
        self.quick = self.backs if self.sequence < 0 else None
        plain = self.sequence < 0 and not self.view
        self.lone = plain and self.arrays == (0,)  # of one array
        self.pair: General | None = None  # what a call with two arrays and nothing else records
        if rule.pair is not None:
            self.pair = General(rule.pair)
        elif plain and self.arrays == (0, 1):
            self.pair = self
        self._keeps: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self._plans: dict[int, Plan | None] = {}
        # NumPy's dispatcher is spared, or its whole Python wrapper where the rule says how.
        self.run = rule.run or getattr(rule.fun, "_implementation", rule.fun)
        self.template = [None if d is inspect.Parameter.empty else d for d in self.defaults]
        self.template += [None, None]
        self.slot_at = tuple(
            self.slot.get(i, SPECIAL if i in (self.out, self.sequence) else OPTION)
            for i in range(count)
        )
        self.slot_at = tuple(STRICT if i in self.strict else s for i, s in enumerate(self.slot_at))

    def plan(self, mask: int) -> Plan | None:
        """What the everyday path keeps when the array slots in `mask` are recorded.

        Parameters not to keep, plain ones to guard, those of a linear function of which the shape
        is enough, and whether to keep the output; None where the everyday path does not apply.
        """
        try:
            return self._plans[mask]
        except KeyError:
            pass
        recorded = tuple(bool(mask >> slot & 1) for slot in range(len(self.order)))
        plan = None
        applies = mask and all(
            back is not None for back, flag in zip(self.backs, recorded, strict=True) if flag
        )
        if applies:
            keep = self.keeps(recorded)
            constant = [i for slot, i in enumerate(self.arrays) if not recorded[slot]]
            zeros = [i for i in constant if not keep[i] and self.rule.kind == "linear"]
            plan = (
                tuple(i for i in self.arrays if not keep[i] and i not in zeros),
                tuple(i for i in constant if keep[i]),
                tuple(zeros),
                keep[-1],
            )
        self._plans[mask] = plan
        return plan

    def keeps(self, recorded: tuple[bool, ...]) -> tuple[bool, ...]:
        """Which of the array parameters, and of the output, the rules of the recorded ones name."""
        keep = self._keeps.get(recorded)
        if keep is None:
            named: set[str] = set()
            for flag, name in zip(recorded, self.order, strict=True):
                if flag:
                    for f in (self.rule.vjps.get(name), self.rule.jvps.get(name)):
                        named |= set(rule_parameters(f)) if f else set()
                    if self.rule.kind == "bilinear":  # the JVP is the function itself
                        named |= set(self.order) - {name}
            keep = self._keeps[recorded] = tuple(name in named for name in (*self.names, "y"))
        return keep

    def lift(self, node: Node) -> tuple[Any, ...]:
        """See `Op.lift`."""
        kept = node.kept
        assert kept is not None
        lifted = list(kept)
        for slot, i in enumerate(self.arrays):
            lifted[i] = _lifted(kept[i], node.parents[slot])
        if self.sequence >= 0 and kept[self.sequence] is not None:
            elements = zip(kept[self.sequence], node.parents[len(self.arrays) :], strict=True)
            lifted[self.sequence] = [_lifted(value, parent) for value, parent in elements]
        y = kept[self.width - 2]
        if isinstance(y, tuple):
            lifted[self.width - 2] = tuple(item_of(node, i, value) for i, value in enumerate(y))
        else:
            lifted[self.width - 2] = _lifted(y, node)
        return tuple(lifted)

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        if walk.batch and not self.batched:
            walk.loop(self, node, g, kept)
            return
        dtype = node.dtype
        turn = self.holomorphic and (dtype.kind == "c" if dtype is not None else _is_complex(g))
        if turn:
            g = _conjugate(g)
        simple = len(self.arrays)
        active = walk.active
        for back, parent in zip(self.backs[:simple], node.parents, strict=False):
            if parent is not None and (active is None or parent.id in active):
                part = back(g, kept, parent)  # type: ignore[misc]
                if part is not None:
                    walk.add(parent, _conjugate(part) if turn else part, g)
        if self.sequence >= 0:
            parts = self.backs[simple](g, kept, kept[self.width - 1])  # type: ignore[misc]
            for part, parent in zip(parts, node.parents[simple:], strict=True):
                if part is not None and parent is not None and walk.wants(parent):
                    walk.add(parent, _conjugate(part) if turn else part, g)

    def weight(self, g: Any) -> int:
        """See `Op.weight`."""
        return getattr(g, "size", 0)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        if self.rule.kind == "linear" and not any(self.forwards):
            return self._push_linear(walk.like, node, tangents, kept)
        total = None
        simple = len(self.arrays)
        for slot, tangent in enumerate(tangents[:simple]):
            if tangent is None:
                continue
            forward = self.forwards[slot]
            if forward is not None:
                part = forward(tangent, kept, node.parents[slot])
            elif self.rule.kind == "bilinear":
                values = list(kept[: len(self.names)])
                values[self.arrays[slot]] = tangent
                part = self.again(values)
            else:
                part = walk.transposed(self, node, slot, tangent, kept)
            total = part if total is None else _added(total, part)
        if self.sequence >= 0 and any(t is not None for t in tangents[simple:]):
            filled = [
                backend.zeros(walk.like, shape, dtype) if tangent is None else tangent
                for tangent, shape, dtype in zip(
                    tangents[simple:],
                    kept[self.width - 1].shape,
                    kept[self.width - 1].dtype,
                    strict=True,
                )
            ]
            forward = self.forwards[simple]
            if forward is None:
                raise NoDerivative(f"npgrad: {self.name} has no forward rule for its sequence")
            part = forward(filled, kept, kept[self.width - 1])
            total = part if total is None else _added(total, part)
        return total

    def pushes_batches(self, tangents: list[Any]) -> bool:
        """See `Op.pushes_batches`."""
        simple = len(self.arrays)
        given = [t is not None for t in tangents[:simple]]
        if self.sequence >= 0:
            given.append(any(t is not None for t in tangents[simple:]))
        return self.batched and all(
            forward is not None for forward, flag in zip(self.forwards, given, strict=True) if flag
        )

    def _push_linear(
        self, like: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]
    ) -> Any:
        """The function itself on the tangents, zeros for what has none."""
        values = list(kept[: len(self.names)])
        simple = len(self.arrays)
        for slot, i in enumerate(self.arrays):
            parent, tangent = node.parents[slot], tangents[slot]
            if tangent is not None:
                values[i] = tangent
            elif parent is not None:
                values[i] = backend.zeros(like, parent.shape, parent.dtype)
            elif type(kept[i]) is Zeros:
                values[i] = backend.zeros(like, kept[i].shape, node.dtype)
            elif kept[i] is not None:
                values[i] = backend.zeros(like, *backend.describe(kept[i]))
        if self.sequence >= 0:
            slots = kept[self.width - 1]
            values[self.sequence] = [
                backend.zeros(like, shape, dtype) if tangent is None else tangent
                for tangent, shape, dtype in zip(
                    tangents[simple:], slots.shape, slots.dtype, strict=True
                )
            ]
        return self.again(values)

    def replay(self, array: Any, kept: tuple[Any, ...]) -> Any:
        """The function on another array in place of its first, for views."""
        values = list(kept[: len(self.names)])
        values[self.arrays[0]] = array
        return self.again(values)

    def again(self, values: list[Any]) -> Any:
        """The function called with these parameters.

        Other libraries lack some of NumPy's parameters and name some otherwise: defaults are left
        out, and what comes before the first of them is passed by position.
        """
        first = values[self.arrays[0] if self.arrays else self.sequence]
        if type(first) in (list, tuple):
            first = first[0] if first else None
        if not backend.on_device(unwrap(first)):
            return self.invoke(self.fun, values)
        kinds = self.rule.signature.parameters  # type: ignore[union-attr]
        args: list[Any] = []
        named: dict[str, Any] = {}
        position = True
        for (name, parameter), value in zip(kinds.items(), values, strict=True):
            default = parameter.default
            usual = value is default or _same_plain(value, default)
            if usual and (default is None or type(default) is not int):  # some need axis=-1
                position = False
            elif position and parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                args.append(value)
            else:
                named[name] = value
        return self.fun(*args, **named)


def _same_plain(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, str, float)) and a == b


def _is_complex(g: Any) -> bool:
    if isinstance(g, tuple):
        return any(part is not None and backend.describe(part)[1].kind == "c" for part in g)
    return bool(backend.describe(g)[1].kind == "c")


def _conjugate(g: Any) -> Any:
    if isinstance(g, tuple):
        return tuple(None if part is None else _conjugate(part) for part in g)
    return g.conj() if backend.describe(g)[1].kind == "c" else g


def _added(a: Any, b: Any) -> Any:
    if isinstance(a, tuple):
        return tuple(
            y if x is None else x if y is None else x + y for x, y in zip(a, b, strict=True)
        )
    return a + b


class Item(Op):
    """One output of a function of several."""

    name = "item"

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        walk.add_item(node.parents[0], kept[0], kept[1], g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        return tangents[0][kept[0]]


ITEM = Item()


def item_of(node: Node, index: int, value: Any) -> Any:
    """A handle of output `index` of `node`; plain if it is an integer."""
    shape, dtype = backend.describe(value)
    if not backend.is_inexact(dtype):
        return value
    count = node.shape[0]  # a node of several outputs counts them where others have their shape
    return GradArray(
        value, Node(ITEM, (node,), (index, count), shape, dtype, node.code, node.lasti)
    )


def _caller(signature: inspect.Signature) -> Callable[[Any, list[Any]], Any]:
    """``(fun, values) -> fun(...)``, by keyword where the signature allows it."""
    kinds = inspect.Parameter
    words = [
        f"v[{i}]" if p.kind is kinds.POSITIONAL_ONLY else f"{name}=v[{i}]"
        for i, (name, p) in enumerate(signature.parameters.items())
    ]
    return eval(f"lambda fun, v: fun({', '.join(words)})")  # type: ignore[no-any-return]


def _binder(name: str, signature: inspect.Signature) -> Callable[..., list[Any]]:
    """A function with `signature` that returns its arguments as a list, in order."""
    space: dict[str, Any] = {}
    parts: list[str] = []
    previous = None
    kinds = inspect.Parameter
    for i, (key, parameter) in enumerate(signature.parameters.items()):
        if previous is kinds.POSITIONAL_ONLY and parameter.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is kinds.KEYWORD_ONLY and previous is not kinds.KEYWORD_ONLY:
            parts.append("*")
        previous = parameter.kind
        if parameter.default is kinds.empty:
            parts.append(key)
        else:
            space[f"_d{i}"] = parameter.default
            parts.append(f"{key}=_d{i}")
    if previous is kinds.POSITIONAL_ONLY:
        parts.append("/")
    function = name.rpartition(".")[2]
    names = ", ".join(signature.parameters)
    exec(f"def {function}({', '.join(parts)}): return [{names}]", space)
    return space[function]  # type: ignore[no-any-return]
