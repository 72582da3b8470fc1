"""Protocol of a cloud: the calls that every cloud must support for a run, and the values they return.

`planner/clusters/provisioning/` drives a provider: preflight, then prepare and launch at one place after another, then
a watch on the nodes. Take-down deletes stage by stage the resources that the tags find. A provider keeps no state of a
run between calls: everything it needs is in the tags, so that another process can end a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Protocol, Self

from planner.clouds.cloud_errors import NotFoundError, PermissionDeniedError, RefusedCallError, StillInUseError
from planner.clouds.order import RUN_NAME, TAG_FORMS, ClusterOffer, Order, parse_stamp
from planner.errors import BadInputError, PlannerError

NodeState = Literal["starting", "running", "stopped", "ended"]
"""State of a machine. A stopped one no longer works, but is billed until it is ended."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a choice is tried; `zone` is '' for a cloud or region without zones."""

    choice: ClusterOffer
    region: str
    zone: str

    @property
    def text(self) -> str:
        """Text for people: 81 x i4i.8xlarge in us-east-1b."""
        spot = " (spot, the head on demand)" if self.choice.is_spot else ""
        weighting = f" ({self.choice.bandwidth_weighting})" if self.choice.bandwidth_weighting else ""
        return f"{self.choice.machines} x {self.choice.instance_type}{weighting}{spot} in {self.zone or self.region}"


