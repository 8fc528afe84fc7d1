"""`checkpoint`: keep nothing of what a function computes, and compute it again when it is needed.

The call is one operation of the recording. Its sweep runs the function again, records it, and
sweeps that recording, which is then dropped: the intermediate results of one checkpoint live at a
time.

::

    forward    x --[ f, recorded only to see what it uses; dropped ]--> y      keeps x and y
    backward   x --[ f again, recorded ]--> y;  g at y --[ swept ]--> g at x and at the closure

Recorded values that the function uses without taking them as arguments (a closure) are parents of
the operation, as its arguments are. A function that gives another result when it runs again would
give a wrong gradient; that is noticed (by the result, and by what the operations keep for their
rules: `evidence`), and refused.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import InPlaceError, RuleError
from ..graph import backend, modes
from ..graph.array import GradArray, current, leaf, unwrap
from ..graph.backward import Backward
from ..graph.forward import Forward
from ..graph.node import Node, next_id
from ..graph.order import collect
from ..graph.record import call
from ..table import Rule
from .calls import Call, parts_of
from .evidence import Evidence, evidence
from .grad import prepare
from .user_rules import name_of

SIGNATURE = inspect.signature(lambda arrays, segment: None)


class Checkpoint:
    """What `checkpoint` returns: call it as the function."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        if not callable(fun):
            raise TypeError(f"npgrad: checkpoint takes a function, not {type(fun).__name__}")
        self.fun = fun
        self._prepared = prepare(fun, True)  # the second run is outside of any wrapped call
        functools.update_wrapper(self, fun)
        self._rule = Rule(
            "reverse",
            _computed,
            name=f"checkpoint.{name_of(fun).rpartition('.')[2]}",
            signature=SIGNATURE,
            vjps={"*arrays": _pull},
            jvps={"*arrays": _push},
            holomorphic=False,
            batched=True,
        )

    def __reduce__(self) -> Any:
        name = getattr(self, "__qualname__", "")
        home = sys.modules.get(getattr(self, "__module__", ""))
        # A decorated function is found under its name, which no longer leads to `fun`.
        return name if getattr(home, name, None) is self else (checkpoint, (self.fun,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result, of which nothing but the arguments is kept."""
        mode = modes.MODE.get()
        if mode is not None and not mode.recording:
            return self.fun(*args, **kwargs)
        segment = Segment(self._prepared, Call(args, kwargs))
        nodes = segment.first_run()
        if not nodes and not segment.call.recorded:
            return segment.result()
        closure = [GradArray(_placeholder(node), node) for node in nodes]
        made = call(self._rule, ([*segment.call.arrays, *closure], segment), {}, sys._getframe(1))
        segment.outputs = ()
        segment.call.arrays = []
        return segment.call.joined(made)


class Segment:
    """One call of a checkpointed function: how to run it again, and what it used the first time."""

    __slots__ = (
        "call",
        "closure",
        "evidence",
        "fun",
        "handles",
        "outputs",
        "recorded",
        "several",
    )

    evidence: Evidence

    def __init__(self, fun: Callable[..., Any], taken: Call) -> None:
        self.fun = fun
        self.call = taken
        self.handles = [type(array) is GradArray for array in taken.arrays]
        self.recorded = frozenset(taken.recorded)
        self.closure: list[int] = []  # ids of the recorded values used but not passed
        self.outputs: tuple[Any, ...] = ()
        self.several = False

    def run(self, arrays: list[Any]) -> Run:
        """Run the function, recorded, on leaves that hold `arrays`."""
        token = modes.change(recording=True, listeners=())
        try:
            return Run(self, arrays)
        finally:
            modes.MODE.reset(token)

    def first_run(self) -> list[Node]:
        """Run to get the value; returns the nodes of recorded values used but not passed."""
        run = self.run([_plain(array) for array in self.call.arrays])
        made = self.call.split(run.out)
        self.several = isinstance(made, tuple)
        self.outputs = tuple(map(_detached, made if self.several else (made,)))
        parts = self.call.out[0]
        for position, plain in zip(self.call.y, self.outputs, strict=True):
            parts[position] = plain
        nodes = run.closure()
        self.closure = [node.id for node in nodes]
        self.evidence = evidence(run.own())
        return nodes

    def result(self) -> Any:
        """The output of a call that used nothing recorded, as the function would have given it."""
        constant = any(type(array) is GradArray for array in self.call.arrays)
        outputs = [
            GradArray(out, None)
            if constant and backend.is_inexact(backend.describe(out)[1])
            else out
            for out in self.outputs
        ]
        return self.call.joined(tuple(outputs) if self.several else outputs[0])

    def again(self, arrays: list[Any], y: Any) -> Run:
        """Run once more; `y` is what came out the first time."""
        run = self.run(arrays[: len(self.call.owners)])
        if [node.id for node in run.closure()] != self.closure:
            raise RuleError(
                f"npgrad: checkpoint({self.fun.__name__}) used other recorded values when it ran "
                "again: an array of its closure was written to in between. Pass it as an argument."
            )
        pairs = zip(run.outputs, y if self.several else (y,), strict=True)
        same = all(_same(_plain(new), _plain(old)) for new, old in pairs)
        if not same or not evidence(run.own()).repeats(self.evidence):
            what = "another derivative" if same else "another result"
            raise RuleError(
                f"npgrad: checkpoint({self.fun.__name__}) gave {what} when it ran "
                "again, so its gradient would be wrong: it draws random numbers, or something "
                "that it uses was changed in between. Pass what changes as an argument."
            )
        return run


class Run:
    """One recorded run of a segment."""

    def __init__(self, segment: Segment, arrays: list[Any]) -> None:
        # Swept at a higher level, a leaf stands for its argument. A copy in between keeps the
        # argument's own node apart, which the function may also use through its closure.
        arrays = [a.copy() if type(a) is GradArray else a for a in arrays]
        self.floor = next_id()
        self.leaves: list[Any] = []
        self.nodes: list[Node | None] = []
        for index, array in enumerate(arrays):
            handle, node = array, None
            if index in segment.recorded:
                plain, origin = current(array) if type(array) is GradArray else (array, None)
                handle = leaf(plain, False, origin)
                node = handle._node
            elif segment.handles[index]:  # a constant
                handle = GradArray(_plain(array), None)
            self.leaves.append(handle)
            self.nodes.append(node)
        args, kwargs = segment.call.filled(self.leaves)
        self.out = segment.fun(*args, **kwargs)
        for handle, node in zip(self.leaves, self.nodes, strict=True):
            if type(handle) is GradArray and current(handle)[1] is not node:
                raise InPlaceError(
                    f"npgrad: checkpoint({segment.fun.__name__}): the function writes into its "
                    "argument; copy it first (x = x.copy())."
                )
        parts = parts_of(self.out)[0]
        self.outputs = [
            p for p in parts if type(p) is GradArray or backend.is_array(p) or backend.is_scalar(p)
        ]
        self.made = [current(p)[1] if type(p) is GradArray else None for p in self.outputs]
        self.order, _ = collect([node for node in self.made if node is not None], self.floor)

    def own(self) -> list[Node]:
        """The operations that this run recorded."""
        return [node for node in self.order if node.id > self.floor]

    def closure(self) -> list[Node]:
        """The nodes older than this run that it used; its own leaves stand for the arguments."""
        found: dict[int, Node] = {}
        own = {node.id for node in self.nodes if node is not None}
        for node in self.order:
            if node.id <= self.floor:
                found[node.id] = node
            elif node.id not in own:
                for parent in node.parents:
                    if parent is not None and parent.id <= self.floor:
                        found[parent.id] = parent
        return [found[key] for key in sorted(found)]


def _computed(arrays: Any, segment: Segment) -> Any:
    """What the first run gave."""
    return segment.outputs if segment.several else segment.outputs[0]


def _pull(g: Any, arrays: Any, segment: Segment, y: Any) -> list[Any]:
    """The cotangents of the arguments and of the closure."""
    run = segment.again(arrays, y)
    cotangents = g if segment.several else (g,)
    seeds = [
        (node, c)
        for node, c in zip(run.made, cotangents, strict=True)
        if node is not None and c is not None
    ]
    if not seeds:
        return [None] * len(arrays)
    record = any(type(c) is GradArray for _, c in seeds)
    batch = len(backend.describe(unwrap(seeds[0][1]))[0]) - len(seeds[0][0].shape)
    sweep = Backward(record=record, batch=batch, private=True)
    sweep.run(run.own(), seeds, record)
    found: list[Any] = []
    for node in run.nodes:
        met = sweep.leaves.get(node.id) if node is not None else None
        found.append(None if met is None else met[1])
    return [*found, *(sweep.cotangents.get(key) for key in segment.closure)]


def _push(g: Any, arrays: Any, segment: Segment, y: Any) -> Any:
    """The tangent of the output."""
    run = segment.again(arrays, y)
    keys = [None if node is None else node.id for node in run.nodes] + list(segment.closure)
    shapes = [node.shape if node is not None else () for node in run.nodes]
    shapes += [backend.describe(unwrap(a))[0] for a in arrays[len(shapes) :]]
    extra = [len(backend.describe(unwrap(t))[0]) - len(s) for t, s in zip(g, shapes, strict=True)]
    batch = max(0, *(e for e, key in zip(extra, keys, strict=True) if key is not None))
    seeds = {  # in a batch, what has no batch axis is zero
        key: tangent
        for key, tangent, axes in zip(keys, g, extra, strict=True)
        if key is not None and axes == batch
    }
    record = any(type(t) is GradArray for t in seeds.values())
    if record:
        seeds = {k: t if type(t) is GradArray else GradArray(t, None) for k, t in seeds.items()}
    tangents = Forward(record=record, batch=batch).run(run.own(), seeds, run.made)
    filled = [
        backend.zeros(unwrap(out), *_shape_of_zero(out)) if t is None else t
        for t, out in zip(tangents, run.outputs, strict=True)
    ]
    return tuple(filled) if segment.several else filled[0]


def checkpoint(fun: Callable[..., Any]) -> Checkpoint:
    """Trade time for memory: keep only the arguments of `fun`, and run it again to differentiate.

    Parameters
    ----------
    fun : callable
        Written with NumPy. It gives the same result each time it is called with the same arguments,
        and does not write into them.

    Returns
    -------
    callable
        Gives the same values and the same gradients as `fun`, in both modes and any order.

    Raises
    ------
    RuleError
        At backward, if `fun` gives another result when it runs again (random numbers, a closure
        that was changed in between).
    InPlaceError
        If `fun` writes into an argument.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> @npgrad.checkpoint
    ... def layer(x, w):
    ...     return np.tanh(np.exp(-x * w))
    >>> npgrad.grad(lambda w: layer(layer(0.5, w), w))(1.0)
    np.float64(-0.138181738...)
    """
    return Checkpoint(fun)


def _placeholder(node: Node) -> Any:
    """An array of the shape of `node` that takes no memory: no rule looks into it."""
    return np.broadcast_to(np.zeros((), node.dtype), node.shape)


def _detached(out: Any) -> Any:
    """The plain array of an output, which nobody else writes to."""
    return backend.snapshot_any(current(out)[0]) if type(out) is GradArray else out


def _plain(value: Any) -> Any:
    return current(value)[0] if type(value) is GradArray else value


def _same(new: Any, old: Any) -> bool:
    """Whether a second run gave what the first did; to rounding, for sums in another order."""
    new, old = backend.asarray(new), backend.asarray(old)
    if new.shape != old.shape or new.dtype != old.dtype:
        return False
    if not backend.is_inexact(new.dtype):
        return bool((new == old).all())
    size = np.abs(old[np.isfinite(old)]).max(initial=0.0) if isinstance(old, np.ndarray) else 0.0
    tolerance = float(np.finfo(new.dtype).eps) ** 0.75 * float(size)
    return bool(np.allclose(new, old, rtol=0.0, atol=tolerance, equal_nan=True))


def _shape_of_zero(out: Any) -> tuple[tuple[int, ...], Any]:
    shape, dtype = backend.describe(unwrap(out))
    return shape, dtype if backend.is_inexact(dtype) else backend.FLOAT
