"""Run the GPU benchmarks: `python -m benchmarks.gpu [--out FILE] [--seconds N] [part ...]`."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import sys
import time
import traceback
from pathlib import Path

PARTS = ("ceilings", "rows", "planes", "scatter", "axis", "conv", "fused", "digits")


def versions() -> dict[str, str]:
    import torch

    found = {
        "python": platform.python_version(),
        "device": torch.cuda.get_device_name(),
        "cudnn": str(torch.backends.cudnn.version()),
    }
    for name in ("torch", "cupy-cuda13x", "numba", "numba-cuda", "numpy", "llvmlite"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "absent"
    import cupy

    found["driver"] = str(cupy.cuda.runtime.driverGetVersion())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"any of {', '.join(PARTS)}; all by default")
    parser.add_argument("--out", default="benchmarks/results/gpu.json", type=Path)
    parser.add_argument("--seconds", default=600.0, type=float, help="time limit")
    arguments = parser.parse_args()
    import torch

    from .timing import Record

    torch.manual_seed(0)
    record = Record(arguments.out, arguments.seconds)
    failed = 0
    for part in arguments.parts or PARTS:
        started = time.time()
        try:
            if part == "ceilings":
                from . import ceilings

                ceilings.run(record)
            elif part in ("rows", "planes"):
                from . import norms

                (norms.row_norms if part == "rows" else norms.plane_norms)(record)
            elif part in ("scatter", "axis"):
                from . import scatter

                (scatter.rows if part == "scatter" else scatter.along_axis)(record)
            elif part == "conv":
                from . import convolution

                convolution.run(record)
            elif part == "fused":
                from . import fused

                fused.run(record)
            elif part == "digits":
                from . import digits

                digits.run(record)
        except Exception:
            traceback.print_exc()
            failed += 1
        print(f"-- {part}: {time.time() - started:.1f} s", flush=True)
        record.save(**versions())
    return failed


if __name__ == "__main__":
    sys.exit(main())
