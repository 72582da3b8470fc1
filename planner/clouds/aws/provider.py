"""EC2 as a Provider."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

from planner.clouds.aws import instances, network
from planner.clouds.aws.client import Connect, LiveService, Service, require_credentials
from planner.clouds.aws.dry_run import DryRun
from planner.clouds.aws.network import RunNetwork
from planner.clouds.aws.preflight import preflight
from planner.clouds.aws.resources import delete, find, holders, look_up, terminate
from planner.clouds.calls.facts import facts_of
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import Order
from planner.clouds.protocol import Journal, Node, Place, PlannedRequest, Preflight, Resource
from planner.config.cloud_defaults import default_region

_USUAL_REGION = "us-east-1"


def home_region() -> str:
    """Return where to ask what holds for the whole account: GovCloud and China do not know others' regions, and an
    organisation may close any region but its own.
    """
    default = default_region("aws")
    return default.value if default else _USUAL_REGION


class AwsProvider:
    """EC2, reached with the credentials and the endpoint that the SDK finds in its environment."""

    cloud = "aws"
    account_setting = "AWS_PROFILE"
    tied_to_zone = frozenset({"instance", "volume", "network-interface", "subnet"})
    unknown_zone = "<zone of {region}>"

    def __init__(self, *, policy: RetryPolicy, connect: Connect | None = None) -> None:
        self.stages: tuple[tuple[str, ...], ...] = tuple(map(tuple, facts_of("aws")["stages"]))
        self._policy = policy
        self._connect: Connect = lru_cache(maxsize=None)(connect or self._live)

    def _live(self, name: str, region: str) -> Service:
        return LiveService(name, region, policy=self._policy)

    def _network(self, order: Order, place: Place, journal: Journal) -> RunNetwork:
        return RunNetwork.of(order, self._connect("ec2", place.region), journal, self._policy)

    def require_access(self) -> None:
        """See Provider."""
        require_credentials()

    def identity(self) -> str:
        """See Provider. The name of a role's session is that of a person or a job."""
        return str(self._caller["Arn"]).partition("::")[2]

    def account(self) -> str:
        """See Provider."""
        return str(self._caller["Account"])

    @cached_property
    def _caller(self) -> dict[str, Any]:
        return self._connect("sts", home_region()).call("get_caller_identity")

    def dry_run(self) -> tuple[AwsProvider, list[PlannedRequest]]:
        """See Provider."""
        pretended = DryRun()
        return AwsProvider(policy=self._policy, connect=pretended.connect), pretended.requests

    def preflight(self, order: Order) -> Preflight:
        """See Provider."""
        return preflight(order, self._connect)

    def prepare(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        network.prepare(self._network(order, place, journal), place)

    def launch(self, order: Order, place: Place, journal: Journal, *, machines: int, head: bool, round: int) -> None:
        """See Provider."""
        instances.launch(self._network(order, place, journal), place, machines=machines, head=head, round=round)

    def restrict_ssh(self, order: Order, place: Place, journal: Journal) -> None:
        """See Provider."""
        network.restrict_ssh(self._network(order, place, journal))

    def nodes(self, run: str, *, region: str) -> tuple[Node, ...]:
        """See Provider."""
        return tuple(instances.nodes(self._connect("ec2", region), run))

    def terminate(self, nodes: Sequence[Node]) -> None:
        """See Provider."""
        for region in {node.region for node in nodes}:
            ids = [node.id for node in nodes if node.region == region]
            terminate(self._connect("ec2", region), ids)

    def host_keys(self, node: Node) -> tuple[str, ...]:
        """See Provider."""
        return instances.host_keys(self._connect("ec2", node.region), node)

    def regions(self) -> tuple[str, ...]:
        """See Provider."""
        home = self._connect("ec2", home_region())
        return tuple(region["RegionName"] for region in home.items("describe_regions", "Regions"))

    def find(self, kinds: Sequence[str], *, region: str, run: str | None = None) -> tuple[Resource, ...]:
        """See Provider."""
        ec2 = self._connect("ec2", region)
        return tuple(resource for resource_kind in kinds for resource, _ in find(ec2, resource_kind, run=run))

    def look_up(self, resources: Sequence[Resource]) -> tuple[Resource, ...]:
        """See Provider."""
        return tuple(look_up(self._connect("ec2", resources[0].region), resources))

    def holders(self, resources: Sequence[Resource]) -> tuple[str, ...]:
        """See Provider."""
        return tuple(holders(self._connect("ec2", resources[0].region), resources))

    def delete(self, resources: Sequence[Resource]) -> None:
        """See Provider."""
        delete(self._connect("ec2", resources[0].region), resources)
