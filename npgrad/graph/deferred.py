"""Elementwise operations on device arrays, put off until somebody needs the numbers.

A launch costs more than the arithmetic of a small array, and memory more than that of a large one.
So on a device an elementwise operation makes a `Deferred`: a shape, a dtype, and what it is to be
computed from. When a sum, a kernel, a gradient or a person needs the numbers, `settle` computes
the whole expression, in one generated kernel where `npgrad.cuda` offers one (`use`). The backward
sweep runs the rules on deferred arrays, so the cotangents of a run of elementwise operations are
one expression, which computes again what nobody stored on the way forward.

A deferred array holds on to the arrays that it is computed from, so that a write into one of them
moves to a copy (see `views`). A plain array, which its owner may change, is never put off.

Whoever knows nothing of all this is given the numbers: `LAZY` stands in the place of a handle's
view, where everybody looks before the array is used.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from numpy.lib.mixins import NDArrayOperatorsMixin

from . import backend

LONGEST = 768  # operations of one expression; a kernel of 500 takes Numba 3 seconds
FORWARD = 256  # ... and of one on the way forward, which the backward computes again
OFTEN = 16  # operations between two counts of a long expression
_serial = itertools.count().__next__
_new = object.__new__
_place = attrgetter("place")
Shape = tuple[int, ...]


class _Offer:
    """What `npgrad.cuda` put off operations with; nothing before a device array was met."""

    load: Callable[[], Any] | None = None  # called once: an evaluator, or None
    loaded = False
    evaluator: Any = None


def use(load: Callable[[], Any]) -> None:
    """Let `load` say, when the first device array is met, who computes deferred arrays.

    It returns None (nothing is put off), or an object with ``operations``, a dict from ufunc to
    name, ``names``, every name there is, ``library``, ``filled(value, shape, dtype)`` that makes an
    array, ``evaluate(order, outputs) -> bool``, which sets ``value`` of outputs or declines, and
    perhaps ``sweeps()``, which makes who replays the sweeps of a function, or None.
    """
    _Offer.load, _Offer.loaded, _Offer.evaluator = load, False, None


def evaluator() -> Any:
    """Who computes deferred arrays, or None: then nothing is put off."""
    if not _Offer.loaded:
        _Offer.loaded = True
        _Offer.evaluator = _Offer.load() if _Offer.load is not None else None
    return _Offer.evaluator


class Deferred(NDArrayOperatorsMixin):
    """An array of a device that is not computed yet, or was (``value``).

    ``operands`` are deferred arrays and numbers. All that is not computed in one expression has
    one shape; what is broadcast into it is computed first.
    """

    __slots__ = ("apply", "dtype", "name", "operands", "place", "room", "shape", "value")

    name: str
    apply: Callable[..., Any] | None  # what the array library calls it
    operands: tuple[Any, ...]
    shape: Shape
    dtype: Any
    value: Any  # the array, once it is computed
    room: int  # how many operations may follow before they are counted
    place: int  # the order in which they were made

    # -- what is known without computing ---------------------------------------------------------
    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """As it will be: in C order."""
        if self.value is not None:
            return self.value.strides  # type: ignore[no-any-return]
        steps = [self.itemsize]
        for extent in self.shape[:0:-1]:
            steps.append(steps[-1] * max(1, extent))
        return tuple(reversed(steps[: len(self.shape)]))

    @property
    def base(self) -> Any:
        """Nobody else's memory."""
        return None

    @property
    def real(self) -> Any:
        """Itself: only real arrays are put off."""
        return self

    def conj(self) -> Any:
        """Itself: only real arrays are put off."""
        return self

    # -- elementwise: put off ---------------------------------------------------------------------
    if TYPE_CHECKING:  # put on the class by `deferring`, as other operators are

        def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any: ...

    def astype(self, dtype: Any, **options: Any) -> Any:
        """In another dtype."""
        dtype = backend.dtype_of(dtype)
        if dtype == self.dtype and not options.get("copy", False):
            return self
        if options or dtype.char not in "fd":
            return settled(self).astype(dtype, **options)
        return put_off("cast", cast_to(dtype), (self,), self.shape, dtype)

    # -- everything else: computed first -----------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__cuda_array_interface__":
            raise AttributeError(name)
        return getattr(settled(self), name)

    def __getitem__(self, index: Any) -> Any:
        return settled(self)[settled(index)]

    def __len__(self) -> int:
        return len(settled(self))

    def __bool__(self) -> bool:
        return bool(settled(self))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return settled(self).__array__(dtype)  # which says how to copy an array to the host

    def __repr__(self) -> str:
        return f"<deferred {self.name} {self.dtype}{list(self.shape)}>"


