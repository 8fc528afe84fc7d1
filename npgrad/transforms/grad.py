"""Reverse mode: `grad`, `value_and_grad`, `vjp`, `elementwise_grad`."""

from __future__ import annotations

import contextlib
import functools
import importlib
import types
from collections.abc import Callable
from sys import getrefcount
from typing import Any

from ..errors import DTypeMismatch, NotDifferentiable, ShapeMismatch
from ..graph import backend
from ..graph.array import GradArray, current, unwrap
from ..graph.modes import MODE
from ..graph.node import Node, recorded_at
from ..graph.order import collect
from ..graph.store import cotangent_for
from .claims import (
    is_holomorphic,
    is_pointwise,
    refuse_mixing,
    refuse_not_holomorphic,
    refuse_other_shapes,
)
from .outputs import check_constant, output_parts, scalar_output
from .recurring import Recurring
from .run import Argnums, Function, Run, argnums_of
from .trees import arrays_in, place, same_structure
from .values import value

ALONE = 2  # references to what one name and the call that counts them refer to


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

    def __init__(
        self, what: str, f: Function, argnums: Argnums, wrap: bool, has_aux: bool, **options: Any
    ) -> None:
        self.what = what
        self._made_of = (f, argnums, {"wrap": wrap, "has_aux": has_aux, **options})
        self._has_aux = has_aux
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


def _made_again(what: str, f: Function, argnums: Argnums, options: dict[str, Any]) -> Any:
    """The transform `what` of a function, as it was before it was pickled."""
    from . import jacobian

    made = globals().get(what) or getattr(jacobian, what)
    return made(f, argnums, **options)


class Gradient(Derived):
    """What `grad` and `value_and_grad` return."""

    def __init__(
        self, what: str, f: Function, argnums: Argnums, has_aux: bool, holomorphic: bool, wrap: bool
    ) -> None:
        super().__init__(what, f, argnums, wrap, has_aux, holomorphic=holomorphic)
        self._holomorphic = holomorphic
        self._with_value = what == "value_and_grad"
        self._recurring = Recurring()
        self._leaves_values = False  # f keeps recorded values, so recordings are let go of by hand

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient, and the value if asked for."""
        found, leaf = self._found(args, kwargs)
        if leaf is not None and getrefcount(leaf) > ALONE:  # a value that depends on it was kept
            self._leaves_values = True
        return found

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Node | None]:
        """What the caller gets, and a leaf that nothing refers to if nothing was kept."""
        run = Run(self._f, args, kwargs, self._which, False, self._has_aux)
        out = run.out
        result, node = scalar_output(out, "grad", self._holomorphic)
        if node is not None and not self._holomorphic:
            swept = self._recurring.gradients(run, node, result)
            if swept is not None:
                return self._handed_out(run, result, swept, node)
        seeds = [] if node is None else [(node, backend.ones_like(node, result))]
        doubt = self._holomorphic and node is not None and not is_holomorphic(run, node)
        gradients, recorded = run.gradients(seeds, doubt)
        if self._holomorphic:
            found = [_conjugated(gradient, result) for gradient in gradients]
            if node is not None and doubt:
                refuse_not_holomorphic(run, node, gradients)
            gradients = found
        if recorded and type(out) is GradArray:
            result = out
        return self._handed_out(run, result, gradients, None if recorded else node)

    def _handed_out(
        self, run: Run, result: Any, gradients: list[Any], node: Node | None
    ) -> tuple[Any, Node | None]:
        """The answer to `_found`, after the sweep of the recording of `node`."""
        leaf = None
        if node is not None and MODE.get() is None and run.there is None:
            leaf = run.arguments[0].nodes[0] if run.arguments[0].nodes else None
            if self._leaves_values:
                run.finish(node)
        gradient = gradients[0] if self._single else tuple(gradients)
        if not self._with_value:
            return ((gradient, run.aux) if self._has_aux else gradient), leaf
        return (((result, run.aux) if self._has_aux else result), gradient), leaf


def _conjugated(gradient: Any, result: Any) -> Any:
    """The derivative df/dz from the adjoint conj(df/dz)."""
    parts, rebuild = arrays_in(gradient)
    if any(backend.describe(unwrap(p))[1].kind != "c" for p in parts):
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


def elementwise_grad(
    f: Function, argnums: Argnums = 0, wrap: bool = True, has_aux: bool = False
) -> Function:
    """The derivative f' of an elementwise ``f``, entry by entry.

    Parameters
    ----------
    f : callable
        Written with NumPy; each entry of its output depends on the entry of the same place of its
        arguments. One that returns a number has its gradient.
    argnums : int, str, or a tuple of them
        The arguments to differentiate.
    wrap : bool
        As in `value_and_grad`.
    has_aux : bool
        `f` returns ``(output, aux)``; the result is then ``(derivative, aux)``.

    Returns
    -------
    callable
        Its result has the shape and the structure of the argument.

    Raises
    ------
    ShapeMismatch
        The output has another shape than the argument.
    NotDifferentiable
        An entry of the output depends on others of the argument here (``np.cumsum``). A recording
        of elementwise functions alone shows that it does not; another takes one sweep more to see.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.elementwise_grad(np.tanh)(np.array([0.0, 1.0]))
    array([1.        , 0.41997434])
    """
    return ElementwiseGradient("elementwise_grad", f, argnums, wrap, has_aux)


class ElementwiseGradient(Derived):
    """What `elementwise_grad` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The gradient of the sum of the output's entries."""
        run = Run(self._f, args, kwargs, self._which, False, self._has_aux)
        seeds = []
        outputs = output_parts(run.out, "elementwise_grad")[0]
        refuse_other_shapes(run, outputs)
        for part in outputs:
            node = current(part)[1] if type(part) is GradArray else None
            if node is not None:
                if node.dtype.kind == "c":
                    raise NotDifferentiable(
                        "npgrad: elementwise_grad of a complex-valued function."
                        f"{recorded_at(node)} Take np.real, np.imag or np.abs of the result."
                    )
                seeds.append((node, backend.ones_like(node, current(part)[0])))
        nodes = [node for node, _ in seeds]
        doubt = not is_pointwise(run, nodes)
        gradients, _ = run.gradients(seeds, doubt)
        if doubt:
            refuse_mixing(run, nodes, gradients)
        gradient = gradients[0] if self._single else tuple(gradients)
        return (gradient, run.aux) if self._has_aux else gradient


