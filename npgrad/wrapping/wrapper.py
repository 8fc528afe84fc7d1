"""`wrap`: a function whose array makers record while it runs."""

from __future__ import annotations

import functools
import pickle
import re
import struct
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from npgrad.errors import GradientLost
from npgrad.graph.modes import WRAPPED as ACTIVE
from npgrad.transforms import grad as _grad
from npgrad.wrapping.arguments import Targets, filling, targets_of
from npgrad.wrapping.given import TAKEN, Own, itself, partial_of, standing
from npgrad.wrapping.imports import Call, install
from npgrad.wrapping.needs import BARE, NOTHING, PLAIN, Needs
from npgrad.wrapping.patch import LOCK
from npgrad.wrapping.plan import Plan, code_of, plan_for
from npgrad.wrapping.rewriting import Local
from npgrad.wrapping.ruled import bare, by_rules
from npgrad.wrapping.stand_ins import REGISTERED
from npgrad.wrapping.subclasses import released

GIVEN = PLAIN | {np.ndarray, tuple, list, dict}  # no objects that stand for others
_DISABLED: ContextVar[bool] = ContextVar("npgrad_wrap_disabled", default=False)


class _Wrap:
    """Let code that makes its own buffers record: ``np.zeros``, ``np.array``, ``math.sin``.

    ``buf = np.zeros(n); buf[i] = x[i]``, ``np.array([x[0], x[1]])`` and ``np.asarray(x)`` never
    reach NumPy's protocols. While a wrapped function runs, the array makers that its package calls
    (also those imported by name) give arrays that record, ``isinstance(x, np.ndarray)`` holds for
    recorded arrays, and functions of ``math`` take them. Other threads, and the numpy module
    itself, see nothing of it, and everything is as before when the call ends.

    `npgrad.grad` and its kin wrap the package of the function that they are given.

    Parameters
    ----------
    f : callable or module
        A function, a method, or a module whose functions are to be wrapped.
    also : sequence of str
        Further packages whose makers record during the call: ``("scipy", "sklearn")``.

    Returns
    -------
    callable, or a namespace of them for a module

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> def squares(x):
    ...     out = np.zeros(x.size)
    ...     for i in range(x.size):
    ...         out[i] = x[i] ** 2
    ...     return out
    >>> x = npgrad.array([1.0, 2.0])
    >>> np.sum(npgrad.wrap(squares)(x)).backward()[x]
    array([2., 4.])
    """

    def __call__(self, f: Any, also: Iterable[str] = ()) -> Any:
        also = (also,) if isinstance(also, str) else tuple(also)
        if isinstance(f, types.ModuleType):
            return _Namespace(f, also)
        if not callable(f):
            raise TypeError(f"npgrad: wrap takes a function or a module, not {type(f).__name__}")
        return _wrapped_by_name(f, also)

    @contextmanager
    def disabled(self) -> Iterator[None]:
        """Switch every wrapping off, in this context."""
        token = _DISABLED.set(True)
        try:
            yield
        finally:
            _DISABLED.reset(token)

    def __repr__(self) -> str:
        return "<npgrad.wrap>"


class _Namespace:
    """A module whose functions are wrapped when they are asked for."""

    def __init__(self, module: types.ModuleType, also: tuple[str, ...]) -> None:
        self._module = module
        self._also = (*also, module.__name__)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        return wrap(value, self._also) if callable(value) else value

    def __dir__(self) -> list[str]:
        return dir(self._module)