def put_off(
    name: str,
    apply: Callable[..., Any] | None,
    operands: tuple[Any, ...],
    shape: Shape,
    dtype: Any,
    value: Any = None,
) -> Deferred:
    """A new deferred array; of operands of its own shape."""
    made = _new(Deferred)
    made.name, made.apply, made.operands = name, apply, operands
    made.shape, made.dtype, made.value = shape, dtype, value
    made.place = _serial()
    room = FORWARD
    for operand in operands:
        if type(operand) is Deferred and operand.value is None and operand.room < room:
            room = operand.room
    made.room = room = room - 1
    if room <= 0:
        count = len(_uncomputed([made]))
        if count > LONGEST:
            settle([operand for operand in operands if type(operand) is Deferred])
        made.room = max(OFTEN, (LONGEST - count) // 2)
    return made


def itself(value: Any) -> Any:
    """`value`."""
    return value


def cast_to(dtype: Any) -> Callable[..., Any]:
    """The function that brings an array to `dtype`."""
    return lambda array: array.astype(dtype)


def lazily(array: Any) -> Any:
    """`array` as the input of an expression; as it is, where nothing can be put off."""
    kind = type(array)
    if kind is Deferred or kind in backend.HOST or not backend.on_device(array):
        return array
    offered = evaluator()
    if offered is None or array.dtype.char not in "fd?":
        return array
    return put_off("input", None, (), array.shape, array.dtype, array)


# -- computing ------------------------------------------------------------------------------------


def settled(value: Any) -> Any:
    """`value` with every deferred array in it computed; anything else as it is."""
    kind = type(value)
    if kind is Deferred:
        if value.value is None:
            settle([value])
        return value.value
    if kind is tuple or kind is list:
        return kind([settled(item) for item in value])
    if kind is dict:
        return {key: settled(item) for key, item in value.items()}
    return value


def settle(values: Iterable[Deferred]) -> None:
    """Compute `values`, those of one shape together."""
    groups: dict[Shape, dict[int, Deferred]] = {}
    for value in values:
        if value.value is None:
            groups.setdefault(value.shape, {})[id(value)] = value
    for group in groups.values():
        outputs = [value for value in group.values() if value.value is None]
        order = _uncomputed(outputs)
        offered = evaluator()
        if offered is None or not offered.evaluate(order, outputs):
            step_by_step(order, outputs)
        for output in outputs:
            output.operands = ()


def _uncomputed(outputs: list[Deferred]) -> list[Deferred]:
    """What `outputs` depend on and is not computed, operands first."""
    stack, found = list(outputs), {id(output): output for output in outputs}
    while stack:
        for operand in stack.pop().operands:
            if type(operand) is Deferred and operand.value is None and id(operand) not in found:
                found[id(operand)] = operand
                stack.append(operand)
    return sorted(found.values(), key=_place)


def step_by_step(order: list[Deferred], outputs: list[Deferred]) -> None:
    """One call of the array library an operation; what is on the way is dropped again.

    (It would be there for the backward, but the next expression should not depend on who computed
    this one: kernels are made of expressions that come again.)
    """
    values: dict[int, Any] = {}
    operands = (o for node in order for o in node.operands if type(o) is Deferred)
    near = next((o.value for o in operands if o.value is not None), None)
    with backend.quiet(), backend.where_it_lives(near):  # asked for under any current device
        for node in order:
            given = [
                (o.value if o.value is not None else values[id(o)]) if type(o) is Deferred else o
                for o in node.operands
            ]
            assert node.apply is not None
            values[id(node)] = node.apply(*given)
    for output in outputs:
        made = values[id(output)]
        if backend.describe(made)[0] != output.shape or not backend.on_device(made):
            made = evaluator().filled(made, output.shape, output.dtype)
        output.value = made


# -- handles --------------------------------------------------------------------------------------


class Lazy:
    """In the place of a handle's view: the handle's array may be a deferred one."""

    root = op = None

    def operand(self, handle: Any) -> tuple[Any, Any, Any]:
        """Array and node for an elementwise operation, and what its result has for a view."""
        array = handle._array
        if type(array) is not Deferred:
            array = handle._array = lazily(array)
        elif array.room <= 1 and array.value is None:
            settle([array])
        return array, handle._node, self

    def refresh(self, handle: Any) -> None:
        """Have the numbers ready."""
        if type(handle._array) is Deferred:
            handle._array = settled(handle._array)


LAZY = Lazy()


def settle_handle(handle: Any) -> None:
    """Make of a lazy handle an everyday one: its memory is to be viewed or written to."""
    if handle._view is LAZY:
        LAZY.refresh(handle)
        handle._view = None
