"""How fast each node takes part in the shuffle, and which is much slower than the others.

A transfer lasts as long as the slower of its two ends needs, so a slow node shows in all its own transfers, but in one
of several of every other node: medians tell them apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from dataclasses import replace
from itertools import chain
from statistics import median
from typing import Final

from planner.screening import MIN_NODES, Drop, screen
from planner.sorting.cluster.lines import Block

ENOUGH_TRANSFERS: Final = 6
"""Of every node, before any is judged."""
_LATEST_TRANSFERS: Final = 20
"""Of every node that count."""
LOOKS: Final = 4
"""In a row: a node whose processes are being started is slow for a moment."""
MUCH_SLOWER: Final = 1 / 4
"""Of the median: a node that is left out takes its share of all work with it, which a slightly slow one is worth."""


class Pace:
    """Transfers between nodes, in bytes/s from when the owner was told until records were stored."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, int], tuple[Block, float]] = {}
        self._looks: Counter[str] = Counter()
        self._rates: dict[str, deque[tuple[str, float]]] = defaultdict(lambda: deque(maxlen=_LATEST_TRANSFERS))

    def began(self, block: Block, *, at_s: float) -> None:
        """Note that a block is on its way."""
        self._under_way[block.key] = replace(block, records=None), at_s

    def ended(self, block: Block, *, size_bytes: int, at_s: float) -> None:
        """Note that a block was stored; one that was lost, or is empty, says nothing."""
        _, began_at_s = self._under_way.pop(block.key)
        if not size_bytes:
            return
        rate = size_bytes / max(at_s - began_at_s, 1e-3)
        self._rates[block.source].append((block.owner, rate))
        self._rates[block.owner].append((block.source, rate))

    def slow(self, names: list[str], *, at_s: float) -> list[Drop]:
        """Return those of `names` that are much slower than the others, and were so each time in a row of looks; none
        until all have transferred enough.
        """
        rates = self._rates_between(names, at_s)
        if len(names) <= MIN_NODES or any(len(each) < ENOUGH_TRANSFERS for each in rates.values()):
            return []
        found = screen({"transfers": {name: median(each) for name, each in rates.items()}})
        usual = found.limits[0].median_per_s
        slow = [drop for drop in found.dropped if drop.rate_per_s < MUCH_SLOWER * usual]
        self._looks = Counter({drop.node: self._looks[drop.node] + 1 for drop in slow})
        return [drop for drop in slow if self._looks[drop.node] >= LOOKS]

    def _rates_between(self, names: list[str], at_s: float) -> dict[str, list[float]]:
        """Return the rates of each node's latest transfers, and the most that those can reach which are under way and
        already take longer than usual. Transfers with nodes not named say nothing of others: a slow node that is kept
        is the last that all wait for.
        """
        rates = {name: [rate for other, rate in self._rates[name] if other in {*names} - {name}] for name in names}
        usual = median(list(chain(*rates.values())) or [0.0])
        for block, began_at_s in self._under_way.values():
            most = block.size_bytes / max(at_s - began_at_s, 1e-3)
            if most < usual and {block.source, block.owner} <= rates.keys():
                rates[block.source].append(most)
                rates[block.owner].append(most)
        return rates
