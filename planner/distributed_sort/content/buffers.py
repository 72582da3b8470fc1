"""Arrays that a process keeps from one task to the next.

The first touch of fresh memory costs more than grouping or sorting the records put there. A task with new arrays pays
that cost each time. Ray runs one task at a time in a process and copies its results, so the next task may use the same
arrays.
"""

from __future__ import annotations

import threading
from typing import Final

import numpy as np

from planner.arrays import Bytes

RAW: Final = "raw"
ORDERED: Final = "ordered"
"""Roles: records as read, and grouped or sorted records."""
_LEAST_BYTES: Final = 64 << 20
"""The first size of an array: untouched parts take no memory, and an array that grows is touched again."""
_SPARE: Final = 8
"""When an array has to grow, it grows by one byte in this many: partitions differ in size by a few percent."""


class _Arrays(threading.local):
    def __init__(self) -> None:
        self.arrays: dict[str, Bytes] = {}


_OWN: Final = _Arrays()


def array(role: str, size: int) -> Bytes:
    """Return `size` bytes with any content; in one thread a `role` gets the same memory each time.

    A call overwrites the array that an earlier call with the same role returned, so copy anything that must last.
    """
    if role not in _OWN.arrays or len(_OWN.arrays[role]) < size:
        _OWN.arrays.pop(role, None)  # frees it before the larger one is made
        _OWN.arrays[role] = np.empty(max(_LEAST_BYTES, size + size // _SPARE), np.uint8)
    return _OWN.arrays[role][:size]
