"""The device side: whether a GPU can be used and what is missing if not, and arrays in and out.

Importing this module imports nothing heavy; CuPy loads when a device array is first made, Numba only when a kernel is compiled that is
not yet in the on-disk cache (`cache`). Kernels live in `kernels`, one file an operation; they work on CuPy's current device and stream.
"""

# ruff: noqa: E501
# (generated kernel text and table rows are not broken)

from __future__ import annotations

import importlib.util
from typing import Any

__all__ = ["array", "captured", "is_available", "status", "synchronize", "to_device", "to_host"]

_INSTALL = "pip install npgrad[cuda]  (cupy-cuda13x and numba-cuda[cu13]; npgrad[cuda12] for a CUDA 12 driver)"


def _cupy() -> Any:
    """CuPy, or an error that says what is missing."""
    if importlib.util.find_spec("cupy") is None:
        raise ModuleNotFoundError(f"npgrad.cuda needs CuPy, which is not installed: {_INSTALL}")
    import cupy

    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:
        raise RuntimeError(
            f"npgrad.cuda: CuPy {cupy.__version__} is installed but finds no usable GPU driver ({error})"
        ) from None
    if not count:
        raise RuntimeError("npgrad.cuda: a CUDA driver is there, but no GPU")
    return cupy


def status() -> dict[str, str]:
    """What is there and what is missing, for people; needs no GPU and never raises.

    Returns
    -------
    dict
        ``"usable"`` ("yes", or "no: " and the reason with its remedy), ``"cupy"``, ``"numba-cuda"``, and where there is a GPU ``"device"``
        and ``"driver"``; ``"cache"`` is the folder of compiled kernels.

    Examples
    --------
    >>> import npgrad.cuda
    >>> "usable" in npgrad.cuda.status()
    True
    """
    import importlib.metadata

    from . import cache

    facts: dict[str, str] = {"usable": "yes"}
    for name, distributions in (
        ("cupy", ("cupy-cuda13x", "cupy-cuda12x", "cupy")),
        ("numba-cuda", ("numba-cuda",)),
    ):
        facts[name] = f"not installed: {_INSTALL}"
        for distribution in distributions:
            try:
                facts[name] = f"{distribution} {importlib.metadata.version(distribution)}"
                break
            except importlib.metadata.PackageNotFoundError:
                continue
    facts["cache"] = str(cache.directory())
    try:
        cupy = _cupy()
        number = cupy.cuda.runtime.getDevice()
        properties = cupy.cuda.runtime.getDeviceProperties(number)
        driver = cupy.cuda.runtime.driverGetVersion()
        major, minor = int(properties["major"]), int(properties["minor"])
        facts["device"] = f"{properties['name'].decode()}, compute capability {major}.{minor}"
        facts["driver"] = f"CUDA {driver // 1000}.{driver % 1000 // 10}"
        if (major, minor) < (8, 0):
            facts["usable"] = (
                f"no: kernels need compute capability 8.0, this GPU has {major}.{minor}"
            )
        elif facts["numba-cuda"].startswith("not installed"):
            facts["usable"] = f"no: kernels cannot be compiled without numba-cuda: {_INSTALL}"
    except Exception as error:
        facts["usable"] = f"no: {error}"
    return facts


def is_available() -> bool:
    """Whether kernels can run here: CuPy, numba-cuda, a driver and a GPU of compute capability 8.0 or newer.

    Examples
    --------
    >>> import npgrad.cuda
    >>> isinstance(npgrad.cuda.is_available(), bool)
    True
    """
    return status()["usable"] == "yes"


def to_device(x: Any) -> Any:
    """Copy a host array to CuPy's current device; a CuPy array is returned as it is.

    Parameters
    ----------
    x : array_like
        NumPy array, or what `numpy.asarray` accepts.

    Returns
    -------
    cupy.ndarray

    Examples
    --------
    >>> import numpy as np, npgrad.cuda
    >>> if npgrad.cuda.is_available():
    ...     _ = npgrad.cuda.to_device(np.ones(3))
    """
    return _cupy().asarray(x)


