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


def alignment_cost() -> None:
    """dtw-python's cost matrix: each entry is the cheapest of some sums, which one is answered.

    A step pattern is rows of (pattern, steps back along the second and the first axis, weight); a
    weight of -1 marks the entry that the sum starts from.
    """
    from dtw._globalCostMatrix import _globalCostMatrix

    def make(ans: Any, costs: Any, step_pattern: Any, *more: Any, **kwargs: Any) -> Any:
        rows = np.reshape(step_pattern._get_p(), (-1, 4), order="F")

        def sweep(g: Any) -> Any:
            reached, gradient = np.array(g["costMatrix"]), np.zeros_like(costs)
            for i, j in np.argwhere(ans["directionMatrix"] > 0)[::-1]:
                part, reached[i, j] = reached[i, j], 0.0
                for _, dj, di, weight in rows[rows[:, 0] == ans["directionMatrix"][i, j]]:
                    place = i - int(di), j - int(dj)
                    if weight == -1:
                        reached[place] += part
                    else:
                        gradient[place] += weight * part
            gradient[0, 0] += reached[0, 0]  # where every path begins
            return gradient

        return sweep

    npgrad.register_vjp(_globalCostMatrix, make)


RULES: dict[str, Callable[[], None]] = {
    f.__name__: f for f in (sea_water, wavelet, own_gradients, alignment_cost)
}
