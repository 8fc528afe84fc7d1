"""Indexing and its transposes: reading a region, writing one, adding into one.

`GETITEM` reads, `PUT` writes at an index, `MASK` writes where a mask is true, `ADD_AT` adds with
repeated indices. A read's cotangent goes straight into the region of its parent's cotangent
buffer, so n reads of n entries cost O(n) in all.
"""

from __future__ import annotations

from abc import abstractmethod
from opcode import opname
from types import FrameType
from typing import Any

from ..errors import InPlaceError
from . import backend, modes
from .array import GradArray, current, handle_of, made, storage, unwrap
from .conform import cast, expand, unbroadcast
from .deferred import LAZY, settle_handle
from .keeping import parameter
from .listeners import note
from .node import Leaf, Node
from .op import Op
from .refusals import at, plain_out
from .results import assign
from .views import link, region, replace, view_of, write

_MODE = modes.MODE.get
NDARRAY, HALF = backend.NDARRAY, backend.HALF
ALL = (Ellipsis,)


def is_basic(index: Any) -> bool:
    """Whether `index` (normalised) selects a view: integers, slices, None, Ellipsis only."""
    kind = type(index)
    if kind is int or kind is slice or index is Ellipsis or index is None:
        return True
    if kind is tuple:
        return all(type(i) is int or type(i) is slice or i is None or i is Ellipsis for i in index)
    return False


def normalise(index: Any) -> Any:
    """`index` without recorded values or foreign integers, arrays copied, lists made arrays."""
    kind = type(index)
    if kind is int or kind is slice or index is Ellipsis or index is None:
        return index
    if kind is tuple:
        return tuple([normalise(item) for item in index])
    if kind is list:
        return backend.asarray([unwrap(item) for item in index]) if index else _no_entries()
    if kind is GradArray:
        raise IndexError(
            "npgrad: a recorded float array is no index; arrays used as indices must be of integer "
            "or boolean type. int(x) makes an integer of a recorded number, which is what one "
            "beside arrays in a differentiated argument is."
        )
    if kind is bool:
        return backend.asarray(index)  # a mask, as in NumPy
    if backend.is_scalar(index):
        return int(index) if getattr(index, "dtype", backend.FLOAT).kind in "iu" else index
    if backend.is_array(index):
        if index.ndim == 0 and index.dtype.kind in "iu":
            return int(index)
        return backend.snapshot(index)
    return index.__index__() if hasattr(index, "__index__") else index


def _no_entries() -> Any:
    return backend.asarray([]).astype(int)


def may_repeat(index: Any) -> bool:
    """Whether `index` could select an entry twice: it holds an array of integers."""
    items = index if type(index) is tuple else (index,)
    return any(
        not isinstance(i, (int, slice, type(None), type(Ellipsis)))
        and backend.is_array(i)
        and i.dtype.kind != "b"
        for i in items
    )


class GetItem(Op):
    """``parent[index]``; ``kept`` is (index,)."""

    name = "getitem"

    def replay(self, array: Any, kept: tuple[Any, ...]) -> Any:
        return array[kept[0]]

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        parent = node.parents[0]
        if parent is not None and (walk.active is None or parent.id in walk.active):
            walk.add_region(parent, kept[0], g)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        return walk.take(tangents[0], kept[0])


def pull_view(node: Node, g: Any, kept: tuple[Any, ...], walk: Any) -> bool:
    """The everyday sweep of a view; False, and nothing done, if it is not one."""
    index = kept[0]
    kind = type(index)
    if kind is not int and kind is not slice and not is_basic(index):
        return False
    if walk.aliased and node.id in walk.aliased:
        return False
    parent: Any = node.parents[0]
    buffer = walk.cotangents.get(parent.id)
    ours = type(buffer) is NDARRAY and parent.id in walk.owned and not walk.looked
    if not ours or buffer.dtype is HALF:
        buffer = walk.buffer(parent)
    area = buffer[index]
    if type(area) is NDARRAY or not backend.is_scalar(area):
        area += g
    else:
        buffer[index] = area + g
    return True


