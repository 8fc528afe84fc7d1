"""The modules that lie beside a script: its own code, though each is a package by its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

INSTALLED = ("site-packages", "dist-packages")
LIBRARY = os.path.dirname(os.path.abspath(os.__file__))  # ``python -m timeit`` is a script there


def folder_of_script(packages: Iterable[str]) -> str | None:
    """The script's folder (a notebook's: the current one), if one of `packages` lies there."""
    main = sys.modules.get("__main__")
    parent = getattr(getattr(main, "__spec__", None), "parent", None)  # of ``python -m parent.x``
    top = sys.modules.get(parent.partition(".")[0]) if parent else None
    folder = _place(main if top is None else top)
    if folder is None:
        folder = os.getcwd()
    if folder == LIBRARY or any(part in INSTALLED for part in folder.split(os.sep)):
        return None
    return folder if any(one == "__main__" or lies_in(one, folder) for one in packages) else None


def lies_in(package: str, folder: str) -> bool:
    """Whether a loaded module or package is one of `folder`."""
    return _place(sys.modules.get(package)) == folder


def _place(module: Any) -> str | None:
    """The folder that a module's file, or a package's own folder, lies in."""
    ways = getattr(module, "__path__", None)
    inside = getattr(module, "__file__", None) if ways is None else next(iter(ways), None)
    return os.path.dirname(os.path.abspath(inside)) if isinstance(inside, str) else None
