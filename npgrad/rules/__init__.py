"""The rules: importing this package fills the table, chapter by chapter.

A chapter imports the table, the primitives and NumPy, nothing else; SciPy's ufuncs are decided by
``special`` when one of them first turns up.
"""

from npgrad.rules import (
    decided,
)

__all__ = [
    "decided",
]
