"""`captured`: a function of device arrays, recorded once as a CUDA graph and replayed.

A small step is bound by the host: recording, rules and launches take longer than the kernels. A
replay is one launch of the whole graph, whatever npgrad does inside. It is asked for, never chosen
by itself: what a graph replays is what the function did when it was recorded.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from npgrad.graph import backend, deferred, placing, questions
from npgrad.graph.array import GradArray
from npgrad.transforms import trees

from . import blas

__all__ = ["Captured", "Graph", "recording"]

KEPT = 16  # graphs of one function; the one used longest ago goes first
PLAIN = (bool, int, float, complex, str, type(None))
WAITED = (
    "npgrad.cuda.captured: while a graph is recorded nothing may wait for the device or come from "
    "the host: no branch on a device array, no float(x), x.get() or print(x), no list or NumPy "
    "array as an index, no index of nn.index_add that has to be looked at. Call the function "
    "without npgrad.cuda.captured, or move that part out of it."
)


_ONE = threading.RLock()  # one recording at a time, in all threads


@functools.cache
def _stream(device: int | None) -> Any:
    """The stream on which graphs are recorded: kernels keep words of memory for each stream."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True)


class Graph:
    """One recording: its arguments' places, its results, and the memory in between."""

    def __init__(self, function: Callable[[list[Any]], Any], arrays: list[Any]) -> None:
        import cupy

        self.cupy = cupy
        self.pool = cupy.cuda.MemoryPool()  # the graph's own: nobody else may be given its memory
        self.last: Any = None  # the stream of the last replay, and when it is done
        self.done = cupy.cuda.Event(disable_timing=True)
        cupy.cuda.get_current_stream().synchronize()
        with cupy.cuda.using_allocator(self.pool.malloc):
            self.places = [array.copy() for array in arrays]
        cupy.cuda.get_current_stream().synchronize()
        stream = _stream(placing.device_of(arrays[0]))
        with _ONE, stream, _recordable(), questions.unanswered() as asked:
            function(self.places)  # compiles and loads what the recording must find ready
            questions.answer()
            asked.clear()
            stream.synchronize()
            with cupy.cuda.using_allocator(self.pool.malloc):
                stream.begin_capture()
                try:
                    results = function(self.places)
                    questions.answer()
                    self.wrong = _any(asked)
                    self.graph = stream.end_capture()
                except BaseException as error:
                    with contextlib.suppress(Exception):  # the capture may be void already
                        stream.end_capture()
                    error.add_note(WAITED)
                    raise
            self.asked = list(asked)
        self.results, self.rebuild = trees.flatten(results)
        for result in self.results:
            if not (_there(result) or isinstance(result, PLAIN)):
                raise TypeError(
                    "npgrad.cuda.captured: the function returned a "
                    f"{type(result).__module__}.{type(result).__name__}; a graph gives device "
                    "arrays, in containers or alone."
                )

    def replay(self, arrays: list[Any]) -> Any:
        """The results for other arrays of the same shapes; what was asked is answered."""
        results = self.launch(arrays)
        self.check()
        return results

    def launch(self, arrays: list[Any]) -> Any:
        """The results for other arrays of the same shapes, in memory of their own."""
        stream = self.cupy.cuda.get_current_stream()
        if self.last is not None and self.last != stream:
            stream.wait_event(self.done)
        for place, array in zip(self.places, arrays, strict=True):
            if array.flags.c_contiguous and place.flags.c_contiguous:
                place.data.copy_from_device_async(array.data, array.nbytes)
            else:
                place[...] = array
        self.graph.launch()
        results = [r.copy() if _there(r) else r for r in self.results]
        self.last = stream
        self.done.record(stream)
        return self.rebuild(results)

    def check(self) -> None:
        """Wait for what was asked on the way, and raise what is to be raised."""
        if self.wrong is not None and bool(self.wrong):  # waits, as the end of a sweep does
            for flag, error in self.asked:
                if bool(flag):
                    raise error()


class Captured:
    """What `npgrad.cuda.captured` returns."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.graphs: OrderedDict[Any, Graph] = OrderedDict()
        self.lock = threading.Lock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's results: of a replay, or of the recording if these shapes are new."""
        if recording():  # part of a function that is being recorded
            return self.function(*args, **kwargs)
        parts, rebuild = trees.flatten((args, kwargs))
        arrays = [part for part in parts if _there(part)]
        key = (trees.structure((args, kwargs)), tuple(map(_kind, parts)))
        if not arrays:
            raise TypeError("npgrad.cuda.captured: none of the arguments is a device array")
        with self.lock, backend.where_it_lives(arrays[0]):
            found = self.graphs.get(key)
            if found is None:

                def run(places: list[Any]) -> Any:
                    given = iter(places)
                    now_args, now_kwargs = rebuild([next(given) if _there(p) else p for p in parts])
                    return self.function(*now_args, **now_kwargs)

                found = self.graphs[key] = Graph(run, arrays)
                if len(self.graphs) > KEPT:
                    self.graphs.popitem(last=False)
            self.graphs.move_to_end(key)
            return found.replay(arrays)


def recording() -> bool:
    """Whether a graph is being recorded: by a function of this module, or by the program."""
    import cupy

    return np.matmul in backend.STAND_INS or cupy.cuda.get_current_stream().is_capturing()


def _there(value: Any) -> bool:
    return type(value) is not GradArray and backend.on_device(value)


def _kind(part: Any) -> Any:
    """What a graph depends on: an array's shape and dtype, a number itself."""
    if _there(part):
        return part.shape, part.dtype.char, placing.device_of(part)
    if isinstance(part, PLAIN):
        return type(part), part
    if type(part) is GradArray:
        raise TypeError(
            "npgrad.cuda.captured was called with a recorded array. Capture the whole step "
            "instead: npgrad.cuda.captured(npgrad.value_and_grad(f))."
        )
    raise TypeError(
        f"npgrad.cuda.captured takes device arrays and Python numbers, not {type(part).__module__}."
        f"{type(part).__name__}, whose contents a graph could not follow. npgrad.cuda.to_device(x) "
        "copies an array to the GPU."
    )


def _any(asked: list[tuple[Any, Any]]) -> Any:
    """Whether any of the questions is to be answered with an error; on the device."""
    found: Any = None
    for flag, _ in asked:
        flag = flag.reshape(()) != 0
        found = flag if found is None else found | flag
    return found


def _product(a: Any, b: Any, **options: Any) -> Any:
    """``np.matmul``: of device arrays as a graph can record it."""
    if options or not (_there(a) and _there(b)):
        return np.matmul(a, b, **options)
    return blas.matmul(deferred.settled(a), deferred.settled(b))


@contextlib.contextmanager
def _recordable() -> Iterator[None]:
    """Expressions get their kernels the first time they are met; products go past CuPy."""
    evaluator = deferred.evaluator()
    before = getattr(evaluator, "now", False)
    if evaluator is not None:
        evaluator.now = True
    backend.STAND_INS[np.matmul] = _product
    try:
        yield
    finally:
        del backend.STAND_INS[np.matmul]
        if evaluator is not None:
            evaluator.now = before
