"""Sends from a task to other nodes: all at once, in parcels, or as copies of partitions.

Parcels leave by the scheduler's own queue, and copies go where it would send them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from planner.simulation.events import Clock
from planner.simulation.machines import NodeGroup
from planner.simulation.phase_tasks import Parcels
from planner.simulation.resources import SEND, STAGES, send_flow
from planner.simulation.task_waves import TaskWaves
from planner.sort_policy.placement import copy_target
from planner.sort_policy.send_queue import SendQueue

Sent = Callable[[float], None]


@dataclass(kw_only=True, eq=False)
class ToAll:
    """One flow to all nodes for the output of a task, which they store as it comes: used to simulate many nodes."""

    clock: Clock

    def __call__(self, group: int, share: float, sent: Sent) -> None:
        """Send a share of the data that the nodes of a group have for others."""
        self.clock.start(len(STAGES) * group + SEND, share, lambda: sent(share))


class _Block(NamedTuple):
    """The output of the tasks of all nodes of a group for each node of another one.

    `size_bytes` is in shares of the data on a node, as that of one slice where several are joined: it stands for
    `slices` slices. `amount` is in shares of the data that a node exchanges, and `part` in shares of its tasks' work.
    """

    source: str
    owner: str
    size_bytes: float
    slices: float
    amount: float
    part: float
    sent: Sent
    first: int = 0
    end: int = 1


@dataclass(kw_only=True, eq=False)
class InParcels:
    """Blocks that wait in the scheduler's queue, leave in parcels, and are stored by a task of their owner."""

    clock: Clock
    groups: Sequence[NodeGroup]
    parcels: Parcels
    longest: float
    waves: list[TaskWaves]
    _queue: SendQueue[_Block] = field(init=False)

    def __post_init__(self) -> None:
        parcels = self.parcels
        self._queue = SendQueue(store_bytes=parcels.store, parcel_bytes=parcels.full, least_bytes=parcels.least)

    def __call__(self, group: int, share: float, sent: Sent) -> None:
        """Queue a block for each group; data that stays on its node is stored already."""
        nodes = sum(other.nodes for other in self.groups)
        slices = max(1.0, share / self.longest)
        sent(share / nodes)
        for owner, other in enumerate(self.groups):
            sources = self.groups[group].nodes - (owner == group)
            if sources:
                size = sources * share / nodes
                block = _Block(
                    source=str(group),
                    owner=str(owner),
                    size_bytes=size / slices,
                    slices=slices,
                    amount=size * nodes / (nodes - 1),
                    part=share * (other.nodes - (owner == group)) / nodes,
                    sent=sent,
                )
                self._queue.add(block)
        self._send()

    def _send(self) -> None:
        expects_more = any(wave.is_grouping for wave in self.waves)
        for parcel in self._queue.next(expects_more=expects_more):
            self._pull(parcel)

    def _pull(self, parcel: tuple[_Block, ...]) -> None:
        """Have the owner pull the blocks of each group; once all have arrived, a task stores them."""
        owner, amounts = int(parcel[0].owner), defaultdict[int, float](float)
        for block in parcel:
            amounts[int(block.source)] += block.amount
        left = [len(amounts)]

        def on_arrival() -> None:
            left[0] -= 1
            if not left[0]:
                self.waves[owner].store(sum(amounts.values()), lambda: self._on_stored(parcel))

        for source, amount in amounts.items():
            self.clock.start(send_flow(len(self.groups), source=source, owner=owner), amount, on_arrival)

    def _on_stored(self, parcel: tuple[_Block, ...]) -> None:
        self._queue.release(parcel)
        for block in parcel:
            block.sent(block.part)
        self._send()


@dataclass(kw_only=True, eq=False)
class AsCopies:
    """Sorted partitions that go to another node each, which stores them by a task of its own."""

    clock: Clock
    groups: Sequence[NodeGroup]
    waves: list[TaskWaves]
    _in_flight: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    _sent: dict[int, float] = field(default_factory=lambda: defaultdict(float))
    """By group, for each of its nodes."""

    def __call__(self, group: int, share: float, sent: Sent) -> None:
        """Send the partitions that all nodes of a group have sorted at the same time."""
        source = self.groups[group].nodes
        others = [owner for owner, other in enumerate(self.groups) if other.nodes > (owner == group)]
        owner = copy_target(others, in_flight=self._in_flight, sent=self._sent)
        amount = share * source / self.groups[owner].nodes
        self._in_flight[owner] += amount
        self._sent[owner] += amount

        def on_stored() -> None:
            self._in_flight[owner] -= amount
            sent(share)

        flow = send_flow(len(self.groups), source=group, owner=owner)
        self.clock.start(flow, amount, lambda: self.waves[owner].store(amount, on_stored))
