"""What is said where a value would leave its recording: who asked, and what to write instead."""

from __future__ import annotations

import dis
import functools
import itertools
import linecache
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable
from types import CodeType, FrameType
from typing import Any

from .modes import WRAPPED
from .node import Node, open_leaves, recorded_at

OWN = frozenset({"npgrad", "numpy", "numba", "functools"})  # they ask what is behind a handle

# A frame -> the function of a library that asked for plain numbers, and what to write instead;
# `npgrad` fills it in.
advise: Callable[[Any], tuple[str, str] | None] | None = None

# np.random's generators draw in C from plain parameters. A family of location and scale is the
# standard draw, stretched and shifted, whose derivative by its parameters is the sample's own.
DRAWS = {
    "normal": "loc + scale * rng.standard_normal(size)",
    "uniform": "low + (high - low) * rng.random(size)",
    "exponential": "scale * rng.standard_exponential(size)",
    "gamma": "scale * rng.standard_gamma(shape, size), with a plain shape",
    "laplace": "loc + scale * rng.laplace(size=size)",
    "logistic": "loc + scale * rng.logistic(size=size)",
    "gumbel": "loc + scale * rng.gumbel(size=size)",
    "lognormal": "np.exp(loc + scale * rng.standard_normal(size))",
    "multivariate_normal": "mean + rng.standard_normal((size, n)) @ np.linalg.cholesky(cov).T",
    "permutation": "x[rng.permutation(len(x))]",
    "permuted": "x[rng.permutation(len(x))]",
    "choice": "x[rng.choice(len(x), size)]",
}
_OTHERS = "beta binomial chisquare dirichlet multinomial pareto poisson rayleigh standard_t weibull"
_MAKERS = r"\w*(?:random|rng|gen|state|rs)\w*(?:\([^()]*\))?"  # what draws, as it is usually called
_DRAW = re.compile(rf"(?i:{_MAKERS})\.({'|'.join(DRAWS)}|{'|'.join(_OTHERS.split())})\(")


# Arguments that NumPy hands on as they are, and what to write where nothing is wrapped.
_UNASKED = {
    "initial=": "np.sum(a) + initial, np.prod(a) * initial, np.maximum(np.max(a), initial)",
    "constant_values=": "np.concatenate of the array and its margins",
    "end_values=": "np.concatenate of the array and its margins",
    "default=": "np.where(condition, choice, default)",
    "left=": "np.where(x < xp[0], left, np.interp(x, xp, fp))",
    "right=": "np.where(x > xp[-1], right, np.interp(x, xp, fp))",
    "period=": "np.interp(x % period, xp, fp)",
}
_TAKES_UNASKED = re.compile(r"(?:sum|prod|max|min|reduce|pad|select|interp)\(")
_PLAIN = (
    "a buffer that records: np.zeros_like(x), np.zeros(shape, like=x), in wrapped code np.array(a) "
    "or np.copy(a) of an array a from before the call, whose own a.copy() is plain"
)


def stores(frame: FrameType | None) -> bool:
    """Whether the user's line, at or below `frame`, is at ``a[i] = x``."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        frame = frame.f_back
    return frame is not None and dis.opname[frame.f_code.co_code[frame.f_lasti]] == "STORE_SUBSCR"


def _asker(frame: FrameType | None) -> str:
    """The module of whoever asks, NumPy and its kin left out."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in OWN:
            return name
        frame = frame.f_back
    return ""


def defers(frame: FrameType | None) -> bool:
    """Whether a sparse matrix of SciPy's asks for the operand of an operator.

    It takes an array of one object as the sign that the operand's own operator answers.
    """
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        frame = frame.f_back
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("scipy.sparse."):
        if frame.f_code.co_name in _OPERATORS:
            return True
        if frame.f_code.co_name not in _DISPATCHING:
            return False
        frame = frame.f_back
    return False


_OPERATORS = frozenset(("__matmul__", "__rmatmul__", "__mul__", "__rmul__"))
_DISPATCHING = frozenset(("_matmul_dispatch", "_rmatmul_dispatch", "multiply"))
_DISPATCHING |= {"_multiply_2d_with_broadcasting"}


