"""The commands: ``python -m npgrad info`` and ``coverage``.

What a command finds out is worked out elsewhere; here are the arguments and the printing.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version

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
        print(f"No function of NumPy or SciPy called {arguments.name} is in the table.")
        return 1
    for line in table.lines(found):
        print(line)
    return 0


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
    try:
        import cupy

        count = cupy.cuda.runtime.getDeviceCount()
        names = [cupy.cuda.runtime.getDeviceProperties(i)["name"].decode() for i in range(count)]
    except Exception as error:  # the driver is asked here for the first time; it may say anything
        return f"not usable: {error}"
    return f"usable: {', '.join(names)}" if names else "not usable: no device"


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
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; its result is the exit status."""
    arguments = parser().parse_args(argv)
    run: Command = arguments.run
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
