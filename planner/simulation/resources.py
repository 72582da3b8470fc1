"""The resources of a phase and their use by each kind of flow: from work and node groups to a `Clock`.

Every node of a group has its own devices, processors and link; a group's resources are those of one such node. The
driver and a store's request limit are shared by all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from planner.arrays import Floats, Ints
from planner.simulation.events import Capacities, Clock
from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_work import PhaseWork

ORDER: Final = 0
READ: Final = 1
COMPUTE: Final = 2
WRITE: Final = 3
SEND: Final = 4
STORE: Final = 5
READS: Final = "reads"
WRITES: Final = "writes"
"""The halves of a device that reads and writes at once; others have only the first."""
STAGES: Final = ("order", "read", "compute", "write", "send", "store")
"""The stages of a task, in turn; each is a kind of flow of every group. Sent data is written at its destination. Where
it is sent apart, a kind of flow for each pair of groups replaces `send`, and separate tasks write the data that arrives
(`store`).
"""


_SENT_PART: Final = 2 / 3
"""Share of the byte-moving processor seconds for the copies made by sender and receiver of a transfer; the task that
stores the bytes takes the rest.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """`names` (R,) of resources as in the plan, and the `usage` (K, R) and `most` (K,) of each kind of flow: `STAGES`
    of every group in turn, then, if anything is sent apart, from each group to each, then one kind for each fixed time.
    `group_of` (K,) is the group that waits for it, -1 for none.
    """

    names: tuple[str, ...]
    usage: Floats
    most: Floats
    steady: Floats
    group_of: Ints
    links: Floats
    """1 for each resource that is a link with a bucket, else 0."""
    fixed: tuple[str, ...]
    """Names of the fixed times: the last kinds of flow, in turn."""

    def clock(self, machines: Machines, tokens: Floats | None) -> Clock:
        """Return a clock at zero; links have the `tokens` (R,) that the last phase left, if there was one."""
        factor = machines.burst_bytes_per_s / machines.link_bytes_per_s if machines.bucket_bytes else 1.0
        capacities = Capacities.of(
            self.steady,
            burst=self.steady * np.where(self.links > 0, factor, 1.0),
            size=self.links * machines.bucket_bytes,
        )
        capacities.tokens = capacities.size * machines.full_share if tokens is None else tokens
        return Clock(usage=self.usage, most=self.most, capacities=capacities)


class _Names:
    """Indices of the resources of groups, and of those shared by all: `devices` in the same order for every phase of a
    job.
    """

    def __init__(self, groups: int, devices: Sequence[str]) -> None:
        self.of_group = [
            "cpu",
            "link out",
            "link in",
            *(f"{name} {way}" for name in devices for way in (READS, WRITES)),
        ]
        self.of_all = ["driver", "object_requests", "processors"]
        self.groups = groups

    def __len__(self) -> int:
        return self.groups * len(self.of_group) + len(self.of_all)

    def __call__(self, name: str, group: int = 0) -> int:
        if name in self.of_all:
            return self.groups * len(self.of_group) + self.of_all.index(name)
        return group * len(self.of_group) + self.of_group.index(name)

    def labels(self) -> tuple[str, ...]:
        """Return each resource's name in a plan."""
        words = {"link out": "network", "link in": "network", "processors": "cpu"}
        plain = [words.get(name, name.removesuffix(f" {READS}").removesuffix(f" {WRITES}")) for name in self.of_group]
        return (*(plain * self.groups), *(words.get(name, name) for name in self.of_all))


def layout(work: PhaseWork, groups: Sequence[NodeGroup], machines: Machines, *, devices: Sequence[str]) -> Layout:
    """Return the resources of a phase on some groups of nodes; all phases of a job give the same `devices`."""
    at, fixed, count = _Names(len(groups), devices), list(work.fixed_s.values()), len(groups)
    pairs = count * count if work.is_sent_by_parcel else 0
    kinds = len(STAGES) * count + pairs
    usage, most = np.zeros((kinds + len(fixed), len(at))), np.full(kinds + len(fixed), np.inf)
    steady, links = np.ones(len(at)), np.zeros(len(at))
    nodes = sum(group.nodes for group in groups)
    for number, group in enumerate(groups):
        steady[at("cpu", number)] = machines.vcpu * (nodes if machines.shares_processors else 1)
        for link in ("link out", "link in"):
            steady[at(link, number)] = machines.link_bytes_per_s
            links[at(link, number)] = 1.0 if machines.bucket_bytes else 0.0
        _fill_own_stages(usage, at, work, groups, number)
        (_fill_sent_by_parcel if pairs else _fill_sent_to_all)(usage, at, work, groups, number)
        if work.tasks:
            first = len(STAGES) * number
            most[first : first + len(STAGES)] = _rates_alone(work, work.tasks.threads, group)
    steady[at("processors")] = machines.vcpu * nodes
    if not machines.shares_processors:
        usage[:, at("processors")] = 0.0
    if work.tasks is None:
        _join_stages(usage, len(groups))
    most[kinds:] = [1 / seconds for seconds in fixed]
    group_of = np.r_[
        np.repeat(np.arange(count), len(STAGES)), np.repeat(np.arange(count), count)[:pairs], np.full(len(fixed), -1)
    ]
    return Layout(
        names=at.labels(),
        usage=usage,
        most=most,
        steady=steady,
        links=links,
        fixed=tuple(work.fixed_s),
        group_of=group_of,
    )


