"""``autograd.scipy``: npgrad's stand-ins under autograd's names, importable one by one."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys

from npgrad.scipy import integrate as integrate
from npgrad.scipy import linalg as linalg
from npgrad.scipy import special as special
from npgrad.scipy import stats as stats

from . import signal as signal

# ``import autograd.scipy.stats.norm as norm`` asks for modules of these names
for _name in ("integrate", "linalg", "special", "stats"):
    _sys.modules[f"{__name__}.{_name}"] = _importlib.import_module(f"npgrad.scipy.{_name}")
vars(stats).setdefault("__path__", [])  # in autograd a package, whose distributions are modules
for _name in stats.__all__:
    _sys.modules[f"{__name__}.stats.{_name}"] = getattr(stats, _name)
