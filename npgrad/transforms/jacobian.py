"""Jacobians, Hessians and Hessian-vector products.

A Jacobian of m outputs and n inputs is one batched sweep: reverse with m cotangents at once, or
forward with n tangents, whichever are fewer. `chunk` bounds how many go together.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import NotDifferentiable
from ..graph import backend
from ..graph.array import GradArray, current
from ..graph.node import Node, recorded_at
from ..graph.order import collect, depending
from .forward import sweep
from .grad import Derived, grad
from .outputs import refuse_whole
from .run import Argnums, Function, Run
from .trees import arrays_in

DEFAULT_ENTRIES = 1 << 24  # entries of one batch of cotangents unless `chunk` says otherwise


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size


def _bar(total: int, progress: bool) -> Callable[[int], None]:
    """What to call with the number of rows done; a tqdm bar if asked for and installed."""
    if not progress:
        return lambda done: None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return lambda done: None
    bar = tqdm(total=total, unit="row", leave=False)

    def update(done: int) -> None:
        bar.update(done)
        if bar.n >= total:
            bar.close()

    return update


class _Linear:
    """A recorded function between the arrays of its arguments and of its output."""

    def __init__(self, f: Function, args: Any, kwargs: Any, which: Any, has_aux: bool) -> None:
        self.run = Run(f, args, kwargs, which, False, has_aux)
        self.outputs, self.rebuild = arrays_in(self.run.out)
        refuse_whole(self.outputs, "a Jacobian")
        self.values = []
        self.nodes = []
        for out in self.outputs:
            plain, node = current(out) if type(out) is GradArray else (out, None)
            if not backend.is_array(plain) and not backend.is_scalar(plain):
                raise NotDifferentiable(
                    "npgrad: a Jacobian needs a function that returns arrays or numbers, this one "
                    f"returned {type(plain).__name__}"
                )
            if node is not None and node.dtype.kind == "c":
                self._refuse_complex(node)
            self.values.append(plain)
            self.nodes.append(node)
        known = [node for node in self.nodes if node is not None]
        self.order, self.older = collect(known, self.run.floor)
        self.recorded = self.run.outside(self.order, self.older) or any(
            a.recorded for a in self.run.arguments
        )
        self.inputs = [node for argument in self.run.arguments for node in argument.nodes]
        self.likes = [like for argument in self.run.arguments for like in argument.likes]

    def _refuse_complex(self, node: Node) -> None:
        if any(leaf.dtype.kind == "c" for a in self.run.arguments for leaf in a.nodes):
            raise NotDifferentiable(
                "npgrad: the Jacobian of a complex output by a complex argument (as a Hessian by a "
                f"complex argument is) is no matrix of complex numbers.{recorded_at(node)} "
                "Differentiate by the real and the imaginary part (lambda x, y: f(x + 1j * y)), or "
                "take npgrad.vjp, npgrad.jvp, npgrad.hvp along a direction."
            )
        raise NotDifferentiable(
            f"npgrad: the Jacobian of a complex output.{recorded_at(node)} Take np.real and "
            "np.imag of it, or npgrad.vjp and npgrad.jvp."
        )

    def chunk(self, total: int, extent: int, chunk: int | None) -> int:
        """How many rows to take at once."""
        if chunk is not None:
            return min(chunk, max(total, 1))
        largest = max([_size(node.shape) for node in self.order] or [1])
        return max(1, min(total, DEFAULT_ENTRIES // max(largest, 1)))


def _unit_rows(start: int, stop: int, shape: tuple[int, ...], dtype: Any, like: Any) -> Any:
    """Rows `start` to `stop` of the identity, each of `shape`, where `like` lives."""
    xp = backend.library(like)
    rows = xp.zeros((stop - start, _size(shape)), dtype)
    rows[xp.arange(stop - start), xp.arange(start, stop)] = 1
    return rows.reshape((stop - start, *shape))


def _check_chunk(chunk: Any) -> None:
    if chunk is None:
        return
    try:
        rows = operator.index(chunk)
    except TypeError:
        raise TypeError(
            f"npgrad: chunk is a positive whole number of rows, or None, not {chunk!r}"
        ) from None
    if rows < 1:
        raise ValueError(f"npgrad: chunk is a positive number of rows, not {chunk}")


def _spans(total: int, step: int) -> Iterator[tuple[int, int]]:
    for start in range(0, total, step):
        yield start, min(start + step, total)


def _reverse_block(linear: _Linear, k: int, chunk: int | None, update: Any) -> list[Any]:
    """The Jacobian of output `k` with respect to every input array, in order."""
    node = linear.nodes[k]
    shape, dtype = backend.describe(linear.values[k])
    total = _size(shape)
    if node is None or total == 0:
        pairs = zip(linear.inputs, linear.likes, strict=True)
        return [_zeros(shape, leaf, linear.recorded, like) for leaf, like in pairs]
    parts: list[list[Any]] = [[] for _ in linear.inputs]
    for start, stop in _spans(total, linear.chunk(total, total, chunk)):
        rows = _unit_rows(start, stop, shape, dtype, linear.values[k])
        gradients, _ = linear.run.gradients([(node, rows)], True, batch=1)
        flat = [part for gradient in gradients for part in arrays_in(gradient)[0]]
        for part, leaf, found in zip(parts, linear.inputs, flat, strict=True):
            if (backend.describe(found)[0] == leaf.shape and total != 1) or (
                backend.describe(found)[0] != (stop - start, *leaf.shape)
            ):
                found = np.broadcast_to(found, (stop - start, *leaf.shape))
            part.append(found)
        update(stop - start)
    return [
        _shaped(part[0] if len(part) == 1 else np.concatenate(part), shape + leaf.shape)
        for part, leaf in zip(parts, linear.inputs, strict=True)
    ]


def _shaped(block: Any, shape: tuple[int, ...]) -> Any:
    """`block` reshaped; a number, as NumPy gives one, for no axes."""
    return block.reshape(shape) if shape else block.reshape(())[()]


def _zeros(shape: tuple[int, ...], leaf: Any, recorded: bool, like: Any) -> Any:
    made = backend.zeros(like, shape + leaf.shape, leaf.dtype)[()]
    return GradArray(made, None) if recorded else made


def _assemble(linear: _Linear, blocks: list[list[Any]], single: bool) -> Any:
    """blocks[output][input] in the structure of the output, then of the arguments."""
    per_output = []
    for block in blocks:
        position = 0
        arguments = []
        for argument in linear.run.arguments:
            count = len(argument.nodes)
            arguments.append(argument.rebuild(block[position : position + count]))
            position += count
        per_output.append(arguments[0] if single else tuple(arguments))
    return linear.rebuild(per_output)


def jacrev(
    f: Function,
    argnums: Argnums = 0,
    chunk: int | None = None,
    progress: bool = False,
    wrap: bool = True,
    has_aux: bool = False,
) -> Function:
    """The Jacobian by reverse mode: cheap for few outputs. See `jacobian`."""
    return Jacobian("jacrev", f, argnums, chunk, progress, wrap, has_aux)


def _by_reverse(linear: _Linear, single: bool, chunk: int | None, progress: bool) -> Any:
    total = sum(_size(backend.describe(value)[0]) for value in linear.values)
    update = _bar(total, progress)
    blocks = [_reverse_block(linear, k, chunk, update) for k in range(len(linear.outputs))]
    return _assemble(linear, blocks, single)


def jacfwd(
    f: Function,
    argnums: Argnums = 0,
    chunk: int | None = None,
    progress: bool = False,
    wrap: bool = True,
    has_aux: bool = False,
) -> Function:
    """The Jacobian by forward mode: cheap for few inputs. See `jacobian`."""
    return Jacobian("jacfwd", f, argnums, chunk, progress, wrap, has_aux)


def _by_forward(linear: _Linear, single: bool, chunk: int | None, progress: bool) -> Any:
    total = sum(_size(node.shape) for node in linear.inputs)
    update = _bar(total, progress)
    order = linear.order
    if linear.older:
        active = depending(order, {node.id for node in linear.inputs})
        order = [node for node in order if node.id in active]
    blocks: list[list[Any]] = [[] for _ in linear.outputs]
    for leaf, like in zip(linear.inputs, linear.likes, strict=True):
        if leaf.dtype.kind == "c":
            raise NotDifferentiable(
                "npgrad: jacfwd by a complex argument, which has two directions for each entry: "
                "npgrad.jacrev gives du/dx + i du/dy of a real output."
            )
        count = _size(leaf.shape)
        columns: list[list[Any]] = [[] for _ in linear.outputs]
        for start, stop in _spans(count, linear.chunk(count, count, chunk)):
            rows = _unit_rows(start, stop, leaf.shape, leaf.dtype, like)
            tangents = sweep(
                order, {leaf.id: rows}, linear.nodes, linear.outputs, linear.recorded, batch=1
            )
            for column, tangent, plain in zip(columns, tangents, linear.values, strict=True):
                shape = backend.describe(plain)[0]
                if backend.describe(tangent)[0] != (stop - start, *shape):
                    tangent = np.broadcast_to(tangent, (stop - start, *shape))
                column.append(tangent)
            update(stop - start)
        for block, column, plain in zip(blocks, columns, linear.values, strict=True):
            shape = backend.describe(plain)[0]
            if not column:
                block.append(_zeros(shape, leaf, linear.recorded, like))
                continue
            joined = column[0] if len(column) == 1 else np.concatenate(column)
            if backend.describe(joined)[1] != leaf.dtype:  # as reverse mode gives it
                joined = joined.astype(leaf.dtype)
            block.append(_shaped(np.moveaxis(joined, 0, -1), shape + leaf.shape))
    return _assemble(linear, blocks, single)


def jacobian(
    f: Function,
    argnums: Argnums = 0,
    chunk: int | None = None,
    progress: bool = False,
    wrap: bool = True,
    has_aux: bool = False,
) -> Function:
    """The Jacobian of ``f`` as a function, by whichever mode is cheaper.

    Parameters
    ----------
    f : callable
        Written with NumPy; returns a real array, or a nested container of arrays.
    argnums : int, str, or a tuple of them
        The arguments to differentiate.
    chunk : int, optional
        How many rows (columns) to compute in one batched sweep; fewer take less memory.
    progress : bool
        Show a progress bar, if tqdm is installed.
    wrap : bool
        As in `value_and_grad`.
    has_aux : bool
        `f` returns ``(output, aux)``; the result is then ``(jacobian, aux)``.

    Returns
    -------
    callable
        Its result has the shape ``output.shape + argument.shape``, in the output's structure and,
        inside, the argument's.

    Raises
    ------
    NotDifferentiable
        A complex output, a complex argument in forward mode, or an output that is no array.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.jacobian(lambda x: x ** 2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    return Jacobian("jacobian", f, argnums, chunk, progress, wrap, has_aux)


class Jacobian(Derived):
    """What `jacobian`, `jacrev` and `jacfwd` return."""

    def __init__(
        self,
        what: str,
        f: Function,
        argnums: Argnums,
        chunk: int | None,
        progress: bool,
        wrap: bool,
        has_aux: bool,
    ) -> None:
        _check_chunk(chunk)
        super().__init__(what, f, argnums, wrap, has_aux, chunk=chunk, progress=progress)
        self._chunk = chunk
        self._progress = progress

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The Jacobian at these arguments."""
        linear = _Linear(self._f, args, kwargs, self._which, self._has_aux)
        forward = self.what == "jacfwd"
        if self.what == "jacobian":
            outputs = sum(_size(backend.describe(v)[0]) for v in linear.values)
            inputs = sum(_size(node.shape) for node in linear.inputs)
            forward = inputs < outputs and all(node.dtype.kind == "f" for node in linear.inputs)
        by = _by_forward if forward else _by_reverse
        found = by(linear, self._single, self._chunk, self._progress)
        return (found, linear.run.aux) if self._has_aux else found


def hessian(
    f: Function,
    argnums: Argnums = 0,
    chunk: int | None = None,
    progress: bool = False,
    wrap: bool = True,
    has_aux: bool = False,
) -> Function:
    """The matrix of second derivatives of a scalar function.

    Parameters are those of `jacobian`; the result has the shape
    ``argument.shape + argument.shape``, with `has_aux` it is ``(hessian, aux)``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.hessian(np.prod)(np.array([2.0, 0.0, 5.0]))
    array([[0., 5., 0.],
           [5., 0., 2.],
           [0., 2., 0.]])
    """
    return jacrev(grad(f, argnums, has_aux, wrap=wrap), argnums, chunk, progress, wrap, has_aux)


def hvp(f: Function, x: Any, v: Any, has_aux: bool = False) -> Any:
    """The Hessian of ``f`` at `x` times `v`: forward over reverse, no matrix is made.

    Parameters
    ----------
    f : callable
        Scalar function of one argument.
    x, v : array_like or nested containers of the same structure
    has_aux : bool
        `f` returns ``(value, aux)``; the result is then ``(product, aux)``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.hvp(lambda x: np.sum(x ** 3), np.array([1.0, 2.0]), np.array([1.0, 10.0]))
    array([  6., 120.])
    """
    from .forward import jvp

    found = jvp(grad(f, has_aux=has_aux), (x,), (v,), has_aux)
    return found[1:] if has_aux else found[1]
