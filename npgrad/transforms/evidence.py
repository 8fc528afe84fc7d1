"""What the derivative of a recording is made of, in few bytes: to see whether a run is repeated.

Two runs of a function have the same derivative if they recorded the same operations and those kept
the same for their rules. The result alone says less: ``x * factor`` is zero at zero, whatever the
factor. Of an array of floats some entries and the sum of all squares are taken, because a
`checkpoint` must not keep it: the entries tell one order and one set of signs from another, the sum
shows a change of any entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..graph import backend, fingerprints
from ..graph.node import Leaf, Node

SAMPLES = 64  # entries of a kept array of floats; two random masks agree on them once in 2**64


class Evidence(NamedTuple):
    """A digest of what must be the same to the bit, and floats, which may differ by rounding."""

    exact: int
    floats: Any
    eps: float  # of the coarsest floats

    def repeats(self, other: Evidence) -> bool:
        """Whether both tell of the same run."""
        if self.exact != other.exact or self.floats.size != other.floats.size:
            return False
        if self.floats.tobytes() == other.floats.tobytes():
            return True
        close = max(self.eps, other.eps) ** 0.75  # sums in another order
        return bool(np.allclose(self.floats, other.floats, rtol=close, atol=0.0, equal_nan=True))


def evidence(order: Sequence[Node]) -> Evidence:
    """The evidence of the recorded operations in `order`."""
    exact: list[Any] = []
    floats: list[Any] = []
    for node in order:
        if type(node.op) is Leaf:
            continue
        exact.append((node.op.name, node.shape))
        for kept in (node.kept or ())[: node.op.width]:
            _gather(kept, exact, floats)
    eps = max((float(np.finfo(dtype).eps) for dtype in {part.dtype for part in floats}), default=0)
    together = np.concatenate(floats) if floats else np.empty(0)
    return Evidence(hash(tuple(exact)), together, eps)


def _gather(kept: Any, exact: list[Any], floats: list[Any]) -> None:
    """Add what was kept to one of the lists; what is neither number nor option says nothing."""
    kind = type(kept)
    if kind is np.ndarray:
        if kept.dtype.kind in "fc":
            flat = kept.reshape(-1) if kept.flags.c_contiguous else kept.flat
            floats.append(flat[:: kept.size // SAMPLES or 1])
            if kept.size > SAMPLES:
                wide = kept.astype(np.float32) if kept.dtype == backend.HALF else kept
                floats.append(np.vdot(wide, wide).real.astype(wide.real.dtype).reshape(1))
        elif not kept.dtype.hasobject:
            exact.append((kept.shape, fingerprints.fingerprint(kept)))
    elif kind is float or kind is complex or (kind in backend.GENERIC and kept.dtype.kind in "fc"):
        floats.append(np.asarray(kept).reshape(1))
    elif kind is tuple or kind is list:
        exact.append(len(kept))
        for item in kept:
            _gather(item, exact, floats)
    elif kind is slice:
        exact.append((kept.start, kept.stop, kept.step))
    elif kind is int or kind is bool or kind is str or kept is None or kind in backend.GENERIC:
        exact.append(kept)
