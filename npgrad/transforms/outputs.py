"""What a function may return under each transform, and what is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import DTypeMismatch, NotDifferentiable, ShapeMismatch
from ..graph import backend
from ..graph.array import GradArray, current
from ..graph.node import Node, recorded_at
from .trees import flatten, is_single


def scalar_output(out: Any, who: str, holomorphic: bool) -> tuple[Any, Node | None]:
    """Array and node of a function's output, which must be one real number."""
    if type(out) is GradArray:
        result, node = current(out)
    elif is_single(out):
        result, node = out, None
    else:
        raise NotDifferentiable(
            f"npgrad: {who} needs a function that returns one number, this one returned "
            f"{_shortly(out)}. Return a scalar (np.sum(...)), use has_aux=True for a (value, aux) "
            "pair, or npgrad.jacobian / npgrad.vjp for several outputs."
        )
    shape, dtype = backend.describe(result)
    if node is None:
        refuse_whole([result], who)
    if shape != ():
        size = 1
        for extent in shape:
            size *= extent
        index = ", ".join("0" * len(shape))
        hint = f" out[{index}] or np.sum(out) makes it a scalar;" if size == 1 else ""
        raise NotDifferentiable(
            f"npgrad: {who} needs a scalar output, this function returned an array of shape "
            f"{shape}.{recorded_at(node)}{hint} npgrad.jacobian, npgrad.vjp and "
            "npgrad.elementwise_grad take array outputs."
        )
    if dtype.kind != "c" and holomorphic:
        raise NotDifferentiable(
            f"npgrad: {who} with holomorphic=True of a function that returned a real number."
            f"{recorded_at(node)} Leave holomorphic=True out: the gradient is that of steepest "
            "ascent."
        )
    if dtype.kind == "c" and not holomorphic:
        raise NotDifferentiable(
            f"npgrad: {who} of a complex-valued function.{recorded_at(node)} Take np.real, np.imag "
            "or np.abs of the result, or pass holomorphic=True for its complex derivative."
        )
    return result, node


def _shortly(out: Any) -> str:
    kind = type(out).__name__
    return f"{kind} of {len(out)}" if isinstance(out, (list, tuple, dict)) else kind


def output_parts(
    out: Any, who: str, whole: bool = False
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The arrays of an output; what could hide recorded values (a generator, a set) is refused."""
    parts, rebuild = flatten(out)
    for part in parts:
        if not is_single(part) and part is not None and not isinstance(part, (str, bytes)):
            raise NotDifferentiable(
                f"npgrad: {who} needs a function that returns arrays, numbers or containers of "
                f"them (list, tuple, dict, namedtuple, dataclass); this one returned, or held, a "
                f"{type(part).__qualname__}."
            )
    if not whole:
        refuse_whole(parts, who)
    return parts, rebuild


def refuse_whole(parts: list[Any], who: str) -> None:
    """Refuse an output that holds integers or booleans alone: its gradient would be a silent zero.

    A number of Python's counts as a float, because an empty sum is ``0``.
    """
    kinds = {_kind(part) for part in parts if is_single(part)}
    if kinds and kinds <= {"b", "i", "u"}:
        raise NotDifferentiable(
            f"npgrad: {who} of a function that returns {_whole(parts)}: a count, a position or a "
            "comparison is constant wherever it has a derivative, so there is no gradient to "
            "follow. Return the number that it was made of; float(...) of it if zero is meant."
        )


def _kind(part: Any) -> str:
    if type(part) is bool:
        return "b"
    if type(part) in backend.NUMBERS:
        return "f"
    return str(backend.describe(_bare(part))[1].kind)


def _whole(parts: list[Any]) -> str:
    first = next(part for part in parts if is_single(part))
    shape, dtype = backend.describe(backend.asarray(_bare(first)))
    return f"an array of {dtype}" if shape else f"a number of {dtype}"


def check_constant(out: Any, cotangent: Any, name: str) -> None:
    """A cotangent of an output that depends on nothing still has to fit it."""
    if not is_single(out):
        return
    shape = backend.describe(backend.asarray(_bare(out)))[0]
    given, dtype = backend.describe(backend.asarray(_bare(cotangent)))
    if dtype.kind not in "fciub":
        raise DTypeMismatch(f"npgrad: {name} is {dtype}, its value a number or an array")
    if shape != given:
        raise ShapeMismatch(f"npgrad: {name} has shape {given}, the value has {shape}")


def _bare(x: Any) -> Any:
    return current(x)[0] if type(x) is GradArray else x
