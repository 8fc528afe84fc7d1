"""From operators on functions of one argument to autograd's ``argnum`` spelling."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["get_name", "unary_to_nary", "wraps"]

Function = Callable[..., Any]


def get_name(f: Any) -> str:
    """The name of `f`, for messages."""
    return getattr(f, "__name__", "[unknown name]")


def wraps(fun: Function, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any) -> Any:
    """Give a function a name and documentation made of those of `fun`."""

    def dress(f: Function) -> Function:
        f.__name__ = namestr.format(fun=get_name(fun), **kwargs)
        f.__doc__ = docstr.format(fun=get_name(fun), doc=fun.__doc__ or "", **kwargs)
        return f

    return dress


def unary_to_nary(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator(f, x)`` as ``operator(f, argnum)(*args)``; `argnum` is an int or several."""

    @functools.wraps(operator)
    def nary(
        fun: Function, argnum: int | Sequence[int] = 0, *more: Any, **options: Any
    ) -> Function:
        if not isinstance(argnum, (int, tuple, list)) or isinstance(argnum, bool):
            raise AssertionError(f"argnum is an int or a tuple of them, not {argnum!r}")
        which = argnum if isinstance(argnum, int) else tuple(argnum)

        def derived(*args: Any, **kwargs: Any) -> Any:
            def of_one(x: Any) -> Any:
                filled = list(args)
                if isinstance(which, int):
                    filled[which] = x
                else:
                    for position, value in zip(which, x, strict=True):
                        filled[position] = value
                return fun(*filled, **kwargs)

            # `__wrapped__` tells npgrad whose package's array makers are to record
            of_one.__wrapped__ = fun  # type: ignore[attr-defined]
            of_one.__name__ = get_name(fun)
            x = args[which] if isinstance(which, int) else tuple(args[i] for i in which)
            return operator(of_one, x, *more, **options)

        derived.__name__ = f"{get_name(operator)}_of_{get_name(fun)}_wrt_argnum_{argnum}"
        derived.__doc__ = (
            f"{get_name(operator)} of {get_name(fun)} with respect to argument number {argnum}."
        )
        return derived

    return nary
