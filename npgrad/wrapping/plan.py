"""Which names of which modules stand for array makers: planned once, remembered by package.

Names are replaced where they are looked up: in the modules that use them, in closures and in
default arguments of their functions. The numpy module itself is never touched (a replaced
``np.empty`` there crashes ``numpy.random``).
"""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any
from weakref import WeakValueDictionary

from npgrad.wrapping.beside import folder_of_script, lies_in
from npgrad.wrapping.builtin_names import shadows_for
from npgrad.wrapping.compiling import listen
from npgrad.wrapping.generated import LAMBDIFY, is_module, lambdified, lambdified_count
from npgrad.wrapping.holders import dictionaries_of
from npgrad.wrapping.imports import imports_numpy
from npgrad.wrapping.matrices import MATRICES, names_matrices
from npgrad.wrapping.patch import (
    DISTRIBUTIONS,
    IMPORT,
    LOCK,
    Patch,
    in_use,
    look_at,
    originals,
    patch_of,
    patches,
    serving,
)
from npgrad.wrapping.stand_ins import REGISTERED, meet_scipy, meet_tables, with_rule
from npgrad.wrapping.swaps import Swap
from npgrad.wrapping.ufuncs import given_lists

# Never looked into: npgrad's own modules, what NumPy is made of, and what must see plain arrays.
OWN = frozenset({"npgrad", "numpy", "numba", "llvmlite", "builtins", "math", "pytest", "_pytest"})
# Glue that other packages call, met like a library's code: what NumPy wrote in terms of itself, and
# the array API's helpers, which ask for an array's type.
GLUE = ("numpy.polynomial", "array_api_compat", "array_api_extra")


def renew() -> None:
    """Have every namespace looked at again: something got a stand-in that had none."""
    with LOCK:
        for patch in list(patches.values()):
            patch.size = min(patch.size, 0)
        for plan in list(_plans.values()):
            plan.modules = 0


def _names_distributions(patch: Patch) -> bool:
    """Whether a namespace names SciPy's distributions, or the module that holds them."""
    held = [sys.modules.get("scipy"), sys.modules.get("scipy.stats")]
    return held[1] is not None and any(
        any(old is module for module in held) or type(new).__name__ == "Distribution"
        for _, old, new in patch.entries
    )


def is_compiled(module: Any) -> bool:
    """Whether a module is an extension, whose C code trusts its np.asarray to give an ndarray.

    SciPy's qhull reads the memory of a recorded array as one, and the interpreter dies.
    """
    return str(getattr(module, "__file__", None)).endswith(SUFFIXES)


SUFFIXES = tuple(EXTENSION_SUFFIXES)
_asking: dict[int, tuple[types.CodeType, bool]] = {}


def asks(code: types.CodeType) -> bool:
    """Whether `code` needs more of its namespace than the names of NumPy's that stand there."""
    found = _asking.get(id(code))
    if found is None:
        if len(_asking) > 4096:
            _asking.clear()
        needs = bool(shadows_for([code])) or imports_numpy(code) or bool(given_lists([code]))
        found = _asking[id(code)] = (code, needs)
    return found[1]


