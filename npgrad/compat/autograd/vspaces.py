"""Vector spaces of arrays and nested containers: what ``autograd.extend.vspace`` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from npgrad.graph.array import unwrap
from npgrad.transforms.trees import flatten, is_single

__all__ = ["VSpace", "conjugated", "parts_of", "vspace"]


def parts_of(value: Any) -> tuple[list[Any], Any]:
    """The arrays in `value` and how to put others in their places."""
    parts, rebuild = flatten(value)
    for part in parts:
        if not is_single(part):
            raise TypeError(f"Can't find vector space for value {part!r} of type {type(part)}")
    return parts, rebuild


def _is_complex(part: Any) -> bool:
    found = getattr(part, "dtype", None)
    return found.kind == "c" if found is not None else isinstance(part, complex)


def conjugated(value: Any) -> Any:
    """Every complex array in `value` conjugated; autograd's convention in and out."""
    if not is_single(value):
        parts, rebuild = flatten(value)
        return rebuild([conjugated(p) if p is not None else None for p in parts])
    return np.conj(value) if _is_complex(value) else value


class VSpace:
    """The vector space that a value lies in: of arrays, or of containers of arrays."""

    def __init__(self, value: Any) -> None:
        parts, self._rebuild = parts_of(value)
        plain = [np.asarray(unwrap(part)) for part in parts]
        self._structure = repr(_skeleton(value))
        self._shapes = [part.shape for part in plain]
        self._dtypes = [part.dtype for part in plain]
        self.single = is_single(value)
        self.iscomplex = any(dtype.kind == "c" for dtype in self._dtypes)
        self.size = sum(
            int(np.prod(shape)) * (2 if dtype.kind == "c" else 1)
            for shape, dtype in zip(self._shapes, self._dtypes, strict=True)
        )
        self.shape: Any = self._shapes[0] if self.single else self._rebuild(list(self._shapes))
        self.dtype: Any = self._dtypes[0] if self.single else self._rebuild(list(self._dtypes))
        self.ndim = len(self.shape) if self.single else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, VSpace)
            and self._structure == other._structure
            and self._shapes == other._shapes
            and [d.kind for d in self._dtypes] == [d.kind for d in other._dtypes]
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace(shape={self.shape}, dtype={self.dtype})"

    def _made(self, make: Any) -> Any:
        return self._rebuild(
            [make(s, d)[()] for s, d in zip(self._shapes, self._dtypes, strict=True)]
        )

    def zeros(self) -> Any:
        """The zero of the space."""
        return self._made(np.zeros)

    def ones(self) -> Any:
        """Ones; 1 + 1j where numbers are complex, as autograd has it."""
        return self._made(lambda s, d: np.full(s, 1 + 1j if d.kind == "c" else 1, d))

    def randn(self) -> Any:
        """Normal random numbers from NumPy's global generator."""

        def make(shape: Any, dtype: Any) -> Any:
            drawn = np.array(np.random.randn(*shape))  # noqa: NPY002 -- seeded by its users
            if dtype.kind == "c":
                drawn = drawn + 1j * np.random.randn(*shape)  # noqa: NPY002
            return drawn.astype(dtype)

        return self._made(make)

    def standard_basis(self) -> Iterator[Any]:
        """The unit vectors; of complex numbers also those times 1j."""
        for k, (shape, dtype) in enumerate(zip(self._shapes, self._dtypes, strict=True)):
            for index in np.ndindex(*shape):
                for unit in (1, 1j) if dtype.kind == "c" else (1,):
                    parts = [
                        np.zeros(s, d) for s, d in zip(self._shapes, self._dtypes, strict=True)
                    ]
                    parts[k][index] = unit
                    yield self._rebuild([part[()] for part in parts])

    def _map(self, function: Any, *values: Any) -> Any:
        lists = [flatten(value)[0] for value in values]
        return self._rebuild([function(*parts) for parts in zip(*lists, strict=True)])

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two vectors."""
        return self._map(lambda a, b: a + b, x, y)

    mut_add = add

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A vector times a number."""
        return self._map(lambda part: part * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product Re(vdot)."""
        pairs = zip(flatten(x)[0], flatten(y)[0], strict=True)
        return sum(np.real(np.sum(np.conj(a) * b)) for a, b in pairs)

    def covector(self, x: Any) -> Any:
        """A vector as a cotangent in autograd's convention, and back: the conjugate."""
        return conjugated(x)


def _skeleton(value: Any) -> Any:
    """The containers of `value` without its numbers."""
    if is_single(value):
        return 0
    if isinstance(value, dict):
        return {key: _skeleton(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_skeleton(part) for part in value]
    return type(value).__name__


def vspace(value: Any) -> VSpace:
    """The vector space of `value`."""
    return VSpace(value)
