"""Keep freed memory for the next sweep instead of giving it back to the system each time.

A recording allocates its arrays, and frees them all at the end. The C library then returns the top
of the heap to the system, and the next recording pays a page fault for every 4 KB: on the machine
of the decision note a quarter of an elementwise program's time. When the first large sweep ends,
the C library is told to keep up to 256 MB of freed memory, and to take blocks of up to 32 MB from
the heap. ``NPGRAD_KEEP_MEMORY=0`` in the environment leaves it alone; other C libraries than
glibc's are left alone too.
"""

from __future__ import annotations

import os
import sys

KEEP_BYTES = 256 << 20
BLOCK_BYTES = 32 << 20  # the largest that glibc takes from the heap
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # malloc.h

_done = False


def keep_freed() -> None:
    """Tell the C library, once."""
    global _done
    if _done:
        return
    _done = True
    if not sys.platform.startswith("linux") or os.environ.get("NPGRAD_KEEP_MEMORY") == "0":
        return
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES)
    mallopt(M_TRIM_THRESHOLD, KEEP_BYTES)
