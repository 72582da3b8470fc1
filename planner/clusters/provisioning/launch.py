"""From an order to running machines: one place after another, all machines or none, and cleanup in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Final

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import NoCapacityError, QuotaExceededError
from planner.clouds.order import Order
from planner.clouds.protocol import Node, Place, Provider
from planner.clusters.provisioning.reconciliation import UNSEEN, Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.provisioning.teardown import Teardown
from planner.errors import ProviderRefusedError
from planner.units import format_duration

Say = Callable[[str], None]
_ROUNDS: Final = 3
"""Number of launches at one place: the first, and those that replace machines that end at boot."""


class NeverJoinedError(ProviderRefusedError):
    """Too few machines came up in time; `ends_all` if no zone of the region would give them."""

    code = "never-joined"

    def __init__(self, message: str, details: Sequence[str] = (), *, ends_all: bool = False) -> None:
        super().__init__(message, details)
        self.ends_all = ends_all


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Running machines, the head first."""

    place: Place
    nodes: tuple[Node, ...]

    @property
    def head(self) -> Node:
        """The machine reachable from outside."""
        return self.nodes[0]


def note_place(directory: RunDirectory, place: Place) -> None:
    """Record the place and choice of a run's machines, so that another process can find the cluster."""
    directory.note(
        "place",
        region=place.region,
        zone=place.zone,
        instance_type=place.choice.instance_type,
        placement_group=place.choice.placement_group,
        node_usd_per_hour=place.choice.node_usd_per_hour,
        head_usd_per_hour=place.choice.head_machine_usd_per_hour,
        beside_usd_per_hour=place.choice.beside_usd_per_hour,
        price_source=place.choice.price_source,
        choice=asdict(place.choice),
    )


@dataclass(frozen=True, kw_only=True)
class Launch:
    """Launches one order."""

    order: Order
    provider: Provider
    directory: RunDirectory
    policy: RetryPolicy
    say: Say

    @property
    def account(self) -> Reconciliation:
        """Known state of the run's resources."""
        return Reconciliation.of(self.directory, provider=self.provider, policy=self.policy)

    def at_first_of(self, places: Sequence[Place]) -> Cluster:
        """Return the cluster at the first place that provides one. The remains of each refusal are removed.

        Raises ProviderRefusedError when no place does, or at once for a refusal that holds everywhere.
        """
        refusals: list[str] = []
        full: set[tuple[str, str, str]] = set()
        closed: set[str] = set()
        for number, place in enumerate(places):
            if _of_quota(place) in full or place.region in closed:
                continue
            if number and (reason := self._too_late(place)):
                self.say(f"no: {reason}")
                refusals.append(f"{place.text}: {reason}")
                continue
            try:
                return self._at(place)
            except (NoCapacityError, NeverJoinedError, QuotaExceededError) as refusal:
                self.say(f"no: {refusal.message}")
                self.directory.note(
                    "refused",
                    place=place.text,
                    why=refusal.message,
                    capacity=isinstance(refusal, NoCapacityError),
                    region=place.region,
                    instance_type=place.choice.instance_type,
                    machines=place.choice.machines,
                )
                refusals += [f"{place.text}: {refusal.message}", *refusal.details[:1]]
                if isinstance(refusal, QuotaExceededError):
                    full.add(_of_quota(place))
                if isinstance(refusal, NeverJoinedError) and refusal.ends_all:
                    closed.add(place.region)
            left = [other for other in places[number + 1 :] if _of_quota(other) not in full]
            self._retreat(place, following=[other for other in left if other.region not in closed])
        raise ProviderRefusedError("no place gave the cluster; nothing was left there", refusals, code="no-place")

    def _too_late(self, place: Place) -> str:
        """Return the reason not to try a place; '' if the time left is enough for the run there."""
        left_s, needed_s = (self.order.expires_at - datetime.now(UTC)).total_seconds(), place.choice.expected_s
        if left_s >= needed_s:
            return ""
        left, needed = format_duration(max(0.0, left_s)), format_duration(needed_s)
        return f"machines would end in {left}, and the run is expected to take {needed}; --max-hours and --max-cost"

    def _at(self, place: Place) -> Cluster:
        self.say(f"trying {place.text}")
        note_place(self.directory, place)
        self.provider.prepare(self.order, place, self.directory)
        self.provider.launch(self.order, place, self.directory, machines=place.choice.machines, head=True, round=0)
        return _Joining(launch=self, place=place, account=self.account).cluster()

    def _retreat(self, place: Place, *, following: Sequence[Place]) -> None:
        """Remove the remains of a place, but keep what the next zone of the same region can use."""
        teardown, kinds = Teardown(account=self.account, say=self.say), {"instance", *self.provider.tied_to_zone}
        is_last = not (following and following[0].region == place.region)
        if is_last:
            teardown.regions([place.region])
        else:
            teardown.zone(place.region)
        there = [resource for resource in self.directory.ordered() if resource.region == place.region]
        self.directory.record_gone(resource for resource in there if is_last or resource.kind in kinds)
        self.directory.note("ended", nodes=[])