def vjp(f: Function, *args: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``f`` and its vector-Jacobian product.

    Parameters
    ----------
    f : callable
        Written with NumPy; returns an array or a nested container of arrays.
    args : array_like or nested containers
        Where to linearize; each is differentiated.
    has_aux : bool
        `f` returns ``(out, aux)``; the result is then ``(out, pull, aux)``.

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
    return pulled(f, args, has_aux=has_aux)


def pulled(
    f: Function, args: tuple[Any, ...], whole: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """What `vjp` returns; `whole` allows an output of integers alone, whose gradient is zero."""
    run = Run(prepare(f, True), args, {}, range(len(args)), True, has_aux)
    recorded = any(argument.recorded for argument in run.arguments)
    outputs, _ = output_parts(run.out, "vjp", whole)
    nodes = [current(out)[1] if type(out) is GradArray else None for out in outputs]
    if not recorded:
        order, older = collect([node for node in nodes if node is not None], run.floor)
        recorded = run.outside(order, older)

    def pull(*cotangents: Any) -> tuple[Any, ...]:
        if len(cotangents) != 1:
            raise TypeError(
                f"npgrad: pull takes one cotangent, in the structure of the output, not "
                f"{len(cotangents)}"
            )
        cotangent = cotangents[0]
        parts, _ = same_structure(cotangent, run.out, "the cotangent")
        seeds = []
        for i, (node, out, part) in enumerate(zip(nodes, outputs, parts, strict=True)):
            if part is None:
                continue
            try:
                g = _checked(node, out, part)
            except (ShapeMismatch, DTypeMismatch):
                _checked(node, out, part, place(run.out, "the cotangent", i))  # says which
                raise
            if node is not None:
                seeds.append((node, g))
        return tuple(run.gradients(seeds, True)[0])

    found = run.out if recorded else value(run.out), Held("pull", "vjp", pull)
    return (*found, run.aux) if has_aux else found


def _checked(node: Node | None, out: Any, part: Any, name: str = "the cotangent") -> Any:
    """`part` as a cotangent of `out`; of a constant it need only fit."""
    if node is None:
        check_constant(out, part, name)
        return None
    return cotangent_for(node, part, "pull", current(out)[0], name)


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


# Set by `npgrad.wrapping`, which the first function loads: (f, wrap?) -> f with its array makers
# recording.
preparer: Callable[[Function, bool], Function] | None = None


def prepare(f: Function, wrap: bool) -> Function:
    """`f`, checked, and wrapped if asked to."""
    if not callable(f):
        raise TypeError(f"npgrad: a function is needed, not {type(f).__name__}")
    if preparer is None and wrap:
        importlib.import_module("npgrad.wrapping")
    return f if preparer is None else preparer(f, wrap)
