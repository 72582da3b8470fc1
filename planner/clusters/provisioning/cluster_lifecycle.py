"""Creation of a cluster from an order, and its removal: a failed launch leaves nothing behind."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Node, Place, Provider, Resource
from planner.clusters.provisioning.launch import Cluster, Launch
from planner.clusters.provisioning.order_from_plan import on_demand_usd
from planner.clusters.provisioning.reconciliation import Key, Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory
from planner.clusters.provisioning.spending import commit
from planner.clusters.provisioning.teardown import Teardown
from planner.errors import InterruptedRunError, IoFailureError, PlannerError

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ProviderSession:
    """A provider, its retry policy, and the receiver of progress messages."""

    provider: Provider
    policy: RetryPolicy
    say: Say


def begin(order: Order, places: Sequence[Place] = (), *, month_usd: float | None = None) -> tuple[Order, RunDirectory]:
    """Make the run's directory and key without a request to the cloud. Raises what `commit` raises."""
    directory = commit(order, places, month_usd=month_usd)
    keyed = replace(order, ssh_public_key=make_key(directory.key, comment=f"planner-{order.run}"))
    directory.note("order", **keyed.to_dict())
    return keyed, directory


def up(order: Order, places: Sequence[Place], directory: RunDirectory, session: ProviderSession) -> Cluster:
    """Return a running cluster at the first place that provides one.

    Before any other error is raised, everything created is removed; a LeftBehindError names what could not be.
    """
    launch = Launch(order=order, provider=session.provider, directory=directory, policy=session.policy, say=session.say)
    try:
        return launch.at_first_of(places)
    except BaseException as error:
        session.say(f"taking down what was created: {error or type(error).__name__}")
        down(directory, session)
        if isinstance(error, KeyboardInterrupt):
            raise InterruptedRunError(f"run {order.run}: interrupted; all that was created has been removed") from error
        raise