@dataclass(frozen=True, kw_only=True)
class Resource:
    """An existing resource in the cloud that may cost money. `ending` means that its deletion has been accepted; `name`
    is the run's name for it, '' where unknown; `owner` and `origin` identify who began the run, and where. `oddity`
    quotes tags that the planner never writes, '' for none: somebody else has set them.
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
    oddity: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """Unique key: kind and id."""
        return self.kind, self.id

    @classmethod
    def from_tags(cls, tags: Mapping[str, str], *, resource_kind: str, id: str, region: str, ending: bool) -> Self:
        """Return the resource of the run that its tags name; `expires_at` is None unless the tags hold a time."""
        try:
            expires_at = parse_stamp(tags.get("planner-expires", ""))
        except ValueError:
            expires_at = None
        odd = [key for key, form in TAG_FORMS.items() if not form.fullmatch(tags.get(key, ""))]
        odd += ["planner-expires"] if expires_at is None and "planner-expires" in tags else []
        return cls(
            kind=resource_kind,
            id=id,
            region=region,
            run=tags.get("planner-run", ""),
            owner=tags.get("planner-owner", ""),
            origin=tags.get("planner-origin", ""),
            expires_at=expires_at,
            ending=ending,
            oddity=", ".join(f"{key}={tags.get(key, '')!r}" for key in odd),
        )

    @property
    def text(self) -> str:
        """Text for people, in one line: instance i-0123 in us-east-1 (run x)."""
        text = f"{self.kind} {self.id} in {self.region} (run {self.run})"
        return text if text.isprintable() else ascii(text)


def require_named(run: str | None) -> None:
    """Raise BadInputError for a name that no run has: '' and patterns such as `r*` would match others' machines."""
    if run is not None and not RUN_NAME.fullmatch(run):
        named = f"run {run!r} has a name that no run has" if run else "a run without a name"
        raise BadInputError(f"{named}: nothing is listed or deleted for it; name the run", code="unnamed-run")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A machine of a run. `id` may serve as the name of a file or a host. Addresses are '' until the cloud assigns
    them; `reason` is why a machine ended, and `ends_all` whether that would end every other machine of the region, too.
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
    ends_all: bool = False

    @property
    def is_lost(self) -> bool:
        """True if it no longer works, billed or not."""
        return self.state in ("stopped", "ended")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Result of one check of a preflight: good (True), a reason against (False), or unknown (None)."""

    subject: str
    ok: bool | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """Findings before anything is created. `places` are those left to try, in order; prices are current US dollars per
    node-hour, by (`ClusterOffer.type_with_disks`, region, how they are bought), without prices that could not be read.
    """

    findings: tuple[Finding, ...]
    places: tuple[Place, ...]
    price_usd_per_hour: dict[tuple[str, str, str], float]


@dataclass(frozen=True, kw_only=True)
class PlannedRequest:
    """A request that would be made: its service, region and all parameters."""

    service: str
    region: str
    operation: str
    parameters: dict[str, Any]


class Journal(Protocol):
    """Where a provider records each creation before it starts, and its outcome."""

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """Record, durably, that a create call follows."""

    def made(self, resource: Resource) -> None:
        """Record that the cloud has answered."""

    def creation_refused(self, resource_kind: str, *, name: str) -> None:
        """Record that the cloud has refused."""

    def ordered(self) -> tuple[Resource, ...]:
        """Return the resources made and not proven gone."""


class Provider(Protocol):
    """A cloud. All errors are PlannerErrors: the refusals above, or IoFailureError when it cannot be reached."""

    cloud: str
    account_setting: str
    """Environment variable that chooses the account, project or subscription."""
    stages: tuple[tuple[str, ...], ...]
    """Kinds of resources in the order of deletion; the next stage begins when nothing of this one is left."""
    tied_to_zone: frozenset[str]
    """Kinds that must be removed before another zone of the region is tried; the others serve there too."""
    unknown_zone: str
    """What stands for a zone of a `{region}` in a dry run, which asks for none."""

    def require_access(self) -> None:
        """Raise PermissionDeniedError where there are no credentials, or no project or subscription is set;
        BadInputError without the SDK.
        """

    def identity(self) -> str:
        """Return the caller's name according to the cloud, '' where it gives none."""

    def account(self) -> str:
        """Return where the cloud bills what is made here; see Order."""

    def dry_run(self) -> tuple[Provider, list[PlannedRequest]]:
        """Return a provider that only simulates creation and deletion, and the list of its requests.

        It asks nobody: words in <angle brackets> stand for values that only the account knows.
        """

    def preflight(self, order: Order) -> Preflight:
        """Check credentials, permissions, quota, offerings and prices; create nothing."""

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """Create everything that machines need at a place, and reuse what the run already has there."""

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """Launch `machines` machines, one of them as the head if `head`: all or none. Those of a spot choice may be
        taken back, except the head. `round` distinguishes a further launch at one place from a repetition of the first.
        """

    def restrict_ssh(self, order: Order, place: Place, journal: Journal) -> None:
        """Let only `order.ssh_from` reach the head by SSH. The new rule is added before the old ones are removed."""

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """Return the machines of a run in a region, including ended ones while the region still knows them."""

    def terminate(self, nodes: Sequence[Node]) -> None:
        """End some machines of a run for good."""

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """Return a machine's public SSH host keys, each as `type key`; none until its console shows them."""

    def regions(self) -> tuple[str, ...]:
        """Return every region that the account may use."""

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """Return the resources of these kinds with this run's tag, or any run's."""

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """Return those of some resources, of one kind and region, that exist, each looked up by its id."""

    def holders(self, resources: Sequence[Resource]) -> tuple[str, ...]:
        """Return what others, such as a service of the account, put into networks among a run's resources, and what
        removes it: until then the networks cannot be deleted.
        """

    def delete(self, resources: Sequence[Resource]) -> None:
        """Delete resources of one kind and region; those already gone are no error. Raises StillInUseError for those
        that must wait; the rest is deleted all the same.
        """


NETWORK: Final = "10.77.0.0/16"
NODES_SUBNET: Final = "10.77.0.0/17"
HEAD_SUBNET: Final = "10.77.128.0/28"
ANYWHERE: Final = "0.0.0.0/0"


def delete_each(resources: Sequence[Resource], delete: Callable[[Resource], None], *, at_once: int = 1) -> None:
    """Call `delete` for each resource whose deletion has not been accepted yet, `at_once` calls at a time.

    A resource that is gone already is no error. After requesting all deletions, raises the first refusal, else
    StillInUseError naming those that must wait.
    """
    waiting: list[str] = []
    refused: list[PlannerError] = []

    def attempt(resource: Resource) -> None:
        try:
            delete(resource)
        except NotFoundError:
            pass
        except StillInUseError as error:
            waiting.append(str(error))
        except (RefusedCallError, PermissionDeniedError) as error:  # of this one: a machine may be protected
            refused.append(error)

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(attempt, [resource for resource in resources if not resource.ending]))
    if refused:
        raise refused[0]
    if waiting:
        raise StillInUseError(f"{len(waiting)} of {len(resources)} still in use", waiting)
