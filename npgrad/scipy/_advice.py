"""What to write instead of a SciPy function that asked a recorded array for its plain numbers.

`npgrad.errors.GradientLost` is raised deep inside SciPy; its message names the function that the
user called, and the stand-in for it, or those there are beside it. Nothing here imports SciPy
before SciPy itself ran into such an array.
"""

from __future__ import annotations

import difflib
import importlib
import sys
from types import FrameType
from typing import Any

import numpy as np

from . import _CHAPTERS

PRODUCT = "@"
PRODUCTS = [
    "__matmul__",
    "__rmatmul__",
    "__mul__",
    "__rmul__",
    "__truediv__",
    "__setitem__",
    "dot",
    "multiply",
    "setdiag",
]
WRAPPED = ("f", "fun", "func", "function", "hypotest_fun_in", "hypotest_fun_out")
OWN = "give it a rule with npgrad.primitive, or npgrad.value(x) to cut the gradient on purpose"
SHOWN = 12  # names of stand-ins in a message


def advise(frame: FrameType | None) -> tuple[str, str] | None:
    """The function of SciPy that the user called, and the remedy; None if SciPy did not ask.

    The user's frame is the first one, from the inside, that is neither npgrad's, NumPy's nor
    SciPy's.
    """
    called, ours = None, False
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        top = module.partition(".")[0]
        ours = ours or module.startswith("npgrad.scipy.")
        if top == "scipy":
            called = _public(frame, module) or called
        elif top not in ("numpy", "npgrad", "functools", "contextlib"):
            break
        frame = frame.f_back
    if called is None:
        return None
    if called[0] == "scipy.sparse" and called[1] == PRODUCT:
        return "this operation of a sparse matrix", (
            "A @ x, x * A and the functions of npgrad.scipy.sparse record; in wrapped code "
            "(npgrad.wrap(f)) all operators and A[i, j] = x do"
        )
    return ".".join(called), OWN if ours else _remedy(*called)


def _public(frame: FrameType, module: str) -> tuple[str, str] | None:
    """The public package and name of what runs in `frame`; None for a helper of SciPy's."""
    package, name = _package(module), frame.f_code.co_qualname
    me = frame.f_locals.get("self")
    if me is not None:
        if package == "scipy.sparse" and name.rpartition(".")[2] in PRODUCTS:
            return package, PRODUCT
        own = getattr(me, "name", None)  # norm.logpdf is a method of its class
        kind = own if package == "scipy.stats" and isinstance(own, str) else type(me).__name__
        kind = kind.removesuffix("_gen")  # dirichlet is a dirichlet_gen
        if isinstance(getattr(me, "__name__", None), str) and callable(me):  # a MultiUFunc
            kind, name = me.__name__, ""
        name = f"{kind}.{frame.f_code.co_name}"
    if _known(package, name):
        return package, name.removesuffix(".__init__").removesuffix(".__call__")
    for word in WRAPPED:  # a decorator that looks at the arguments first
        function = frame.f_locals.get(word)
        name = getattr(function, "__name__", "")
        package = _package(getattr(function, "__module__", None) or "")
        if callable(function) and package.startswith("scipy") and _known(package, name):
            return package, name
    return None


def _package(module: str) -> str:
    """The public part of a module's name."""
    parts = module.split(".")
    private = next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))
    return ".".join(parts[:private])


def _known(package: str, name: str) -> bool:
    first = name.partition(".")[0]
    return not first.startswith("_") and hasattr(sys.modules.get(package), first)


def _remedy(package: str, name: str) -> str:
    if package == "scipy.optimize":
        return (
            "give it plain start values; for the derivative of its result by a parameter there is "
            "npgrad.transforms.implicit.root (docs/custom_rules.md)"
        )
    chapter = package.removeprefix("scipy.")
    first = name.partition(".")[0]
    if chapter.partition(".")[0] not in _CHAPTERS:
        return f"{_also()}; npgrad.scipy has no stand-in for it: {OWN}"
    try:
        ours = list(getattr(importlib.import_module(f"npgrad.{package}"), "__all__", ()))
    except ImportError:
        ours = []
    if first in ours:
        mine = getattr(importlib.import_module(f"npgrad.{package}"), first)
        ruled = getattr(mine, "formulas", getattr(mine, "methods", None))
        method = name.partition(".")[2]
        if not method or ruled is None or method in ruled:
            return f"npgrad.{package}.{name} in its place"
        return f"npgrad.{package}.{first} has rules for {', '.join(sorted(ruled))} alone: {OWN}"
    numpys: Any = {"linalg": np.linalg, "fft": np.fft}.get(chapter)
    if hasattr(numpys, first):
        return f"np.{chapter}.{name}, which is differentiated"
    near = difflib.get_close_matches(first, ours, SHOWN, 0.5)
    near += [other for other in ours if other not in near][: SHOWN - len(near)]
    listed = f" (npgrad.{package} has {', '.join(near)})" if near else ""
    return f"{_also()}; npgrad has no stand-in for it{listed}: {OWN}"


def _also() -> str:
    """What serves where SciPy computes in Python."""
    return (
        'npgrad.wrap(f, also=("scipy",)) in place of f, if that is written in Python (many of '
        "signal, stats, integrate and interpolate are)"
    )
