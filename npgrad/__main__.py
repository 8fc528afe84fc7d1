"""The commands: ``python -m npgrad info``, ``check`` and ``coverage``.

What a command finds out is worked out elsewhere; here are the arguments and the printing.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import importlib.util
import inspect
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

import numpy as np

Command = Callable[[argparse.Namespace], int]

# The packages whose versions decide what a report of a fault needs to say.
PACKAGES = ("numpy", "numba", "llvmlite", "optree", "scipy", "cupy", "numba-cuda", "tqdm")


def info(arguments: argparse.Namespace) -> int:
    """Print versions, threads, and whether CUDA is usable or what is missing."""
    print(f"npgrad      {_version('npgrad') or 'not installed (run from a source tree)'}")
    print(f"python      {platform.python_version()} ({platform.python_implementation()})")
    print(f"system      {platform.platform()}")
    for package in PACKAGES:
        print(f"{package:12}{_version(package) or 'not installed'}")
    print(f"cores       {os.cpu_count()}")
    print(f"kernels     {_kernel_threads()}")
    print(f"cuda        {_cuda()}")
    return 0


def coverage(arguments: argparse.Namespace) -> int:
    """Print what is decided for a NumPy name, or how much of NumPy is decided."""
    from npgrad import coverage as table

    if arguments.name is None:
        counts = collections.Counter(row.decision for row in table.rows())
        for decision, count in counts.most_common():
            print(f"{decision:16}{count:4} functions")
        print("One of them: python -m npgrad coverage np.sum")
        return 0
    found = table.rows_named(arguments.name)
    if not found:
        ours = table.stand_in(arguments.name) if importlib.util.find_spec("scipy") else None
        if ours is not None:
            print(f"{arguments.name}: differentiated by {ours}, in wrapped code in its place")
            print("    forward mode and second order too; docs/scipy.md")
            return 0
        print(f"No function of NumPy or SciPy called {arguments.name} is in the table.")
        return 1
    for line in table.lines(found):
        print(line)
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Check npgrad's derivatives of your own function against finite differences."""
    from npgrad.testing import check_grads

    try:
        function = _function(arguments.function)
        arrays = _arrays(function, arguments)
    except Exception as error:  # importing somebody's module may raise anything
        known = isinstance(error, (ImportError, AttributeError, ValueError, OSError))
        kind = "" if known else f"{type(error).__name__}: "
        print(f"npgrad check: {kind}{error}", file=sys.stderr)
        return 2
    name = arguments.function
    shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in arrays)
    print(f"{name} at {shapes or 'no arguments'}, seed {arguments.seed}")
    failed = False
    for order in range(1, arguments.order + 1):
        for mode in arguments.modes:
            try:
                check_grads(
                    function,
                    arrays,
                    order=order,
                    modes=(mode,),
                    rtol=arguments.rtol,
                    samples=arguments.samples,
                    seed=arguments.seed,
                )
            except Exception as error:  # whatever the function raises is the answer
                failed = True
                print(f"  {mode}, order {order}: {type(error).__name__}: {error}")
                for note in getattr(error, "__notes__", ()):
                    print(f"    {note}")
            else:
                print(f"  {mode}, order {order}: agrees with finite differences")
        if failed:
            break
    return int(failed)


def _function(name: str) -> Callable[..., object]:
    """The function called ``package.module:function`` (or ``module:Class.method``)."""
    module, colon, path = name.partition(":")
    if not colon or not path:
        raise ValueError(f"{name!r} is not of the form package.module:function")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    found: object = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{name} is not callable")
    return found


