"""Operations as the graph runs them: what all have, and those of ufuncs.

An operation knows how to spread a cotangent to its parents (``spread``) and how to push tangents
to its output (``push``). The sweep writes the operations of ufuncs out in its loop; those of other
functions are in `general`, the graph's own in `views`, `regions` and `stacking`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import OperandMutated
from ..table import Rule, rule_parameters
from . import backend, fingerprints
from .array import handle_of
from .deferred import lazily
from .deferring import masked
from .node import Node, recorded_at
from .questions import ask_later
from .small import elementwise_pull

Pull = Callable[[Any, tuple[Any, ...], Any], Any]


def adapter(rule: Callable[..., Any], place: dict[str, int]) -> Pull:
    """``(g, kept, parent) -> rule(g, ...)``: what the rule names is looked up by position."""
    words = []
    for name in rule_parameters(rule):
        if name in ("shape", "dtype"):
            words.append(f"p.{name}")
        else:
            words.append(f"k[{place[name]}]")
    source = f"lambda g, k, p: rule({', '.join(['g', *words])})"
    code = compile(source, __file__, "eval")  # of ours: what a rule records is at the user's line
    return eval(code, {"rule": rule})  # type: ignore[no-any-return]


def verify(node: Node, kept: tuple[Any, ...], later: bool = False) -> None:
    """Raise if a plain operand that `node` kept was changed since; on a device maybe `later`."""

    def error(node: Node = node) -> OperandMutated:
        return OperandMutated(
            f"npgrad: a plain array given to {node.op.name} was changed in place after it was "
            f"recorded, so the gradient would be wrong.{recorded_at(node)} Pass a copy "
            "(a.copy()), or change it after the backward pass."
        )

    for array, digest, whole in kept[node.op.width :]:
        if later and type(digest) is not int:
            ask_later(fingerprints.differ(array, digest, whole), error)
        elif fingerprints.changed(array, digest, whole):
            raise error()


class Op(ABC):
    """What every operation has; the graph's own operations derive from it."""

    name = "?"
    risky = False
    masks = False  # whether a careful sweep masks its rules
    puts_off = False  # whether it takes a cotangent that is not computed yet
    pointwise = False  # elementwise: on a device it is put off, and its rules are
    quick: tuple[Pull | None, ...] | None = None  # rules that the everyday sweep calls itself
    pull: Any = None  # the everyday sweep of small arrays, see `small`
    sources: Any = ()  # what `pull` is written from: the rules of the parents, what is kept where
    over = -1  # the rule, one of `simple`, that is called last and may overwrite g
    turns: tuple[int, ...] = ()  # in which the rules are called, if it matters
    bare: tuple[bool, ...] = ()  # which rules name nothing but g
    both: Callable[[Any, tuple[Any, Any], Sequence[Any]], bool] | None = None
    # for each rule of `backs` that is one ufunc of g and one thing kept: that ufunc and its place
    simple: tuple[tuple[Any, int] | None, ...] = ()
    by_rows = False  # the first parent's cotangent: see `gathered`
    shows: tuple[bool, ...] = ()  # for each parent, see `certain`
    tame = False
    by_entry = False  # entry by entry: `blocks` may sweep a part of the arrays after the other
    width = 1 << 30  # entries of ``kept`` beyond the width are guards of plain operands
    holomorphic = True

    def lift(self, node: Node) -> tuple[Any, ...]:
        """``node.kept`` with recorded values as GradArrays, for a sweep that is recorded."""
        assert node.kept is not None
        return node.kept

    @abstractmethod
    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """Give each parent its cotangent."""

    def pushes_batches(self, tangents: list[Any]) -> bool:
        """Whether `push` takes tangents with a leading batch axis."""
        return True

    def turns_batches(self, tangents: list[Any]) -> bool:
        """Whether the rules of reverse mode of the operands that move take a batch."""
        return False

    def whole(self, kept: Any) -> bool:
        """Whether all of every input went into the output."""
        return True

    def factors(self, kept: tuple[Any, ...]) -> list[Any]:
        """The arrays that the rules of a product multiply with."""
        return []

    def weight(self, g: Any) -> int:
        """How many entries a node keeps, roughly, for a cotangent `g`."""
        return 0

    @abstractmethod
    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """The tangent of the output; None in `tangents` is zero."""


def _together(function: Callable[..., Any], place: dict[str, int]) -> Any:
    """``(g, out, kept) -> done``: `function` (see `elementwise`), what it names by position."""
    places = [place[name] for name in rule_parameters(function) if name != "out"]

    return lambda g, out, kept: function(g, out, *[kept[i] for i in places])


# Even functions, and what is one under conditions. At 0 the slope is 0; met by an infinite
# cotangent, as of sqrt(x**2), it stays 0: a function of an even function has no other slope there.
EVEN = frozenset(("np.square", "np.absolute", "np.cos", "np.cosh", "np.power", "np.multiply"))


def _harmless(number: Any) -> bool:
    """Whether `number` is a finite Python or NumPy scalar and not zero."""
    return backend.is_scalar(number) and number - number == 0 != number


