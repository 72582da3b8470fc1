"""The protocol of a cloud: what every cloud must be able to do for a run, and the values it answers with.

`planner/clusters/provisioning/` drives a provider: preflight, then prepare and launch at one place after another, then
a watch on the nodes. To take down, it deletes stage by stage what the tags find. A provider keeps nothing of a run
between calls: all it must know is in the tags, so that another process can end a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Self, runtime_checkable

from planner.clouds.cloud_errors import NotFoundError, StillInUseError
from planner.clouds.order import ClusterOffer, Order, parse_stamp
from planner.errors import BadInputError

NodeState = Literal["starting", "running", "stopped", "ended"]
"""One that has stopped does not work any more, and is paid for until it is ended."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a choice is tried; `zone` is '' for a cloud or region without."""

    choice: ClusterOffer
    region: str
    zone: str

    @property
    def text(self) -> str:
        """For people: 81 x i4i.8xlarge in us-east-1b."""
        spot = " (spot, the head on demand)" if self.choice.is_spot else ""
        weighting = f" ({self.choice.bandwidth_weighting})" if self.choice.bandwidth_weighting else ""
        return f"{self.choice.machines} x {self.choice.instance_type}{weighting}{spot} in {self.zone or self.region}"


@dataclass(frozen=True, kw_only=True)
class Resource:
    """Something that exists in the cloud and may cost money. `ending` means that its deletion has been accepted; `name`
    is what the run calls it, '' where it is not told; `owner` and `origin` say who began the run, and where.
    """

    kind: str
    id: str
    region: str
    run: str
    owner: str = ""
    origin: str = ""
    expires_at: datetime | None = None
    ending: bool = False
    name: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from all others: its kind and id."""
        return self.kind, self.id

    @classmethod
    def from_tags(cls, tags: Mapping[str, str], *, resource_kind: str, id: str, region: str, ending: bool) -> Self:
        """Return a resource of the run that its tags name; `expires_at` is None unless the tags hold a moment."""
        try:
            expires_at = parse_stamp(tags.get("planner-expires", ""))
        except ValueError:
            expires_at = None
        return cls(
            kind=resource_kind,
            id=id,
            region=region,
            run=tags.get("planner-run", ""),
            owner=tags.get("planner-owner", ""),
            origin=tags.get("planner-origin", ""),
            expires_at=expires_at,
            ending=ending,
        )

    @property
    def text(self) -> str:
        """For people: instance i-0123 in us-east-1 (run x)."""
        return f"{self.kind} {self.id} in {self.region} (run {self.run})"


def require_named(run: str | None) -> None:
    """Raise BadInputError for a run without a name: a search for its tag would match the machines of all runs."""
    if run == "":
        raise BadInputError("a run without a name: nothing is listed or deleted for it; name the run")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A machine of a run. `id` may serve as the name of a file or a host. Addresses are '' until the cloud has given
    them; `reason` says why one has ended.
    """

    id: str
    region: str
    zone: str
    head: bool
    state: NodeState
    instance_type: str
    private_address: str = ""
    public_address: str = ""
    launched_at: datetime | None = None
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether it does not work any more, paid for or not."""
        return self.state in ("stopped", "ended")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that preflight looked at: well (True), a reason against (False), or unknown (None)."""

    subject: str
    ok: bool | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What was found before anything was created. `places` are those left to try, in order; prices are US dollars per
    node-hour as of now, by (`ClusterOffer.type_with_disks`, region, how they are bought), and lack what could not be
    asked.
    """

    findings: tuple[Finding, ...]
    places: tuple[Place, ...]
    price_usd_per_hour: dict[tuple[str, str, str], float]


@dataclass(frozen=True, kw_only=True)
class PlannedRequest:
    """A request that would be made: to which service and region, and all of its parameters."""

    service: str
    region: str
    operation: str
    parameters: dict[str, Any]


class Journal(Protocol):
    """Where a provider notes what it is about to create, before it does, and what came of it."""

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """Note, durably, that a create call follows."""

    def made(self, resource: Resource) -> None:
        """Note that the cloud has answered."""

    def not_made(self, resource_kind: str, *, name: str) -> None:
        """Note that the cloud has said no."""

    def ordered(self) -> tuple[Resource, ...]:
        """Return what was made and is not proven gone."""


class Provider(Protocol):
    """A cloud. All errors are PlannerErrors: the refusals above, or IoFailureError when it cannot be reached."""

    cloud: str
    stages: tuple[tuple[str, ...], ...]
    """Kinds of resources in the order they can be deleted; the next stage begins when nothing of this one is left."""
    tied_to_zone: frozenset[str]
    """Kinds that must go before another zone of the region is tried; the others serve there too."""

    def require_access(self) -> None:
        """Raise PermissionDeniedError when there are no credentials here, or no project or subscription is named;
        BadInputError without the SDK.
        """

    def identity(self) -> str:
        """Return who the cloud says the caller is, '' where it does not say."""

    def dry_run(self) -> tuple[Provider, list[PlannedRequest]]:
        """Return a provider that only pretends to create and delete, and the list in which its requests appear.

        It asks nobody: words in <angle brackets> stand for what only the account knows.
        """

    def dry_run_place(self, order: Order) -> Place:
        """Return a place to dry_run_requests at, when preflight cannot be had."""

    def preflight(self, order: Order) -> Preflight:
        """Look at credentials, permissions, quota, offerings and prices; create nothing."""

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """Create all that machines need at a place; what the run already has there is kept and used."""

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """Launch so many machines, one of them as the head if `head`: all or none. Those of a spot choice may be taken
        back, except the head. `round` tells a further launch at one place from a repetition of the first.
        """

    def open_door(self, order: Order, place: Place, journal: Journal) -> None:
        """Let `order.ssh_from`, and nobody else, reach the head by SSH. The new rule comes before the old ones go."""

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """Return the machines of a run that a region knows, ended ones included as long as it does."""

    def terminate(self, nodes: Sequence[Node]) -> None:
        """End some machines of a run for good."""

    def regions(self) -> tuple[str, ...]:
        """Return every region that the account may use."""

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """Return what of these kinds carries this run's tag, or any run's."""

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return those of some resources, of one kind and region, that exist, each asked for by its id."""

    def holders(self, resources: Sequence[Resource]) -> tuple[str, ...]:
        """Return what somebody else, such as a service of the account, put into networks among some resources of a run,
        and what removes it: until then they cannot be deleted.
        """

    def delete(self, resources: Sequence[Resource]) -> None:
        """Delete resources of one kind and region; one that is gone already is well. Raises StillInUseError for what
        has to wait; the rest is deleted all the same.
        """


@runtime_checkable
class TellsHostKeys(Protocol):
    """A provider that can read what a machine wrote to its console while it booted."""

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """Return the machine's public SSH host keys, each as `type key`; none until the console shows them."""


NETWORK: Final = "10.77.0.0/16"
NODES_SUBNET: Final = "10.77.0.0/17"
HEAD_SUBNET: Final = "10.77.128.0/28"
ANYWHERE: Final = "0.0.0.0/0"


def delete_each(resources: Sequence[Resource], delete: Callable[[Resource], None], *, at_once: int = 1) -> None:
    """Call `delete` for each resource whose deletion has not been accepted yet, `at_once` calls at a time.

    A resource that is gone already is no error. Raises StillInUseError naming those that must wait, after all others
    have been asked for.
    """
    waiting: list[str] = []

    def attempt(resource: Resource) -> None:
        try:
            delete(resource)
        except NotFoundError:
            pass
        except StillInUseError as error:
            waiting.append(str(error))

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(attempt, [resource for resource in resources if not resource.ending]))
    if waiting:
        raise StillInUseError(f"{len(waiting)} of {len(resources)} still in use", waiting)
