"""What a compiled function reaches when it is called with a recorded array.

An njit function asks an argument of unknown type for ``_numba_type_`` and then compiles for the
type it got. A recorded array answers with a type of its own, and the dispatcher that asked gets
another ``compile`` beside its class's: for that type it gives back a Python function, which the
dispatcher then calls. No class of Numba's is changed. Whoever else asks (stencils, jitclasses,
typed containers, dynamic gufuncs, CUDA) meets an error. ``@vectorize`` functions come by NumPy's
protocol, where the table asks for a rule.
"""

from __future__ import annotations

import functools
import inspect
import sys
from typing import Any

import numpy as np

from npgrad import table
from npgrad.compiled import checking, methods
from npgrad.compiled.elementwise import scalar_of
from npgrad.compiled.generalized import dynamic, recorded_call
from npgrad.compiled.python import is_dispatcher
from npgrad.compiled.reading import NoSource
from npgrad.compiled.rules import is_elementwise, registered
from npgrad.compiled.typing import teach
from npgrad.errors import GradientLost, NoDerivative
from npgrad.graph import array as _array
from npgrad.graph.array import GradArray, recorded, unwrap
from npgrad.graph.modes import WRAPPED
from npgrad.graph.refusals import at, user_frame
from npgrad.graph.results import assign
from npgrad.graph.stacking import has_recorded
from npgrad.wrapping.stand_ins import MET, register


def remedies(name: str, why: str = "") -> str:
    """The three ways out, and the user's line; `why` the derivative was not compiled."""
    frame: Any = user_frame()
    inner = ("numba.", "functools")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(inner):
        frame = frame.f_back
    return (
        f"npgrad: {name} is compiled by Numba and was called with a recorded array at "
        f"{at(frame)}; its gradient would be lost{why}. Instead: give it a rule, "
        f"npgrad.register_vjp({name}, ...); or differentiate its Python source, "
        f"npgrad.njit({name}) for a loop, or npgrad.wrap round the caller; or npgrad.value(x) to "
        "cut the gradient on purpose."
    )


class Compiled:
    """A compiled function that is differentiated through its Python source; see `njit`."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.py_func = dispatcher.py_func
        functools.update_wrapper(self, dispatcher.py_func)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled function; its Python source if an argument is recorded."""
        values = (*args, *kwargs.values())
        if not has_recorded(values) and not any(type(v) is GradArray for v in values):
            return self.dispatcher(*args, **kwargs)
        rule = registered(self.dispatcher)
        if rule is not None:
            return rule(*args, **kwargs)
        return checking.recorded(self.dispatcher, *_by_position(self.dispatcher, args, kwargs))

    def __repr__(self) -> str:
        return f"<npgrad.njit {self.__name__}>"  # type: ignore[attr-defined]


def _called(dispatcher: Any, *args: Any, **kwargs: Any) -> Any:
    """The call that the dispatcher could not make: a rule, the source under wrap, or an error."""
    args = _by_position(dispatcher, args, kwargs)
    given = tuple([a.value if type(a).__name__ == "OmittedArg" else a for a in args])
    rule = registered(dispatcher)
    if rule is not None:
        return rule(*given)
    why = ""
    if all(_is_number(value) for value in given) and any(map(_is_recorded, given)):
        try:
            return scalar_of(dispatcher).record(given, user_frame())
        except (NoSource, RecursionError) as reason:  # its source may still run
            said = "it calls itself" if isinstance(reason, RecursionError) else reason
            why = f" ({said}, so its derivative was not compiled)"
    if WRAPPED.get():
        return checking.recorded(dispatcher, *given)
    if not any(_is_recorded(value) for value in given):
        return dispatcher(*[_opened(value) for value in given])
    raise GradientLost(remedies(dispatcher.__name__, why))


