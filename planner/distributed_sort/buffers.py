"""Arrays that a process keeps from one task to the next.

The first touch of fresh memory costs more than grouping or sorting the records that are put there, and a task that gets
new arrays and gives them back pays for it each time. Ray runs one task at a time in a process and copies what it
returns, so that the next task may have the same arrays.
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np

from planner.arrays import Bytes

RAW: Final = "raw"
ORDERED: Final = "ordered"
"""Roles: records as they came, and grouped or sorted."""
_LEAST_BYTES: Final = 64 << 20
"""An array to begin with: what is never touched takes no memory, and an array that grows is touched anew."""
_SPARE: Final = 8
"""One in so many bytes is added when an array has to grow: partitions differ in size by a few percent."""


class _Kept(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[str, Bytes] = {}


_KEPT: Final = _Kept()


def array(role: str, size: int) -> Bytes:
    """Return `size` bytes, whatever is in them: for one `role` the same memory each time, in each thread.

    What an earlier call with the same role returned is overwritten; copy what shall last.
    """
    kept = _KEPT.arrays.get(role)
    if kept is None or len(kept) < size:
        _KEPT.arrays.pop(role, None)
        del kept  # before the larger one is made
        kept = _KEPT.arrays[role] = np.empty(max(_LEAST_BYTES, size + size // _SPARE), np.uint8)
    return kept[:size]
