"""``np.einsum`` in all its forms, by one rule.

A call is first brought to one form: a label for each axis, an explicit output, no ellipsis::

    einsum("i...,i...", a, b)   ->   "iAB,iB->AB"        (a has three axes, b two)

The cotangent of an operand is again a product and sum, of g and the other operands::

    g, others -> the labels of the operand that any of them has
              -> diagonals for labels that the operand repeats         "ii->i"
              -> copies along labels that were summed away with it     "ij->i"
              -> sums along axes of length one that were broadcast     "ij,ij->ij" with (1, 3)

The value of the user's own call is NumPy's, by NumPy's own loops or whatever ``optimize=`` says;
cotangents and tangents of two operands go through BLAS, which NumPy's loops do not.
"""

from __future__ import annotations

import inspect
import math
import string
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np

from npgrad.graph.refusals import check_parts, user_frame
from npgrad.primitives import primitive
from npgrad.rules.diagonals import embed_diagonal
from npgrad.rules.indexing import as_array, into
from npgrad.table import composed, linear, reverse

Array = Any
Options = dict[str, Any] | None

# NumPy's own numbering of labels in the form einsum(a, [0, 1], b, [1, 2]).
LETTERS = string.ascii_uppercase + string.ascii_lowercase
# Below this many multiplications NumPy's loops are faster than two transposes and a matmul.
SMALL = 2000


# ----------------------------------------------------------------------------------- the one form
def as_text(labels: Sequence[Any]) -> str:
    """``[0, Ellipsis, 1]`` as ``"A...B"``."""
    return "".join("..." if label is Ellipsis else LETTERS[int(label)] for label in labels)


@lru_cache(1024)
def one_form(text: str, ndims: tuple[int, ...]) -> str:
    """`text`, the subscripts of operands of `ndims` dimensions, in the one form."""
    before, arrow, output = text.replace(" ", "").partition("->")
    inputs = before.split(",")
    if len(inputs) != len(ndims):
        raise ValueError(
            f"einstein sum subscripts {text!r} are for {len(inputs)} operands, "
            f"{len(ndims)} were given"
        )
    if not arrow:
        single = sorted(label for label in set(before) - {",", "."} if before.count(label) == 1)
        output = ("..." if "..." in before else "") + "".join(single)
    if "..." in before:
        spare = [letter for letter in LETTERS if letter not in text]
        counts = [
            ndim - len(labels) + 3 if "..." in labels else 0
            for labels, ndim in zip(inputs, ndims, strict=True)
        ]
        most = max(counts)
        if most > 0 and "..." not in output:
            raise ValueError(
                "output has more dimensions than subscripts given in einstein sum, but no '...' "
                "ellipsis provided to broadcast the extra dimensions."
            )
        inputs = [
            labels.replace("...", "".join(spare[most - count : most]))
            for labels, count in zip(inputs, counts, strict=True)
        ]
        output = output.replace("...", "".join(spare[:most]))
    return ",".join(inputs) + "->" + output


def explicit(operands: Sequence[Any]) -> tuple[str, list[Array]]:
    """The subscripts of a call in the one form, and its arrays."""
    if isinstance(operands[0], str):
        text, given = operands[0], operands[1:]
    else:  # einsum(a, [0, 1], b, [1, 2], [2, 0])
        pairs = len(operands) // 2 * 2
        given = operands[:pairs:2]
        text = ",".join(as_text(labels) for labels in operands[1:pairs:2])
        if pairs < len(operands):
            text += "->" + as_text(operands[-1])
    arrays = [as_array(operand) for operand in given]
    return one_form(text, tuple(array.ndim for array in arrays)), arrays


# --------------------------------------------------------------------- products of two through BLAS
def by_matmul(subscripts: str, a: Array, b: Array) -> Array | None:
    """Two operands by one (batched) matrix product; None where NumPy's loops are as good."""
    before, _, output = subscripts.partition("->")
    left, right = before.split(",")
    here, there = set(left), set(right)
    if len(here) < len(left) or len(there) < len(right):
        return None  # a diagonal is taken
    summed = [label for label in left if label in there and label not in output]
    free = here ^ there
    if not summed or not free or not free <= set(output):
        return None
    sizes = dict(zip(left, a.shape, strict=True))
    for label, extent in zip(right, b.shape, strict=True):
        if sizes.setdefault(label, extent) != extent:
            return None  # broadcast along an axis of length one
    if math.prod(sizes.values()) < SMALL:
        return None
    batch = [label for label in output if label in here and label in there]
    rows = [label for label in output if label in here and label not in there]
    columns = [label for label in output if label in there and label not in here]
    shape = tuple(sizes[label] for label in batch)
    a = a.transpose([left.index(label) for label in (*batch, *rows, *summed)])
    b = b.transpose([right.index(label) for label in (*batch, *summed, *columns)])
    inner = math.prod(sizes[label] for label in summed)
    a = a.reshape((*shape, -1, inner))
    b = b.reshape((*shape, inner, -1))
    product = (a @ b).reshape([sizes[label] for label in (*batch, *rows, *columns)])
    have = [*batch, *rows, *columns]
    return product.transpose([have.index(label) for label in output])


def evaluate(subscripts: str, arrays: Sequence[Array], options: Options) -> Array:
    """The value: NumPy's own with the user's `options`, the fastest way when there are none."""
    if options is not None:
        return np.einsum(subscripts, *arrays, **options)
    if len(arrays) == 2:
        product = by_matmul(subscripts, *arrays)
        if product is not None:
            return product
    return np.einsum(subscripts, *arrays, optimize=len(arrays) > 2)


