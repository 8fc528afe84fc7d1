"""Other libraries' names over npgrad, so that code written for them changes one import."""

import importlib as _importlib
from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    if name == "autograd":
        return _importlib.import_module(f"{__name__}.autograd")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
