"""Operations of NumPy functions that are not ufuncs of one output: what the table decides compiled.

The record asks them which parameters are arrays and what to keep (``plan``, ``keeps``), the sweeps
to spread and push.
"""

from __future__ import annotations

import inspect
from typing import Any

from ..errors import NoDerivative
from ..table import Rule, rule_parameters
from . import backend
from .array import GradArray, unwrap
from .node import Node, next_id
from .op import Op, adapter, lifted, verify
from .products import without_zeros
from .signatures import binder, caller
from .small import general_pull

_new: Any = object.__new__
Plan = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], bool]

# What a parameter is, where it is not the slot of an array.
OPTION, STRICT, SPECIAL = -1, -2, -3


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
        self.pointwise = rule.pointwise
        self.by_entry, self.by_rows = rule.by_entry, rule.by_rows
        self.holomorphic = rule.holomorphic
        self.risky = self.masks = rule.risky  # a product
        parameters = rule.signature.parameters
        self.names = tuple(parameters)
        self.defaults = tuple(p.default for p in parameters.values())
        self.bind = binder(self.name, rule.signature)
        self.invoke = caller(rule.signature)
        count = len(self.names)
        self.width = count + 2
        place = {name: i for i, name in enumerate(self.names)}
        self.place = place
        self.out = place.get("out", -1)
        self.selects = place.get("where", -1)
        sequences = [name for name in rule.arrays if name.startswith("*")]
        if len(sequences) > 1:
            raise TypeError(f"{self.name}: at most one sequence of arrays, got {sequences}")
        simple = [name for name in rule.arrays if not name.startswith("*")]
        self.sequence = place[sequences[0][1:]] if sequences else -1
        self.arrays = tuple(place[name] for name in simple)
        self.shows = (True,) if rule.shows == rule.arrays else ()
        self.slot = {place[name]: i for i, name in enumerate(simple)}
        self.order = (*simple, *sequences)
        where = {**place, "y": count}
        self.backs = tuple(
            adapter(f, where) if (f := rule.vjps.get(n)) else None for n in self.order
        )
        self.forwards = tuple(
            adapter(f, where) if (f := rule.jvps.get(n)) else None for n in self.order
        )
        named = {"out", *rule.ignores}
        for f in (*rule.vjps.values(), *rule.jvps.values()):
            named |= set(rule_parameters(f)) if f else set()
        self.strict = tuple(
            i
            for name, i in place.items()
            if i not in self.arrays and i != self.sequence and name not in named
        )
        self.sources = [rule.vjps.get(name) for name in self.order], where
        if self.sequence < 0:
            self.quick = self.backs
            self.pull = self._first_pull
        self.lone = self.sequence < 0 and self.arrays == (0,)  # of one array
        self.pair: General | None = None  # what a call with two arrays and nothing else records
        if rule.pair is not None:
            self.pair = General(rule.pair)
        elif self.sequence < 0 and not self.view and self.arrays == (0, 1):
            self.pair = self
        self._keeps: dict[tuple[bool, ...], tuple[bool, ...]] = {}
        self.plans: dict[int, Plan | None] = {}
        # NumPy's dispatcher is spared, or its whole Python wrapper where the rule says how.
        self.run = rule.run or getattr(rule.fun, "_implementation", rule.fun)
        self.template = [None if d is inspect.Parameter.empty else d for d in self.defaults]
        self.template += [None, None]
        self.nothing = tuple(self.template)  # what a call with one array keeps if no rule names it
        self.options = tuple(self.template[2:-2])  # of a pair: what a call with two arrays leaves
        self.slot_at = tuple(
            self.slot.get(i, SPECIAL if i in (self.out, self.sequence) else OPTION)
            for i in range(count)
        )
        self.slot_at = tuple(STRICT if i in self.strict else s for i, s in enumerate(self.slot_at))
        # A real dtype of complex numbers drops their imaginary parts: only a linear rule is then
        # right, which for the others `check_parameters` sees.
        self.typed = -1 if rule.kind == "linear" else place.get("dtype", -1)
        if self.typed >= 0:
            i = self.typed
            self.slot_at = (*self.slot_at[:i], SPECIAL, *self.slot_at[i + 1 :])

    def _first_pull(self, *given: Any) -> bool:
        rules, places = self.sources
        self.pull = general_pull(rules, places, self.width, verify)
        return self.pull(*given)  # type: ignore[no-any-return]

    def plan(self, mask: int) -> Plan | None:
        """What the everyday path keeps when the array slots in `mask` are recorded.

        Parameters not to keep, plain ones to guard, those of a linear function of which the shape
        is enough, and whether to keep the output; None where the everyday path does not apply.
        """
        try:
            return self.plans[mask]
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
        self.plans[mask] = plan
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
        values = list(kept)
        for slot, i in enumerate(self.arrays):
            values[i] = lifted(kept[i], node.parents[slot])
        if self.sequence >= 0 and kept[self.sequence] is not None:
            elements = zip(kept[self.sequence], node.parents[len(self.arrays) :], strict=True)
            values[self.sequence] = [lifted(value, parent) for value, parent in elements]
        y = kept[self.width - 2]
        if isinstance(y, tuple):
            values[self.width - 2] = tuple(item_of(node, i, value) for i, value in enumerate(y))
        else:
            values[self.width - 2] = lifted(y, node)
        return tuple(values)

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        if walk.batch and not self.batched:
            walk.loop(self, node, g, kept)
            return
        dtype = node.dtype
        turn = self.holomorphic and (dtype.kind == "c" if dtype is not None else is_complex(g))
        if turn:
            g = conjugate(g)
        simple = len(self.arrays)
        active = walk.active
        for slot, (back, parent) in enumerate(zip(self.backs[:simple], node.parents, strict=False)):
            if parent is not None and (active is None or parent.id in active):
                if self.risky and walk.careful:
                    part = self._carefully(back, slot, g, kept, parent)
                else:
                    part = back(g, kept, parent)  # type: ignore[misc]
                if part is not None:
                    walk.add(parent, conjugate(part) if turn else part, g)
        if self.sequence >= 0:
            parts = self.backs[simple](g, kept, kept[self.width - 1])  # type: ignore[misc]
            for part, parent in zip(parts, node.parents[simple:], strict=True):
                if part is not None and parent is not None and walk.wants(parent):
                    walk.add(parent, conjugate(part) if turn else part, g)

    def _carefully(
        self, rule: Any, slot: int, g: Any, kept: tuple[Any, ...], parent: Any, forth: bool = False
    ) -> Any:
        """What `rule` makes of `g` for the array in `slot`, zeros kept zero."""
        others = [i for i in self.arrays if i != self.arrays[slot]]
        return without_zeros(rule, g, kept, parent, others, either=forth)

    def whole(self, kept: Any) -> bool:
        """See `Op.whole`: not if ``where=`` selects."""
        return self.selects < 0 or kept[self.selects] is self.defaults[self.selects]

    def factors(self, kept: tuple[Any, ...]) -> list[Any]:
        """See `Op.factors`."""
        return [kept[i] for i in self.arrays if type(kept[i]) is backend.NDARRAY]

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
            if forward is None and self.rule.kind == "bilinear":
                forward = self._in_place_of(slot)
            if forward is not None and self.risky:
                part = self._carefully(forward, slot, tangent, kept, node.parents[slot], True)
            elif forward is not None:
                part = forward(tangent, kept, node.parents[slot])
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

    def _in_place_of(self, slot: int) -> Any:
        """The rule of forward mode of a function that is linear in the array in `slot`."""

        def forward(g: Any, kept: tuple[Any, ...], parent: Any) -> Any:
            values = list(kept[: len(self.names)])
            values[self.arrays[slot]] = g
            return self.again(values)

        return forward

    def pushes_batches(self, tangents: list[Any]) -> bool:
        """See `Op.pushes_batches`."""
        simple = len(self.arrays)
        given = [t is not None for t in tangents[:simple]]
        if self.sequence >= 0:
            given.append(any(t is not None for t in tangents[simple:]))
        return self.batched and all(
            forward is not None for forward, flag in zip(self.forwards, given, strict=True) if flag
        )

    def turns_batches(self, tangents: list[Any]) -> bool:
        """See `Op.turns_batches`; a sequence of arrays has one rule for all and is left out."""
        moved = [i for i, t in enumerate(tangents) if t is not None]
        return self.batched and moved[-1] < len(self.arrays) and all(self.backs[i] for i in moved)

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


def is_complex(g: Any) -> bool:
    """Whether `g`, or an entry of a tuple `g`, is complex."""
    if isinstance(g, tuple):
        return any(part is not None and backend.describe(part)[1].kind == "c" for part in g)
    return bool(backend.describe(g)[1].kind == "c")


def conjugate(g: Any) -> Any:
    """The conjugate of `g`, or of each entry of a tuple `g`; real ones as they are."""
    if isinstance(g, tuple):
        return tuple(None if part is None else conjugate(part) for part in g)
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
    if dtype is not backend.FLOAT and not backend.is_inexact(dtype):
        return value
    item = _new(Node)  # written out, as a node is in `written_out`
    item.id = next_id()
    # a node of several outputs counts them where others have their shape
    item.op, item.parents, item.kept = ITEM, (node,), (index, node.shape[0])
    item.shape, item.dtype, item.code, item.lasti = shape, dtype, node.code, node.lasti
    handle = _new(GradArray)
    handle._array, handle._node, handle._view = value, item, None
    return handle
