"""Reverse mode: `grad`, `value_and_grad`, `vjp`, `elementwise_grad`."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable
from typing import Any

from ..errors import DTypeMismatch, NotDifferentiable, ShapeMismatch
from ..graph import backend
from ..graph.array import GradArray, current
from ..graph.node import Node, outside, recorded_at
from ..graph.order import collect
from ..graph.store import cotangent_for
from .run import Argnums, Function, Run, argnums_of
from .trees import flatten, is_single, same_structure
from .values import settled, value


def scalar_output(out: Any, who: str, holomorphic: bool) -> tuple[Any, Node | None]:
    """Array and node of a function's output, which must be one real number."""
    if type(out) is GradArray:
        result, node = current(out)
    elif is_single(out):
        result, node = out, None
    else:
        raise NotDifferentiable(
            f"npgrad: {who} needs a function that returns one number, this one returned "
            f"{_shortly(out)}. Return a scalar (np.sum(...)), use has_aux=True for a (value, aux) "
            "pair, or npgrad.jacobian / npgrad.vjp for several outputs."
        )
    shape, dtype = backend.describe(result)
    if node is None:
        refuse_whole([result], who)
    if shape != ():
        size = 1
        for extent in shape:
            size *= extent
        hint = " out[0] or np.sum(out) makes it a scalar;" if size == 1 else ""
        raise NotDifferentiable(
            f"npgrad: {who} needs a scalar output, this function returned an array of shape "
            f"{shape}.{recorded_at(node)}{hint} npgrad.jacobian, npgrad.vjp and "
            "npgrad.elementwise_grad take array outputs."
        )
    if dtype.kind == "c" and not holomorphic:
        raise NotDifferentiable(
            f"npgrad: {who} of a complex-valued function.{recorded_at(node)} Take np.real, np.imag "
            "or np.abs of the result, or pass holomorphic=True for its complex derivative."
        )
    return result, node


def _shortly(out: Any) -> str:
    kind = type(out).__name__
    return f"{kind} of {len(out)}" if isinstance(out, (list, tuple, dict)) else kind


