"""The sweep of small arrays, written out: one function an operation, made when it is first swept.

A rule of ten numbers takes less time than Python needs to look up what to call and to ask what came
out. So ``pull(node, g, kept, walk)`` of an operation calls its rules and puts what they make into
the cotangents in flight; it answers False, having done nothing, where the long way must be taken.
It is for the everyday sweep of plain real arrays, and a cotangent of less than `TINY` entries.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ..table import rule_parameters, same
from . import backend
from .conform import conform

TINY = 4096  # entries below which a fresh buffer costs less than to ask whose the old one is
Pull = Callable[[Any, Any, tuple[Any, ...], Any], bool]

_HEAD = """
def pull(node, g, kept, walk):
    {parents}, = node.parents
    cotangents, owned = walk.cotangents, walk.owned
"""
_PUT = """
have = cotangents.get(key)
if have is None:
    cotangents[key] = value
elif {parent}.dtype is HALF:
    walk.accumulate({parent}, value, False)
else:
    cotangents[key] = have + value
"""

# An elementwise rule is linear in g, so what it gives has the shape of g, and is not large; where
# its input was broadcast it has to be summed. The dtype may be another (a number was promoted).
_ELEMENTWISE = """
value = {rule}
try:
    if {parent}.shape != shape or value.dtype is not {parent}.dtype:
        value = conform(value, {parent})
except AttributeError:
    value = conform(value, {parent})
key = {parent}.id
"""

# What other rules give is looked at.
_GENERAL = """
if {parent} is not None:
    value = {rule}
    if value is not None:
        try:
            if value.shape != {parent}.shape or value.dtype is not {parent}.dtype:
                value = conform(value, {parent})
        except AttributeError:
            value = conform(value, {parent})
        key = {parent}.id
        if value.size < TINY and not (owned and key in owned):
"""
_GENERAL += textwrap.indent(_PUT.lstrip("\n"), 12 * " ")
_GENERAL += """        else:
            walk.place({parent}, value, g, node.op, kept)
"""


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.strip("\n").splitlines())


def called(rule: Any, places: dict[str, int], word: str, g: str, kept: str, parent: str) -> str:
    """The text of a call of `rule`, known as `word`; the others are texts of what it may name."""
    if rule is same:
        return g
    words = [
        f"{parent}.{name}" if name in ("shape", "dtype") else f"{kept}[{places[name]}]"
        for name in rule_parameters(rule)
    ]
    return f"{word}({', '.join([g, *words])})"


def _made(text: str, rules: Sequence[Any], **names: Any) -> Pull:
    space = {f"rule{i}": rule for i, rule in enumerate(rules)}
    space.update(names, conform=conform, TINY=TINY, HALF=backend.HALF)
    exec(compile(text, __file__, "exec"), space)
    return space["pull"]  # type: ignore[no-any-return]


def elementwise_pull(rules: Sequence[Any], places: dict[str, int]) -> Pull:
    """The pull of a ufunc with the rules of its recorded inputs; `places` says what is where."""
    parents = [f"p{i}" for i in range(len(rules))]
    text = _HEAD.format(parents=", ".join(parents))
    taken = " or ".join(f"{parent}.id in owned" for parent in parents)
    text += f"    if owned and ({taken}):\n        return False\n"
    text += "    shape = node.shape\n"
    for i, (parent, rule) in enumerate(zip(parents, rules, strict=True)):
        text += _indented(
            _ELEMENTWISE.format(
                parent=parent, rule=called(rule, places, f"rule{i}", "g", "kept", f"p{i}")
            )
            + _PUT.format(parent=parent)
        )
    return _made(text + "    return True\n", rules)


def general_pull(rules: Sequence[Any], places: dict[str, int], width: int, verify: Any) -> Pull:
    """The pull of another function with the rules of its arrays; guards of what it keeps follow."""
    parents = [f"p{i}" for i in range(len(rules))]
    text = _HEAD.format(parents=", ".join(parents))
    text += f"    if len(kept) > {width}:\n        verify(node, kept)\n"
    for i, (parent, rule) in enumerate(zip(parents, rules, strict=True)):
        if rule is not None:
            text += _indented(
                _GENERAL.format(
                    parent=parent, rule=called(rule, places, f"rule{i}", "g", "kept", f"p{i}")
                )
            )
    return _made(text + "    return True\n", rules, verify=verify)
