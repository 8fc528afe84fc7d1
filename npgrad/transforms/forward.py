"""Forward mode: `jvp`, `linearize`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import DTypeMismatch, ShapeMismatch
from ..graph import backend, placing
from ..graph.array import GradArray, current, unwrap
from ..graph.forward import Forward
from ..graph.node import Node
from ..graph.order import collect, depending
from .grad import Held, prepare
from .outputs import output_parts
from .run import Function, Run
from .trees import as_scalar, is_single, place, same_structure, spots
from .values import value


def linearize(f: Function, *args: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``f`` and its derivative as a linear function of tangents.

    Parameters
    ----------
    f : callable
        Written with NumPy; returns an array or a nested container of arrays.
    args : array_like or nested containers
        Where to linearize.
    has_aux : bool
        `f` returns ``(out, aux)``; the result is then ``(out, push, aux)``.

    Returns
    -------
    out : same as ``f(*args)``
    push : callable
        ``push(*tangents) -> tangent of out``, one tangent for each argument; may be called any
        number of times, each at the cost of one forward sweep over the recording.

    Raises
    ------
    ShapeMismatch, DTypeMismatch
        A tangent that does not fit its argument.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> out, push = npgrad.linearize(np.sin, np.array([0.0, np.pi]))
    >>> push(np.array([1.0, 1.0]))
    array([ 1., -1.])
    """
    run = Run(prepare(f, True), args, {}, range(len(args)), True, has_aux)
    outputs, rebuild = output_parts(run.out, "jvp")
    nodes = [current(out)[1] if type(out) is GradArray else None for out in outputs]
    order, older = collect([node for node in nodes if node is not None], run.floor)
    roots = {node.id for argument in run.arguments for node in argument.nodes}
    recorded = run.outside(order, older)
    if older:
        active = depending(order, roots)
        order = [node for node in order if node.id in active]
    recorded = recorded or any(argument.recorded for argument in run.arguments)

    def push(*tangents: Any) -> Any:
        seeds, given = _seeds(run, args, tangents)
        return rebuild(sweep(order, seeds, nodes, outputs, recorded or given))

    found = run.out if recorded else value(run.out), Held("push", "linearize", push)
    return (*found, run.aux) if has_aux else found


def _seeds(run: Run, args: tuple[Any, ...], tangents: Sequence[Any]) -> tuple[dict[int, Any], bool]:
    if len(tangents) != len(args):
        raise ShapeMismatch(
            f"npgrad: {len(args)} arguments need {len(args)} tangents, got {len(tangents)}"
        )
    seeds: dict[int, Any] = {}
    given = False
    for position, (argument, arg, tangent) in enumerate(
        zip(run.arguments, args, tangents, strict=True)
    ):
        parts, _ = same_structure(tangent, arg, f"tangent {position}")
        there = spots(arg)
        if any(part is not None and i not in there for i, part in enumerate(parts)):
            raise ShapeMismatch(
                f"npgrad: tangent {position} has an array where its argument has None"
            )
        for i, node, like in zip(there, argument.nodes, argument.likes, strict=True):
            part = parts[i]
            if part is None:
                continue
            try:
                seeds[node.id] = tangent_for(node, part, f"tangent {position}", like)
            except (ShapeMismatch, DTypeMismatch):
                tangent_for(node, part, place(arg, f"tangent {position}", i), like)  # says which
                raise
            given = given or type(part) is GradArray
    return seeds, given


def tangent_for(node: Node, tangent: Any, name: str, like: Any) -> Any:
    """`tangent` checked against the argument that `node` stands for, of `like`'s library."""
    if not backend.is_array(unwrap(tangent)) and not backend.is_scalar(tangent):
        tangent = backend.asarray(tangent)
    shape, dtype = backend.describe(unwrap(tangent))
    if dtype.kind not in "fciub" or (dtype.kind == "c" and node.dtype.kind != "c"):
        raise DTypeMismatch(
            f"npgrad: {name} is {dtype}, its argument {node.dtype}: a tangent is of "
            "its argument's kind"
        )
    if shape != node.shape:
        raise ShapeMismatch(f"npgrad: {name} has shape {shape}, its argument has {node.shape}")
    placing.check_placed("jvp", name, unwrap(tangent), like)
    tangent = placing.placed(tangent, like)
    if dtype == node.dtype and hasattr(tangent, "dtype"):
        return tangent
    return tangent.astype(node.dtype) if hasattr(tangent, "astype") else node.dtype.type(tangent)


def sweep(
    order: list[Node],
    seeds: dict[int, Any],
    nodes: list[Node | None],
    outputs: list[Any],
    record: bool,
    batch: int = 0,
) -> list[Any]:
    """Tangents of the outputs, zeros where nothing arrives."""
    if record:
        seeds = {k: t if type(t) is GradArray else GradArray(t, None) for k, t in seeds.items()}
    tangents = Forward(record=record, batch=batch).run(order, seeds, nodes)
    results = []
    for tangent, out in zip(tangents, outputs, strict=True):
        if tangent is None and is_single(out):
            shape, dtype = backend.describe(backend.asarray(unwrap(out)))
            if not backend.is_inexact(dtype):
                dtype = backend.FLOAT
            tangent = backend.zeros(unwrap(out), shape, dtype)[()]
        if record and tangent is not None and type(tangent) is not GradArray:
            tangent = GradArray(tangent, None)
        elif type(tangent) is not GradArray and tangent is not None:
            tangent = as_scalar(backend.snapshot_any(tangent))
        results.append(tangent)
    return results


def jvp(
    f: Function, args: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """The value of ``f`` and its derivative along a direction.

    Parameters
    ----------
    f : callable
        Written with NumPy.
    args : sequence
        The arguments of `f`.
    tangents : sequence
        A direction for each argument, of its structure, shapes and kind.
    has_aux : bool
        `f` returns ``(out, aux)``; the result is then ``(out, tangent, aux)``.

    Returns
    -------
    out, tangent : same structure as ``f(*args)``

    Raises
    ------
    ShapeMismatch, DTypeMismatch
        A tangent that does not fit its argument.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.jvp(lambda x: x ** 2, (np.array([1.0, 3.0]),), (np.array([1.0, 0.5]),))
    (array([1., 9.]), array([2., 3.]))
    """
    if not isinstance(args, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError("npgrad: jvp(f, args, tangents) takes args and tangents as tuples")
    out, push, *aux = linearize(f, *args, has_aux=has_aux)
    return (out, push(*tangents), *aux)
