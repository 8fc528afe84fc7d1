"""One call of a function on leaves, the arguments that `argnums` means, and sweeps over it."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any

from ..errors import GradientLost
from ..graph import backend, fingerprints
from ..graph.array import GradArray
from ..graph.backward import Backward
from ..graph.doors import REFUSED, caught_since
from ..graph.modes import MODE, change
from ..graph.node import Node, finish, next_id, outside
from ..graph.order import collect, depending
from ..graph.stale import DENIED, refuse_denied, refuse_kept
from .trees import Argument, device_of, flatten, is_single
from .values import settled, value

Function = Callable[..., Any]
Argnums = int | str | Sequence[int | str]


def _covered(error: Exception, printed: Any) -> GradientLost | None:
    """The refusal that SciPy's or compiled code made another error of; None if `error` is no such.

    SciPy's root finders call the function from C. brentq goes on after a refusal, which Python
    reports as a SystemError caused by it; fsolve prints it, which leaves it in ``sys.last_value``
    (`printed` is what was there before), and raises an error of its own. Where a recorded value is
    put into a buffer of SciPy's, NumPy makes a ValueError of the refusal.
    """
    cause = error.__cause__ or error.__context__
    if isinstance(cause, GradientLost):
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        module = "" if place is None else str(place.tb_frame.f_globals.get("__name__", ""))
        hidden = str(error).startswith("setting an array element")  # what NumPy makes of ours
        if hidden or isinstance(error, SystemError) or module.partition(".")[0] == "scipy":
            return cause
    last = getattr(sys, "last_value", None)
    return last if last is not printed and isinstance(last, GradientLost) else None


def _raise_caught(count: int, leaves: Iterable[Node]) -> None:
    """Raise once more what a program caught and went on without: a gradient is lost."""
    message = caught_since(count, leaves)
    if message is not None:
        raise GradientLost(
            f"{message} (The program, a library or a thread caught this error and went on: what it "
            "took instead has no gradient. If that is meant, npgrad.value(x) says so.)"
        )


class Run:
    """One call of a function on leaves: the arguments, the output, and sweeps over it.

    With `later` the sweeps come when the caller has its arguments back: they are copied. With
    `has_aux` the function returns a pair, of which the second is not differentiated.
    """

    __slots__ = ("arguments", "aux", "floor", "out", "there")

    def __init__(
        self,
        f: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        which: Sequence[int | str],
        later: bool = False,
        has_aux: bool = False,
    ) -> None:
        mode = MODE.get()
        quiet = mode is not None and not mode.recording  # under no_grad: its results are constant,
        if quiet:  # but the function itself has to be recorded to be differentiated
            args, kwargs = value(args), value(kwargs)
        self.floor = next_id()
        count = len(args)
        for key in which:
            if type(key) is not int or not 0 <= key < count:
                which = distinct(f, which, count, kwargs)
                break
        filled = list(args)
        named = kwargs
        self.arguments = []
        for key in which:
            if type(key) is str:
                argument = Argument(kwargs[key], key, later)
                if named is kwargs:
                    named = dict(kwargs)
                named[key] = argument.value
            else:
                argument = Argument(args[key], f"argument {key}", later)  # type: ignore[index]
                filled[key] = argument.value  # type: ignore[index]
            self.arguments.append(argument)
        token = change(recording=True) if quiet else None
        printed = getattr(sys, "last_value", None)
        refused, denied = REFUSED[0], DENIED[0]
        try:
            self.there = there = device_of(self.arguments)  # an array of a device; None on the host
            if there is None:
                self.out = f(*filled, **named)
            else:
                with backend.where_it_lives(there):
                    self.out = f(*filled, **named)
        except Exception as error:
            lost = _covered(error, printed)
            if lost is None:
                raise
            raise lost from None
        finally:
            if token is not None:
                MODE.reset(token)
        if REFUSED[0] != refused:
            _raise_caught(refused, [node for one in self.arguments for node in one.nodes])
        for argument in self.arguments:
            for node in argument.nodes:
                node.op.open = False
            argument.check(f, filled, named)
        if DENIED[0] != denied:
            self._ask_plainly(f, args, kwargs)
        self.aux = None
        if has_aux:
            self.out, aux = _pair(self.out)
            self.aux = settled(aux)  # now: a sweep frees what it depends on

    def _ask_plainly(self, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Call `f` with plain copies of its arguments, where a comparison was answered no."""
        leaves = [node for argument in self.arguments for node in argument.nodes]
        copies = [a.copy() if type(a) is backend.NDARRAY else value(a) for a in args]
        named = {k: a.copy() if type(a) is backend.NDARRAY else value(a) for k, a in kwargs.items()}
        refuse_denied(leaves, self.out, lambda: f(*copies, **named), _numbers_in)

    def gradients(
        self, seeds: list[tuple[Node, Any]], retain: bool, record: bool = False, batch: int = 0
    ) -> tuple[list[Any], bool]:
        """The cotangents of the arguments, each in its structure; whether they are recorded."""
        order, older = collect([node for node, _ in seeds], self.floor)
        for _, g in seeds:
            record = record or type(g) is GradArray
        active = None
        if older or (order and order[0].id <= self.floor):
            record = self.outside(order, older) or record
            roots = {node.id for argument in self.arguments for node in argument.nodes}
            active = depending(order, roots)
            order = [node for node in order if node.id in active]
            seeds = [seed for seed in seeds if seed[0].id in active]
        leaves: dict[int, tuple[Node, Any]] = {}
        if seeds:
            walk = Backward(record=record, batch=batch, active=active, private=not retain)
            if record:
                seeds = [
                    (node, g if type(g) is GradArray else GradArray(g, None)) for node, g in seeds
                ]
            walk.result = self.out
            walk.run(order, seeds, retain)
            leaves = walk.leaves
        connected = record
        for argument in self.arguments:
            connected = connected or argument.recorded
        return [argument.collect(leaves, connected) for argument in self.arguments], connected

    def finish(self, node: Node) -> None:
        """Let go of the recording of `node`, which was swept, where a value of it is kept."""
        order, _ = collect([node], self.floor)
        leaves = tuple([leaf for argument in self.arguments for leaf in argument.nodes])
        for leaf in leaves:
            held = leaf.op.held
            if type(held) is backend.NDARRAY and held.nbytes > backend.COPIED_BYTES:
                leaf.op.held = fingerprints.fingerprint(held)
            leaf.op.given = None
        finish(order, leaves)

    def outside(self, order: list[Node], older: list[Node]) -> bool:
        """Whether the output depends on a recording that is still alive; see `node.outside`.

        GradientLost if it depends on what an earlier one left at the same arguments.
        """
        if older or (order and order[0].id <= self.floor):
            leaves = [node for argument in self.arguments for node in argument.nodes]
            refuse_kept(order, self.floor, leaves)
        return outside(order, older)


