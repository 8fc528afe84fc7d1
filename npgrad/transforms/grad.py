"""Reverse mode: `grad`, `value_and_grad`, `vjp`, `elementwise_grad`; `array`, `value`."""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import GradientLost, NotDifferentiable
from ..graph import backend
from ..graph.array import GradArray, current, leaf
from ..graph.backward import Backward, collect, depending
from ..graph.modes import MODE, change
from ..graph.node import Node, alive, next_id, recorded_at
from ..graph.stacking import has_recorded
from ..graph.store import cotangent_for
from .trees import Argument, flatten, is_single, same_structure

Function = Callable[..., Any]
Argnums = int | str | Sequence[int | str]


def array(x: Any, dtype: Any = None) -> GradArray:
    """Make a leaf: a recorded array that gradients are taken with respect to.

    Parameters
    ----------
    x : array_like
        Real or complex numbers; they are copied. Integers become float64.
    dtype : dtype, optional
        A floating or complex type.

    Returns
    -------
    GradArray

    Raises
    ------
    GradientLost
        `x` holds recorded values: ``np.copy(x)`` copies and stays connected, ``np.stack`` makes an
        array of a list of them.
    NotDifferentiable
        `x` is not numeric, or `dtype` is not floating or complex.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> x = npgrad.array([1.0, 2.0])
    >>> np.sum(x ** 3).backward()[x]
    array([ 3., 12.])
    """
    if type(x) is GradArray or (isinstance(x, (list, tuple)) and has_recorded(x)):
        raise GradientLost(
            "npgrad: npgrad.array makes a new leaf and would cut the gradient of the recorded "
            "values it was given. np.copy(x) copies a recorded array, np.stack([...]) makes an "
            "array of a list of them, npgrad.value(x) cuts on purpose."
        )
    if isinstance(x, np.ma.MaskedArray):
        raise NotDifferentiable("npgrad: a masked array has no gradient; use x.filled(...)")
    if backend.is_array(x) and not isinstance(x, np.ndarray):
        made = backend.snapshot(x) if dtype is None else x.astype(dtype)
    else:
        made = np.array(x, dtype=dtype)
        if made.dtype.kind in "iub" and dtype is None:
            made = made.astype(np.float64)
    if made.dtype.kind not in "fc":
        raise NotDifferentiable(
            f"npgrad: npgrad.array of {made.dtype}: only floating and complex arrays have a "
            "gradient"
        )
    return leaf(made, True)


def value(x: Any) -> Any:
    """The plain array of `x`: the gradient is cut, on purpose.

    Parameters
    ----------
    x : GradArray, array_like, or nested container
        Plain values pass through; containers come back with plain values inside.

    Returns
    -------
    ndarray, number or container
        A copy: changing it changes nothing that was recorded.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.value(npgrad.array([1.0, 2.0]) * 2)
    array([2., 4.])
    """
    if type(x) is GradArray:
        return backend.snapshot_any(current(x)[0])
    if is_single(x) or isinstance(x, (str, bytes)) or x is None:
        return x
    parts, rebuild = flatten(x)
    return rebuild([value(p) if type(p) is GradArray else p for p in parts])


