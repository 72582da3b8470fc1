"""Slices that were lost again and again although no node is: each rests a while before it is grouped again.

A service that died begins anew within seconds, but within minutes where the processors are busy. Until then its node
stores nothing, and a slice would use up all its attempts in a moment.
"""

from __future__ import annotations

import time
from typing import Final

_AT_ONCE: Final = 2
"""So many attempts follow each other at once; then the pause doubles each time."""
_LONGEST_PAUSE_S: Final = 30.0


class PausedSlices:
    """Slices by number, and when each may be grouped again."""

    def __init__(self) -> None:
        self._until_s: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._until_s)

    def add(self, number: int, *, attempts: int) -> None:
        """Have a slice rest that was tried so often."""
        pause_s = min(2.0 ** (attempts - _AT_ONCE - 1), _LONGEST_PAUSE_S) if attempts > _AT_ONCE else 0.0
        self._until_s[number] = time.monotonic() + pause_s

    def rested(self) -> list[int]:
        """Return the slices that have rested, and forget them."""
        now_s = time.monotonic()
        numbers = [number for number, until_s in self._until_s.items() if now_s >= until_s]
        for number in numbers:
            del self._until_s[number]
        return numbers

    def clear(self) -> None:
        """Forget all."""
        self._until_s.clear()
