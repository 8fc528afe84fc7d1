"""A module that asks `is float`: its `float` stays the builtin."""

from __future__ import annotations


def never_called(v):
    return type(v) is float


def converts(x):
    return float(x[0]) * 2.0