def _split_aux(out: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return out, None
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise TypeError("npgrad: has_aux=True needs a function that returns a pair (value, aux)")
    return out[0], out[1]


def value_and_grad(
    f: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    wrap: bool = True,
) -> Function:
    """A function that computes ``f`` and its gradient together.

    Parameters
    ----------
    f : callable
        Written with NumPy; returns one real number.
    argnums : int, str, or a tuple of them
        The arguments to differentiate, by position, or by name if passed by keyword. An argument
        may be an array, a number, or a nested container of them.
    has_aux : bool
        `f` returns ``(value, aux)``; the result is then ``((value, aux), gradient)``.
    holomorphic : bool
        Allow a complex value, and return the complex derivative df/dz.
    wrap : bool
        Make array makers (``np.zeros``, ``np.array``, ...) in `f`'s own package record, see
        `npgrad.wrap`.

    Returns
    -------
    callable
        ``(*args, **kwargs) -> (value, gradient)``; the gradient has the structure, shapes and
        dtypes of the argument (a tuple of them for a tuple `argnums`).

    Raises
    ------
    NotDifferentiable
        The output is no real scalar, or an argument has no gradient (integers).

    Notes
    -----
    For real f of complex z the gradient is du/dx + i du/dy, the direction of steepest ascent, so
    that ``z - lr * gradient`` descends.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.value_and_grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    return Gradient("value_and_grad", f, argnums, has_aux, holomorphic, wrap)


class Derived:
    """A function made of a function: its name and documentation, and how it is pickled."""

    what: str

    def __init__(self, what: str, f: Function, argnums: Argnums, wrap: bool, *rest: Any) -> None:
        self.what = what
        self._made_of = (f, argnums, *rest, wrap)
        self._which, self._single = argnums_of(argnums)
        self._f = prepare(f, wrap)
        made: Any = self
        with contextlib.suppress(AttributeError):
            functools.update_wrapper(made, f, assigned=("__module__", "__doc__"), updated=())
        name = getattr(f, "__name__", type(f).__name__)
        self.__name__ = self.__qualname__ = f"{what}_of_{name}"

    def __repr__(self) -> str:
        return f"<npgrad {self.__name__}>"

    def __reduce__(self) -> Any:
        return _made_again, (self.what, *self._made_of)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        bound: Any = self
        return self if instance is None else types.MethodType(bound, instance)


def _made_again(what: str, *made_of: Any) -> Any:
    """The transform `what` of a function, as it was before it was pickled."""
    from . import jacobian

    here = globals()
    return here[what](*made_of) if what in here else getattr(jacobian, what)(*made_of)


class Gradient(Derived):
    """What `grad` and `value_and_grad` return."""

    def __init__(
        self, what: str, f: Function, argnums: Argnums, has_aux: bool, holomorphic: bool, wrap: bool
    ) -> None:
        super().__init__(what, f, argnums, wrap, has_aux, holomorphic)
        self._has_aux = has_aux
        self._holomorphic = holomorphic
        self._with_value = what == "value_and_grad"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient, and the value if asked for."""
        run = Run(self._f, args, kwargs, self._which)
        out, aux = run.out, None
        if self._has_aux:
            out, aux = _split_aux(run.out, True)
            aux = settled(aux)  # before the sweep frees what it depends on
        result, node = scalar_output(out, "grad", self._holomorphic)
        seeds = [] if node is None else [(node, backend.ones_like(node, result))]
        gradients, recorded = run.gradients(seeds, False)
        if self._holomorphic:
            gradients = [_conjugated(gradient, result) for gradient in gradients]
        gradient = gradients[0] if self._single else tuple(gradients)
        if not self._with_value:
            return (gradient, aux) if self._has_aux else gradient
        if recorded and type(out) is GradArray:
            result = out
        return ((result, aux) if self._has_aux else result), gradient


def _conjugated(gradient: Any, result: Any) -> Any:
    """The derivative df/dz from the adjoint conj(df/dz)."""
    parts, rebuild = flatten(gradient)
    if any(backend.describe(getattr(p, "dtype", p) and p)[1].kind != "c" for p in parts):
        raise NotDifferentiable("npgrad: holomorphic=True needs complex arguments")
    return rebuild([part.conj() for part in parts])


def grad(
    f: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    wrap: bool = True,
) -> Function:
    """The gradient of ``f`` as a function.

    Parameters and errors are those of `value_and_grad`. With ``has_aux`` the result is
    ``(gradient, aux)``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(lambda x: np.sum(np.sin(x)))(np.array([0.0, np.pi]))
    array([ 1., -1.])
    >>> npgrad.grad(npgrad.grad(lambda x: x ** 3))(2.0)
    np.float64(12.0)
    """
    return Gradient("grad", f, argnums, has_aux, holomorphic, wrap)


def elementwise_grad(f: Function, argnums: Argnums = 0, wrap: bool = True) -> Function:
    """The gradient of the sum of ``f``'s entries: f' for an elementwise ``f``.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.elementwise_grad(np.tanh)(np.array([0.0, 1.0]))
    array([1.        , 0.41997434])
    """
    return ElementwiseGradient("elementwise_grad", f, argnums, wrap)


class ElementwiseGradient(Derived):
    """What `elementwise_grad` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient of the sum of the output's entries."""
        run = Run(self._f, args, kwargs, self._which)
        seeds = []
        for part in output_parts(run.out, "elementwise_grad")[0]:
            node = current(part)[1] if type(part) is GradArray else None
            if node is not None:
                if node.dtype.kind == "c":
                    raise NotDifferentiable(
                        "npgrad: elementwise_grad of a complex-valued function."
                        f"{recorded_at(node)} Take np.real, np.imag or np.abs of the result."
                    )
                seeds.append((node, backend.ones_like(node, current(part)[0])))
        gradients, _ = run.gradients(seeds, False)
        return gradients[0] if self._single else tuple(gradients)


def output_parts(
    out: Any, who: str, whole: bool = False
) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The arrays of an output; what could hide recorded values (a generator, a set) is refused."""
    parts, rebuild = flatten(out)
    for part in parts:
        if not is_single(part) and part is not None and not isinstance(part, (str, bytes)):
            raise NotDifferentiable(
                f"npgrad: {who} needs a function that returns arrays, numbers or containers of "
                f"them (list, tuple, dict, namedtuple, dataclass); this one returned, or held, a "
                f"{type(part).__qualname__}."
            )
    if not whole:
        refuse_whole(parts, who)
    return parts, rebuild


def refuse_whole(parts: list[Any], who: str) -> None:
    """Refuse an output that holds integers or booleans alone: its gradient would be a silent zero.

    A number of Python's counts as a float, because an empty sum is ``0``.
    """
    kinds = {_kind(part) for part in parts if is_single(part)}
    if kinds and kinds <= {"b", "i", "u"}:
        raise NotDifferentiable(
            f"npgrad: {who} of a function that returns {_whole(parts)}: a count, a position or a "
            "comparison is constant wherever it has a derivative, so there is no gradient to "
            "follow. Return the number that it was made of; float(...) of it if zero is meant."
        )


def _kind(part: Any) -> str:
    if type(part) is bool:
        return "b"
    if type(part) in backend.NUMBERS:
        return "f"
    return str(backend.describe(_bare(part))[1].kind)


def _whole(parts: list[Any]) -> str:
    first = next(part for part in parts if is_single(part))
    shape, dtype = backend.describe(backend.asarray(_bare(first)))
    return f"an array of {dtype}" if shape else f"a number of {dtype}"


def vjp(f: Function, *args: Any) -> tuple[Any, Function]:
    """The value of ``f`` and its vector-Jacobian product.

    Parameters
    ----------
    f : callable
        Written with NumPy; returns an array or a nested container of arrays.
    args : array_like or nested containers
        Where to linearize; each is differentiated.

    Returns
    -------
    out : same as ``f(*args)``
    pull : callable
        ``pull(cotangent) -> tuple``, one entry for each argument, in its structure. May be called
        any number of times. It is the adjoint of `jvp` under ``Re(vdot)``.

    Raises
    ------
    ShapeMismatch, DTypeMismatch
        A cotangent that does not fit the output.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> out, pull = npgrad.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    return pulled(f, args)


def pulled(f: Function, args: tuple[Any, ...], whole: bool = False) -> tuple[Any, Function]:
    """What `vjp` returns; `whole` allows an output of integers alone, whose gradient is zero."""
    run = Run(prepare(f, True), args, {}, range(len(args)), later=True)
    recorded = any(argument.recorded for argument in run.arguments)
    outputs, _ = output_parts(run.out, "vjp", whole)
    nodes = [current(out)[1] if type(out) is GradArray else None for out in outputs]
    if not recorded:
        order, older = collect([node for node in nodes if node is not None], run.floor)
        recorded = outside(order, older)

    def pull(cotangent: Any) -> tuple[Any, ...]:
        parts, _ = same_structure(cotangent, run.out, "the cotangent")
        seeds = []
        for node, out, part in zip(nodes, outputs, parts, strict=True):
            if node is None:
                check_constant(out, part)
            elif part is not None:
                seeds.append((node, cotangent_for(node, part, "pull", current(out)[0])))
        return tuple(run.gradients(seeds, True)[0])

    return (run.out if recorded else value(run.out)), Held("pull", "vjp", pull)


class Held:
    """A derivative over a recording, which lives as long as this does: what `vjp` returns."""

    def __init__(self, name: str, maker: str, function: Function) -> None:
        self.__name__ = self.__qualname__ = name
        self._maker = maker
        self._function = function

    def __call__(self, *args: Any) -> Any:
        """The derivative applied."""
        return self._function(*args)

    def __repr__(self) -> str:
        return f"<npgrad {self.__name__} of {self._maker}>"

    def __reduce__(self) -> Any:
        raise TypeError(
            f"npgrad: {self.__name__} holds a recording, which cannot be pickled or copied. Pickle "
            f"the function and its arguments, and call npgrad.{self._maker}(f, *args) again."
        )


def check_constant(out: Any, cotangent: Any) -> None:
    """A cotangent of an output that depends on nothing still has to fit it."""
    if not is_single(out) or cotangent is None:
        return
    shape = backend.describe(backend.asarray(_bare(out)))[0]
    given, dtype = backend.describe(backend.asarray(_bare(cotangent)))
    if dtype.kind not in "fciub":
        raise DTypeMismatch(f"npgrad: a cotangent of {dtype} for a number or an array")
    if shape != given:
        raise ShapeMismatch(f"npgrad: the cotangent has shape {given}, the value has {shape}")


def _bare(x: Any) -> Any:
    return current(x)[0] if type(x) is GradArray else x


# Set by `npgrad.wrap` when it is loaded: (f, wrap?) -> f with its array makers recording.
preparer: Callable[[Function, bool], Function] | None = None


def prepare(f: Function, wrap: bool) -> Function:
    """`f`, checked, and wrapped if asked to."""
    if not callable(f):
        raise TypeError(f"npgrad: a function is needed, not {type(f).__name__}")
    return f if preparer is None else preparer(f, wrap)
