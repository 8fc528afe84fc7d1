"""What a caller claims of a function, looked at where its recording does not show it.

``grad(holomorphic=True)`` is right for a holomorphic function only, `elementwise_grad` for one
whose entries do not mix. A recording of nothing but elementwise (holomorphic) functions of one
shape shows that without a look at numbers; any other is compared along one more direction, which
costs a sweep.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import NoDerivative, NotDifferentiable, ShapeMismatch
from ..graph import backend
from ..graph.array import GradArray, current
from ..graph.forward import Forward
from ..graph.node import Leaf, Node
from ..graph.order import collect
from .run import Run
from .trees import arrays_in, is_single
from .values import value


def refuse_other_shapes(run: Run, outputs: Sequence[Any]) -> None:
    """Raise unless each output is a number, or has the shape of each argument."""
    for out in outputs:
        if not is_single(out):
            continue
        shape = backend.describe(current(out)[0] if type(out) is GradArray else out)[0]
        if not shape:
            continue  # its gradient is not mistaken for anything else
        for argument in run.arguments:
            for node in argument.nodes:
                if node.shape != shape:
                    raise ShapeMismatch(
                        "npgrad: elementwise_grad needs a function that gives one entry for each "
                        f"entry of its argument: the argument has shape {node.shape}, the output "
                        f"{shape}. npgrad.jacobian has every derivative, npgrad.grad of np.sum of "
                        "the output their sums."
                    )


def is_pointwise(run: Run, nodes: Sequence[Node]) -> bool:
    """Whether the outputs are numbers, or all is made of elementwise functions of one shape."""
    shapes = {node.shape for argument in run.arguments for node in argument.nodes}
    return not any(node.shape for node in nodes) or all(
        node.shape in shapes and (type(node.op) is Leaf or node.op.by_entry or node.op.pointwise)
        for node in collect(nodes, run.floor)[0]
    )


def refuse_mixing(run: Run, nodes: Sequence[Node], gradients: Sequence[Any]) -> None:
    """Raise if an output depends on other entries of the arguments than its own.

    ``J v`` is compared with the column sums of J, the `gradients`, times v: for a diagonal J they
    are the same.
    """
    leaves = [node for argument in run.arguments for node in argument.nodes]
    slopes = [np.asarray(value(part)) for gradient in gradients for part in arrays_in(gradient)[0]]
    rng = np.random.default_rng(0)
    directions = [
        rng.uniform(0.5, 1.5, leaf.shape) * rng.choice([-1.0, 1.0], leaf.shape)
        + (1j * rng.uniform(-1, 1, leaf.shape) if leaf.dtype.kind == "c" else 0)
        for leaf in leaves
    ]
    seeds: dict[int, Any] = {
        leaf.id: np.asarray(v, leaf.dtype)[()] for leaf, v in zip(leaves, directions, strict=True)
    }
    try:
        moved = Forward().run(collect(nodes, run.floor)[0], seeds, list(nodes))
    except NoDerivative:
        return  # there is no forward mode to ask
    sums = sum(np.real(np.conj(slope) * v) for slope, v in zip(slopes, directions, strict=True))
    pushed = sum(np.asarray(value(part)) for part in moved if part is not None)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(sums - pushed)
    off = off[np.isfinite(off)]
    size = max((np.max(np.abs(s), initial=0.0, where=np.isfinite(s)) for s in slopes), default=0.0)
    # numbers below the smallest normal one have a digit or two, and are no evidence
    kinds = [np.finfo(leaf.dtype) for leaf in leaves]
    least = 1000 * max(float(kind.tiny) * float(kind.eps) for kind in kinds)
    eps = max(float(kind.eps) for kind in kinds)
    if off.size and np.max(off) > max(eps**0.5 * size, least):
        raise NotDifferentiable(
            "npgrad: elementwise_grad of a function that is not elementwise: an entry of its "
            "output depends on several entries of its argument. npgrad.jacobian has every "
            "derivative, npgrad.grad of np.sum of the output their sums."
        )


def is_holomorphic(run: Run, node: Node) -> bool:
    """Whether the recording shows that the function is holomorphic."""
    for made in collect([node], run.floor)[0]:
        complex_in = any(p is None or p.dtype is None or p.dtype.kind == "c" for p in made.parents)
        complex_out = made.dtype is not None and made.dtype.kind == "c"
        if type(made.op) is Leaf or not (complex_in or complex_out):
            continue
        declared = getattr(made.op, "rule", None) is not None and made.op.holomorphic
        if not (complex_out and declared):
            return False
    return True


def refuse_not_holomorphic(run: Run, node: Node, gradients: Sequence[Any]) -> None:
    """Raise if the Cauchy-Riemann equations do not hold.

    With ``a = df/dz`` and ``b = df/dconj(z)`` a cotangent g becomes ``conj(a) g + b conj(g)``. The
    `gradients` are those of g = 1; those of g = i tell a and b apart.
    """
    turned, _ = run.gradients([(node, node.dtype.type(1j))], True)
    ones = [np.asarray(value(part)) for gradient in gradients for part in arrays_in(gradient)[0]]
    turns = [np.asarray(value(part)) for gradient in turned for part in arrays_in(gradient)[0]]
    size = max(float(np.max(np.abs(part), initial=0.0)) for part in (*ones, *turns))
    off = max(
        float(np.max(np.abs(one + 1j * turn), initial=0.0)) / 2
        for one, turn in zip(ones, turns, strict=True)
    )
    if off > float(np.finfo(node.dtype).eps) ** 0.5 * size:
        raise NotDifferentiable(
            "npgrad: holomorphic=True, but the function is not holomorphic here: its derivative by "
            f"the conjugate of the argument is {off:.3g}, beside {size:.3g} in all, and should be "
            "0. np.conj, np.abs, np.real and np.imag of the argument have no complex derivative; "
            "npgrad.vjp and npgrad.jvp have the real ones."
        )