GETITEM = GetItem()
GETITEM.pull = pull_view


def getitem(handle: GradArray, index: Any, frame: FrameType) -> Any:
    """``handle[index]``, recorded; a view is linked to its root, as NumPy's is."""
    kind = type(index)
    simple = kind is int or kind is slice
    view = handle._view
    if simple and view is not LAZY and (view is None or not view.root.version):
        node = handle._node
        if node is not None and type(handle._array) is NDARRAY and _MODE() is None:
            result = handle._array[index]
            part = made(result, GETITEM, (node,), (index,), frame)
            if type(result) is NDARRAY:
                link(part, handle, GETITEM, part._node.kept)  # type: ignore[union-attr, arg-type]
            return part
    if not simple:
        index = normalise(index)
    if view is None:
        array, node = handle._array, handle._node
    else:
        array, node = region(handle)
    result = backend.picked(array, index) if type(index) is NDARRAY else array[index]
    kept = (index,)
    mode = _MODE()
    if node is None or (mode is not None and not mode.recording):
        part = handle_of(result, None)
    else:
        part = made(result, GETITEM, (node,), kept, frame)
        if mode is not None:
            note(part._node, result)  # type: ignore[arg-type]
    if type(result) in backend.GENERIC:
        return part
    if type(result) is not backend.NDARRAY and backend.on_device(result):
        part._view = LAZY
    if (simple or is_basic(index)) and not backend.is_scalar(array):
        link(part, handle, GETITEM, kept)
    return part


class Write(Op):
    """A write into a root; ``kept`` is (path, index, value's shape, layout, winners).

    The parents are the root's previous version and the value.
    """

    def region_of(self, buffer: Any, kept: tuple[Any, ...]) -> Any:
        """The view of `buffer` that the write went through."""
        for step in kept[0]:
            buffer = step(buffer)
        return buffer

    @abstractmethod
    def read(self, region: Any, kept: tuple[Any, ...]) -> Any:
        """The cotangent of the value, still of the region's shape: a copy."""

    @abstractmethod
    def clear(self, region: Any, kept: tuple[Any, ...]) -> None:
        """Forget what was overwritten."""

    @abstractmethod
    def store(self, region: Any, value: Any, kept: tuple[Any, ...]) -> None:
        """Write a tangent."""

    def spread(self, walk: Any, node: Node, g: Any, kept: tuple[Any, ...]) -> None:
        before, source = node.parents
        buffer = walk.take_over(g, kept[3])
        want_source = source is not None and walk.wants(source)
        parts = []
        for lane in walk.lanes(buffer):
            area = self.region_of(lane, kept)
            if want_source:
                parts.append(unbroadcast_to(self.read(area, kept), kept[2]))
            if before is not None:
                self.clear(area, kept)
        if want_source:
            walk.add(source, walk.joined(parts), buffer)
        if before is not None and walk.wants(before):
            walk.hand_on(before, buffer)

    def push(self, walk: Any, node: Node, tangents: list[Any], kept: tuple[Any, ...]) -> Any:
        before, value = tangents
        buffer = walk.tangent_buffer(node, before, kept[3])
        zero = backend.zeros(0.0, (), node.dtype)[()]
        for i, lane in enumerate(walk.lanes(buffer)):
            one = zero if value is None else value[i] if walk.batch else value
            area = self.region_of(lane, kept)
            self.store(area, cast(one, backend.describe(area)[1]), kept)
        return buffer


def unbroadcast_to(value: Any, shape: tuple[int, ...]) -> Any:
    """`value` summed to `shape`, which was broadcast to it by an assignment."""
    have = backend.describe(value)[0]
    if have == shape:
        return value
    while len(shape) > len(have) and shape[0] == 1:  # NumPy drops leading ones on assignment
        return unbroadcast_to(value, shape[1:]).reshape(shape)
    return unbroadcast(value, shape, 0)