def divides_polynomials(frame: FrameType | None) -> bool:
    """Whether ``p / q`` of two np.poly1d asks, which turns them into plain arrays."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        if frame.f_code.co_name == "polydiv":
            return True
        frame = frame.f_back
    return False


def remedy(asked: str) -> str | None:
    """What to write in place of the call in `asked`; None if nothing better is known."""
    for word, instead in _UNASKED.items():
        if word in asked.replace(" ", "") and _TAKES_UNASKED.search(asked):
            return (
                f"{instead}; in wrapped code (npgrad.wrap(f)) the functions of np take a recorded "
                f"{word[:-1]}, methods of plain arrays and ufunc.reduce do not"
            )
    if "fill_diagonal(" in asked or ".fill(" in asked:
        return _PLAIN
    if ".dot(" in asked or "@ [" in asked:
        return "np.dot(a, x), or a @ x: what a plain array does itself is not seen"
    if "as_strided(" in asked:
        return "np.lib.stride_tricks.sliding_window_view(x, ...), or x[indices]"
    if "matrix(" in asked and "_matrix(" not in asked:
        return "arrays of two axes and a @ b, which record; np.matrix and its `*` do not"
    if "_sympy_(" in asked:
        return "sympy.lambdify(symbols, expression), whose function takes x"
    drawn = _DRAW.search(asked)
    if drawn is None:
        return None
    name = drawn.group(1)
    if name in DRAWS:
        return f"{DRAWS[name]}; np.random draws with plain numbers"
    return "a sample that is written with its parameters outside of np.random, which takes numbers"


def asking() -> str:
    """What the user's line calls just now, word for word, where its source is at hand."""
    frame = users_frame()
    if frame is None:
        return ""
    code = frame.f_code
    positions = itertools.islice(code.co_positions(), frame.f_lasti // 2, None)
    first, last, begin, end = next(positions, (None,) * 4)
    if first is None or first != last or begin is None or end is None:
        return ""
    line = linecache.getline(code.co_filename, first, frame.f_globals).encode()
    text = line[begin:end].decode(errors="replace").strip()
    place = f"{code.co_filename.rpartition('/')[2]}:{first}"
    return f" Asked for by {text} at {place}." if text else ""


def users_frame() -> Any:
    """The innermost frame that is neither npgrad's nor of what asks for it."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN:
        frame = frame.f_back
    return frame


def _not_covered() -> str | None:
    """What to write where the package that asked is not the one that is wrapped."""
    frame, call = users_frame(), WRAPPED.get()
    module = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    plan = getattr(call, "plan", None)
    if plan is None or not module or frame.f_globals is plan.space or plan.covers(module):
        return None
    package = module.partition(".")[0]
    return (
        f"npgrad.wrap(f, also=({package!r},)) in place of f, which lets the code of {package} "
        "record as well"
    )


# Modules where `wrap` leaves `float` or `complex` the builtin, and the line that is why.
LEFT_ALONE: dict[str, tuple[str, int | None]] = {}


def _left_alone() -> str | None:
    """Where a module asks ``is float``, so that ``float(x)`` in it is Python's."""
    frame = users_frame()
    found = None if frame is None or not WRAPPED.get() else LEFT_ALONE.get(frame.f_code.co_filename)
    if found is None or found[0] not in frame.f_code.co_names:
        return None
    kind, line = found
    place = f"{frame.f_code.co_filename.rpartition('/')[2]}:{line}"
    return (
        f"isinstance(v, {kind}) in place of `is {kind}` at {place}, because of which {kind} stays "
        f"Python's own in this module; or x itself in place of {kind}(x)"
    )


def makes_text(frame: FrameType) -> bool:
    """Whether `frame` is at ``text % x``.

    No other remainder makes a float of a recorded `x`, which has one of its own.
    """
    code, at = frame.f_code.co_code, frame.f_lasti
    return dis.opname[code[at]] == "BINARY_OP" and code[at + 1] in _REMAINDERS


_REMAINDERS = [
    i
    for i, (name, _) in enumerate(dis._nb_ops)  # type: ignore[attr-defined]
    if "REMAINDER" in name
]


@functools.lru_cache(maxsize=256)
def _calls_of(code: CodeType, name: str) -> frozenset[int]:
    """Where `code` calls the method `name`: the first call of what begins where it is asked for."""
    found: set[int] = set()
    asked = set()
    steps = [*dis.get_instructions(code), None]
    for step, after in itertools.pairwise(steps):
        assert step is not None
        place = step.positions
        begin = None if place is None else (place.lineno, place.col_offset)
        if step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval == name:
            asked.add(begin)
        elif step.opname.startswith("CALL") and begin in asked:
            asked.discard(begin)
            end = len(code.co_code) if after is None else after.offset
            found.update(range(step.offset, end))  # with what the interpreter keeps behind it
    return frozenset(found)


def calls_it(frame: FrameType, name: str) -> bool:
    """Whether wrapped code calls the method `name` itself, just now; C code leaves no frame."""
    code, asker = frame.f_code, frame.f_globals.get("__name__", "").partition(".")[0]
    if not WRAPPED.get() or name not in code.co_names or name == code.co_name or asker in OWN:
        return False
    if _not_covered() is not None:
        return False
    return frame.f_lasti in _calls_of(code, name)


def shut(node: Node | None, what: str, frame: FrameType) -> str:
    """The message of a door that stays shut, at which `frame` stands."""
    message = _message(node, what, frame)
    REFUSED[0] += 1
    me = threading.get_ident()
    main = me == threading.main_thread().ident
    met = frozenset() if main or node is None else open_leaves(node)
    _said.append((me, REFUSED[0], message, met))
    return message


GENERAL = (
    "NumPy's own function (np.sin(x), not math.sin(x)); np.stack([...]) of a list of results, not "
    "np.array([...]); np.zeros(shape, like=x) or np.zeros_like(x) for a buffer to write into; "
    "npgrad.wrap(f) for code that makes its own buffers"
)
RECORDING = (  # in wrapped code, where makers record
    "np.array(items) of a list that lies in a variable, as in np.exp(np.array(items)); NumPy's own "
    "function in place of math's (np.sin) or of a plain array's method (np.put(y, ...)); "
    "npgrad.register_vjp(function, ...) to give compiled code that takes numbers a rule"
)
_THREAD = (  # wrapping holds for the thread that called
    "npgrad.wrap(f) for the function that this thread runs, or contextvars.copy_context().run(f, "
    "...) there: in a thread that the program starts, makers and math are Python's and NumPy's own"
)
REFUSED = [0]  # how many doors stayed shut so far, in all threads
# The last: thread, count, message, and in another thread the arguments that were recorded.
_said: deque[tuple[int, int, str, frozenset[int]]] = deque(maxlen=100)


def caught_since(count: int, leaves: Iterable[Node]) -> str | None:
    """The first message of a door that stayed shut since there were `count`.

    In this thread, or in one that was given what depends on `leaves`: `threading` prints an error
    of a thread, and whoever waits for it goes on.
    """
    me, ids = threading.get_ident(), {leaf.id for leaf in leaves}
    for thread, n, text, met in list(_said):
        if n > count and (thread == me or not met.isdisjoint(ids)):
            return text
    return None


def _message(node: Node | None, what: str, frame: FrameType) -> str:
    name = f"a recorded {node.dtype}{list(node.shape)} ({node.op.name})" if node else "x"
    begin = f"would cut the gradient of {name} in silence.{recorded_at(node)}"
    advice = advise(frame) if advise is not None else None
    if advice is not None:
        called, instead = advice
        return f"npgrad: {called} takes plain numbers, which {begin} Instead: {instead}."
    asked = asking()
    known = (_not_covered() or _PLAIN) if stores(frame) else remedy(asked)
    if _asker(frame) == "statistics":
        known = "np.mean, np.median, np.std, np.corrcoef, np.polyfit, since statistics takes plain "
        known += f"numbers; or {also}" if (also := _not_covered()) else "numbers"
    if divides_polynomials(frame):
        known = "np.polydiv(p, q) in wrapped code, for p / q of two np.poly1d"
    main = threading.get_ident() == threading.main_thread().ident
    if not main and not WRAPPED.get():
        known = _THREAD
    general = RECORDING if WRAPPED.get() else GENERAL
    instead = known or _not_covered() or _left_alone() or general
    return (
        f"npgrad: {what} {begin}{asked} Instead: {instead}; npgrad.value(x) to cut the gradient "
        "on purpose."
    )