def _arrays(function: Callable[..., object], arguments: argparse.Namespace) -> list[np.ndarray]:
    """The arguments: from a file, random of given shapes, or a random number for each needed."""
    if arguments.args is not None:
        return _fitting(function, _loaded(function, arguments.args))
    shapes = arguments.shape
    if not shapes:
        needed = [
            p
            for p in inspect.signature(function).parameters.values()
            if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        shapes = [()] * len(needed)
    rng = np.random.default_rng(arguments.seed)
    return _fitting(function, [np.asarray(rng.uniform(0.5, 1.5, shape)) for shape in shapes])


def _fitting(function: Callable[..., object], arrays: list[np.ndarray]) -> list[np.ndarray]:
    """`arrays`, if `function` can be called with them."""
    try:
        inspect.signature(function).bind(*arrays)
    except TypeError as error:
        name = getattr(function, "__name__", "the function")
        call = f"{name}{inspect.signature(function)}"
        raise ValueError(f"{call} cannot be called with {len(arrays)} arrays: {error}") from error
    return arrays


def _loaded(function: Callable[..., object], path: str) -> list[np.ndarray]:
    """The arrays of a file: by the names of the parameters, or in order where none is named so."""
    with open(path, "rb") as file:
        if file.read(4) not in (b"\x93NUM", b"PK\x03\x04"):
            raise ValueError(f"{path} is neither an .npz nor an .npy file")
    loaded = np.load(path)
    if isinstance(loaded, np.ndarray):
        return [loaded]
    with loaded:
        arrays = {key: loaded[key] for key in loaded.files}
    parameters = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if all(key.startswith("arr_") for key in arrays):  # what np.savez calls those without a name
        return list(arrays.values())
    unknown = [key for key in arrays if key not in {p.name for p in parameters}]
    missing = [p.name for p in parameters if p.default is p.empty and p.name not in arrays]
    if unknown or missing:
        raise ValueError(
            f"{path} holds {', '.join(arrays)}; the parameters are "
            f"{', '.join(p.name for p in parameters)}. Save them by these names, or without names."
        )
    given = [p.name for p in parameters if p.name in arrays]
    if given != [p.name for p in parameters[: len(given)]]:
        raise ValueError(f"{path} leaves out a parameter before {given[-1]}")
    return [arrays[name] for name in given]


def _shape(text: str) -> tuple[int, ...]:
    """``3,4`` as a shape; ``()`` or nothing is a number."""
    try:
        shape = tuple(int(part) for part in text.strip("()").split(",") if part.strip())
    except ValueError:
        shape = (-1,)
    if min(shape, default=0) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write it as 3,4")
    return shape


def _order(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no order of a derivative; 1, 2, ...")
    return int(text)


def _rtol(text: str) -> float:
    try:
        rtol = float(text)
    except ValueError:
        rtol = -1.0
    if not 0 <= rtol <= 0.1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no relative tolerance; from 0 to 0.1, beyond which wrong gradients pass"
        )
    return rtol


def _samples(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} directions check nothing; at least 1 is needed")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; 0, 1, 2, ...")
    return int(text)


def _version(package: str) -> str:
    """The installed version of `package`, or nothing."""
    names = ("cupy-cuda13x", "cupy-cuda12x", "cupy") if package == "cupy" else (package,)
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def _kernel_threads() -> str:
    """How many threads Numba's kernels use, and what decided it."""
    try:
        import numba
    except ImportError as error:  # a NumPy newer than the Numba that is installed
        return f"Numba cannot be imported: {error}"
    source = "NUMBA_NUM_THREADS" if "NUMBA_NUM_THREADS" in os.environ else "all cores"
    return f"{numba.get_num_threads()} threads ({source})"


def _cuda() -> str:
    """The devices that can be used, or what is missing."""
    missing = [name for name in ("cupy", "numba_cuda") if importlib.util.find_spec(name) is None]
    if missing:
        return f"not usable: {' and '.join(missing)} missing (pip install 'npgrad[cuda]')"
    from npgrad import cuda

    facts = cuda.status()
    if facts["usable"] != "yes":
        return f"not usable: {facts['usable'].removeprefix('no: ')}"
    import cupy

    count = cupy.cuda.runtime.getDeviceCount()
    more = f" ({count} devices)" if count > 1 else ""
    return f"usable: {facts['device']}{more}, {facts['driver']}, kernels in {facts['cache']}"


def parser() -> argparse.ArgumentParser:
    """Every command with its arguments."""
    top = argparse.ArgumentParser(prog="python -m npgrad", description="npgrad's commands")
    commands = top.add_subparsers(title="commands", required=True, metavar="command")

    def add(name: str, run: Command) -> argparse.ArgumentParser:
        text = (run.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    add("info", info)
    add("coverage", coverage).add_argument(
        "name", nargs="?", help="np.linalg.norm, linalg.norm or norm; left out: a summary"
    )
    checked = add("check", check)
    checked.add_argument("function", help="package.module:function")
    where = checked.add_mutually_exclusive_group()
    where.add_argument(
        "--args",
        metavar="FILE",
        help="an .npz file (arrays by the parameters' names, or unnamed in order), or an .npy file",
    )
    where.add_argument(
        "--shape",
        type=_shape,
        action="append",
        metavar="3,4",
        help="the shape of an argument, drawn between 0.5 and 1.5; once for each argument",
    )
    checked.add_argument("--order", type=_order, default=2, help="highest derivative (default 2)")
    checked.add_argument("--modes", nargs="+", choices=("rev", "fwd"), default=("rev", "fwd"))
    checked.add_argument(
        "--samples", type=_samples, default=1, help="random directions (default 1)"
    )
    checked.add_argument("--rtol", type=_rtol, default=None, help="relative tolerance, up to 0.1")
    checked.add_argument("--seed", type=_seed, default=0, help="of arguments and directions")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its result is the exit status."""
    arguments = parser().parse_args(argv)
    run: Command = arguments.run
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
