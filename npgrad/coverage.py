"""What is decided for every NumPy name, as rows read from the table.

Data only: ``python -m npgrad coverage [name]`` prints rows, ``scripts/make_coverage`` writes them
into ``docs/coverage.md``. Nothing here decides anything.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import npgrad.rules  # noqa: F401  (importing it fills the table)
from npgrad.table import Rule, all_rules, lookup

__all__ = ["Row", "lines", "public", "rows", "rows_named", "undecided"]

# Modules that `import numpy` leaves out and whose functions can be overridden.
LATE_MODULES = ("fft", "char", "strings", "polynomial", "lib.recfunctions", "lib.scimath")
NAMESPACES = (
    *("", "linalg", "fft", "emath", "strings", "char", "polynomial.polynomial"),
    *("lib.stride_tricks", "lib.recfunctions"),
)
DECISIONS = {
    "elementwise": "differentiated",
    "linear": "differentiated",
    "bilinear": "differentiated",
    "reverse": "differentiated",
    "composed": "differentiated",
    "writes": "in place",
    "constant": "constant",
    "flat": "zero gradient",
    "refused": "refused",
}
# Functions, not ufuncs, to which NumPy gives no meaning for complex numbers.
REAL_ONLY = frozenset(
    [
        *["np.clip", "np.i0", "np.unwrap", "np.bincount", "np.median", "np.nanmedian"],
        *["np.quantile", "np.nanquantile", "np.percentile", "np.nanpercentile"],
        *["np.histogram", "np.histogram2d", "np.histogramdd", "np.histogram_bin_edges"],
        *["np.fft.rfft", "np.fft.rfft2", "np.fft.rfftn", "np.fft.ihfft"],
    ]
)


@dataclass(frozen=True)
class Row:
    """What is decided for one function.

    Attributes
    ----------
    name : str
        NumPy's name of the function, ``np.sum``.
    decision : str
        ``differentiated``, ``in place``, ``constant``, ``zero gradient`` or ``refused``.
    reason : str
        Why, for the last three; how, for the others.
    forward : str
        Where the derivative in forward mode comes from.
    second_order : str
        Whether the derivative can be differentiated again.
    complex : str
        Whether complex arguments have a derivative, and of which kind.
    aliases : tuple of str
        Other public names of the same function.
    """

    name: str
    decision: str
    reason: str
    forward: str = ""
    second_order: str = ""
    complex: str = ""
    aliases: tuple[str, ...] = ()


def _load() -> None:
    """Import what NumPy loads on use, and ask about every function, so that the table is whole."""
    for name in LATE_MODULES:
        importlib.import_module(f"numpy.{name}")
    from numpy.testing.overrides import get_overridable_numpy_array_functions

    for fun in get_overridable_numpy_array_functions():
        lookup(fun)


def _modules(scipy: bool) -> Iterator[tuple[str, ModuleType]]:
    """The namespaces that people use, with the prefix they write."""
    for path in NAMESPACES:
        module: Any = np
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        yield f"np.{path}." if path else "np.", module
    if scipy:
        yield "scipy.special.", importlib.import_module("scipy.special")


def _names(scipy: bool) -> dict[Any, list[str]]:
    """Every public function in the namespaces, with all of its names."""
    found: dict[Any, list[str]] = {}
    for prefix, module in _modules(scipy):
        public = getattr(module, "__all__", None) or [n for n in dir(module) if n[:1] != "_"]
        for name in sorted(public):  # `np.__all__` comes from a set
            fun = getattr(module, name, None)
            if callable(fun) and not isinstance(fun, type):
                found.setdefault(fun, []).append(prefix + name)
    return found


def public(rule: Rule) -> bool:
    """Whether `rule` is about a function that people call, and not a helper of npgrad's own.

    Parameters
    ----------
    rule : Rule

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np
    >>> from npgrad.coverage import public
    >>> from npgrad.table import lookup
    >>> public(lookup(np.sum))
    True
    """
    return isinstance(rule.fun, np.ufunc) or not str(rule.fun.__module__).startswith("npgrad")


def _forward(rule: Rule) -> str:
    """Where the JVP comes from."""
    if rule.kind == "elementwise":
        return "the same rule" if rule.vjps == rule.jvps else "a rule of its own"
    if rule.kind in {"linear", "bilinear"}:
        return "a rule of its own" if rule.jvps else "the function itself"
    if rule.kind == "reverse":
        return "a rule of its own" if rule.jvps else "transpose of the VJP"
    return "through its parts"


def _complex(rule: Rule) -> str:
    """What holds for complex arguments."""
    if isinstance(rule.fun, np.ufunc):
        if not any(set(loop.split("->")[0]) & set("FDG") for loop in rule.fun.types):
            return "real only"
    elif rule.name in REAL_ONLY:
        return "real only"
    return "yes" if rule.holomorphic else "yes, not holomorphic"


def _how(rule: Rule) -> str:
    """One phrase about the derivative of a differentiated function."""
    arrays = [name.lstrip("*") for name, f in rule.vjps.items() if f is not None]
    if rule.kind == "writes":
        return "writes into its first argument"
    if rule.kind == "composed":
        return "NumPy's own body" if rule.body is None else "made of other functions"
    word = "a rule for" if rule.kind == "reverse" else f"{rule.kind} in"
    return f"{word} {', '.join(arrays)}"


def _row(rule: Rule, names: list[str]) -> Row:
    # An old NumPy says `numpy.lib._scimath_impl` for a function that it exports elsewhere.
    name = rule.name if rule.name in names or not names else names[0]
    umath = importlib.import_module("numpy._core.umath")
    if isinstance(rule.fun, np.ufunc) and not names and hasattr(umath, rule.fun.__name__):
        name = f"np._core.umath.{rule.fun.__name__}"  # the ufunc behind a function of that name
    elif "." not in name:
        name = f"scipy.special.{name}"  # a ufunc that SciPy keeps private
    # np.strings.add is np.add, and SciPy exports np.sinc: true, and of no use to anybody.
    elsewhere = ("np.strings.", "np.char.", "scipy.")
    aliases = tuple(
        other
        for other in names
        if other != name and (name.startswith(elsewhere) or not other.startswith(elsewhere))
    )
    decision = DECISIONS[rule.kind]
    if decision in {"differentiated", "in place"}:
        return Row(name, decision, _how(rule), _forward(rule), "yes", _complex(rule), aliases)
    return Row(name, decision, rule.reason, aliases=aliases)


def rows(scipy: bool | None = None) -> list[Row]:
    """Every decision of the table, by name.

    Parameters
    ----------
    scipy : bool, optional
        Whether to add the ufuncs of ``scipy.special``; by default if SciPy is imported.

    Returns
    -------
    list of Row

    Examples
    --------
    >>> from npgrad.coverage import rows
    >>> {row.name: row.decision for row in rows(scipy=False)}["np.argmax"]
    'constant'
    """
    _load()
    scipy = "scipy.special" in sys.modules if scipy is None else scipy
    names = _names(scipy)
    for fun in names:
        if isinstance(fun, np.ufunc):
            lookup(fun)  # a chapter that loads on use decides it now
    found = [_row(rule, names.get(rule.fun, [])) for rule in all_rules() if public(rule)]
    shown = [row for row in found if scipy or not row.name.startswith("scipy.")]
    return sorted(shown, key=lambda row: (row.name.count("."), row.name))


def undecided() -> list[str]:
    """The names of overridable functions and ufuncs of this NumPy that nobody decided.

    Returns
    -------
    list of str
        Empty, unless this NumPy is newer than the table.

    Examples
    --------
    >>> from npgrad.coverage import undecided
    >>> undecided()
    []
    """
    from numpy.testing.overrides import (
        get_overridable_numpy_array_functions,
        get_overridable_numpy_ufuncs,
    )

    _load()
    missing = [
        f"{fun.__module__}.{fun.__name__}"
        for fun in get_overridable_numpy_array_functions()
        # `np.ones` and its like= twin are two objects; NumPy hands over the first one.
        if lookup(fun) is None and lookup(getattr(fun, "_implementation", None)) is None
    ]
    missing += [ufunc.__name__ for ufunc in get_overridable_numpy_ufuncs() if not lookup(ufunc)]
    return sorted(missing)


def rows_named(name: str) -> list[Row]:
    """The rows of the functions called `name`: a whole name or its last part, or an alias.

    Parameters
    ----------
    name : str
        ``"np.linalg.norm"``, ``"numpy.linalg.norm"``, ``"linalg.norm"`` or ``"norm"``.

    Returns
    -------
    list of Row
        Empty when no such function is in the table.

    Examples
    --------
    >>> from npgrad.coverage import rows_named
    >>> [row.name for row in rows_named("permute_dims")]
    ['np.transpose']
    """
    wanted = name.strip().removesuffix("()").replace("numpy.", "np.")
    found = rows(scipy=True if wanted.startswith("scipy.") else None)
    exact = [row for row in found if wanted in (row.name, *row.aliases)]
    return exact or [
        row for row in found if any(n.endswith("." + wanted) for n in (row.name, *row.aliases))
    ]


def lines(found: list[Row]) -> Iterator[str]:
    """`found` as lines of text for a terminal.

    Parameters
    ----------
    found : list of Row

    Yields
    ------
    str

    Examples
    --------
    >>> from npgrad.coverage import lines, rows_named
    >>> print(*lines(rows_named("np.argmax")))
    np.argmax: constant (positions are integers)
    """
    for row in found:
        yield f"{row.name}: {row.decision} ({row.reason})"
        if row.forward:
            yield f"    forward mode: {row.forward}; second order: {row.second_order}; " + (
                f"complex: {row.complex}"
            )
        if row.aliases:
            yield f"    also called {', '.join(row.aliases)}"


def stand_in(name: str) -> str | None:
    """The stand-in of npgrad's for a function of SciPy that no protocol reaches; None without one.

    Examples
    --------
    >>> from npgrad.coverage import stand_in
    >>> stand_in("scipy.linalg.expm"), stand_in("linalg.hadamard")
    ('npgrad.scipy.linalg.expm', None)
    """
    path = name.strip().removesuffix("()").removeprefix("npgrad.").removeprefix("scipy.").split(".")
    found: object = importlib.import_module("npgrad.scipy")
    for part in path:
        try:
            found = getattr(found, part)
        except (AttributeError, ImportError):
            return None
    home = str(getattr(found, "__module__", ""))
    return ".".join(["npgrad.scipy", *path]) if home.startswith("npgrad.scipy") else None