def _of_quota(place: Place) -> tuple[str, str, str]:
    """Return the key that a place shares with all places under the same quota."""
    return place.choice.type_with_disks, place.choice.pricing, place.region


@dataclass(frozen=True, kw_only=True)
class _Joining:
    """Waits for the machines of one place, and replaces those that end at boot."""

    launch: Launch
    place: Place
    account: Reconciliation

    def cluster(self) -> Cluster:
        """Return the cluster once all machines run, or enough of them when time is up."""
        policy, choice = self.launch.policy, self.place.choice
        rounds, replaced, launched = 1, frozenset[str](), choice.machines
        for _ in policy.polls(policy.join_s):
            nodes = self._nodes()
            running = [node for node in nodes if node.state == "running"]
            ended = [node for node in nodes if node.is_lost]
            if len(running) >= choice.machines and any(node.head for node in running):
                return self._of(running)
            lost = [node for node in ended if node.id not in replaced]
            if any(node.reason == UNSEEN for node in nodes):
                continue  # it may be the head
            if any(node.ends_all for node in lost):
                break
            if lost and rounds < _ROUNDS:
                launched += self._replace(lost, alive=[node for node in nodes if not node.is_lost], round=rounds)
                replaced, rounds = frozenset(node.id for node in ended), rounds + 1
            elif len(nodes) == len(running) + len(ended) >= launched:
                break  # no machine is starting, so no more can join
        return self._accept_without_late()

    def _nodes(self) -> list[Node]:
        """Return this place's machines, including ended ones and those not listed anywhere yet."""
        here = ((self.place.zone, self.place.choice.instance_type), ("", ""))
        nodes = self.account.nodes(region=self.place.region, unlisted_s=self.launch.policy.settle_s)
        return [node for node in nodes if (node.zone, node.instance_type) in here]

    def _replace(self, ended: list[Node], *, alive: list[Node], round: int) -> int:
        """Replace the ended machines and return the number launched; 0 if there is no capacity and enough are alive."""
        launch = self.launch
        launch.provider.terminate([node for node in ended if node.state == "stopped"])
        for node in ended:
            launch.say(f"{node.id} ended at boot: {node.reason or 'no reason given'}")
        head = not any(node.head for node in alive)
        try:
            launch.provider.launch(
                launch.order, self.place, launch.directory, machines=len(ended), head=head, round=round
            )
        except (NoCapacityError, QuotaExceededError) as refusal:
            if head or len(alive) < self.place.choice.nodes:
                raise
            launch.say(f"not replaced: {refusal.message}")
            return 0
        return len(ended)

    def _accept_without_late(self) -> Cluster:
        """Continue without the machines that have not joined, if enough have."""
        nodes, choice = self._nodes(), self.place.choice
        running = [node for node in nodes if node.state == "running"]
        late = [node for node in nodes if node.state in ("starting", "stopped")]
        if late:
            self.launch.say(f"giving up {len(late)} machines that do not run after {self.launch.policy.join_s:g} s")
            self.launch.provider.terminate(late)
            self.launch.directory.note("ended", nodes=[node.id for node in late])
        if len(running) < choice.nodes or not any(node.head for node in running):
            reasons = [f"{node.id}: {node.reason}" for node in nodes if node.is_lost and node.reason]
            raise NeverJoinedError(
                f"{len(running)} of {choice.machines} machines run; {choice.nodes} needed",
                reasons,
                ends_all=any(node.ends_all for node in nodes),
            )
        return self._of(running)

    def _of(self, running: list[Node]) -> Cluster:
        nodes = tuple(sorted(running, key=lambda node: (not node.head, node.id)))
        choice, region = self.place.choice, self.place.region
        ids = [node.id for node in nodes]
        self.launch.directory.note("up", nodes=ids, region=region, instance_type=choice.instance_type)
        self.launch.say(f"{len(nodes)} machines run in {self.place.zone or self.place.region}")
        return Cluster(place=self.place, nodes=nodes)
