"""Blocks that are ready to be sent stand in line, and leave in parcels, so that every link carries a few at a time and
is never without.

Were all sent at once, they would share the links and arrive together, and links would be idle until more were made.
Were each sent alone, every one would cost Ray a task and the disk a file: of S slices on N nodes, S times N of both.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Final

from planner.distributed_sort.partition_reader import Slice

FEWEST_PARCELS: Final = 3
"""In flight to a node: one arrives while another is written and a third is asked for."""
MOST_PARCELS: Final = 9
"""In flight to a node before one has to be full; some wait for senders that are busy with others, and meanwhile no link
may lack.
"""
STORE_SHARE: Final = 2 / 5
"""Of a node's object store, for what is in flight to it; as much is for its own slices. When more is asked for than the
store has room for, Ray drops what has come of a block, and asks for it again only after its pull timeout.
"""


@dataclass(frozen=True, kw_only=True)
class Block:
    """What a slice holds for partitions `first` to `end` - 1, all of one owner; `records` refers to them. Its size is
    known once they are grouped. One that is sent `again` was in a parcel that was lost.
    """

    slice: Slice
    source: str
    owner: str
    first: int
    end: int
    size_bytes: int = 0
    records: Any = None
    again: bool = False

    @property
    def key(self) -> tuple[int, int]:
        """What tells this block from all others that are under way."""
        return self.slice.number, self.first


Parcel = tuple[Block, ...]
"""Blocks that one task stores: of one owner, and of the same partitions."""


@dataclass
class _Line:
    """Blocks for one owner and the same partitions, by source."""

    owner: str
    blocks: dict[str, deque[Block]]
    size_bytes: int = 0

    def take(self, sources: list[str], most_bytes: float) -> Parcel:
        """Take the oldest block of each source in turn, as many as `most_bytes` hold, and one at least."""
        turns = zip_longest(*(self.blocks[source] for source in sources))
        parcel, size_bytes = list[Block](), 0
        for block in (block for turn in turns for block in turn if block is not None):
            if parcel and size_bytes + block.size_bytes > most_bytes:
                break
            parcel.append(block)
            size_bytes += block.size_bytes
        for block in parcel:
            self.blocks[block.source].popleft()
        self.blocks = {source: waiting for source, waiting in self.blocks.items() if waiting}
        self.size_bytes -= size_bytes
        return tuple(parcel)


class Lines:
    """Lines of blocks for each owner, and how much is under way from and to each node, with `store_bytes` each; a
    parcel of `parcel_bytes` is full.
    """

    def __init__(self, *, store_bytes: int, parcel_bytes: int) -> None:
        self._room_bytes = store_bytes * STORE_SHARE
        self._parcel_bytes = parcel_bytes
        self._enough = min(MOST_PARCELS, max(FEWEST_PARCELS, int(self._room_bytes / parcel_bytes)))
        self._lines: dict[tuple[str, int, int], _Line] = {}
        self._to: Counter[str] = Counter()  # parcels
        self._to_bytes: Counter[str] = Counter()
        self._from: Counter[str] = Counter()  # blocks
        self._from_bytes: Counter[str] = Counter()  # those that have arrived count too

    def join(self, block: Block) -> None:
        """Put a block at the end of its owner's line."""
        line = self._lines.setdefault((block.owner, block.first, block.end), _Line(block.owner, {}))
        line.blocks.setdefault(block.source, deque()).append(block)
        line.size_bytes += block.size_bytes

    def leave(self, lost: frozenset[str]) -> list[Block]:
        """Take the blocks for and from lost nodes out and return them."""
        left = list[Block]()
        for line in self._lines.values() if lost else ():
            for source in list(line.blocks) if line.owner in lost else lost.intersection(line.blocks):
                gone = line.blocks.pop(source)
                line.size_bytes -= sum(block.size_bytes for block in gone)
                left += gone
        return left

    def next(self) -> Iterator[Parcel]:
        """Take out and yield the parcels that may go now: blocks of sources that send least, and of these, that have
        sent least. One that is not full goes where little is in flight.
        """
        for key, line in list(self._lines.items()):
            while line.blocks and self._may_go(line):
                parcel = line.take(sorted(line.blocks, key=self._load), self._parcel_bytes)
                self._count(parcel, 1)
                for block in parcel:
                    self._from_bytes[block.source] += block.size_bytes
                yield parcel
            del self._lines[key]
            if line.blocks:  # behind its owner's other lines, which want their turn
                self._lines[key] = line

    def done(self, parcel: Parcel) -> None:
        """Note that a parcel which `next` yielded has arrived, or never will."""
        self._count(parcel, -1)

    def _load(self, source: str) -> tuple[int, int]:
        return self._from[source], self._from_bytes[source]

    def _may_go(self, line: _Line) -> bool:
        is_full = line.size_bytes >= self._parcel_bytes and self._to_bytes[line.owner] < self._room_bytes
        return is_full or self._to[line.owner] < self._enough

    def _count(self, parcel: Parcel, change: int) -> None:
        self._to[parcel[0].owner] += change
        for block in parcel:
            self._to_bytes[block.owner] += change * block.size_bytes
            self._from[block.source] += change
