"""The cost of losing nodes for good during the sort on a cluster.

The simulation follows `planner.distributed_sort`: the partitions of lost nodes go to the others. The lost nodes held a
part of every mapped slice. So all slices are read and grouped again, and a small part of each is sent. Input on lost
nodes is read from another copy, or made again, at the same rate. Until the loss is noticed the others continue with
their own work. Finished partitions count when there is a second copy, which is then copied again. Ordering a slice
again costs the driver as much as the first time, but its few records go along in other parcels. The driver alone has
slices grouped and partitions copied at the same time. Where coordinators order tasks, all of them give up their tasks
everywhere, and new ones begin, one phase after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.errors import BadInputError
from planner.simulation.machines import Machines, NodeGroup
from planner.simulation.phase_work import PhaseWork
from planner.simulation.sort_job import SimulatedPhase, simulate_job
from planner.sort_policy.health_checks import noticed_after_s
from planner.sort_policy.sizing import NODES_PER_COORDINATOR
from planner.units import count_text, parse_count, parse_share

COORDINATORS_BEGIN_S: Final = 0.6
"""Seconds that coordinators take to start, all at the same time (benchmarks/results/cluster.toml)."""


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The loss of `nodes` nodes after this `share` of the undisturbed time."""

    nodes: int
    share: float

    @classmethod
    def parse(cls, text: str) -> Loss:
        """Parse `node@30%` or `5@30%`. Raises BadInputError for anything else."""
        who, _, when = text.partition("@")
        try:
            loss = cls(nodes=1 if who == "node" else parse_count(who), share=parse_share(when))
        except BadInputError as error:
            raise BadInputError(
                f"--lose {text}: write node@30%, or 5@30% for five nodes ({error.message})", code="malformed"
            ) from error
        if not 0 <= loss.share < 1 or loss.nodes < 1:
            raise BadInputError(f"--lose {text}: at least one node, at 0% to 99% of the time", code="out-of-range")
        return loss


def check_loss(loss: Loss, works: Sequence[PhaseWork], *, nodes: int) -> None:
    """Raise BadInputError where the effect of a loss is unknown, or no node is left."""
    if all(work.tasks is None for work in works):
        raise BadInputError(
            "--lose: only of the sort on Ray it is known what it does about a loss; use --engine ray",
            code="unsupported-engine",
        )
    if loss.nodes >= nodes:
        raise BadInputError(
            f"--lose {loss.nodes}: of {count_text(nodes, 'node')} none would be left", code="no-node-left"
        )


def seconds_with_loss(
    works: Sequence[PhaseWork],
    groups: Sequence[NodeGroup],
    machines: Machines,
    *,
    loss: Loss,
    phases: Sequence[SimulatedPhase],
) -> float:
    """Return the seconds of a run that takes `phases` when undisturbed and loses nodes. Links' buckets then have the
    tokens left at the end of that phase.
    """
    phases_s = [phase.seconds for phase in phases]
    at_s = loss.share * sum(phases_s)
    number, before_s = 0, 0.0
    while at_s >= before_s + phases_s[number] and number < len(works) - 1:
        before_s += phases_s[number]
        number += 1
    nodes = sum(group.nodes for group in groups)
    is_coordinated = nodes > NODES_PER_COORDINATOR
    given_up = _in_progress_share(works[number]) if is_coordinated else 0.0
    done = max(0.0, min(1.0, (at_s - before_s) / phases_s[number]) - given_up)
    lost_share = loss.nodes / nodes
    left = remaining_work(works, number=number, done=done, lost_share=lost_share)
    if machines.shares_processors:  # emulated nodes: the remaining ones have the whole machine
        whole = 1 - lost_share
        left = [replace(work, read_s=_scale(work.read_s, whole), write_s=_scale(work.write_s, whole)) for work in left]
        machines = replace(machines, vcpu=machines.vcpu / whole)
    machines = replace(machines, full_share=phases[number].full_share)
    seconds = [phase.seconds for phase in simulate_job(left, remove_nodes(groups, loss.nodes), machines)]
    noticed_s = noticed_after_s(nodes)
    if number <= _shuffle_number(works):
        return at_s + max(sum(seconds), noticed_s) + is_coordinated * COORDINATORS_BEGIN_S
    again_s, open_s, restored_s, gone_s = seconds
    if is_coordinated:
        return at_s + again_s + restored_s + gone_s + max(open_s, noticed_s) + COORDINATORS_BEGIN_S
    return at_s + max(noticed_s + max(again_s, restored_s), open_s + restored_s) + gone_s


def _in_progress_share(work: PhaseWork) -> float:
    return 0.0 if work.tasks is None else work.tasks.in_progress_share


def remaining_work(works: Sequence[PhaseWork], *, number: int, done: float, lost_share: float) -> list[PhaseWork]:
    """Return the work left for each remaining node when a share of phase `number` was done.

    The result is phases in turn. After the shuffle they are the shuffle again, and partitions: the open ones, the
    finished ones that lost a copy, and the lost ones, which the shuffle makes again.
    """
    more = 1 / (1 - lost_share)  # fewer nodes share the work
    shuffled = _shuffle_number(works)
    if number < shuffled:
        return [scale_work(work, read=more, sent=more) for work in works[number:]]
    if number == shuffled:
        again = scale_work(works[number], read=more, sent=more * (1 - done + done * lost_share))
        again = replace(again, driver_s=works[number].driver_s * (1 - done) + works[number].order_s * done)
        return [again, *(scale_work(work, read=more, sent=more) for work in works[number + 1 :])]
    is_copied = works[number].spread > 0
    gone = lost_share * (1 - done if is_copied else 1.0)
    again = replace(scale_work(works[shuffled], read=more, sent=more * gone), driver_s=works[shuffled].order_s)
    open_ = (1 - done) * (1 - lost_share) * more
    restored = 2 * done * lost_share * more if is_copied else 0.0  # either copy was there
    return [
        again,
        scale_work(works[number], read=open_, sent=open_),
        replace(scale_work(works[number], read=restored, sent=restored), compute_s=0.0),
        scale_work(works[number], read=gone * more, sent=gone * more),
    ]


def _shuffle_number(works: Sequence[PhaseWork]) -> int:
    """Return the number of the phase that sends everything to everyone."""
    return next((place for place, work in enumerate(works) if work.spread == 1.0), 0)


def scale_work(work: PhaseWork, *, read: float, sent: float) -> PhaseWork:
    """Return a phase with its reading and computing scaled by `read`, and its sending and writing by `sent`."""
    return replace(
        work,
        read_s=_scale(work.read_s, read),
        write_s=_scale(work.write_s, sent),
        compute_s=work.compute_s * read,
        move_s=work.move_s * sent,
        exchanged_bytes=work.exchanged_bytes * sent,
        in_bytes=work.in_bytes * read,
        out_bytes=work.out_bytes * sent,
        driver_s=work.driver_s * read,
        driver_core_s=work.driver_core_s * read,
        requests_s=work.requests_s * read,
        tasks=work.tasks and work.tasks.times(read),
    )


def _scale(seconds: Mapping[str, float], factor: float) -> dict[str, float]:
    return {name: amount * factor for name, amount in seconds.items()}


def remove_nodes(groups: Sequence[NodeGroup], lost: int) -> list[NodeGroup]:
    """Return the groups without some nodes, taken from the largest: losses do not depend on a node's speed."""
    largest = sorted(groups, key=lambda group: -group.nodes)
    left = []
    for group in largest:
        taken = min(lost, group.nodes)
        lost -= taken
        if group.nodes > taken:
            left.append(replace(group, nodes=group.nodes - taken))
    return left
