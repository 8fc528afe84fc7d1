"""Rules for functions of packages that are compiled: the programs that call them stay unchanged.

The only chapter that knows npgrad; each entry is called once, before its program is differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import npgrad


def sea_water() -> None:
    """``gsw.rho``: the package has its first derivatives, by salinity, temperature, pressure."""
    import gsw

    def maker(i: int) -> Callable[..., Any]:
        def make(ans: Any, *args: Any) -> Callable[[Any], Any]:
            return lambda g: g * gsw.rho_first_derivatives(*args)[i]

        return make

    npgrad.register_vjp(gsw._wrapped_ufuncs._gsw_ufuncs.rho, *map(maker, range(3)))


def wavelet() -> None:
    """``pywt.dwt`` is linear in the signal: its matrix is the transform of the identity."""
    import pywt

    def make(ans: Any, data: Any, wavelet: Any, *more: Any, **kwargs: Any) -> Callable[[Any], Any]:
        matrices = pywt.dwt(np.eye(data.shape[-1]), wavelet, *more, **kwargs)
        return lambda g: sum(m @ part for m, part in zip(matrices, g, strict=True))

    npgrad.register_vjp(pywt.dwt, make)


def own_gradients() -> None:
    """``umap.distances``: each distance has a ``*_grad`` by its first point beside it.

    It is symmetric in the two points. Its numbers are in single precision.
    """
    from umap import distances

    for name in ("cosine", "minkowski"):
        gradient = getattr(distances, f"{name}_grad")

        def first(ans: Any, x: Any, y: Any, *p: Any, of: Any = gradient) -> Callable[[Any], Any]:
            return lambda g: g * of(x, y, *p)[1].astype(x.dtype)

        def second(ans: Any, x: Any, y: Any, *p: Any, of: Any = gradient) -> Callable[[Any], Any]:
            return lambda g: g * of(y, x, *p)[1].astype(y.dtype)

        npgrad.register_vjp(getattr(distances, name), first, second)


RULES: dict[str, Callable[[], None]] = {f.__name__: f for f in (sea_water, wavelet, own_gradients)}
