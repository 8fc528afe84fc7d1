"""A device that stands for CuPy's where there is no GPU, and an evaluator of its expressions."""

from __future__ import annotations

import itertools
import math
import operator
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from npgrad.cuda.deferred import Evaluator
from npgrad.cuda.fuse import Chain
from npgrad.graph import backend, deferred, deferring
from tests.fake_device import DeviceArray, to_device, to_host

PLAIN = (
    np,
)  # in a tuple: `npgrad.wrap`, which the functions of this package run under, overlooks it


class Library:
    """The fake device's array makers and tests."""

    def __getattr__(self, name: str) -> Any:
        made = getattr(PLAIN[0], name)
        return lambda *args, **kwargs: to_device(made(*map(to_host, args), **kwargs))


def _log(x: float) -> float:
    """The logarithm as the device computes it: Python's own raises at 0."""
    return math.log(x) if x else -math.inf


DEVICE_MATH = types.SimpleNamespace(**{**vars(math), "log": _log})


class Interpreted(Evaluator):
    """Runs the text of a kernel element by element in Python."""

    def __init__(self, again: int = 1) -> None:
        super().__init__(Library(), again=again)
        self.lengths: list[int] = []

    def sweeps(self) -> Any:
        """Nobody: there are no streams."""
        return None

    def evaluate(self, order: Any, outputs: Any) -> bool:
        """Also count the operations."""
        self.lengths.append(len(order))
        return super().evaluate(order, outputs)

    def run(self, chain: Chain, shape: Any, arrays: Any, numbers: Any) -> list[Any]:
        scope = {
            "math": DEVICE_MATH, "float32": np.float32, "float64": np.float64,
            "fmul_rn": operator.mul, "dmul_rn": operator.mul,
        }  # fmt: skip
        code = compile("\n".join(chain.statements()), "chain", "exec")
        (plain,) = PLAIN
        outs = [plain.empty(shape, chain.operations[k].dtype) for k in chain.outputs]
        wide = [plain.broadcast_to(to_host(a), shape) for a in arrays]
        for kind, array in zip(chain.inputs, wide, strict=True):
            assert array.dtype == kind, (array.dtype, kind)
        given = dict(zip((f"c{i}" for i in itertools.count()), numbers, strict=False))
        for kind, number in zip(chain.numbers, numbers, strict=True):
            assert number.dtype == kind
        for place in plain.ndindex(*shape):
            names = {f"x{i}": array[place] for i, array in enumerate(wide)}
            try:
                exec(code, scope, names := {**names, **given})
            except (ZeroDivisionError, OverflowError, ValueError):  # math's, not the device's
                raise AssertionError(f"{chain.statements()} at {names}") from None
            for out, k in zip(outs, chain.outputs, strict=True):
                out[place] = names[f"t{k}"]
        return [to_device(out) for out in outs]


@contextmanager
def device(evaluator: Evaluator | None) -> Iterator[Any]:
    """`DeviceArray` counts as a device's, its elementwise operations are put off."""
    on_device, library, foreign = backend.on_device, backend.library, backend.foreign_type

    def there(value: Any) -> bool:
        return type(value) in (DeviceArray, deferred.Deferred)

    def of(value: Any) -> Any:
        return Library() if there(value) else library(value)

    def stranger(kind: type) -> bool:
        return kind is not DeviceArray and foreign(kind)

    load = deferred._Offer.load
    backend.on_device, backend.library = there, of  # type: ignore[assignment]
    backend.foreign_type = stranger  # type: ignore[assignment]
    deferred.use(lambda: evaluator)
    deferring._RESOLVED.clear()
    try:
        yield evaluator
    finally:
        backend.on_device, backend.library = on_device, library
        backend.foreign_type = foreign
        deferred.use(load)  # type: ignore[arg-type]
        deferring._RESOLVED.clear()


__all__ = ["DeviceArray", "Interpreted", "Library", "device", "to_device", "to_host"]
