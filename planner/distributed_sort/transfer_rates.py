"""How fast each node takes part in the shuffle, and which is much slower than the others.

A transfer lasts as long as the slower of its two ends needs, so a slow node is slow with all others, and each of the
others with it alone. So a node's rate is the median over its partners, of each of which the median transfer counts:
however many transfers wait for the slow one, they weigh as one partner.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Final

from planner.distributed_sort.send_queue import Block, Parcel
from planner.statistics.slow_node_screening import MIN_NODES, Drop, screen

ENOUGH_TRANSFERS: Final = 6
"""Of every node, before any is judged."""
_LATEST_TRANSFERS: Final = 20
"""Of every two nodes that count."""
LOOKS: Final = 4
"""In a row: a node whose processes are being started is slow for a moment."""
MUCH_SLOWER: Final = 1 / 4
"""Of the median: a node that is left out takes its share of all work with it, which a slightly slow one is worth."""


@dataclass(frozen=True)
class _Transfer:
    """A block under way, in a parcel."""

    block: Block
    parcel: Parcel
    began_at_s: float

    def most_bytes_per_s(self, at_s: float) -> float:
        """Return the most that it can reach."""
        return self.block.size_bytes / max(at_s - self.began_at_s, 1e-3)


class Pace:
    """Transfers between nodes, in bytes/s from when the owner was told until records were stored."""

    def __init__(self) -> None:
        self._under_way: dict[tuple[int, int], _Transfer] = {}  # by the block's key
        self._looks: Counter[str] = Counter()
        self._rates: dict[frozenset[str], deque[float]] = defaultdict(lambda: deque(maxlen=_LATEST_TRANSFERS))

    def began(self, parcel: Parcel, *, at_s: float) -> None:
        """Note that blocks are on their way."""
        self._under_way |= {block.key: _Transfer(block, parcel, at_s) for block in parcel}

    def excuse(self, have_come: Callable[[Sequence[Block]], Sequence[bool]], *, at_s: float) -> None:
        """Leave out of account blocks that have come but wait for others of a parcel that takes longer than usual."""
        usual, under_way = median(list(chain(*self._rates.values())) or [0.0]), self._under_way.values()
        late = {each.parcel[0].key for each in under_way if each.most_bytes_per_s(at_s) < usual}
        left = [each for each in under_way if each.parcel[0].key in late]
        come = have_come([each.block for each in left])
        waiting = {each.parcel[0].key for each, there in zip(left, come, strict=True) if not there}
        for each, there in zip(left, come, strict=True):
            if there and each.parcel[0].key in waiting:
                del self._under_way[each.block.key]

    def ended(self, block: Block, *, size_bytes: int, at_s: float) -> None:
        """Note that a block was stored; one that was lost, is empty, is excused or never left its node says nothing."""
        transfer = self._under_way.pop(block.key, None)
        if transfer is None or not size_bytes or block.source == block.owner:
            return
        self._rates[_pair(block)].append(size_bytes / max(at_s - transfer.began_at_s, 1e-3))

    def slow(self, names: list[str], *, at_s: float) -> list[Drop]:
        """Return those of `names` that are much slower than the others, and were so each time in a row of looks; none
        until all have transferred enough.
        """
        if len(names) <= MIN_NODES or (medians := self._medians(names, at_s)) is None:
            return []
        found = screen({"transfers": medians})
        usual = found.limits[0].median_per_s
        slow = [drop for drop in found.dropped if drop.rate_per_s < MUCH_SLOWER * usual]
        self._looks = Counter({drop.node: self._looks[drop.node] + 1 for drop in slow})
        return [drop for drop in slow if self._looks[drop.node] >= LOOKS]

    def _medians(self, names: list[str], at_s: float) -> dict[str, float] | None:
        """Return each node's median over its partners; None until all have transferred enough, with more than half of
        the others.
        """
        partners: dict[str, list[float]] = {name: [] for name in names}
        transfers = Counter[str]()
        for pair, rates in self._rates_between(frozenset(names), at_s).items():
            usual = median(rates)
            for name in pair:
                partners[name].append(usual)
                transfers[name] += len(rates)
        if any(2 * len(partners[name]) < len(names) or transfers[name] < ENOUGH_TRANSFERS for name in names):
            return None
        return {name: median(each) for name, each in partners.items()}

    def _rates_between(self, names: frozenset[str], at_s: float) -> dict[frozenset[str], list[float]]:
        """Return, for each two nodes, the rates of their latest transfers, and the most that those can reach which are
        under way and already take longer than usual.
        """
        between = {pair: list(rates) for pair, rates in self._rates.items() if pair <= names}
        usual = median(list(chain(*between.values())) or [0.0])
        for each in self._under_way.values():
            most, pair = each.most_bytes_per_s(at_s), _pair(each.block)
            if most < usual and pair <= names:
                between.setdefault(pair, []).append(most)
        return between


def _pair(block: Block) -> frozenset[str]:
    return frozenset({block.source, block.owner})
