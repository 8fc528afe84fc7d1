"""npgrad under the name ``autograd``, for programs that are not to be changed.

`install` answers ``import autograd`` and everything below it with this package. It holds for what
is imported meanwhile: a module that imported autograd before keeps it.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from npgrad.graph.array import GradArray
from npgrad.transforms.values import value

__all__ = ["Installed", "install"]

HERE = __name__.rpartition(".")[0]


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``autograd.x`` where ``npgrad.compat.autograd.x`` is, as the same module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top, dot, rest = fullname.partition(".")
        if top != "autograd":
            return None
        ours = f"{HERE}{dot}{rest}"
        if ours not in sys.modules and importlib.util.find_spec(ours) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=ours)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        module = importlib.import_module(str(spec.origin))
        self.spec = getattr(module, "__spec__", None)  # the machinery is about to replace it
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec


class Installed:
    """What `install` returns: a context manager, or an object whose `undo` is called later."""

    def __init__(self) -> None:
        self._theirs = _taken()
        self._finder = _Finder()
        self._done = False
        sys.meta_path.insert(0, self._finder)
        # programs that reach into an ArrayBox cut the gradient knowingly; npgrad's name is `value`
        self._owner = "_value" not in vars(GradArray)
        if self._owner:
            GradArray._value = property(value)  # type: ignore[attr-defined]

    def undo(self) -> None:
        """Give the name ``autograd`` back to whatever had it."""
        if self._done:
            return
        self._done = True
        _taken()
        sys.modules.update(self._theirs)
        sys.meta_path.remove(self._finder)
        if self._owner:
            del GradArray._value  # type: ignore[attr-defined]

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *error: object) -> None:
        self.undo()


def _taken() -> dict[str, ModuleType]:
    """The modules called autograd, taken out of the list of imported ones."""
    names = [name for name in sys.modules if name.partition(".")[0] == "autograd"]
    return {name: sys.modules.pop(name) for name in names}


def install() -> Installed:
    """Let ``import autograd`` find npgrad, until `undo` or the end of a ``with``.

    For a program that is to run unchanged: install first, then import it. Modules that are imported
    meanwhile keep what they found after `undo` too. From the shell:
    ``python -m npgrad.compat.autograd program.py``.

    Returns
    -------
    Installed
        With `undo()`; also a context manager.

    Examples
    --------
    >>> import npgrad.compat.autograd
    >>> with npgrad.compat.autograd.install():
    ...     import autograd
    ...     from autograd.scipy.special import expit
    >>> autograd.grad(lambda x: expit(x) ** 2)(0.0)
    np.float64(0.25)
    """
    return Installed()
