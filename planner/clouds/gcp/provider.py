"""Compute Engine as a Provider."""

from __future__ import annotations

from collections.abc import Sequence

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_init import host_keys_in
from planner.clouds.gcp import instances, network
from planner.clouds.gcp.client import Compute, LiveCompute, default_access, project_named
from planner.clouds.gcp.dry_run import PROJECT, DryRunCompute
from planner.clouds.gcp.network import RunNetwork
from planner.clouds.gcp.preflight import Prices, preflight
from planner.clouds.gcp.resources import STAGES, delete, find, look_up
from planner.clouds.order import Order
from planner.clouds.protocol import Journal, Node, Place, PlannedRequest, Preflight, Resource


class GcpProvider:
    """Compute Engine, with the credentials, project and addresses from gcloud and the settings file."""

    cloud = "gcp"
    account_setting = "GOOGLE_CLOUD_PROJECT"
    stages: tuple[tuple[str, ...], ...] = STAGES
    tied_to_zone = frozenset({"operation", "instance", "disk"})
    unknown_zone = "{region}-<zone>"

    def __init__(self, *, policy: RetryPolicy, compute: Compute | None = None) -> None:
        self._policy = policy
        self._compute: Compute = compute or LiveCompute(policy=policy)

    def require_access(self) -> None:
        """See Provider."""
        default_access()

    def identity(self) -> str:
        """See Provider."""
        account = default_access().account
        return account if "@" in account else ""

    def account(self) -> str:
        """See Provider."""
        return self._compute.project

    def dry_run(self) -> tuple[GcpProvider, list[PlannedRequest]]:
        """See Provider."""
        pretended = DryRunCompute(project=project_named() or PROJECT)
        return GcpProvider(policy=self._policy, compute=pretended), pretended.requests

    def preflight(self, order: Order) -> Preflight:
        """See Provider."""
        access = default_access()
        regions = {region for choice in order.choices for region in choice.regions}
        price = Prices(access=access, regions=sorted(regions)).of
        return preflight(order, self._compute, account=access.account, price=price)

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        run_network = RunNetwork.of(order, self._compute, journal, region=place.region)
        network.prepare(run_network, place)

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """See Provider."""
        run_network = self._network(order, place, journal)
        instances.launch(run_network, place, machines=machines, head=head, round=round)

    def _network(self, order: Order, place: Place, journal: Journal) -> RunNetwork:
        """Return a run's network without looking up its resources."""
        return RunNetwork(order=order, compute=self._compute, journal=journal, region=place.region, existing=set())

    def restrict_ssh(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        network.restrict_ssh(self._network(order, place, journal))

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """See Provider."""
        return tuple(instances.nodes(self._compute, run, region=region))

    def terminate(self, nodes: Sequence[Node]) -> None:
        """See Provider."""
        if nodes:
            delete(self._compute, [Resource(kind="instance", id=node.id, region=node.region, run="") for node in nodes])

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """See Provider."""
        zone, _, name = node.id.rpartition(".")
        console = self._compute.get("instances.getSerialPortOutput", zone=zone, instance=name)
        return host_keys_in(str(console.get("contents", "")))

    def regions(self) -> tuple[str, ...]:
        """See Provider."""
        return tuple(region["name"] for region in self._compute.items("regions.list"))

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """See Provider."""
        return tuple(
            resource
            for resource_kind in kinds
            for resource, _ in find(self._compute, resource_kind, region=region, run=run)
        )

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """See Provider."""
        return look_up(self._compute, resources)

    def holders(self, resources: Sequence[Resource]) -> tuple[str, ...]:
        """See Provider. Google's services put nothing into a run's network."""
        return ()

    def delete(self, resources: Sequence[Resource]) -> None:
        """See Provider."""
        delete(self._compute, resources)