class Put(Write):
    """``region[index] = value``."""

    name = "setitem"

    def read(self, region: Any, kept: tuple[Any, ...]) -> Any:
        value = region[kept[1]]
        winners = kept[4]
        if winners is not None:
            zero = backend.zeros(0.0, (), backend.describe(value)[1])[()]
            return backend.where(winners, value, zero)
        return backend.snapshot_any(value)

    def clear(self, region: Any, kept: tuple[Any, ...]) -> None:
        region[kept[1]] = 0

    def store(self, region: Any, value: Any, kept: tuple[Any, ...]) -> None:
        region[kept[1]] = value


class Mask(Write):
    """``region[mask] = value`` where the value is broadcast to the region: copyto, where=."""

    name = "copyto"

    def read(self, region: Any, kept: tuple[Any, ...]) -> Any:
        zero = backend.zeros(0.0, (), backend.describe(region)[1])[()]
        return backend.where(kept[1], region, zero)

    def clear(self, region: Any, kept: tuple[Any, ...]) -> None:
        backend.copyto(region, 0.0, kept[1])

    def store(self, region: Any, value: Any, kept: tuple[Any, ...]) -> None:
        backend.copyto(region, value, kept[1])


class AddAt(Write):
    """``np.add.at(region, index, value)``; the old contents stay."""

    name = "add.at"

    def read(self, region: Any, kept: tuple[Any, ...]) -> Any:
        return backend.snapshot_any(region[kept[1]])

    def clear(self, region: Any, kept: tuple[Any, ...]) -> None:
        pass

    def store(self, region: Any, value: Any, kept: tuple[Any, ...]) -> None:
        backend.add_at(region, kept[1], value)


PUT, MASK, ADD_AT = Put(), Mask(), AddAt()


def _source(value: Any, dtype: Any, name: str, frame: FrameType) -> tuple[Any, Node | None]:
    """The plain value to write, cast to the buffer's dtype, and its node if it is recorded."""
    if type(value) in (list, tuple):
        from .stacking import has_recorded, stacked

        if has_recorded(value):
            value = stacked(value)
    elif type(value) is not GradArray and type(value) not in backend.PLAIN:
        from .stacking import gathered

        value = gathered(value)
    if type(value) is not GradArray:
        if backend.subclasses is None or not backend.subclasses.holds_elements(value):
            return value, None
        value = backend.subclasses.elements(value)
    array, node = current(value)
    have = backend.describe(array)[1]
    if have.kind == "c" and dtype.kind != "c":
        raise TypeError(
            f"npgrad: {name} would drop the imaginary part of a complex value (Recorded at "
            f"{at(frame)}); write np.real(value), or make the buffer complex"
        )
    mode = _MODE()
    return array, node if mode is None or mode.recording else None


def _winners(region: Any, index: Any) -> Any:
    """Of the entries that an index with repeats writes: which one stays (the last)."""
    if not may_repeat(index):
        return None
    positions = backend.positions(region)[index]
    last = backend.last_occurrences(positions, region.size)
    return None if bool(last.all()) else last


def setitem(handle: GradArray, index: Any, value: Any, frame: FrameType) -> None:
    """``handle[index] = value``, recorded."""
    if type(value) is GradArray and value._view is not None and type(index) is int:
        _refuse_swaps(handle, value, frame)
    index = normalise(index)
    array, node = _source(value, handle.dtype, "x[i] = v", frame)
    settle_handle(handle)
    view = handle._view
    recorded = (
        node is not None or (view.root.node if view is not None else handle._node) is not None
    )
    kept: tuple[Any, ...] = ()
    if recorded and not backend.is_scalar(storage(handle)):
        here = storage(handle) if view is None or view.root.version == 0 else view.peek()
        layout = _layout(handle)
        kept = (
            backend.describe(array)[0] if node is not None else (),
            layout,
            _winners(here, index),
        )
        del here
    write(handle, PUT, index, array, node, _put, kept, frame.f_code, frame.f_lasti)
    _noted(handle)


