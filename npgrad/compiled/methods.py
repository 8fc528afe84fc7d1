"""``reduce``, ``accumulate``, ``reduceat``, ``outer`` of a ``@vectorize`` function.

NumPy's protocol hands over the ufunc inside of the function of Numba's, which only the garbage
collector's list of objects leads back to. Then it is folded as any ufunc without rules of its own.
"""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import Any

from npgrad import rules  # noqa: F401 -- fills the table, `ufunc_methods` too
from npgrad.table import lookup, ufunc_methods

OWNERS: dict[Any, Any] = {}  # ufunc -> the function of Numba's that it belongs to


def owner_of(ufunc: Any) -> Any:
    """The function of Numba's that `ufunc` was made for; None for any other ufunc."""
    from numba.np.ufunc.dufunc import DUFunc

    for candidate in gc.get_objects():
        if type(candidate) is DUFunc and candidate.ufunc is ufunc:
            return candidate
    return None


class _Folded:
    """What the methods of `npgrad.rules.ufunc_methods` ask of a ufunc."""

    def __init__(self, owner: Any, call: Callable[..., Any]) -> None:
        self.nin, self.nout, self.identity = owner.nin, owner.nout, owner.identity
        self.__name__ = owner.__name__
        self.call = functools.partial(call, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def resolve_dtypes(self, *args: Any, **kwargs: Any) -> None:
        """Numba compiles for what it gets."""


def install(call: Callable[..., Any]) -> None:
    """Have the methods of Numba's functions folded with `call`."""

    def met(usual: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(usual)
        def run(ufunc: Any, *args: Any, **kwargs: Any) -> Any:
            if ufunc not in OWNERS:
                lookup(ufunc)  # decides a function of Numba's when it is first met
            owner = OWNERS.get(ufunc)
            return usual(ufunc if owner is None else _Folded(owner, call), *args, **kwargs)

        return run

    for name in ("reduce", "accumulate", "reduceat", "outer"):
        ufunc_methods[name] = met(ufunc_methods[name])
