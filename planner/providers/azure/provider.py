"""Azure as a Provider: one resource group for each run and place, and everything in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner.providers.azure import instances as fleet
from planner.providers.azure import network as sites
from planner.providers.azure import preflight as looking
from planner.providers.azure.access import default_access, subscription_named
from planner.providers.azure.client import Arm, LiveArm
from planner.providers.azure.cloud_errors import NotFoundError
from planner.providers.azure.dry_run import SUBSCRIPTION, PretendedArm
from planner.providers.azure.prices import Prices
from planner.providers.order import Order, parse_stamp
from planner.providers.protocol import Journal, Node, Place, PlannedRequest, Preflight, Resource
from planner.providers.retry import Pace

_GROUP = "resource-group"


class AzureProvider:
    """Azure, reached with the credentials that its SDK finds and the subscription that environment or settings name."""

    cloud = "azure"
    stages: tuple[tuple[str, ...], ...] = ((_GROUP,),)
    tied_to_zone = frozenset({_GROUP})

    def __init__(self, *, pace: Pace, arm: Arm | None = None) -> None:
        self._pace = pace
        self._arm: Arm = arm or LiveArm(pace=pace)

    def _site(self, order: Order, place: Place, journal: Journal) -> sites.Site:
        return sites.Site(order=order, arm=self._arm, journal=journal, place=place)

    def rehearsing(self) -> tuple[AzureProvider, list[PlannedRequest]]:
        """See Provider."""
        pretended = PretendedArm(subscription=subscription_named() or SUBSCRIPTION)
        return AzureProvider(pace=self._pace, arm=pretended), pretended.requests

    def rehearsal_place(self, order: Order) -> Place:
        """See Provider."""
        choice = order.choices[0]
        return Place(choice=choice, region=choice.regions[0], zone=f"{choice.regions[0]}-<zone>")

    def preflight(self, order: Order) -> Preflight:
        """See Provider."""
        return looking.preflight(order, self._arm, price=Prices(prices_url=default_access().prices_url).of)

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        sites.prepare(self._site(order, place, journal))

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """See Provider."""
        fleet.launch(self._site(order, place, journal), self._pace, machines=machines, head=head, round=round)

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """See Provider."""
        return tuple(
            node
            for group, _ in self._groups(region=region, run=run)
            for node in fleet.nodes(self._arm, group.id, region=region)
        )

    def terminate(self, nodes: Sequence[Node]) -> None:
        """See Provider."""
        for node in nodes:
            group, _, name = node.id.rpartition(".")
            try:
                self._arm.delete("machine", group, name)
            except NotFoundError:
                continue

    def regions(self) -> tuple[str, ...]:
        """See Provider. A listing of groups covers all regions: only those are named that have some of a run."""
        found = self._arm.items(_GROUP, filter="tagName eq 'planner-run'")
        return tuple(sorted({item["location"] for item in found}))

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """See Provider."""
        return tuple(group for group, _ in self._groups(region=region, run=run)) if _GROUP in kinds else ()

    def delete(self, resources: Sequence[Resource]) -> None:
        """See Provider."""
        for resource in resources:
            try:
                self._arm.delete(_GROUP, resource.id)
            except NotFoundError:
                continue

    def _groups(self, *, region: str, run: str | None) -> Iterator[tuple[Resource, dict[str, Any]]]:
        """Yield the resource groups of a run, or of any, in a region."""
        of_run = f" and tagValue eq '{run}'" if run else ""
        for item in self._arm.items(_GROUP, filter=f"tagName eq 'planner-run'{of_run}"):
            if item["location"] == region and run in (None, item["tags"]["planner-run"]):
                yield _resource(item), item


def _resource(group: dict[str, Any]) -> Resource:
    tags = group["tags"]
    try:
        expires_at = parse_stamp(tags.get("planner-expires", ""))
    except ValueError:
        expires_at = None
    return Resource(
        kind=_GROUP,
        id=group["name"],
        region=group["location"],
        run=tags["planner-run"],
        owner=tags.get("planner-owner", ""),
        expires_at=expires_at,
        ending=group.get("properties", {}).get("provisioningState") == "Deleting",
    )