def lifted(value: Any, node: Node | None) -> Any:
    """`value` as a handle of `node`; constants and what is not kept stay as they are."""
    return value if node is None or value is None else handle_of(value, node)


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
    there.
    """

    masks = True
    by_entry = True
    puts_off = True

    def __init__(self, base: Elementwise, names: tuple[str, ...], mask: int) -> None:
        rule = base.rule
        recorded = [i for i in range(base.nin) if mask >> i & 1]
        self.base = base
        self.name = base.name
        self.rule = rule
        self.risky = rule.risky
        shows = [names[i] in rule.shows for i in recorded]
        self.shows, self.tame = tuple(shows) if any(shows) else (), rule.tame
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
        self.backs = tuple(adapter(f, where) for f in functions)  # type: ignore[arg-type]
        self.forwards = tuple(adapter(f, where) if f else None for f in forwards)
        single = [rule.in_place.get(names[i]) for i in recorded]
        self.simple = tuple((s[0], where[s[1]]) if s is not None else None for s in single)
        self.over = max((i for i, one in enumerate(self.simple) if one is not None), default=-1)
        self.turns = tuple(sorted(range(len(functions)), key=lambda i: i == self.over))
        self.bare = tuple(not rule_parameters(f) for f in functions)  # type: ignore[arg-type]
        if rule.both is not None and len(recorded) == base.nin == 2:
            self.both = _together(rule.both, where)
        self.quick = self.backs
        self.sources = functions, where
        self.pull = self._first_pull
        self.guarded = _Guarded(self)

    def _first_pull(self, *given: Any) -> bool:
        self.pull = elementwise_pull(*self.sources)
        return self.pull(*given)  # type: ignore[no-any-return]

    def pack(self, values: Sequence[Any], result: Any) -> tuple[Any, ...]:
        """What to keep of the inputs and the output."""
        nin = len(values)
        return tuple([result if i == nin else values[i] for i in self.keep])

    def lift(self, node: Node) -> tuple[Any, ...]:
        """See `Op.lift`."""
        assert node.kept is not None
        values = []
        for i, value in zip(self.keep, node.kept, strict=False):
            if i == self.base.nin:
                values.append(lifted(value, node))
            elif i in self.recorded:
                values.append(lifted(value, node.parents[self.recorded.index(i)]))
            else:
                values.append(value)
        return tuple(values)

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        turn = node.dtype.kind == "c" and self.holomorphic
        if turn:
            g = g.conj()
        if walk.lazy:
            self._put_off(walk, node, g, kept, turn)
            return
        for i, (back, parent) in enumerate(zip(self.backs, node.parents, strict=True)):
            if parent is not None and walk.wants(parent):
                value = back(g, kept, parent)
                if walk.careful:
                    value = backend.masked(g, value)
                    if self.name in EVEN and self._is_even(node, i):
                        slope = back(backend.ones_of(g), kept, parent)
                        value = backend.flattened(g, slope, value)
                walk.add(parent, value.conj() if turn else value, g)

    def _is_even(self, node: Node, i: int) -> bool:
        """Whether a change of the operand's sign leaves the result as it is."""
        if self.name == "np.multiply":
            return len(node.parents) == 2 and node.parents[0] is node.parents[1]
        if self.name != "np.power":
            return True
        assert node.kept is not None
        exponent = node.kept[self.keep.index(1)] if 1 in self.keep else None
        if self.recorded[i] or exponent is None:
            return False
        odd = exponent % 2 != 0
        return not (odd if type(odd) is bool else odd.any())

    def _put_off(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...], turn: bool) -> None:
        """`spread` on a device: what the rules make is not computed yet.

        A zero cotangent is kept zero at once. Within a kernel that costs nothing, and saves the
        look at the end, which waits for the device. Finite numbers cannot make an infinity of 0.
        """
        g, kept = lazily(g), tuple([lazily(value) for value in kept])
        risky = self.risky and not all(map(_harmless, kept[: self.width]))
        for back, parent in zip(self.backs, node.parents, strict=True):
            if parent is not None and walk.wants(parent):
                value = back(g, kept, parent)
                if risky:
                    value = masked(g, value)
                walk.add(parent, value.conj() if turn else value, g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        total = None
        for forward, tangent, parent in zip(self.forwards, tangents, node.parents, strict=True):
            if tangent is not None:
                tangent = walk.aligned(tangent, parent, node)
                part = walk.guarded(self, forward, tangent, kept, parent)
                total = part if total is None else total + part
        return total

    def weight(self, g: Any) -> int:
        """See `Op.weight`."""
        return getattr(g, "size", 0)


class _Guarded(Op):
    """A `Variant` some of whose kept operands are guarded: the sweep checks them first."""

    masks = True
    by_entry = True
    puts_off = True

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.backs = self.quick = variant.backs
        self.simple, self.over = variant.simple, variant.over
        self.turns, self.bare = variant.turns, variant.bare
        self.name = variant.name
        self.rule = variant.rule
        self.risky = variant.risky
        self.shows, self.tame = variant.shows, variant.tame
        self.width = variant.width
        self.lift = variant.lift  # type: ignore[method-assign]
        self.weight = variant.weight  # type: ignore[method-assign]

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        """See `Op.spread`."""
        self.variant.spread(walk, node, g, kept)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        """See `Op.push`."""
        return self.variant.push(walk, node, tangents, kept)
