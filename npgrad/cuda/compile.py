"""Python source -> PTX -> cubin, with Numba as compiler only; needs no GPU and no driver.

Numba's dispatcher is never used: kernels are compiled for a fixed signature of raw pointers and sizes, linked by nvJitLink,
and launched by `launch`. What lives here is the only place that imports Numba (through `intrinsics`).
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
import importlib
import math
import re
import warnings
from typing import Any

from . import cache
from .source import generated

__all__ = ["cubin", "ptx"]


@functools.cache
def _scope() -> dict[str, Any]:
    """The names a kernel's source may use."""
    # first: it mends NumPy for numba-cuda, and an import sorter must not undo the order
    intrinsics = importlib.import_module(".intrinsics", __package__)
    from numba import cuda, float32, float64, int32, int64, uint32
    from numba.cuda import libdevice

    scope = {k: v for k, v in vars(intrinsics).items() if not k.startswith("_")}
    scope.update(
        cuda=cuda,
        math=math,
        float32=float32,
        float64=float64,
        int32=int32,
        int64=int64,
        uint32=uint32,
        fmul_rn=libdevice.fmul_rn,
        dmul_rn=libdevice.dmul_rn,
    )
    return scope


@functools.cache
def _macro(name: str) -> Any:
    """An intrinsic whose name carries its sizes."""
    from . import intrinsics, products

    if name.startswith("copies_"):
        return intrinsics.copies(*(int(n) for n in name.split("_")[1:]))
    return products.make(name)


def _signature(names: tuple[str, ...]) -> Any:
    from numba.cuda import types

    kinds = []
    for name in names:
        element = getattr(types, name.rstrip("*"))
        kinds.append(types.CPointer(element) if name.endswith("*") else element)
    return tuple(kinds)


def ptx(program: Any, capability: tuple[int, int]) -> str:
    """PTX text of a program for one compute capability."""
    scope = dict(_scope())
    for name in generated(program.source):
        scope[name] = _macro(name)
    exec(compile(program.source, f"<npgrad {program.name}>", "exec"), scope)
    bounds = program.threads if program.blocks is None else (program.threads, program.blocks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numba-cuda warns about its own internals
        text, _ = scope["cuda"].compile_ptx(
            scope[program.name], _signature(program.signature), cc=capability, launch_bounds=bounds
        )
    return str(text)


def _link(text: str, capability: tuple[int, int]) -> bytes:
    """PTX to machine code through nvJitLink."""
    from cuda.bindings import nvjitlink

    handle = nvjitlink.create(1, [f"-arch=sm_{capability[0]}{capability[1]}"])
    try:
        data = text.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, data, len(data), "kernel")
        nvjitlink.complete(handle)
        size = nvjitlink.get_linked_cubin_size(handle)
        out = bytearray(size)
        nvjitlink.get_linked_cubin(handle, out)
    except Exception as error:
        log = ""
        try:
            buffer = bytearray(nvjitlink.get_error_log_size(handle))
            nvjitlink.get_error_log(handle, buffer)
            log = buffer.decode(errors="replace").strip("\0 \n")
        except Exception:
            log = "no log"
        raise RuntimeError(f"nvJitLink refused the kernel: {log}") from error
    finally:
        nvjitlink.destroy(handle)
    return bytes(out)


def cubin(program: Any, capability: tuple[int, int]) -> tuple[bytes, str]:
    """Machine code and entry name, from the cache or compiled and then cached."""
    name = cache.key(program, capability)
    found = cache.load(name)
    if found is not None:
        return found[0], found[1]["entry"]
    text = ptx(program, capability)
    match = re.search(r"\.visible \.entry (\w+)\(", text)
    if match is None:
        raise RuntimeError(f"{program.name}: no entry point in the PTX")
    code = _link(text, capability)
    cache.save(name, code, {"entry": match[1], "kernel": program.name})
    return code, match[1]
