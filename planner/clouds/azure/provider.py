"""Azure as a Provider: one resource group, with everything in it, for each run and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from planner.clouds.azure import instances, network
from planner.clouds.azure.client import Arm, LiveArm, default_access, require_access, subscription_named
from planner.clouds.azure.dry_run import SUBSCRIPTION, DryRunArm
from planner.clouds.azure.network import RunNetwork
from planner.clouds.azure.preflight import Prices, preflight
from planner.clouds.calls.azure import SUBSCRIPTION_VARIABLE, identity_in
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.cloud_init import host_keys_in
from planner.clouds.order import Order
from planner.clouds.protocol import (
    Journal,
    Node,
    Place,
    PlannedRequest,
    Preflight,
    Resource,
    delete_each,
    require_named,
)

_GROUP = "resource-group"


class AzureProvider:
    """Azure, with the credentials that its SDK finds and the subscription from the environment or settings."""

    cloud = "azure"
    account_setting = SUBSCRIPTION_VARIABLE
    stages: tuple[tuple[str, ...], ...] = ((_GROUP,),)
    tied_to_zone = frozenset({_GROUP})
    unknown_zone = "{region}-<zone>"

    def __init__(self, *, policy: RetryPolicy, arm: Arm | None = None) -> None:
        self._policy = policy
        self._arm: Arm = arm or LiveArm(policy=policy)

    def _network(self, order: Order, place: Place, journal: Journal) -> RunNetwork:
        return RunNetwork(order=order, arm=self._arm, journal=journal, place=place)

    def require_access(self) -> None:
        """See Provider."""
        require_access()

    def identity(self) -> str:
        """See Provider. Azure names the caller only in tokens, which the caller should not read."""
        return identity_in(subscription_named())

    def account(self) -> str:
        """See Provider."""
        return self._arm.subscription

    def dry_run(self) -> tuple[AzureProvider, list[PlannedRequest]]:
        """See Provider."""
        pretended = DryRunArm(subscription=subscription_named() or SUBSCRIPTION)
        return AzureProvider(policy=self._policy, arm=pretended), pretended.requests

    def preflight(self, order: Order) -> Preflight:
        """See Provider."""
        return preflight(order, self._arm, price=Prices(prices_url=default_access().prices_url).of)

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        network.prepare(self._network(order, place, journal))

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """See Provider."""
        instances.launch(self._network(order, place, journal), self._policy, machines=machines, head=head, round=round)

    def restrict_ssh(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        network.restrict_ssh(self._network(order, place, journal))

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """See Provider."""
        return tuple(
            node
            for group, _ in self._groups(region=region, run=run)
            for node in instances.nodes(self._arm, group.id, run=run, region=region)
        )

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """See Provider. Boot diagnostics, in Azure's own storage, keep the console."""
        group, _, name = node.id.rpartition(".")
        return host_keys_in(self._arm.console(group, name))

    def terminate(self, nodes: Sequence[Node]) -> None:
        """See Provider."""
        machines = [Resource(kind="instance", id=node.id, region=node.region, run="") for node in nodes]
        delete_each(machines, self._delete_machine, at_once=self._arm.at_once)

    def _delete_machine(self, machine: Resource) -> None:
        group, _, name = machine.id.rpartition(".")
        self._arm.delete("machine", group, name)

    def regions(self) -> tuple[str, ...]:
        """See Provider. A listing of groups covers all regions: only those with a run's groups are returned."""
        groups = self._arm.items(_GROUP, filter="tagName eq 'planner-run'")
        return tuple(sorted({group["location"] for group in groups}))

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """See Provider."""
        return tuple(group for group, _ in self._groups(region=region, run=run)) if _GROUP in kinds else ()

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """See Provider."""
        with ThreadPoolExecutor(self._arm.at_once) as pool:
            return tuple(resource for resource in pool.map(self._found, resources) if resource is not None)

    def _found(self, resource: Resource) -> Resource | None:
        group, _, name = resource.id.rpartition(".")
        kind_and_names = (_GROUP, resource.id) if resource.kind == _GROUP else ("machine", group, name)
        try:
            item = self._arm.get(*kind_and_names)
        except NotFoundError:
            return None
        return replace(resource, ending=_is_ending(item))

    def holders(self, resources: Sequence[Resource]) -> tuple[str, ...]:
        """See Provider. Deleting a group also deletes what others put into it."""
        return ()

    def delete(self, resources: Sequence[Resource]) -> None:
        """See Provider."""
        delete_each(resources, lambda group: self._arm.delete(_GROUP, group.id))

    def _groups(self, *, region: str, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
        """Yield the resource groups of a run, or of any, in a region."""
        require_named(run)
        of_run = f" and tagValue eq '{run}'" if run else ""
        for item in self._arm.items(_GROUP, filter=f"tagName eq 'planner-run'{of_run}"):
            tags = item.get("tags") or {}  # Azure also returns those whose key differs in case
            if item["location"] == region and run in (None, tags.get("planner-run")):
                resource = Resource.from_tags(
                    tags, resource_kind=_GROUP, id=item["name"], region=item["location"], ending=_is_ending(item)
                )
                yield resource, item


def _is_ending(item: dict[str, Any]) -> bool:
    return bool(item.get("properties", {}).get("provisioningState") == "Deleting")
