"""A queue of blocks that are ready to be sent. They leave in parcels, so that every link always carries a few.

If all blocks were sent at once, they would share the links and arrive together; then links would be idle until there
are more. If each was sent separately, each would cost Ray a task and the disk a file: S times N of both for S slices on
N nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from typing import Final, Generic, Protocol, TypeVar

FEWEST_PARCELS: Final = 3
"""Least number in flight to a node: one arrives, another is written, and a third is requested."""
MOST_PARCELS: Final = 9
"""Number in flight to a node from which on the next must be full. Some wait for senders that are busy with other
parcels, and links need parcels in the meantime.
"""
STORE_SHARE: Final = 2 / 5
"""Share of a node's memory for blocks that is for those in flight to it; the same share is for its own slices."""


_SIZE_BYTES = attrgetter("size_bytes")


class Sendable(Protocol):
    """A block sent from a node `source` to a node `owner`: `size_bytes` for partitions `first` to `end` - 1."""

    @property
    def source(self) -> str:
        """The node that holds the block."""

    @property
    def owner(self) -> str:
        """The node that receives the block."""

    @property
    def first(self) -> int:
        """The block's first partition."""

    @property
    def end(self) -> int:
        """The partition after the block's last."""

    @property
    def size_bytes(self) -> float:
        """The block's size."""


AnyBlock = TypeVar("AnyBlock", bound=Sendable)


@dataclass
class _Line(Generic[AnyBlock]):
    """Blocks for one owner and the same partitions, by source."""

    owner: str
    blocks: dict[str, deque[AnyBlock]]
    size_bytes: float = 0

    def take(self, sources: list[str], most_bytes: float) -> tuple[AnyBlock, ...]:
        """Remove the oldest block of each source in turn, up to `most_bytes`, but at least one."""
        turns = zip_longest(*(self.blocks[source] for source in sources))
        parcel, size_bytes = list[AnyBlock](), 0.0
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


class SendQueue(Generic[AnyBlock]):
    """Lines of blocks for each owner, and the amounts in flight from and to each node.

    Each node has `store_bytes` of memory for blocks; a parcel of `parcel_bytes` is full. One of fewer than
    `least_bytes` waits for more while any is to come.
    """

    def __init__(self, *, store_bytes: float, parcel_bytes: float, least_bytes: float = 0) -> None:
        self._room_bytes = store_bytes * STORE_SHARE
        self._parcel_bytes = parcel_bytes
        self._least_bytes = least_bytes
        self._enough = min(MOST_PARCELS, max(FEWEST_PARCELS, int(self._room_bytes / parcel_bytes)))
        self._lines: dict[tuple[str, int, int], _Line[AnyBlock]] = {}
        self._to: Counter[str] = Counter()  # parcels in flight
        self._to_bytes: dict[str, float] = defaultdict(float)
        self._from: Counter[str] = Counter()  # blocks in flight
        self._from_bytes: dict[str, float] = defaultdict(float)  # including blocks that have arrived

    def add(self, block: AnyBlock) -> None:
        """Put a block at the end of its owner's line."""
        key = block.owner, block.first, block.end
        if (line := self._lines.get(key)) is None:
            line = self._lines[key] = _Line(block.owner, {})
        if (waiting := line.blocks.get(block.source)) is None:
            waiting = line.blocks[block.source] = deque()
        waiting.append(block)
        line.size_bytes += block.size_bytes

    def remove_lost(self, lost: frozenset[str]) -> list[AnyBlock]:
        """Remove the blocks to and from lost nodes and return them."""
        removed = list[AnyBlock]()
        for line in self._lines.values() if lost else ():
            for source in list(line.blocks) if line.owner in lost else lost.intersection(line.blocks):
                blocks = line.blocks.pop(source)
                line.size_bytes -= sum(block.size_bytes for block in blocks)
                removed += blocks
        return removed

    def next(self, *, expects_more: bool = False) -> Iterator[tuple[AnyBlock, ...]]:
        """Remove and yield the parcels that may go now.

        They first take blocks from the sources with the fewest in flight, and among these from those that have sent
        least. A parcel that is not full goes only to an owner with little in flight.
        """
        for key, line in list(self._lines.items()):
            while line.blocks and self._may_go(line, expects_more=expects_more):
                parcel = line.take(sorted(line.blocks, key=self._load), self._parcel_bytes)
                self._count(parcel, 1)
                for block in parcel:
                    self._from_bytes[block.source] += block.size_bytes
                yield parcel
            del self._lines[key]
            if line.blocks:  # moves behind its owner's other lines
                self._lines[key] = line

    def release(self, parcel: tuple[AnyBlock, ...]) -> None:
        """Record that a parcel from `next` has arrived or was lost."""
        self._count(parcel, -1)

    def _load(self, source: str) -> tuple[int, float]:
        return self._from[source], self._from_bytes[source]

    def _may_go(self, line: _Line[AnyBlock], *, expects_more: bool) -> bool:
        if line.size_bytes >= self._parcel_bytes and self._to_bytes[line.owner] < self._room_bytes:
            return True
        is_enough = line.size_bytes >= self._least_bytes or not expects_more
        return is_enough and self._to[line.owner] < self._enough

    def _count(self, parcel: tuple[AnyBlock, ...], change: int) -> None:
        owner = parcel[0].owner
        self._to[owner] += change
        self._to_bytes[owner] += change * sum(map(_SIZE_BYTES, parcel))
        for block in parcel:
            self._from[block.source] += change