class Plan:
    """The namespaces of some packages."""

    def __init__(self, packages: frozenset[str], space: dict[str, Any] | None = None) -> None:
        self.packages = packages
        self.folder = folder_of_script(packages)  # what lies beside a script is its own code
        self.space = space  # the function's own globals, which need not be a module's
        self.modules = 0  # how many were loaded when the plan was made
        self.main: Any = None  # the script then; a notebook may run several
        self.sympy: Any = None  # its module that makes functions, if it is loaded
        self.lambdified = 0  # how many it had made
        self.all: list[Patch] = []
        self.loose: list[Patch] = []  # those whose names may be bound anew at any time
        self.patches: tuple[Patch, ...] = ()  # those with something to replace
        # Names of other packages' modules for functions that the user gave rules.
        self.ruled: list[tuple[Patch, Swap]] = []

    def covers(self, name: str) -> bool:
        """Whether the module `name` is one of the packages'."""
        top = name.partition(".")[0]
        if top in self.packages or name.startswith(GLUE):
            return True
        return self.folder is not None and top not in OWN and lies_in(top, self.folder)

    def refresh(self) -> None:
        """Look again: modules were imported, or names bound, since."""
        meet_scipy()
        listen(originals)
        spaces = [
            module.__dict__
            for name, module in list(sys.modules.items())
            if self.covers(name)
            and type(getattr(module, "__dict__", None)) is dict
            and not is_compiled(module)
        ]
        if self.space is not None:
            spaces.append(self.space)
        unequal = [meet_tables(space) for space in spaces]
        if any(unequal):
            renew()
        mine = {id(space): patch_of(space) for space in spaces}
        look_at(mine.values())
        held = {}
        for space in spaces:
            for label, table in dictionaries_of(space, in_use):
                held[id(table)] = patch_of(table)
                held[id(table)].asked_by(mine[id(space)].asked, label)
        look_at(held.values())
        mine.update(held)
        generated = [*lambdified(), *(one for patch in mine.values() for one in patch.others)]
        served = {id(space): serving(space, code) for space, code in generated}
        look_at(served.values())
        self.all = list({**mine, **served}.values())
        self.loose = [patch for patch in self.all if not patch.settled]
        self.patches = tuple([patch for patch in self.all if patch.entries or patch.places])
        if any(patch.imports for patch in self.all):
            look_at([IMPORT])
            self.loose.append(IMPORT)
            self.patches += (IMPORT,)
        if any(_names_distributions(patch) for patch in self.patches):
            look_at([DISTRIBUTIONS])
            self.patches += (DISTRIBUTIONS,)
        if any(names_matrices(patch) for patch in self.all):
            look_at([MATRICES])
            self.patches += (MATRICES,)
        self.ruled = self._named_elsewhere({id(patch.space) for patch in self.all})
        self.modules = len(sys.modules)
        self.main = sys.modules.get("__main__")
        self.sympy = sys.modules.get(LAMBDIFY)
        self.lambdified = lambdified_count(self.sympy)

    def _named_elsewhere(self, mine: set[int]) -> list[tuple[Patch, Swap]]:
        """Where modules that are not covered name functions that have rules."""
        found = []
        for name, module in list(sys.modules.items()) if REGISTERED else ():
            space = getattr(module, "__dict__", None)
            if type(space) is not dict or id(space) in mine or name.partition(".")[0] in OWN:
                continue
            mine.add(id(space))
            pairs = [(label, with_rule(value)) for label, value in list(space.items())]
            if entries := [(label, *pair) for label, pair in pairs if pair is not None]:
                found.append((patch_of(space), Swap(entries)))
        return found

    def meet(self, f: Any) -> None:
        """Note what `f` itself asks for: no name of its module need lead to it."""
        code, space = getattr(f, "__code__", None), getattr(f, "__globals__", None)
        if space is not None and not any(patch.space is space for patch in self.all):
            self.modules = 0  # a module that has taken the place of another
        if code is not None and space is not None and asks(code):
            with LOCK:
                patch = patch_of(space)
                if code not in patch.met:
                    patch.meet(code)
                    self.all.append(patch)  # kept until the look that is due now
                    self.modules = 0

    def look(self) -> None:
        """Look at what was bound since the last look."""
        known = self.modules == len(sys.modules) and self.main is sys.modules.get("__main__")
        if not known or (
            self.sympy is not None and self.lambdified != lambdified_count(self.sympy)
        ):
            return self.refresh()
        for patch in self.loose:
            if patch.stale():
                return self.refresh()
        return None

    def enter(
        self, opened: list[Patch], needed: Iterable[tuple[Patch, Swap]] | None = None
    ) -> None:
        """Put the names in place, all or what is `needed`; `opened` is for `leave`."""
        with LOCK:
            if needed is None:
                self.look()
                for patch in self.patches:
                    patch.open(opened)
                needed = self.ruled
            for patch, names in needed:
                patch.open(opened, names)

    @staticmethod
    def leave(opened: list[Patch]) -> None:
        """Put NumPy's own back where the last call leaves."""
        with LOCK:
            for patch in opened:
                patch.close(opened)

    def adopt(self, module: types.ModuleType, opened: list[Patch]) -> None:
        """`module` was imported inside of a wrapped call."""
        if is_compiled(module):
            return
        with LOCK:
            meet_scipy()
            listen(originals)
            patch = patch_of(module.__dict__)
            look_at([patch])
            patch.open(opened)
            if patch.imports:
                look_at([IMPORT])
                IMPORT.open(opened)


# Plans of modules stay. Those of other namespaces (``exec``) go with the functions that they serve,
# so that a namespace that nobody holds any more is freed; the last ones are kept for calls to come.
_plans: WeakValueDictionary[tuple[frozenset[str], int], Plan] = WeakValueDictionary()
_staying: list[Plan] = []
_recent: deque[Plan] = deque(maxlen=16)


def code_of(f: Any) -> Any:
    """The function behind a partial, a decorator or a method."""
    while True:
        if isinstance(f, functools.partial):
            f = f.func
        elif hasattr(f, "__wrapped__"):
            f = f.__wrapped__
        else:
            return getattr(f, "__func__", f)


def package_of(f: Any) -> str | None:
    """The top-level package that the code of `f` was written in."""
    module = getattr(f, "__module__", None) or getattr(type(f), "__module__", None)
    top = module.partition(".")[0] if isinstance(module, str) else None
    return None if top in OWN else top


def plan_for(f: Callable[..., Any] | None, also: Iterable[str] = ()) -> Plan | None:
    """The plan for `f`'s package and the packages `also`; None if there is nothing to do."""
    names = {name.partition(".")[0] for name in also}
    space = None
    if f is not None:
        f = code_of(f)
        own = package_of(f)
        if own is not None:
            names.add(own)
        space = getattr(f, "__globals__", None)
        if space is not None and is_module(space):
            top = space["__name__"].partition(".")[0]
            space = None if top in names or top in OWN else space
    packages = frozenset(names - OWN)
    if not packages and space is None:
        return None
    key = (packages, id(space))
    plan = _plans.get(key)
    if plan is None:
        with LOCK:
            plan = _plans.setdefault(key, Plan(packages, space))
            (_staying if space is None else _recent).append(plan)
    return plan
