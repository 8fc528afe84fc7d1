"""NumPy's signatures as functions: one that binds arguments, one that passes them on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def caller(signature: inspect.Signature) -> Callable[[Any, list[Any]], Any]:
    """``(fun, values) -> fun(...)``, by keyword where the signature allows it."""
    kinds = inspect.Parameter
    words = [
        f"v[{i}]" if p.kind is kinds.POSITIONAL_ONLY else f"{name}=v[{i}]"
        for i, (name, p) in enumerate(signature.parameters.items())
    ]
    source = f"lambda fun, v: fun({', '.join(words)})"
    return eval(compile(source, __file__, "eval"))  # type: ignore[no-any-return]


def binder(name: str, signature: inspect.Signature) -> Callable[..., list[Any]]:
    """A function with `signature` that returns its arguments as a list, in order."""
    space: dict[str, Any] = {}
    parts: list[str] = []
    previous = None
    kinds = inspect.Parameter
    for i, (key, parameter) in enumerate(signature.parameters.items()):
        if previous is kinds.POSITIONAL_ONLY and parameter.kind is not kinds.POSITIONAL_ONLY:
            parts.append("/")
        if parameter.kind is kinds.KEYWORD_ONLY and previous is not kinds.KEYWORD_ONLY:
            parts.append("*")
        previous = parameter.kind
        if parameter.default is kinds.empty:
            parts.append(key)
        else:
            space[f"_d{i}"] = parameter.default
            parts.append(f"{key}=_d{i}")
    if previous is kinds.POSITIONAL_ONLY:
        parts.append("/")
    function = name.rpartition(".")[2]
    names = ", ".join(signature.parameters)
    exec(f"def {function}({', '.join(parts)}): return [{names}]", space)
    return space[function]  # type: ignore[no-any-return]
