"""An interrupt at a chosen line of what a wrapped call does."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from typing import Any

from npgrad.wrapping import needs, patch, plan, swaps, wrapper


def interrupted(call: Callable[[], Any], stop: int) -> int:
    """Run `call` with a KeyboardInterrupt at npgrad's line `stop`; how many lines it ran."""
    ours = {module.__file__ for module in (needs, patch, plan, swaps, wrapper)}
    count = 0

    def trace(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        if frame.f_code.co_filename in ours and event == "line":
            line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
            if "with LOCK" not in line:  # a signal cannot come between it and its exit
                count += 1
                if count == stop:
                    raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except KeyboardInterrupt:
        assert count >= stop
    finally:
        sys.settrace(None)
    return count
