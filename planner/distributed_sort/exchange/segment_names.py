"""Which segment each slice under way is grouped into (`segments`): a name is given again only after all of it was
stored at the first try.

Anything else may still be read: by a call that was given up but goes on, on a node that is lost but alive.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from itertools import count


class SegmentNames:
    """Names of segments by node."""

    def __init__(self) -> None:
        self._prefix = secrets.token_hex(4)  # other orderers, and earlier rounds, have names of their own
        self._numbers = count()
        self._free: dict[str, list[str]] = defaultdict(list)
        self._retired: dict[str, list[str]] = defaultdict(list)

    def take(self, node: str) -> str:
        """Return a name for the next slice of a node."""
        return self._free[node].pop() if self._free[node] else f"{self._prefix}-{next(self._numbers)}"

    def give_back(self, node: str, name: str, *, is_stored: bool) -> None:
        """Free a name whose slice has ended; `is_stored` says that all of it was stored at the first try."""
        (self._free if is_stored else self._retired)[node].append(name)

    def retired(self, node: str) -> tuple[str, ...]:
        """Return, once, the segments of a node that nobody shall begin to read."""
        return tuple(self._retired.pop(node, ()))