def stop_gradient(x: Any) -> Any:
    """`x` as a constant GradArray: the gradient through it is zero.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> npgrad.grad(lambda x: x * npgrad.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    if type(x) is GradArray:
        return GradArray(backend.snapshot_any(current(x)[0]), None)
    if is_single(x) or x is None:
        return x
    parts, rebuild = flatten(x)
    return rebuild([stop_gradient(p) for p in parts])


class Run:
    """One call of a function on leaves: the arguments, the output, and sweeps over it."""

    __slots__ = ("arguments", "aux", "floor", "node", "out")

    def __init__(
        self, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any], which: Sequence[int | str]
    ) -> None:
        mode = MODE.get()
        quiet = mode is not None and not mode.recording  # under no_grad: its results are constant,
        if quiet:  # but the function itself has to be recorded to be differentiated
            args, kwargs = value(args), value(kwargs)
        self.floor = next_id()
        count = len(args)
        for key in which:
            if type(key) is not int or not 0 <= key < count:
                which = distinct(f, which, count, kwargs)
                break
        filled = list(args)
        named = kwargs
        self.arguments = []
        for key in which:
            if type(key) is str:
                argument = Argument(kwargs[key], key)
                if named is kwargs:
                    named = dict(kwargs)
                named[key] = argument.value
            else:
                argument = Argument(args[key], f"argument {key}")  # type: ignore[index]
                filled[key] = argument.value  # type: ignore[index]
            self.arguments.append(argument)
        token = change(recording=True) if quiet else None
        try:
            self.out = f(*filled, **named)
        finally:
            if token is not None:
                MODE.reset(token)
        for argument in self.arguments:
            for node in argument.nodes:
                node.op.open = False

    def gradients(
        self, seeds: list[tuple[Node, Any]], retain: bool, record: bool = False, batch: int = 0
    ) -> tuple[list[Any], bool]:
        """The cotangents of the arguments, each in its structure; whether they are recorded."""
        order, older = collect([node for node, _ in seeds], self.floor)
        for _, g in seeds:
            record = record or type(g) is GradArray
        active = None
        if older:
            record = record or any(map(alive, older))
            roots = {node.id for argument in self.arguments for node in argument.nodes}
            active = depending(order, roots)
            order = [node for node in order if node.id in active]
            seeds = [seed for seed in seeds if seed[0].id in active]
        leaves: dict[int, tuple[Node, Any]] = {}
        if seeds:
            walk = Backward(record=record, batch=batch, active=active, private=not retain)
            if record:
                seeds = [
                    (node, g if type(g) is GradArray else GradArray(g, None)) for node, g in seeds
                ]
            walk.run(order, seeds, retain)
            leaves = walk.leaves
        connected = record
        for argument in self.arguments:
            connected = connected or argument.recorded
        return [argument.collect(leaves, connected) for argument in self.arguments], connected


def distinct(
    f: Function, which: Sequence[int | str], count: int, kwargs: dict[str, Any]
) -> list[int | str]:
    """`which` as the arguments were passed; ValueError if two of them mean the same one."""
    found: list[int | str] = []
    for key in which:
        if isinstance(key, int) and -count <= key < count:
            found.append(key % count)
        else:
            found.append(key if key in kwargs else place_of(f, key, count, kwargs))
    if len(set(found)) != len(found):
        raise ValueError(f"npgrad: argnums names an argument twice: {tuple(which)!r}")
    return found


def place_of(f: Function, key: int | str, count: int, kwargs: dict[str, Any]) -> int | str:
    """Where an argument named was passed by position, or one numbered by keyword."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if isinstance(key, str):
        if key in positional[:count]:
            return positional.index(key)
        raise TypeError(f"npgrad: argnums={key!r}, but no argument of that name was passed")
    if 0 <= key < len(positional) and positional[key] in kwargs:
        return positional[key]
    raise TypeError(
        f"npgrad: argnums={key}, but the function was called with {count} positional arguments"
    )


def argnums_of(argnums: Any) -> tuple[tuple[int | str, ...], bool]:
    """`argnums` as a tuple, and whether it was a single one."""
    if isinstance(argnums, (int, str)) and not isinstance(argnums, bool):
        return (argnums,), True
    try:
        which = tuple(argnums)
    except TypeError:
        which = ()
    if not which or not all(isinstance(a, (int, str)) for a in which):
        raise TypeError(f"npgrad: argnums is an int, a name, or a tuple of them, not {argnums!r}")
    if len(set(which)) != len(which):
        raise ValueError(f"npgrad: argnums names an argument twice: {argnums!r}")
    return which, False


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
        out, aux = _split_aux(run.out, True) if self._has_aux else (run.out, None)
        result, node = scalar_output(out, "grad", self._holomorphic)
        seeds = [] if node is None else [(node, backend.ones_like(node, result))]
        gradients, recorded = run.gradients(seeds, False)
        if self._holomorphic:
            gradients = [_conjugated(gradient, result) for gradient in gradients]
        gradient = gradients[0] if self._single else tuple(gradients)
        if self._has_aux and not recorded:
            aux = value(aux)
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


def output_parts(out: Any, who: str) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The arrays of an output; what could hide recorded values (a generator, a set) is refused."""
    parts, rebuild = flatten(out)
    for part in parts:
        if not is_single(part) and part is not None and not isinstance(part, (str, bytes)):
            raise NotDifferentiable(
                f"npgrad: {who} needs a function that returns arrays, numbers or containers of "
                f"them (list, tuple, dict, namedtuple, dataclass); this one returned, or held, a "
                f"{type(part).__qualname__}."
            )
    return parts, rebuild


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
    run = Run(prepare(f, True), args, {}, range(len(args)))
    recorded = any(argument.recorded for argument in run.arguments)
    outputs, _ = output_parts(run.out, "vjp")
    nodes = [current(out)[1] if type(out) is GradArray else None for out in outputs]
    if not recorded:
        _, older = collect([node for node in nodes if node is not None], run.floor)
        recorded = any(map(alive, older))

    def pull(cotangent: Any) -> tuple[Any, ...]:
        parts, _ = same_structure(cotangent, run.out, "the cotangent")
        seeds = []
        for node, out, part in zip(nodes, outputs, parts, strict=True):
            if node is None:
                check_constant(out, part)
            elif part is not None:
                seeds.append((node, cotangent_for(node, part, "pull", current(out)[0])))
        return tuple(run.gradients(seeds, True)[0])

    return (run.out if recorded else value(run.out)), pull


def check_constant(out: Any, cotangent: Any) -> None:
    """A cotangent of an output that depends on nothing still has to fit it."""
    if not is_single(out) or cotangent is None:
        return
    shape = backend.describe(backend.asarray(_bare(out)))[0]
    given = backend.describe(backend.asarray(_bare(cotangent)))[0]
    if shape != given:
        from ..errors import ShapeMismatch

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
