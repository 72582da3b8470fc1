"""EC2 as a Provider."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from planner.providers.aws import instances as fleet
from planner.providers.aws import network as sites
from planner.providers.aws import preflight as looking
from planner.providers.aws import resources as kept
from planner.providers.aws.client import Connect, LiveService, Service, has_credentials
from planner.providers.aws.dry_run import Rehearsal
from planner.providers.order import Order
from planner.providers.protocol import Journal, Node, Place, PlannedRequest, Preflight, Resource
from planner.providers.retry import Pace

_HOME_REGION = "us-east-1"


class AwsProvider:
    """EC2, reached with the credentials and the endpoint that the SDK finds in its environment."""

    cloud = "aws"
    stages: tuple[tuple[str, ...], ...] = kept.STAGES
    tied_to_zone = frozenset({"instance", "volume", "network-interface", "subnet"})

    def __init__(self, *, pace: Pace, connect: Connect | None = None) -> None:
        self._pace = pace
        self._connect: Connect = lru_cache(maxsize=None)(connect or self._live)

    def _live(self, name: str, region: str) -> Service:
        return LiveService(name, region, pace=self._pace)

    def _site(self, order: Order, place: Place, journal: Journal) -> sites.Site:
        return sites.Site.of(order, self._connect("ec2", place.region), journal, self._pace)

    def rehearsing(self) -> tuple[AwsProvider, list[PlannedRequest]]:
        """See Provider."""
        rehearsal = Rehearsal(live=self._connect if has_credentials() else None)
        return AwsProvider(pace=self._pace, connect=rehearsal.connect), rehearsal.requests

    def rehearsal_place(self, order: Order) -> Place:
        """See Provider."""
        choice = order.choices[0]
        return Place(choice=choice, region=choice.regions[0], zone=f"<zone of {choice.regions[0]}>")

    def preflight(self, order: Order) -> Preflight:
        """See Provider."""
        return looking.preflight(order, self._connect)

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        sites.prepare(self._site(order, place, journal), place)

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """See Provider."""
        fleet.launch(self._site(order, place, journal), place, machines=machines, head=head, round=round)

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """See Provider."""
        return tuple(fleet.nodes(self._connect("ec2", region), run))

    def terminate(self, nodes: Sequence[Node]) -> None:
        """See Provider."""
        for region in {node.region for node in nodes}:
            ids = [node.id for node in nodes if node.region == region]
            kept.terminate(self._connect("ec2", region), ids)

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """See TellsHostKeys."""
        return fleet.host_keys(self._connect("ec2", node.region), node.id)

    def regions(self) -> tuple[str, ...]:
        """See Provider."""
        home = self._connect("ec2", _HOME_REGION)
        return tuple(region["RegionName"] for region in home.items("describe_regions", "Regions"))

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """See Provider."""
        ec2 = self._connect("ec2", region)
        return tuple(resource for kind in kinds for resource, _ in kept.find(ec2, kind, run=run))

    def delete(self, resources: Sequence[Resource]) -> None:
        """See Provider."""
        kept.delete(self._connect("ec2", resources[0].region), resources)