def _by_position(dispatcher: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not kwargs:
        return args
    bound = inspect.signature(dispatcher.py_func).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def elementwise_call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A ``@vectorize`` function on recorded arrays: its rule, or the derivative of its source."""
    rule = registered(function)
    if rule is not None:
        return rule(*args, **kwargs)
    name = function.__name__
    out, where = kwargs.pop("out", None), kwargs.pop("where", True)
    if kwargs:
        raise NoDerivative(
            f"npgrad: {name} with {', '.join(kwargs)}= is not recorded; call it without, and write "
            "np.where or an assignment instead."
        )
    if len(args) > function.nin:
        args, out = args[: function.nin], args[function.nin]
    (out,) = out if type(out) is tuple else (out,)
    made = compiled_call(function, args, NoDerivative)
    if where is not True:  # elsewhere what `out` holds, or 0
        made = np.where(unwrap(where), made, 0.0 if out is None else out)
    return made if out is None else assign(out, made, name, user_frame())


def generalized_call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """A ``@guvectorize`` function on recorded arrays: its rule, or its source in wrapped code."""
    rule = registered(function)
    if rule is not None:
        return rule(*args, **kwargs)
    count = len(function.expected_ndims()[0])
    outs = kwargs.pop("out", args[count:])
    outs = outs if type(outs) is tuple else (outs,)
    if kwargs or not WRAPPED.get():
        raise NoDerivative(remedies(function.__name__))
    made = recorded_call(function, args[:count], outs)
    if not outs:
        return made
    parts = made if type(made) is tuple else (made,)
    filled = [
        assign(out, part, function.__name__, user_frame())
        for out, part in zip(outs, parts, strict=True)
    ]
    return tuple(filled) if len(filled) > 1 else filled[0]


class Standing:
    """What stands in wrapped code for a compiled function whose class offers no hook.

    That is a dynamic gufunc, and a function compiled for given signatures.
    """

    def __init__(self, function: Any, call: Any) -> None:
        self._function = function
        self._call = call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The compiled function; its Python source if an argument is recorded."""
        if any(_is_recorded(value) for value in (*args, *kwargs.values())):
            return self._call(self._function, *args, **kwargs)
        opened = {name: _opened(value) for name, value in kwargs.items()}
        return self._function(*[_opened(value) for value in args], **opened)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def _standing(value: Any) -> Any:
    if is_dispatcher(value):
        call: Any = _called if not value._can_compile else None
    else:
        call = generalized_call if dynamic(value) else None
    if call is None:
        return None
    made = Standing(value, call)
    register(value, made)
    return made


def compiled_call(function: Any, args: tuple[Any, ...], error: type[Exception]) -> Any:
    """An elementwise function recorded with the derivative of its source, compiled."""
    teach()
    name = function.__name__
    try:
        return scalar_of(function).record(args, user_frame())
    except NoSource as reason:
        raise error(remedies(name, f" ({reason}, so its derivative was not compiled)")) from reason


def _is_number(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return False
    return isinstance(value, (int, float, complex)) or np.shape(unwrap(value)) == ()


def _is_recorded(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_recorded(item) for item in value)
    return type(value) is GradArray and recorded(value)


def _opened(value: Any) -> Any:
    """A constant as the plain array that it shares its memory with."""
    if isinstance(value, (list, tuple)):
        made = [_opened(item) for item in value]
        return getattr(value, "_make", type(value))(made)  # of a named tuple
    return value.__array__() if type(value) is GradArray else value


@functools.cache
def _recorded_type() -> Any:
    from numba.core import types

    return types.Opaque("npgrad.GradArray")


def _redirect(dispatcher: Any) -> None:
    """Give `dispatcher` a ``compile`` that knows the recorded type."""
    if "compile" in vars(dispatcher):
        return
    usual = dispatcher.compile

    def compile(signature: Any) -> Any:
        if "npgrad.GradArray" not in str(signature):
            return usual(signature)
        if dispatcher.py_func.__code__.co_flags & inspect.CO_VARARGS:
            return lambda *folded: _called(dispatcher, *folded[:-1], *folded[-1])
        return functools.partial(_called, dispatcher)

    dispatcher.compile = compile


def numba_type(handle: GradArray) -> Any:
    """``handle._numba_type_``: a type for the dispatchers of njit functions, else an error."""
    frame: Any = sys._getframe(2)
    if not frame.f_globals.get("__name__", "").startswith("numba."):
        return _recorded_type()  # the C code of a dispatcher, which then asks again in Python
    while frame is not None and frame.f_code.co_name != "typeof_pyval":
        if not frame.f_globals.get("__name__", "").startswith(("numba.", "functools")):
            frame = None
            break
        frame = frame.f_back
    asked: Any = frame.f_locals["self"] if frame is not None else None
    if is_dispatcher(asked):
        own = not asked.py_func.__module__.startswith("numba") and asked._can_compile
        below = frame.f_back
        if own and below.f_code.co_name == "_compile_for_args":
            _redirect(asked)
            return _recorded_type()
        if own and not below.f_globals.get("__name__", "").startswith("numba."):
            return _recorded_type()  # C code again, of a tuple or a list
        raise GradientLost(remedies(asked.__name__))
    raise GradientLost(remedies("what is called here"))


def _owner(ufunc: Any) -> Any:
    """The gufunc object of Numba's whose ufunc this is, found in the frames that called it."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        caller = frame.f_locals.get("self") if frame.f_code.co_name == "__call__" else None
        if caller is not None and getattr(caller, "ufunc", None) is ufunc:
            return caller
        frame = frame.f_back
    return None


@table.on_missing
def _vectorized(fun: Any) -> bool:
    """Decide a ufunc that Numba made, if a rule was registered for it."""
    home = type(fun).__module__
    owner = fun if home.startswith("numba.") else None
    if owner is None and home == "numpy" and "numba" in sys.modules:
        owner = _owner(fun) or methods.owner_of(fun)
        if owner is not None:
            methods.OWNERS[fun] = owner
    rule = registered(fun) or (registered(owner) if owner is not None else None)
    if rule is not None:
        table.composed(fun, rule)
        return True
    if owner is not None and is_elementwise(owner):
        table.composed(fun, functools.partial(elementwise_call, owner))
        return True
    if owner is not None:
        table.composed(fun, functools.partial(generalized_call, owner))
        return True
    return False


_array.numba_type = numba_type
methods.install(elementwise_call)
MET.append(_standing)
