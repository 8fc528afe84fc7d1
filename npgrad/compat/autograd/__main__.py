"""``python -m npgrad.compat.autograd program.py``: a program written for autograd, on npgrad."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence

from .stand_in import install


def main(argv: Sequence[str] | None = None) -> None:
    """Run a program, or with ``-m`` a module, in which ``import autograd`` finds npgrad."""
    parser = argparse.ArgumentParser(
        prog="python -m npgrad.compat.autograd",
        description="Run a program in which `import autograd` finds npgrad.",
    )
    parser.add_argument("-m", action="store_true", dest="module", help="PROGRAM names a module")
    parser.add_argument("program", metavar="PROGRAM", help="a file, or with -m a module")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    given = parser.parse_args(argv)
    before = sys.argv, list(sys.path)
    sys.argv = [given.program, *given.arguments]
    # as Python itself: a module is looked for here, a program's own modules beside it
    sys.path.insert(0, "" if given.module else os.path.dirname(os.path.abspath(given.program)))
    try:
        with install():
            if given.module:
                runpy.run_module(given.program, run_name="__main__", alter_sys=True)
            elif os.path.exists(given.program):
                runpy.run_path(given.program, run_name="__main__")
            else:
                parser.error(f"there is no file {given.program}")
    finally:
        sys.argv, sys.path[:] = before


if __name__ == "__main__":
    main()