def _rates_alone(work: PhaseWork, threads: float, group: NodeGroup) -> list[float]:
    """Return the highest rate of each stage, however few tasks there are: a task has `threads` threads."""
    seconds = dict.fromkeys(range(len(STAGES)), 0.0)
    seconds[COMPUTE] = work.compute_s * group.slowness_of("cpu") / threads
    if work.is_sent_by_parcel:
        seconds[STORE] = _store_seconds(work) * group.slowness_of("cpu")
    return [1 / seconds[stage] if seconds[stage] else math.inf for stage in range(len(STAGES))]


def send_flow(groups: int, *, source: int, owner: int) -> int:
    """Return the kind of flow from one of `groups` groups to another."""
    return len(STAGES) * groups + source * groups + owner


def _join_stages(usage: Floats, groups: int) -> None:
    """Combine all stages of a node into its sending flow, for work that is not cut into tasks."""
    stages = usage[: groups * len(STAGES)].reshape(groups, len(STAGES), -1)
    stages[:, SEND] = stages.sum(axis=1)
    stages[:, :SEND] = 0.0


def _fill_own_stages(usage: Floats, at: _Names, work: PhaseWork, groups: Sequence[NodeGroup], number: int) -> None:
    """Fill in the use of resources by one group's stages before sending."""
    group, nodes = groups[number], sum(other.nodes for other in groups)
    order, read, compute, write = (len(STAGES) * number + stage for stage in range(SEND))
    usage[order, at("driver")] = work.driver_s * group.nodes / nodes
    usage[order, at("processors")] = work.driver_core_s * group.nodes / nodes
    for name, seconds in work.read_s.items():
        usage[read, at(f"{name} {READS}", number)] += seconds * group.slowness_of(name)
    usage[read, at("link in", number)] += work.in_bytes * group.slowness_of("network")
    streamed = work.in_bytes + work.out_bytes
    requests_s = work.requests_s * group.nodes / nodes / streamed if streamed else 0.0
    usage[read, at("object_requests")] = requests_s * work.in_bytes
    usage[compute, at("cpu", number)] = work.compute_s * group.slowness_of("cpu")
    usage[compute, at("processors")] = work.compute_s * group.slowness_of("cpu") * group.nodes
    usage[write, at("link out", number)] += work.out_bytes * group.slowness_of("network")
    usage[write, at("object_requests")] = requests_s * work.out_bytes
    own = work.own_share if work.is_sent_by_parcel else 1 - work.spread
    for name, seconds in work.write_s.items():
        usage[write, at(_writes(work, name), number)] += seconds * own * group.slowness_of(name)


def _writes(work: PhaseWork, name: str) -> str:
    return f"{name} {WRITES if name in work.both_ways else READS}"


def _fill_sent_to_all(usage: Floats, at: _Names, work: PhaseWork, groups: Sequence[NodeGroup], number: int) -> None:
    """Fill in the use of resources when a group's nodes send all of their data evenly to all nodes, which write it."""
    group, nodes = groups[number], sum(other.nodes for other in groups)
    send = len(STAGES) * number + SEND
    usage[send, at("link out", number)] += work.exchanged_bytes * group.slowness_of("network")
    moved_s = work.move_s + work.block_s
    usage[send, at("cpu", number)] += moved_s / 2 * group.slowness_of("cpu")
    for receiver, other in enumerate(groups):
        part = group.nodes / nodes
        usage[send, at("link in", receiver)] += work.exchanged_bytes * part * other.slowness_of("network")
        usage[send, at("cpu", receiver)] += moved_s / 2 * part * other.slowness_of("cpu")
        usage[send, at("processors")] += moved_s * part * other.nodes * other.slowness_of("cpu")
        for name, seconds in work.write_s.items():
            usage[send, at(_writes(work, name), receiver)] += seconds * work.spread * part * other.slowness_of(name)


def _fill_sent_by_parcel(usage: Floats, at: _Names, work: PhaseWork, groups: Sequence[NodeGroup], number: int) -> None:
    """Fill in the use of resources when each node of a group receives and stores as much as a node exchanges."""
    group = groups[number]
    store = len(STAGES) * number + STORE
    stored_s = _store_seconds(work)
    usage[store, at("cpu", number)] = stored_s * group.slowness_of("cpu")
    usage[store, at("processors")] = stored_s * group.slowness_of("cpu") * group.nodes
    for name, seconds in work.write_s.items():
        usage[store, at(_writes(work, name), number)] = seconds * (1 - work.own_share) * group.slowness_of(name)
    for source, other in enumerate(groups):
        send = send_flow(len(groups), source=source, owner=number)
        receivers = group.nodes / other.nodes
        usage[send, at("link in", number)] += work.exchanged_bytes * group.slowness_of("network")
        usage[send, at("link out", source)] += work.exchanged_bytes * receivers * other.slowness_of("network")
        usage[send, at("cpu", source)] += work.move_s * _SENT_PART / 2 * receivers * other.slowness_of("cpu")
        usage[send, at("cpu", number)] += work.move_s * _SENT_PART / 2 * group.slowness_of("cpu")
        usage[send, at("processors")] += work.move_s * _SENT_PART * group.nodes * group.slowness_of("cpu")


def _store_seconds(work: PhaseWork) -> float:
    """Return the processor seconds of tasks that store everything a node receives."""
    return work.move_s * (1 - _SENT_PART) + work.block_s
