"""Code that makes its own buffers: `wrap` lets its array makers record, wherever it was written.

``makers`` holds what ``np.zeros``, ``np.array`` and their kin become; ``plan`` which names of which
modules stand for them; this module switches them on for one call, in one context, and off again.
"""

from npgrad.wrapping.wrapper import wrap as wrap

__all__ = ["wrap"]