def to_host(x: Any) -> Any:
    """Copy a device array to a NumPy array (waits for the work that produces it); a host array is returned as it is.

    Examples
    --------
    >>> import numpy as np, npgrad.cuda
    >>> npgrad.cuda.to_host(np.arange(3))
    array([0, 1, 2])
    """
    import numpy as np

    if hasattr(x, "__cuda_array_interface__"):
        return _cupy().asnumpy(array(x))
    return np.asarray(x)


def synchronize() -> None:
    """Wait for everything launched on CuPy's current stream.

    Examples
    --------
    >>> import npgrad.cuda
    >>> if npgrad.cuda.is_available():
    ...     npgrad.cuda.synchronize()
    """
    _cupy().cuda.get_current_stream().synchronize()


def captured(function: Any) -> Any:
    """`function`, replayed as a CUDA graph when it is called again with arrays of the same shapes.

    The first call with new shapes runs the function twice, once to compile its kernels and once to record what is launched. Each later
    one copies its arrays to where the graph reads them, launches the graph and copies the results: the host does nothing else. What a
    small training step takes is then what the device takes.

    A graph repeats what the function did when it was recorded. So everything that changes must be an argument: device arrays (by value),
    or numbers and text (each new one makes a graph of its own). An array that the function finds elsewhere is read where it was;
    Python's side effects and host code happen at the recording alone; random numbers repeat. Whatever would wait for the device
    inside (``if x > 0``, ``float(x)``, a look at an index) raises.

    Parameters
    ----------
    function : callable
        Of device arrays, in containers or alone; returns device arrays. For instance ``npgrad.value_and_grad(loss)``.

    Returns
    -------
    callable
        With the same arguments and results. It keeps the memory that one call takes, for each of its last 16 graphs.

    Raises
    ------
    TypeError
        For NumPy arrays, recorded arrays, or results that are not device arrays.

    Examples
    --------
    >>> import numpy as np, npgrad
    >>> step = npgrad.cuda.captured(npgrad.value_and_grad(lambda w: np.sum(w * w)))
    >>> if npgrad.cuda.is_available():
    ...     value, gradient = step(npgrad.cuda.to_device(np.ones(3)))
    """
    from .capture import Captured

    return Captured(function)


def array(x: Any) -> Any:
    """Another library's device array (torch, jax, numba) as a CuPy array on the same memory, without a copy.

    Parameters
    ----------
    x : object
        Anything with ``__dlpack__`` on a CUDA device or ``__cuda_array_interface__``.

    Returns
    -------
    cupy.ndarray

    Raises
    ------
    TypeError
        For host arrays: nothing is copied silently, use `to_device`.

    Examples
    --------
    >>> import numpy as np, npgrad.cuda
    >>> npgrad.cuda.array(np.ones(3))
    Traceback (most recent call last):
    ...
    TypeError: npgrad.cuda.array takes a device array, not ndarray; npgrad.cuda.to_device(x) copies one to the GPU
    """
    kind = type(x)
    if kind.__module__.split(".")[0] == "cupy":
        return x
    if hasattr(x, "__dlpack_device__") and not hasattr(x, "__array_interface__"):
        device_type = int(x.__dlpack_device__()[0])
        if device_type in (2, 13):  # kDLCUDA, kDLCUDAManaged
            # a tensor that torch still differentiates refuses DLPack; its data is what is asked for here
            plain = x.detach() if getattr(x, "requires_grad", False) else x
            return _cupy().from_dlpack(plain)
    elif hasattr(x, "__cuda_array_interface__"):
        return _cupy().asarray(x)
    raise TypeError(
        f"npgrad.cuda.array takes a device array, not {kind.__name__}; npgrad.cuda.to_device(x) copies one to the GPU"
    )