def wrapped(f: Callable[..., Any], plan: Plan) -> Callable[..., Any]:
    """`f` with the names of `plan` replaced during the call."""
    enter, leave, needs = plan.enter, plan.leave, Needs(f, plan).of
    plan.meet(code_of(f))
    held, given = Own(f, plan), partial_of(f)
    make = tuple.__new__  # half the time of Call(...)
    writes: Targets | None = None  # both are found when they are first needed
    local: Local | None = None
    read = met = False

    @functools.wraps(f, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal writes, read, local, met
        if not read:
            writes, read = targets_of(f), True
        target = f
        if REGISTERED:
            target, args, kwargs = by_rules(f, args, kwargs)
        if _DISABLED.get():
            return target(*args, **kwargs)
        needed = needs(args, kwargs)
        if needed is BARE:
            return target(*args, **kwargs)
        if needed is NOTHING:
            return filling(target, writes, args, kwargs) if writes else target(*args, **kwargs)
        opened: list[Any] = []  # the patches of this call; those of modules that it imports join
        outer = ACTIVE.get()
        try:
            try:
                ACTIVE.set(make(Call, (plan, opened, outer)))
                enter(opened, needed)
                if needed is None:
                    if not met:
                        local, met = Local(code_of(f)) or None, True
                    if local is not None:
                        with LOCK:
                            local.open(opened)
                    held.enter(opened, (*args, *kwargs.values()) if kwargs else args)
                    if target is f:
                        target = given
                    for value in args:
                        if isinstance(value, TAKEN):
                            args = tuple(map(standing, args))
                            break
                    if kwargs:
                        kwargs = {name: standing(value) for name, value in kwargs.items()}
                made = filling(target, writes, args, kwargs) if writes else target(*args, **kwargs)
                return made if type(made) in GIVEN else released(made)
            finally:
                leave(opened)
                ACTIVE.set(outer)
        except BaseException as error:  # once more: the lines above may be what was interrupted
            leave(opened)
            ACTIVE.set(outer)
            if isinstance(error, (TypeError, ValueError, struct.error, pickle.PicklingError)):
                _explain(error)
            raise

    return call


_OF_COMPILED = (
    "npgrad: compiled code asked a recorded array for its memory or for a C number, and would have "
    "lost its gradient. Give the function that was called a rule, "
    "npgrad.register_vjp(function, ...); or npgrad.value(x) to cut the gradient on purpose."
)
_OF_INTEGERS = (
    "npgrad: int(x) makes an integer of a recorded number. One that stands beside arrays in a "
    "differentiated argument counts as a float: keep it in another argument, or out of argnums."
)
# What Cython says of an object without memory: it names no class.
_COMPILED_SAYS = ("No matching signature found", "contiguous array  of dtype")
_OF_DRAWS = (
    "npgrad: np.random fills plain arrays alone, and np.empty makes one that records here: "
    "out[...] = rng.standard_normal(n) in place of out=."
)
_OF_DATA = (
    "npgrad: if that is a recorded number, npgrad.value(x).item() is the plain one to write or "
    "send; its gradient ends there."
)


_TAKE_DATA = re.compile("JSON serializable|buffer API")
_OF_PICKLES = (
    "npgrad: in wrapped code another function stands for this one, and cannot be pickled. Another "
    "process records nothing: what it computes has no gradient. Give it plain values, and a "
    "function of your own that calls this one."
)


def _explain(error: Exception) -> None:
    """Say what happened where code that cannot be taught to met a recorded array."""
    text = str(error)
    if getattr(error, "__notes__", None) or isinstance(error, GradientLost):  # says it itself
        return
    compiled = "GradArray" in text or any(words in text for words in _COMPILED_SAYS)
    if compiled and not _TAKE_DATA.search(text):
        error.add_note(_OF_INTEGERS if "interpreted as an integer" in text else _OF_COMPILED)
    elif "must be contiguous, writable, aligned" in text:
        error.add_note(_OF_DRAWS)
    elif _TAKE_DATA.search(text) or isinstance(error, struct.error):
        error.add_note(_OF_DATA)
    elif "not the same object as" in text:
        error.add_note(_OF_PICKLES)


def prepare(f: Callable[..., Any], wanted: bool) -> Callable[..., Any]:
    """What a transform calls instead of `f`."""
    made = _wrapped_by_name(f, ()) if wanted else f
    return bare(f) if REGISTERED and made is f else made


def _wrapped_by_name(f: Callable[..., Any], also: Iterable[str]) -> Callable[..., Any]:
    """`f` wrapped, or what stands for it where code calls it by its name: ``grad(math.sin)``."""
    new = itself(f)
    plan = plan_for(getattr(f, "pyfunc", f), also)
    if plan is None and new is not f:
        plan = plan_for(None, ("__main__",))  # any: the call has to be known for a wrapped one
    return f if plan is None else wrapped(new, plan)


wrap = _Wrap()
install()
_grad.preparer = prepare