def _numbers_in(out: Any) -> list[Any]:
    parts = [out] if is_single(out) else flatten(out)[0]
    return [value(part) for part in parts if type(part) is GradArray or is_single(part)]


def _pair(out: Any) -> tuple[Any, Any]:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError(
            "npgrad: has_aux=True needs a function that returns a pair (value, aux), this one "
            f"returned {type(out).__name__}"
        )
    return out[0], out[1]


def distinct(
    f: Function, which: Sequence[int | str], count: int, kwargs: dict[str, Any]
) -> list[int | str]:
    """`which` as the arguments were passed; ValueError if two of them mean the same one."""
    found: list[int | str] = []
    for key in which:
        if isinstance(key, int) and -count <= key < count:
            found.append(key % count)
        else:
            found.append(key if key in kwargs else place_of(f, key, count, kwargs))
    if len(set(found)) != len(found):
        raise ValueError(f"npgrad: argnums names an argument twice: {tuple(which)!r}")
    return found


def place_of(f: Function, key: int | str, count: int, kwargs: dict[str, Any]) -> int | str:
    """Where an argument named was passed by position, or one numbered by keyword."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    positional_or_named = {
        p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
    if isinstance(key, str):
        if key in positional[:count]:
            return positional.index(key)
        hint = f"; pass {key}=... to differentiate by it" if key in positional_or_named else ""
        raise TypeError(f"npgrad: argnums={key!r}, but no argument of that name was passed{hint}")
    if 0 <= key < len(positional) and positional[key] in kwargs:
        return positional[key]
    raise TypeError(
        f"npgrad: argnums={key}, but the function was called with {count} positional arguments"
    )


def argnums_of(argnums: Any) -> tuple[tuple[int | str, ...], bool]:
    """`argnums` as a tuple, and whether it was a single one."""
    single = _key(argnums)
    if single is not None:
        return (single,), True
    which: list[int | str | None] = []
    if isinstance(argnums, Iterable) and not isinstance(argnums, (Set, Mapping)):  # they have order
        which = list(map(_key, argnums))
    found = tuple(key for key in which if key is not None)
    if not which or len(found) != len(which):
        raise TypeError(f"npgrad: argnums is an int, a name, or a tuple of them, not {argnums!r}")
    if len(set(found)) != len(found):
        raise ValueError(f"npgrad: argnums names an argument twice: {argnums!r}")
    return found, False


def _key(argnum: Any) -> int | str | None:
    """A position, NumPy's integers among them, or a name; None if it is neither."""
    if isinstance(argnum, str):
        return argnum
    try:
        return None if isinstance(argnum, bool) else operator.index(argnum)
    except TypeError:
        return None
