"""Compiled kernels on disk: one file a kernel, found by a key, loaded without importing Numba.

The key covers everything that can change the machine code: the generated source, the intrinsics it may call, signature,
launch bounds, compute capability, and the versions of Numba, numba-cuda, llvmlite, NVVM and nvJitLink. Files are written beside their place and
renamed, so that processes that compile at the same time never read half a file; a damaged file is ignored and rewritten.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import struct
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["directory", "key", "load", "save"]

_MAGIC = b"npgradcubin1"


def directory() -> Path:
    """Where cubins are kept: ``$NPGRAD_CUDA_CACHE``, else ``npgrad/cuda`` in the user's cache folder."""
    chosen = os.environ.get("NPGRAD_CUDA_CACHE")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "npgrad" / "cuda"


@functools.cache
def toolchain() -> str:
    """Versions of what turns Python into machine code; "absent" where a distribution is not installed."""
    names = (
        *("numba", "numba-cuda", "llvmlite", "nvidia-nvvm", "nvidia-nvjitlink"),
        *("nvidia-cuda-nvcc-cu12", "nvidia-nvjitlink-cu12"),  # of the extra cuda12
    )
    found = []
    for name in names:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"{name} absent")
    return "; ".join(found)


@functools.cache
def _intrinsics_digest() -> str:
    digest = hashlib.sha256()
    for name in ("intrinsics.py", "products.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()


def key(program: Any, capability: tuple[int, int]) -> str:
    """The file name of a program's machine code for one compute capability."""
    parts = [
        program.name,
        program.source,
        repr(program.signature),
        repr((program.threads, program.blocks)),
        repr(capability),
        toolchain(),
        _intrinsics_digest(),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:40]


def load(name: str) -> tuple[bytes, dict[str, Any]] | None:
    """The cubin and its facts (entry point), or None if there is none or the file is damaged."""
    try:
        data = (directory() / f"{name}.bin").read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 4
    if len(data) < head or not data.startswith(_MAGIC):
        return None
    (size,) = struct.unpack_from("<I", data, len(_MAGIC))
    try:
        facts = json.loads(data[head : head + size])
    except ValueError:
        return None
    cubin = data[head + size :]
    if not isinstance(facts, dict) or facts.get("sha256") != hashlib.sha256(cubin).hexdigest():
        return None
    return cubin, facts


def save(name: str, cubin: bytes, facts: dict[str, Any]) -> None:
    """Keep a cubin; a cache folder that cannot be written is not an error (the kernel is compiled again next time)."""
    facts = {**facts, "sha256": hashlib.sha256(cubin).hexdigest()}
    header = json.dumps(facts).encode()
    try:
        directory().mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=directory(), suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + struct.pack("<I", len(header)) + header + cubin)
        os.replace(temporary, directory() / f"{name}.bin")
    except OSError:
        return
