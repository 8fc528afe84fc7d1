"""The libraries that take part: how each is asked for a value and a gradient.

An adapter takes a workload and its plain arguments and gives a `Job`: `run` is one timed call,
`gradient` reads the plain gradients out of what `run` returned, `forward` records without a
backward. Arguments are moved to the library's own arrays once, before any clock runs, as somebody
at home in that library would do; plain NumPy and npgrad take them as they are.
"""

from __future__ import annotations

import functools
import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.harness import arguments, load


@dataclass
class Job:
    """One library on one workload."""

    run: Callable[[], Any]
    gradient: Callable[[Any], list[Any] | None]
    version: str
    forward: Callable[[], Any] | None = None
    compiling: float = 0.0


def _argnums(module: ModuleType) -> tuple[int, ...]:
    return tuple(getattr(module, "ARGNUMS", (0,)))


def _own(module: ModuleType, library: str, package: Any) -> Callable[..., Any] | None:
    """The workload as written for `library`, if it has its own text."""
    text = getattr(module, f"{library}_loss", None)
    return functools.partial(text, package) if text is not None else None


def plain(module: ModuleType) -> Job:
    """NumPy's forward: what all ratios divide by."""
    args = arguments(module)

    def run() -> Any:
        return module.loss(*args)

    return Job(run, lambda _: None, np.__version__, run)


def hand(module: ModuleType) -> Job:
    """Value and gradient as somebody writes them in NumPy: the mathematics' own price here.

    ``by_hand(*args)`` makes its buffers and returns the function that is timed; it gives the value
    and the gradients, and uses every buffer again.
    """
    text = getattr(module, "by_hand", None)
    if text is None:
        raise NotImplementedError("not written by hand")
    return Job(text(*arguments(module)), lambda out: out[1], np.__version__)


def npgrad(module: ModuleType) -> Job:
    """The plain text through npgrad."""
    import npgrad as ng

    args, argnums = arguments(module), _argnums(module)
    value_and_grad = ng.value_and_grad(module.loss, argnums=argnums)
    try:
        number = version("npgrad")
    except PackageNotFoundError:  # run from the source tree, not installed
        number = "source"
    leaves = [ng.array(a) if i in argnums else a for i, a in enumerate(args)]
    return Job(
        lambda: value_and_grad(*args),
        lambda out: list(out[1]),
        number,
        lambda: module.loss(*leaves),
    )


def autograd(module: ModuleType) -> Job:
    """The plain text with ``np`` rebound to autograd's NumPy."""
    import autograd as package
    import autograd.numpy as anp

    text = _own(module, "autograd", anp)
    if text is None:
        for part in (module, *_shared(module)):
            part.np = anp
        text = module.loss
    args, argnums = arguments(module), _argnums(module)
    value_and_grad = package.value_and_grad(text, argnum=argnums)
    make_vjp = package.make_vjp(text, argnum=argnums)
    return Job(
        lambda: value_and_grad(*args),
        lambda out: list(out[1]),
        version("autograd"),
        lambda: make_vjp(*args),
    )


def _shared(module: ModuleType) -> list[ModuleType]:
    """The module that a workload took its loss from, when it is not its own."""
    home = module.loss.__module__
    return [importlib.import_module(home)] if home != module.__name__ else []


def mygrad(module: ModuleType) -> Job:
    """The plain text on mygrad's tensors, which implement NumPy's protocols in part."""
    import mygrad as mg

    text = _own(module, "mygrad", mg) or module.loss
    args, argnums = arguments(module), _argnums(module)

    def forward() -> tuple[Any, list[Any]]:
        tensors = [mg.tensor(a) if i in argnums else a for i, a in enumerate(args)]
        return text(*tensors), [tensors[i] for i in argnums]

    def run() -> list[Any]:
        out, leaves = forward()
        if not isinstance(out, mg.Tensor) or out.constant:
            raise TypeError("the gradient was lost: the result is a constant")
        out.backward()
        return [leaf.grad for leaf in leaves]

    return Job(run, lambda grads: grads, mg.__version__, forward)


def torch(module: ModuleType) -> Job:
    """Eager torch."""
    import torch as package

    text = _own(module, "torch", package)
    if text is None:
        raise NotImplementedError("not written for torch")
    argnums = _argnums(module)
    args = [package.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arguments(module)]
    leaves = [args[i].requires_grad_() for i in argnums]

    def run() -> Any:
        return package.autograd.grad(text(*args), leaves)

    return Job(
        run, lambda grads: [g.numpy() for g in grads], package.__version__, lambda: text(*args)
    )


def jax(module: ModuleType) -> Job:
    """JAX, compiled ahead of the first call."""
    import jax as package

    package.config.update("jax_enable_x64", True)
    text = _own(module, "jax", package)
    if text is None:
        raise NotImplementedError("not written for jax")
    argnums = _argnums(module)
    given = arguments(module)
    arrays = [i for i, a in enumerate(given) if isinstance(a, np.ndarray)]

    def on_arrays(*values: Any) -> Any:
        full = list(given)
        for i, value in zip(arrays, values, strict=True):
            full[i] = value
        return text(*full)

    places = tuple(arrays.index(i) for i in argnums)
    args = [package.device_put(given[i]) for i in arrays]
    start = time.perf_counter()
    lowered = package.jit(package.value_and_grad(on_arrays, argnums=places)).lower(*args)
    compiled = lowered.compile()
    compiling = time.perf_counter() - start
    return Job(
        lambda: package.block_until_ready(compiled(*args)),
        lambda out: [np.asarray(g) for g in out[1]],
        package.__version__,
        compiling=compiling,
    )


ADAPTERS: dict[str, Callable[[ModuleType], Job]] = {
    "numpy": plain,
    "hand": hand,
    "npgrad": npgrad,
    "autograd": autograd,
    "mygrad": mygrad,
    "torch": torch,
    "jax": jax,
}


def job(library: str, workload: str) -> Job:
    """The job of `library` on `workload`."""
    return ADAPTERS[library](load(workload))
