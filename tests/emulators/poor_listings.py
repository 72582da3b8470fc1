"""Gaps in an emulated cloud's listings, as real ones have them: each is late for every resource once, short once, and
shows each machine without its addresses once. A request by id is answered in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


class PoorListings:
    """The gaps of one account."""

    def __init__(self) -> None:
        self._expected: set[tuple[str, str]] = set()
        self._cut: set[str] = set()
        self._addressed: set[str] = set()

    def shown(self, listing: str, items: Sequence[Item], *, identity: Callable[[Item], str]) -> list[Item]:
        """Return the entries that a listing shows: none on the first look that could, and once all but the last."""
        whole = [item for item in items if (listing, identity(item)) in self._expected]
        self._expected |= {(listing, identity(item)) for item in items}
        if whole and listing not in self._cut:
            self._cut.add(listing)
            return whole[:-1]
        return whole

    def has_addresses(self, machine: str) -> bool:
        """Return whether a listing shows the addresses of a running machine: not the first that shows it running."""
        told = machine in self._addressed
        self._addressed.add(machine)
        return told
