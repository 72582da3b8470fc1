"""Parcels of blocks, which one task stores, and the rates of their transfers, by which slow nodes are known.

A transfer lasts as long as its slower end needs. So a slow node is slow with all others, and each other node only with
the slow one. A node's rate is therefore the median over its partners, and each partner counts with its median transfer.
All transfers that wait for a slow node weigh as one partner.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median
from typing import Final, NamedTuple

from planner.distributed_sort.dataset.partition_reader import Slice
from planner.distributed_sort.exchange.block_fetch import Address, PackedParts
from planner.distributed_sort.node_files.run_files import head_bytes
from planner.statistics.slow_node_screening import MIN_NODES, DroppedNode, screen


class Block(NamedTuple):
    """The records of a slice for partitions `first` to `end` - 1, all of one owner. They wait in a `segment` of the
    source, from `offset` on, behind a head.

    A block that `is_retry` was in a lost parcel.
    """

    slice: Slice
    source: str
    owner: str
    first: int
    end: int
    size_bytes: int = 0
    segment: str = ""
    offset: int = 0
    is_retry: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """Key that is unique among the blocks under way."""
        return self.slice.number, self.first


Parcel = tuple[Block, ...]
"""Blocks of one owner and the same partitions, which one task stores."""


def pack(parcel: Parcel, address: Callable[[str], Address]) -> PackedParts:
    """Return the places from which to fetch the blocks of a parcel, heads and records, by the address of each node."""
    partitions = parcel[0].end - parcel[0].first
    return PackedParts(
        slices=[block.slice.number for block in parcel],
        addresses=[address(block.source) for block in parcel],
        segments=[block.segment for block in parcel],
        offsets=[block.offset for block in parcel],
        sizes_bytes=[block.size_bytes + head_bytes(partitions) for block in parcel],
        partitions=partitions,
    )


ENOUGH_TRANSFERS: Final = 6
"""Transfers of every node before any node is judged."""
_LATEST_TRANSFERS: Final = 20
"""Transfers that count for each pair of nodes; older ones do not."""
CHECKS_IN_A_ROW: Final = 4
"""Consecutive checks in which a node must be slow: while its processes start, any node is slow for a moment."""
MUCH_SLOWER: Final = 1 / 4
"""A node is much slower below this share of the median. Leaving it out costs its share of all work, too much for a
slightly slow node.
"""


_MOST_NOTED: Final = 16
"""Most blocks noted of a parcel, spread over it: on many nodes it has hundreds, of few sources, all equally long."""


@dataclass
class _Transfer:
    """Some blocks of one parcel in flight."""

    blocks: Parcel
    began_at_s: float

    def most_bytes_per_s(self, block: Block, at_s: float) -> float:
        """Return the highest rate that a block can still reach."""
        return block.size_bytes / max(at_s - self.began_at_s, 1e-3)


class TransferRates:
    """Rates of transfers between nodes, in bytes/s, from the order to the owner until the records are stored."""

    def __init__(self, *, most_partners: float = math.inf) -> None:
        self._most_partners = most_partners
        """Partners of a node that only receives: those whose blocks are noted here."""
        self._in_progress: dict[tuple[int, int], _Transfer] = {}  # by the key of the parcel's first block
        self._begun = 0
        self._slow_checks: Counter[str] = Counter()
        self._rates: dict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=_LATEST_TRANSFERS))

    def record_start(self, parcel: Parcel, *, at_s: float) -> None:
        """Note that a parcel is in flight."""
        step = -(-len(parcel) // _MOST_NOTED)
        self._begun += 1
        self._in_progress[parcel[0].key] = _Transfer(parcel[self._begun % step :: step], at_s)

    def excuse(self, have_arrived: Callable[[Sequence[Block]], Sequence[bool]], *, at_s: float) -> None:
        """Ignore blocks that have arrived but wait unusually long for others of their parcel."""
        usual = median(list(chain(*self._rates.values())) or [0.0])
        late = [
            transfer
            for transfer in self._in_progress.values()
            if any(0 < transfer.most_bytes_per_s(block, at_s) < usual for block in transfer.blocks)
        ]
        arrived = iter(have_arrived([block for transfer in late for block in transfer.blocks]))
        for transfer in late:
            waiting = tuple(block for block in transfer.blocks if not next(arrived))
            transfer.blocks = waiting or transfer.blocks

    def record_end(self, parcel: Parcel, *, arrived_blocks: Collection[int], at_s: float) -> None:
        """Note that a parcel was stored, including the blocks of the `arrived_blocks`, or was lost. Empty or excused
        blocks, and those of the owner itself, do not count.
        """
        if (transfer := self._in_progress.pop(parcel[0].key, None)) is None or not arrived_blocks:
            return
        seconds = max(at_s - transfer.began_at_s, 1e-3)
        for block in transfer.blocks:
            if block.size_bytes and block.slice.number in arrived_blocks and block.source != block.owner:
                self._rates[_pair(block)].append(block.size_bytes / seconds)

    def slow_nodes(self, names: list[str], *, at_s: float) -> list[DroppedNode]:
        """Return those of `names` that were much slower than the others in several checks in a row.

        Returns none until all have transferred enough.
        """
        if len(names) <= MIN_NODES or (medians := self._medians(names, at_s)) is None:
            return []
        screening = screen({"transfers": medians})
        usual = screening.limits[0].median_per_s
        slow = [drop for drop in screening.dropped if drop.rate_per_s < MUCH_SLOWER * usual]
        self._slow_checks = Counter({drop.node: self._slow_checks[drop.node] + 1 for drop in slow})
        return [drop for drop in slow if self._slow_checks[drop.node] >= CHECKS_IN_A_ROW]

    def _medians(self, names: list[str], at_s: float) -> dict[str, float] | None:
        """Return each node's median over its partners.

        Returns None until all have transferred enough, and with more than half of the others.
        """
        partners: dict[str, list[float]] = {name: [] for name in names}
        transfers = Counter[str]()
        for pair, rates in self._rates_between(frozenset(names), at_s).items():
            usual = median(rates)
            for name in pair:
                partners[name].append(usual)
                transfers[name] += len(rates)
        enough = min(len(names), self._most_partners) / 2
        if any(len(partners[name]) < enough or transfers[name] < ENOUGH_TRANSFERS for name in names):
            return None
        return {name: median(rates) for name, rates in partners.items()}

    def _rates_between(self, names: frozenset[str], at_s: float) -> dict[tuple[str, str], list[float]]:
        """Return the rates of the latest transfers of each pair of nodes.

        Transfers in flight that already take longer than usual count with the highest rate that they can still reach.
        """
        between = {pair: list(rates) for pair, rates in self._rates.items() if names.issuperset(pair)}
        usual = median(list(chain(*between.values())) or [0.0])
        for transfer in self._in_progress.values():
            for block in transfer.blocks:
                most, pair = transfer.most_bytes_per_s(block, at_s), _pair(block)
                if 0 < most < usual and names.issuperset(pair):
                    between.setdefault(pair, []).append(most)
        return between


def _pair(block: Block) -> tuple[str, str]:
    """Return both ends of a transfer, the same in either direction."""
    return (block.source, block.owner) if block.source < block.owner else (block.owner, block.source)
