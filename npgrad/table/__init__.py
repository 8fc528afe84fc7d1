"""The one table: NumPy function -> what is decided for it, and the words that declare a decision.

A function is decided exactly once. The words:

============  ====================================================================================
elementwise   a ufunc of one output; one rule an input, used as JVP and VJP
linear        linear in its array arguments; the JVP is the function itself, `transpose` is the VJP
bilinear      linear in each of two arguments
reverse       a VJP for each array argument, and (optionally) a JVP
composed      differentiated through other decided functions (NumPy's own body, or one given)
writes        changes its first argument in place
constant      integers, booleans, shapes, text: no gradient is due
flat          inexact but piecewise constant: the gradient is zero
fresh         makes a new buffer, constant whatever it was given (a flat one)
refused       has no derivative here; the reason is part of the error
============  ====================================================================================

What a rule function names, it gets; what no rule names is not kept. The names:

* ``g`` -- cotangent or tangent, always first. ``y`` -- the output.
* NumPy's own parameter names: an array parameter gives its array, any other its value.
* ``shape``, ``dtype`` -- of the argument that the rule differentiates (no array is kept for these).

The table knows nothing of graphs or arrays; the graph compiles a `Rule` when it first meets it.
"""

from __future__ import annotations

from .rule import Rule, function_name, rule_parameters, same
from .words import (
    all_rules,
    bilinear,
    composed,
    computed_by,
    constant,
    elementwise,
    flat,
    fresh,
    linear,
    lookup,
    of_two,
    on_missing,
    pointwise,
    refused,
    reverse,
    ufunc_methods,
    whole,
    with_recorded,
    writes,
)

__all__ = [
    "Rule",
    "all_rules",
    "bilinear",
    "composed",
    "computed_by",
    "constant",
    "elementwise",
    "flat",
    "fresh",
    "function_name",
    "linear",
    "lookup",
    "of_two",
    "on_missing",
    "pointwise",
    "refused",
    "reverse",
    "rule_parameters",
    "same",
    "ufunc_methods",
    "whole",
    "with_recorded",
    "writes",
]
