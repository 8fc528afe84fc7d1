"""Derivatives of what an iteration converges to: `root` and `fixed_point`.

How the solution was found does not matter for its derivative. With ``residual(x, *args) = 0`` the
implicit function theorem gives

    dx = -(d residual / dx)^-1 (d residual / dargs) dargs

so the solver may be anything (SciPy's, compiled, a loop to convergence), and nothing of its
iterations is kept. The rules are written with npgrad's own transforms and are differentiated again
for higher orders.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import GradientLost, NoDerivative, RuleError
from ..graph import backend
from ..graph.array import GradArray, current
from .calls import parts_of
from .custom import Primitive, primitive
from .forward import jvp, linearize
from .grad import prepare, vjp
from .jacobian import jacobian
from .values import value

Function = Callable[..., Any]
LinearSolver = Callable[[Function, Any], Any]

LINEAR = 1e-3  # what a linear solver may leave of the right-hand side
STALE = 20  # iterations without a smaller change: what is left is rounding


def root(
    solve: Function,
    residual: Function,
    *,
    linear_solve: LinearSolver | None = None,
    tol: float | None = None,
) -> Primitive:
    """The solution ``x`` of ``residual(x, *args) = 0`` as a differentiable function of `args`.

    Parameters
    ----------
    solve : callable
        ``solve(*args) -> x``, an array, by any method; called with plain arrays.
    residual : callable
        ``residual(x, *args)``, of the shape of `x`, written with NumPy. What it is differentiated
        with respect to must be among `args`; it is evaluated once at each solution to see that.
    linear_solve : callable, optional
        ``linear_solve(matvec, b) -> z`` with ``matvec(z) = b``, for large systems (GMRES; conjugate
        gradients where the Jacobian is symmetric). By default the matrix is made and given to
        ``np.linalg.solve``. One that is not written with NumPy serves first derivatives.
    tol : float, optional
        How far from zero the residual may be, relative to the larger of 1 and the solution; the
        root of the machine precision by default. A solution below 1 must also be right to this
        much of itself where the residual is curved, by one step of Newton's.

    Returns
    -------
    callable
        ``(*args) -> x``, with derivatives in both modes and of any order.

    Raises
    ------
    RuleError
        When it is differentiated where `solve` did not converge (the derivative would be that of
        nothing), where `linear_solve` did not, or where `residual` has another shape than `x`, or
        `x` is complex; and when `residual` or `solve`
        uses a recorded value that is not among `args`.
    numpy.linalg.LinAlgError
        Where the Jacobian of the residual is singular.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> from npgrad.transforms.implicit import root
    >>> def newton(a):
    ...     x = np.ones_like(a)
    ...     for _ in range(30):
    ...         x = x - (x**3 - a) / (3 * x**2)
    ...     return x
    >>> cube_root = root(newton, lambda x, a: x**3 - a)
    >>> npgrad.grad(lambda a: np.sum(cube_root(a)))(np.array([1.0, 8.0]))
    array([0.33333333, 0.08333333])
    """
    recorded = prepare(residual, True)  # wrapped, as the functions that transforms are given

    @primitive
    @functools.wraps(solve)
    def solved(*args: Any) -> Any:
        x = solve(*args)
        _refuse_recorded(x, "root", solve)
        _refuse_recorded(residual(x, *args), "root", residual)
        return x

    def matrix(x: Any, args: tuple[Any, ...]) -> Any:
        size = int(np.prod(np.shape(x), dtype=int))
        if np.iscomplexobj(value(x)):
            raise RuleError(
                f"npgrad: root: the solution of {getattr(solve, '__name__', 'solve')} is complex. "
                "Solve for the real and the imaginary part, as two unknowns of a real residual."
            )
        return jacobian(lambda z: recorded(z, *args))(x).reshape(size, size)

    def pulled(x: Any, args: tuple[Any, ...], g: Any) -> Any:
        """``w`` with ``(d residual / dx)^T w = g``."""
        if linear_solve is None:
            return _solved(matrix(x, args).T, g, solve)
        transpose = vjp(lambda z: recorded(z, *args), x)[1]
        return _checked_solve(linear_solve, lambda w: transpose(w)[0], g)

    def pushed(x: Any, args: tuple[Any, ...], t: Any) -> Any:
        """``z`` with ``(d residual / dx) z = t``."""
        if linear_solve is None:
            return _solved(matrix(x, args), t, solve)
        push = linearize(lambda y: recorded(y, *args), x)[1]
        return _checked_solve(linear_solve, push, t)

    def only(argnums: tuple[int, ...], args: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
        """The residual as a function of the arguments that are differentiated."""

        def of(x: Any, *chosen: Any) -> Any:
            filled = list(args)
            for i, item in zip(argnums, chosen, strict=True):
                filled[i] = item
            return recorded(x, *filled)

        return of, tuple(args[i] for i in argnums)

    def maker(argnums: Any, x: Any, args: Any, kwargs: Any) -> Function:
        _check(solve, residual, x, args, tol, pushed)
        of, chosen = only(argnums, args)

        def back(g: Any) -> tuple[Any, ...]:
            w = pulled(x, args, g)
            cotangents: tuple[Any, ...] = vjp(lambda *c: of(x, *c), *chosen)[1](-w)
            return cotangents

        return back

    def forward(argnums: Any, tangents: Any, x: Any, args: Any, kwargs: Any) -> Any:
        _check(solve, residual, x, args, tol, pushed)
        of, chosen = only(argnums, args)
        return pushed(x, args, -jvp(lambda *c: of(x, *c), chosen, tangents)[1])

    solved.defvjp_argnums(maker)
    solved.defjvp_argnums(forward)
    solved.rules.trials.memory = 0  # they use the arguments alone; a solver is not run to see it
    return solved


def fixed_point(
    f: Function,
    x0: Any,
    *,
    steps: int = 10_000,
    tol: float | None = None,
    linear_solve: LinearSolver | None = None,
) -> Primitive:
    """The fixed point ``x = f(x, *args)`` as a differentiable function of `args`.

    Parameters
    ----------
    f : callable
        Written with NumPy, a contraction near the fixed point; iterated from `x0` on plain arrays.
    x0 : array_like
        Where to start.
    steps : int
        At most so many iterations.
    tol : float, optional
        Iterate until the change is below this, relative to the solution, however small; four
        times the machine precision by default. Near zero, where rounding may keep the change from
        that, also once it no longer falls and is below this itself.
    linear_solve : callable, optional
        As for `root`.

    Returns
    -------
    callable
        ``(*args) -> x``.

    Raises
    ------
    RuleError
        If the iteration does not converge.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> from npgrad.transforms.implicit import fixed_point
    >>> kepler = fixed_point(lambda E, M, e: M + e * np.sin(E), 0.0)  # the eccentric anomaly
    >>> npgrad.grad(kepler, argnums=1)(1.0, 0.1)  # dE/de = sin E / (1 - e cos E)
    np.float64(0.929060...)
    """
    _refuse_container(x0, "x0")
    start = np.asarray(x0)
    if start.dtype.kind == "c":
        raise RuleError(
            "npgrad: fixed_point: x0 is complex. Iterate the real and the imaginary part, as two "
            "entries of a real state."
        )
    start = start.astype(np.result_type(start, np.float16) if start.ndim else float)[()]

    @functools.wraps(f)
    def iterate(*args: Any) -> Any:
        x, least, stale = start, np.inf, 0
        largest = float(np.max(np.abs(start), initial=0.0))
        for _ in range(steps):
            new = f(x, *args)
            _refuse_recorded(new, "fixed_point", f)
            _refuse_container(new, f"the result of {getattr(f, '__name__', 'f')}")
            new = value(new)  # plain, where the closure holds a constant of npgrad's
            eps = float(np.finfo(backend.describe(np.asarray(new))[1]).eps)
            size = float(np.max(np.abs(new), initial=0.0))
            change = float(np.max(np.abs(new - x), initial=0.0))
            x, largest = new, max(largest, size)
            allowed = 4 * eps if tol is None else tol
            stale = 0 if change < least else stale + 1
            least = min(least, change)
            if change <= allowed * size or (stale >= STALE and change <= allowed * max(1.0, size)):
                return x
            if not np.isfinite(change):
                break
        else:
            if steps and change <= allowed * largest:  # a slow way to zero
                return x
        raise RuleError(
            f"npgrad: fixed_point: {getattr(f, '__name__', 'f')} did not converge in {steps} steps"
            f" (the last change was {change:.3g}); is it a contraction from this x0?"
        )

    recorded = prepare(f, True)
    return root(
        iterate,
        lambda x, *args: x - recorded(x, *args),
        linear_solve=linear_solve,
        tol=None if tol is None else 10 * tol,
    )


def _refuse_recorded(result: Any, what: str, function: Function) -> None:
    """Raise if a function of plain arrays gave a recorded result: its closure holds a value."""
    for part in parts_of(result)[0]:
        if type(part) is GradArray and current(part)[1] is not None:
            raise RuleError(
                f"npgrad: {what}: {getattr(function, '__name__', 'a function')} uses a recorded "
                "value that is not among its arguments, and its gradient would be lost. Pass it "
                "as an argument, or npgrad.value of it to treat it as a constant."
            )


def _refuse_container(state: Any, what: str) -> None:
    """Raise if a state of `fixed_point` is no array: its change has no one size."""
    shapes = {np.shape(part) for part in parts_of(state)[0]}
    if isinstance(state, dict) or len(shapes) > 1:
        raise RuleError(
            f"npgrad: fixed_point: {what} is a {type(state).__name__} of arrays; the state is one "
            "array. Join its parts with np.concatenate, and take them out of it again in f."
        )


def _checked_solve(linear_solve: LinearSolver, matvec: Function, b: Any) -> Any:
    """What `linear_solve` answers, if it is a solution."""
    try:
        z = linear_solve(matvec, b)
    except GradientLost as error:
        raise NoDerivative(
            "npgrad: root: a derivative of a derivative goes through linear_solve, which has to be "
            "written with NumPy then (SciPy's solvers take plain numbers). Leave linear_solve out: "
            f"np.linalg.solve is differentiated to any order. ({error})"
        ) from error
    off = np.linalg.norm(np.ravel(value(matvec(z)) - value(b)))
    size = np.linalg.norm(np.ravel(value(b)))
    if not off <= LINEAR * size:
        raise RuleError(
            f"npgrad: root: linear_solve left {off / size:.3g} of the right-hand side, at most "
            f"{LINEAR} is allowed: did it converge? Conjugate gradients are for a symmetric "
            "Jacobian of the residual, GMRES or BiCGSTAB for others."
        )
    return z


def _solved(matrix: Any, b: Any, solve: Function) -> Any:
    """``matrix^-1 b`` in the shape of `b`."""
    try:
        return np.linalg.solve(matrix, b.reshape(-1)).reshape(b.shape)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(
            "npgrad: root: the Jacobian of the residual with respect to x is singular at the "
            f"solution of {getattr(solve, '__name__', 'solve')}, so the solution has no derivative "
            "there: it is a multiple root, or not the only one nearby, or the residual does not "
            f"depend on all of x. ({error})"
        ) from error


def _check(
    solve: Function, residual: Function, x: Any, args: Any, tol: float | None, newton: Function
) -> None:
    """Raise unless `x` is a root; `newton` divides by the Jacobian of the residual."""
    plain = np.asarray(value(x))
    left = np.asarray(value(residual(plain[()], *value(tuple(args)))))
    name = getattr(solve, "__name__", "solve")
    if left.shape != plain.shape:
        raise RuleError(
            f"npgrad: root: the residual has shape {left.shape}, the solution of {name} "
            f"{plain.shape}"
        )
    eps = float(np.finfo(plain.dtype).eps)
    relative = eps**0.5 if tol is None else tol
    size = float(np.max(abs(plain), initial=0.0))
    allowed = relative * max(1.0, size)
    off = float(np.max(abs(left), initial=0.0))
    if not off <= allowed:
        raise RuleError(
            f"npgrad: root: {name} did not converge: the residual at its solution is {off:.3g}, "
            f"allowed {allowed:.3g} (tol=); the implicit function theorem needs a root."
        )
    if off == 0 or size >= 1:
        return
    # A residual that small says little about a solution that is small too: x^2 = 1e-12
    inputs = value(tuple(args))
    step = np.asarray(value(newton(plain[()], inputs, left[()])))
    far = float(np.max(abs(step), initial=0.0))
    if far <= max(relative * size, 4 * eps):  # below that a root at zero is right to rounding
        return
    rest = np.asarray(value(residual((plain - step)[()], *inputs)))
    if not float(np.max(abs(rest), initial=0.0)) <= 0.01 * off:  # the Jacobian changes on the way
        raise RuleError(
            f"npgrad: root: {name} did not converge: its solution, of size {size:.3g}, is about "
            f"{far:.3g} from a root, and the derivative there is another one."
        )