# ------------------------------------------------------------------------------------- the one rule
def contract(subscripts: str, arrays: Sequence[Array], options: Options = None) -> Array:
    """Product and sum of arrays, recorded or not; `subscripts` is in the one form."""
    return contraction(len(arrays))(*arrays, subscripts, options)


@cache
def contraction(count: int) -> Any:
    """The primitive for `count` operands, with its rules."""

    def product(*values: Any) -> Array:
        return evaluate(values[-2], values[:-2], values[-1])

    product.__name__ = product.__qualname__ = "einsum"
    product.__doc__ = f"``np.einsum`` of {count} operands, subscripts in the one form."
    function = primitive(product)
    names = [f"operand{i}" for i in range(count)]
    pulls = {name: rule_for(i, names, pull_operand) for i, name in enumerate(names)}
    keywords: dict[str, Any] = {
        "signature": f"{', '.join(names)}, subscripts, options, /",
        "ignores": ("options",),
        "batched": True,
    }
    if count == 1:  # transposes and diagonals are views, which can be written into
        rule = linear(function, transpose=pulls, view=True, **keywords)
    else:
        pushes = {name: rule_for(i, names, push_operand) for i, name in enumerate(names)}
        rule = reverse(function, pulls, pushes, product=True, **keywords)
    rule.name = "np.einsum"
    return function


def rule_for(i: int, names: list[str], body: Any) -> Any:
    """`body` as the rule of operand `i`, which names (and so keeps) every other operand."""
    others = [name for name in names if name != names[i]]

    def rule(g: Array, shape: tuple[int, ...], subscripts: str, *values: Array) -> Array:
        return body(g, shape, subscripts, values, i)

    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    rule.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, positional) for name in ("g", "shape", "subscripts", *others)]
    )
    return rule


def spare_labels(subscripts: str, count: int) -> str:
    """Labels for `count` batch axes."""
    return "".join([letter for letter in LETTERS if letter not in subscripts][:count])


def push_operand(
    g: Array, shape: tuple[int, ...], subscripts: str, others: tuple[Array, ...], i: int
) -> Array:
    """The tangent in the operand's place; its batch axes stay in front."""
    before, _, output = subscripts.partition("->")
    inputs = before.split(",")
    batch = spare_labels(subscripts, g.ndim - len(inputs[i]))
    inputs[i] = batch + inputs[i]
    arrays = [*others[:i], g, *others[i:]]
    return contract(f"{','.join(inputs)}->{batch}{output}", arrays)


def pull_operand(
    g: Array, shape: tuple[int, ...], subscripts: str, others: tuple[Array, ...], i: int
) -> Array:
    """The cotangent of operand `i`, of `shape`."""
    before, _, output = subscripts.partition("->")
    inputs = before.split(",")
    own = inputs.pop(i)
    if 0 in shape:
        return np.zeros_like(g, shape=g.shape[: g.ndim - len(output)] + shape)
    batch = spare_labels(subscripts, g.ndim - len(output))
    wanted = "".join(dict.fromkeys(own))
    found = "".join(label for label in wanted if label in output or any(label in s for s in inputs))
    terms = ",".join([batch + output, *inputs])
    part = contract(f"{terms}->{batch}{found}", [g, *others])
    sizes = dict(zip(own, shape, strict=True))
    part = restore(part, len(batch), found, wanted, sizes, repeated=len(wanted) < len(own))
    return part if len(wanted) == len(own) else on_diagonals(part, len(batch), wanted, own)


def restore(
    part: Array, batch: int, found: str, wanted: str, sizes: dict[str, int], *, repeated: bool
) -> Array:
    """`part`, with the labels `found`, with all the labels `wanted`, of the lengths in `sizes`."""
    summed = tuple(
        batch + axis
        for axis, label in enumerate(found)
        if sizes[label] == 1 != part.shape[batch + axis]
    )
    if summed:
        part = part.sum(axis=summed, keepdims=True)
    if found != wanted:
        extents = dict(zip(found, part.shape[batch:], strict=True))
        part = part.reshape(part.shape[:batch] + tuple(extents.get(label, 1) for label in wanted))
    target = part.shape[:batch] + tuple(sizes[label] for label in wanted)
    return part if part.shape == target else np.broadcast_to(part, target)


def on_diagonals(part: Array, batch: int, wanted: str, own: str) -> Array:
    """`part`, with an axis for each label `wanted`, spread on the diagonals that `own` took."""
    have = list(wanted)
    for label in wanted:
        for _ in range(own.count(label) - 1):
            axis = batch + have.index(label)
            extent = part.shape[axis]
            part = embed_diagonal(np.moveaxis(part, axis, -1), extent, extent)
            have.remove(label)
            have += [label, label]
    order = []
    for label in own:
        place = next(i for i, other in enumerate(have) if other == label and i not in order)
        order.append(place)
    return part.transpose((*range(batch), *(batch + place for place in order)))


def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Array:
    """``np.einsum``."""
    subscripts, arrays = explicit(operands)
    if kwargs.get("dtype") is not None and len(arrays) > 1:
        check_parts("np.einsum", kwargs["dtype"], arrays, user_frame())
    return into(out, contract(subscripts, arrays, {"optimize": optimize, **kwargs}))


composed(np.einsum, einsum)
