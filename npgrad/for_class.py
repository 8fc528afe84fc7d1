"""What stands for a class where it is looked up, and passes for it."""

from __future__ import annotations

from typing import Any


class ForClass:
    """An object that stands for a class: what is derived from it derives from the original.

    No class itself, since a class that has one of these for a base is asked for its subclasses.
    """

    def __init__(self, original: Any) -> None:
        self.original = original

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, self.original)

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, self.original)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.original,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.original, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self.original

    def __hash__(self) -> int:
        return hash(self.original)