def down(directory: RunDirectory, session: ProviderSession) -> int:
    """Remove all of a run's resources in the cloud and return their number. Raises LeftBehindError; IoFailureError
    where nothing is left, but the journal cannot be written.
    """
    account = Reconciliation.of(directory, provider=session.provider, policy=session.policy)
    if directory.unsure() or directory.order().expires_at < datetime.now(UTC):
        with suppress(PlannerError):  # only the bill needs unrecorded machines: without an answer, or past their end
            account.observe(directory)
    removed = Teardown(account=account, say=session.say).regions(directory.regions())
    directory.forget_key()
    try:
        directory.record_gone(directory.ordered())
        directory.note("ended", nodes=[])
        directory.note("down", removed=removed)
    except IoFailureError as error:
        raise IoFailureError(
            f"run {account.run}: nothing is left in the cloud, but its end could not be noted",
            [str(error), f"make room, and repeat `planner cluster down {account.run}`: the bill counts it as running"],
            code="not-noted",
        ) from error
    return removed


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """The resources with a run's tag, its machines, and their cost so far at the catalog's on-demand prices: None where
    it has none.
    """

    run: str
    resources: tuple[Resource, ...]
    nodes: tuple[Node, ...] = ()
    usd: float | None = None

    @property
    def launched_at(self) -> datetime | None:
        """Launch time of its first machine."""
        return min((node.launched_at for node in self.nodes if node.launched_at), default=None)

    @property
    def owners(self) -> tuple[str, ...]:
        """Owners of the run, by its tags."""
        return tuple(sorted({resource.owner for resource in self.resources if resource.owner}))

    def document(self) -> dict[str, Any]:
        """Return a sweep's output for this run as JSON-able values."""
        launched_at = self.launched_at and self.launched_at.isoformat()
        machines = {"machines": len(self.nodes), "launched_at": launched_at, "cost_usd": self.usd}
        return {"run": self.run, "owners": self.owners, "resources": len(self.resources), **machines}

    def belongs_to(self, owner: str, *, known: Collection[str], origin: str) -> bool:
        """Return whether `owner` began it on the machine `origin`, whose journals are of the `known` runs."""
        of_owner = [resource for resource in self.resources if resource.owner == owner]
        return any(self.run in known or resource.origin == origin for resource in of_owner)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Result of a sweep: each run found, the reason for each region that could not be listed, and resources that
    somebody else gave tags like the planner's.
    """

    runs: tuple[FoundRun, ...]
    unseen: dict[str, str]
    strange: tuple[Resource, ...]


def sweep(session: ProviderSession, *, regions: Sequence[str]) -> Sweep:
    """Find runs by their tags alone."""
    kinds = [resource_kind for stage in session.provider.stages for resource_kind in stage]
    by_run: dict[str, dict[Key, Resource]] = {}
    strange: dict[Key, Resource] = {}
    unseen: dict[str, str] = {}
    for _ in session.policy.settling():
        for region in [region for region in regions if region not in unseen]:
            try:
                for resource in session.provider.find(kinds, region=region):
                    (strange if resource.oddity else by_run.setdefault(resource.run, {}))[resource.key] = resource
            except PlannerError as error:
                unseen[region] = error.message
    found = (_found_run(run, tuple(resources.values()), session) for run, resources in by_run.items())
    return Sweep(runs=tuple(found), unseen=unseen, strange=tuple(strange.values()))


def _found_run(run: str, resources: tuple[Resource, ...], session: ProviderSession) -> FoundRun:
    """Return a run with its machines and cost; where either is unknown, the run can still be swept."""
    seen, regions = FoundRun(run=run, resources=resources), sorted({resource.region for resource in resources})
    with suppress(PlannerError):
        nodes = [node for region in regions for node in session.provider.nodes(run, region=region)]
        seen = replace(seen, nodes=tuple(node for node in nodes if node.state != "ended"))
        seen = replace(seen, usd=_usd_so_far(seen.nodes, session.provider.cloud))
    return seen


def _usd_so_far(nodes: Sequence[Node], cloud: str) -> float | None:
    """Return the machines' cost from launch until now at on-demand prices; None if any price or launch is unknown."""
    usd, now = 0.0, datetime.now(UTC)
    for node in nodes:
        price = on_demand_usd(cloud, node.instance_type, region=node.region)
        if price is None or node.launched_at is None:
            return None
        usd += price * (now - node.launched_at).total_seconds() / 3600
    return usd


def remove_swept(run: str, resources: Sequence[Resource], session: ProviderSession) -> int:
    """Remove the resources that a sweep found of a run. Raises LeftBehindError."""
    regions = list(dict.fromkeys(resource.region for resource in resources))
    account = Reconciliation(provider=session.provider, run=run, policy=session.policy, ordered=lambda: resources)
    return Teardown(account=account, say=session.say).regions(regions)


def has_expired(resources: Sequence[Resource], *, now: datetime | None = None) -> bool:
    """Return whether the run of these resources has expired; one without any expiry time has.

    A resource that lost its expiry time must not end a run whose other resources still have theirs.
    """
    times = [resource.expires_at for resource in resources if resource.expires_at is not None]
    return not times or max(times) < (now or datetime.now(UTC))


def make_key(path: Path, *, comment: str = "planner") -> str:
    """Make an Ed25519 key at `path`, in a directory only the owner may enter, and return its public half.

    Raises IoFailureError when OpenSSH is missing or the disk refuses.
    """
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)]
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return path.with_name(path.name + ".pub").read_text(encoding="utf-8").strip()
    except FileNotFoundError as error:
        raise IoFailureError("ssh-keygen is missing; install OpenSSH's client", code="no-ssh") from error
    except (OSError, subprocess.CalledProcessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise IoFailureError(f"{path}: cannot make an SSH key: {reason.strip()}", code="no-ssh-key") from error