def _refuse_swaps(handle: GradArray, value: GradArray, frame: FrameType) -> None:
    """Raise where compiled code swaps two rows, ``x[i], x[j] = x[j], x[i]``, and loses one.

    The shuffles of ``np.random`` do so with what is no ndarray; an ndarray's rows they copy first.
    In Python's own code the swap means that for NumPy too.
    """
    theirs, ours = value._view, handle._view
    if ours is None or ours is LAZY or theirs is LAZY or theirs.root is not ours.root:
        return
    if opname[frame.f_code.co_code[frame.f_lasti]].startswith(("CALL", "PRECALL")):
        raise InPlaceError(
            f"npgrad: compiled code would swap rows of a recorded array (at {at(frame)}), as "
            "np.random's shuffle does, and lose one of them, since they are views. Write "
            "x = x[rng.permutation(len(x))] instead of rng.shuffle(x)."
        )


def _noted(handle: GradArray) -> None:
    if _MODE() is not None:
        root = handle._view.root
        if root.node is not None:
            note(root.node, root.array)


def _layout(handle: GradArray) -> Any:
    root = view_of(handle).root
    return backend.layout(root.array)


def _put(region: Any, index: Any, value: Any) -> None:
    region[index] = value


def _copyto(region: Any, mask: Any, value: Any) -> None:
    backend.copyto(region, value, mask)


def copyto(
    handle: GradArray, value: Any, mask: Any, frame: FrameType, name: str = "np.copyto"
) -> None:
    """Write `value`, broadcast to the handle, where `mask` (True: everywhere) is true."""
    array, node = _source(value, handle.dtype, name, frame)
    mask = True if mask is True else parameter(backend.mask(unwrap(mask)))
    kept = (backend.describe(array)[0] if node is not None else (), _layout(handle), None)
    write(handle, MASK, mask, array, node, _copyto, kept, frame.f_code, frame.f_lasti)
    _noted(handle)


def add_at(handle: GradArray, index: Any, value: Any, frame: FrameType) -> None:
    """``np.add.at(handle, index, value)``, recorded."""
    index = normalise(index)
    array, node = _source(value, handle.dtype, "np.add.at", frame)
    kept = (backend.describe(array)[0] if node is not None else (), _layout(handle), None)
    # of float16 NumPy's value is kept, which gradients are not: see `conform.wide`
    add = backend.add_one_by_one if handle.dtype == backend.HALF else backend.add_exactly
    write(handle, ADD_AT, index, array, node, add, kept, frame.f_code, frame.f_lasti)
    _noted(handle)


def fill(handle: GradArray, made: Any, frame: FrameType) -> None:
    """Give `handle` the value `made` as a whole: ``out=`` and augmented assignment."""
    array, node = current(made) if type(made) is GradArray else (made, None)
    shape, dtype = backend.describe(array)
    if shape != handle.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {handle.shape} doesn't match the "
            f"broadcast shape {shape}"
        )
    if dtype != handle.dtype:
        backend.check_cast(dtype, handle.dtype)
        made = made.astype(handle.dtype) if type(made) is GradArray else array.astype(handle.dtype)
        array, node = current(made) if type(made) is GradArray else (made, None)
    if not backend.is_array(array):
        array = backend.asarray(array)
    if backend.is_scalar(array):
        array = backend.library(array).asarray(array)
    settle_handle(handle)
    view = handle._view
    if view is not None and view.op is not None:
        layout = _layout(handle)
        write(
            handle, PUT, ALL, array, node, _put, (shape, layout, None), frame.f_code, frame.f_lasti
        )
    else:
        replace(handle, array, node)


def augmented(handle: GradArray, made: Any, frame: FrameType, name: str) -> Any:
    """``handle op= ...`` after `made` was computed: a scalar is rebound, an array is filled."""
    if backend.is_scalar(storage(handle)):
        return made
    if made is NotImplemented:
        return made
    assign(handle, made, name, frame)
    return handle


__all__ = ["ADD_AT", "GETITEM", "MASK", "PUT", "Leaf", "cast", "expand", "plain_out"]
