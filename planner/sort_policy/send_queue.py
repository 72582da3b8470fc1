"""A queue of blocks that are ready to be sent. They leave in parcels, so that every link always carries a few.

If all blocks were sent at once, they would share the links and arrive together; then links would be idle until more are
made. If each was sent alone, each would cost Ray a task and the disk a file: S times N of both for S slices on N nodes.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from operator import attrgetter
from typing import Final, Generic, Protocol, TypeVar

FEWEST_PARCELS: Final = 3
"""In flight to a node: one arrives, another is written, and a third is requested."""
MOST_PARCELS: Final = 9
"""In flight to a node before the next has to be full. Some wait for senders that are busy with others, and meanwhile
links need parcels.
"""
STORE_SHARE: Final = 2 / 5
"""Of the memory that a node has for blocks, for those in flight to it; as much is for its own slices."""


_SIZE_BYTES = attrgetter("size_bytes")


class Sendable(Protocol):
    """What is sent from a node `source` to a node `owner`: so many bytes for partitions `first` to `end` - 1."""

    @property
    def source(self) -> str:
        """The node that has it."""

    @property
    def owner(self) -> str:
        """The node that it goes to."""

    @property
    def first(self) -> int:
        """The first of its partitions."""

    @property
    def end(self) -> int:
        """The one after its last partition."""

    @property
    def size_bytes(self) -> float:
        """How long it is."""


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
    """A line of blocks for each owner, and how much is in flight from and to each node.

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

    def next(self, *, more_to_come: bool = False) -> Iterator[tuple[AnyBlock, ...]]:
        """Remove and yield the parcels that may go now.

        They take blocks of the sources with the fewest in flight first, and among those of the ones that have sent
        least. A parcel that is not full goes only to an owner with little in flight.
        """
        for key, line in list(self._lines.items()):
            while line.blocks and self._may_go(line, more_to_come=more_to_come):
                parcel = line.take(sorted(line.blocks, key=self._load), self._parcel_bytes)
                self._count(parcel, 1)
                for block in parcel:
                    self._from_bytes[block.source] += block.size_bytes
                yield parcel
            del self._lines[key]
            if line.blocks:  # behind its owner's other lines
                self._lines[key] = line

    def release(self, parcel: tuple[AnyBlock, ...]) -> None:
        """Note that a parcel which `next` yielded has arrived or was lost."""
        self._count(parcel, -1)

    def _load(self, source: str) -> tuple[int, float]:
        return self._from[source], self._from_bytes[source]

    def _may_go(self, line: _Line[AnyBlock], *, more_to_come: bool) -> bool:
        if line.size_bytes >= self._parcel_bytes and self._to_bytes[line.owner] < self._room_bytes:
            return True
        is_enough = line.size_bytes >= self._least_bytes or not more_to_come
        return is_enough and self._to[line.owner] < self._enough

    def _count(self, parcel: tuple[AnyBlock, ...], change: int) -> None:
        owner = parcel[0].owner
        self._to[owner] += change
        self._to_bytes[owner] += change * sum(map(_SIZE_BYTES, parcel))
        for block in parcel:
            self._from[block.source] += change
