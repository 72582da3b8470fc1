"""Resources that a run's machines need in a region before launch: network, security groups, key, group.

One private network (VPC) has two subnets: the head's is reachable from outside, the nodes' is not, and its only way out
is a gateway to the object store where the run stages data. Security groups let machines of the run reach each other and
the caller reach the head by SSH, and nothing else. In an existing subnet, only groups and key are made.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from planner.clouds.aws import resources
from planner.clouds.aws.client import Service
from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import DuplicateError, NotFoundError, UncertainError
from planner.clouds.order import Order
from planner.clouds.protocol import ANYWHERE, HEAD_SUBNET, NETWORK, NODES_SUBNET, Journal, Place, Resource
from planner.errors import BadInputError, IoFailureError

_MOST_TRIES: Final = 5
_CALLER: Final = "the caller"
"""Description of the rule that lets the caller in."""
_NO_SUCH_RULE: Final = "InvalidPermission.NotFound"
_KINDS: Final = ("vpc", "internet-gateway", "subnet", "route-table", "security-group", "vpc-endpoint")
_NAMED_KINDS: Final = ("key-pair", "placement-group")


@dataclass(frozen=True, kw_only=True)
class RunNetwork:
    """The resources of a run in a region, by kind and name."""

    order: Order
    ec2: Service
    journal: Journal
    policy: RetryPolicy
    ids: dict[tuple[str, str], str]

    @classmethod
    def of(cls, order: Order, ec2: Service, journal: Journal, policy: RetryPolicy) -> RunNetwork:
        """Look up the run's resources in the region. A listing may not yet show what this process has just made."""
        ids = {(item.kind, item.name): item.id for item in journal.ordered() if item.region == ec2.region}
        network = cls(order=order, ec2=ec2, journal=journal, policy=policy, ids=ids)
        for resource_kind in (*_KINDS, *_NAMED_KINDS):
            network.refresh(resource_kind)
        if order.subnet:
            network.ids.update({("subnet", name): order.subnet for name in ("head", "nodes")})
        return network

    def refresh(self, resource_kind: str) -> None:
        """Look up the existing resources of a kind again."""
        for resource, description in resources.find(self.ec2, resource_kind, run=self.order.run):
            if not resource.ending:
                name = (
                    resources.tags_of(description, resource_kind)
                    .get("Name", "")
                    .removeprefix(f"planner-{self.order.run}-")
                )
                self.ids[resource_kind, name] = resource.id

    def full_name(self, name: str) -> str:
        """Return the name that the console shows, and that identifies a resource without an id."""
        return f"planner-{self.order.run}-{name}"

    def tags(self, resource_kind: str, name: str) -> dict[str, Any]:
        """Return the tag specification for the call that creates something."""
        tags = {**self.order.tags, "Name": self.full_name(name)}
        return {"ResourceType": resource_kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}

    def ensure(self, resource_kind: str, name: str, operation: str, **request: Any) -> str:
        """Return the id of the existing resource, or create it. After a broken connection, look before creating."""
        for _ in range(_MOST_TRIES):
            if (resource_kind, name) in self.ids:
                return self.ids[resource_kind, name]
            self.journal.intend(resource_kind, name=name, region=self.ec2.region)
            try:
                self._create(resource_kind, name, operation, request)
            except (UncertainError, DuplicateError):
                for _ in self.policy.settling():
                    self.refresh(resource_kind)
        raise IoFailureError(
            f"{resource_kind} {name} in {self.ec2.region}: no clear answer in {_MOST_TRIES} tries of {operation}",
            code="no-clear-answer",
        )

    def _create(self, resource_kind: str, name: str, operation: str, request: dict[str, Any]) -> None:
        tagged = {**request, "TagSpecifications": [self.tags(resource_kind, name)]}
        answer = self.ec2.call(operation, repeatable=False, fresh=True, **tagged)
        by_name = resource_kind in _NAMED_KINDS
        id_ = self.full_name(name) if by_name else _id_in(answer, resources.resource_types()[resource_kind].id)
        self.ids[resource_kind, name] = id_
        made = Resource(kind=resource_kind, id=id_, region=self.ec2.region, run=self.order.run, name=name)
        self.journal.made(made)

    def adjust(self, operation: str, **request: Any) -> None:
        """Make a change that may already have been made."""
        try:
            self.ec2.call(operation, fresh=True, **request)
        except DuplicateError:
            return


def _id_in(answer: dict[str, Any], key: str) -> str:
    """Return the id of the created resource, at the top of the answer or one level down."""
    levels = [answer, *(part for part in answer.values() if isinstance(part, dict))]
    return str(next(level[key] for level in levels if key in level))


def prepare(network: RunNetwork, place: Place) -> None:
    """Create what is missing at a place."""
    if network.order.subnet:
        _security(network, described_subnet(network.ec2, network.order.subnet)["VpcId"])
        if network.order.staging:
            _open_object_store(network)
    else:
        _own_network(network, place)
    key = network.order.ssh_public_key.encode()
    network.ensure("key-pair", "key", "import_key_pair", KeyName=network.full_name("key"), PublicKeyMaterial=key)
    if place.choice.placement_group:
        name = network.full_name("group")
        network.ensure("placement-group", "group", "create_placement_group", GroupName=name, Strategy="cluster")


def described_subnet(ec2: Service, subnet: str) -> dict[str, Any]:
    """Return AWS's description of an existing subnet. Raises BadInputError where the region lacks it."""
    for item in ec2.items("describe_subnets", "Subnets", Filters=[{"Name": "subnet-id", "Values": [subnet]}]):
        if item.get("SubnetId", subnet) == subnet:  # AWS reads `subnet-*` as a pattern; a dry run has no id
            return item
    raise BadInputError(
        f"--subnet {subnet}: {ec2.region} has no such subnet; name its region with --region", code="no-such-subnet"
    )


def _own_network(network: RunNetwork, place: Place) -> None:
    """Create a network, the head's way in and, where data is staged, the nodes' way to the object store."""
    vpc = network.ensure("vpc", "network", "create_vpc", CidrBlock=NETWORK)
    _security(network, vpc)
    subnets = {
        name: network.ensure("subnet", name, "create_subnet", VpcId=vpc, CidrBlock=block, AvailabilityZone=place.zone)
        for name, block in (("head", HEAD_SUBNET), ("nodes", NODES_SUBNET))
    }
    _add_internet_route(network, vpc, subnets["head"])
    if network.order.staging:
        _object_store(network, vpc)
        _open_object_store(network)


def _security(network: RunNetwork, vpc: str) -> None:
    """Create security groups: the run's machines reach each other, the caller the head by SSH; nothing else passes."""
    made = {
        name: network.ensure(
            "security-group",
            name,
            "create_security_group",
            VpcId=vpc,
            GroupName=network.full_name(name),
            Description=f"planner run {network.order.run}: {text}",
        )
        for name, text in (("cluster", "traffic among its machines"), ("door", "SSH to the head"))
    }
    for group in made.values():
        _close(network, group)
    among = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": made["cluster"]}]}]
    network.adjust("authorize_security_group_ingress", GroupId=made["cluster"], IpPermissions=among)
    network.adjust("authorize_security_group_egress", GroupId=made["cluster"], IpPermissions=among)
    _allow_ssh(network, made["door"])


def _allow_ssh(network: RunNetwork, ssh_group: str) -> None:
    ssh = _ssh_from({"CidrIp": network.order.ssh_from, "Description": _CALLER})
    network.adjust("authorize_security_group_ingress", GroupId=ssh_group, IpPermissions=ssh)


def _ssh_from(block: dict[str, str]) -> list[dict[str, Any]]:
    return [{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [block]}]


def restrict_ssh(network: RunNetwork) -> None:
    """See Provider. Rules added by others stay."""
    ssh_group = network.ids["security-group", "door"]
    _allow_ssh(network, ssh_group)
    described = next(iter(network.ec2.items("describe_security_groups", "SecurityGroups", GroupIds=[ssh_group])))
    blocks = [block for rule in described["IpPermissions"] for block in rule["IpRanges"]]
    for block in blocks:
        if block.get("Description") == _CALLER and block["CidrIp"] != network.order.ssh_from:
            with suppress(NotFoundError):
                network.ec2.call("revoke_security_group_ingress", GroupId=ssh_group, IpPermissions=_ssh_from(block))


def _close(network: RunNetwork, group: str) -> None:
    """Remove the rule of a new group that allows all outgoing traffic."""
    everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": ANYWHERE}]}]

    def is_not_known_yet(error: BaseException) -> bool:
        return isinstance(error, NotFoundError) and error.cloud_code != _NO_SUCH_RULE

    try:
        retry(
            lambda: network.ec2.call("revoke_security_group_egress", GroupId=group, IpPermissions=everything),
            policy=network.policy,
            may_pass=is_not_known_yet,
        )
    except NotFoundError:  # an earlier call, whose answer was lost, has removed the rule
        return


def _add_internet_route(network: RunNetwork, vpc: str, subnet: str) -> None:
    """Give only the head's subnet a route to the internet."""
    gateway = network.ensure("internet-gateway", "gateway", "create_internet_gateway")
    network.adjust("attach_internet_gateway", InternetGatewayId=gateway, VpcId=vpc)
    table = network.ensure("route-table", "head", "create_route_table", VpcId=vpc)
    network.adjust("create_route", RouteTableId=table, DestinationCidrBlock=ANYWHERE, GatewayId=gateway)
    network.adjust("associate_route_table", RouteTableId=table, SubnetId=subnet)


def _object_store(network: RunNetwork, vpc: str) -> None:
    """Give the network a way to the object store, and nowhere else."""
    region = network.ec2.region
    tables = [
        item["RouteTableId"]
        for item in network.ec2.items(
            "describe_route_tables", "RouteTables", Filters=[{"Name": "vpc-id", "Values": [vpc]}]
        )
    ]
    service = f"com.amazonaws.{region}.s3"
    network.ensure(
        "vpc-endpoint",
        "objects",
        "create_vpc_endpoint",
        VpcId=vpc,
        ServiceName=service,
        VpcEndpointType="Gateway",
        RouteTableIds=tables,
    )


def _open_object_store(network: RunNetwork) -> None:
    """Let the machines reach the addresses of the object store."""
    service = f"com.amazonaws.{network.ec2.region}.s3"
    prefixes = [
        p["PrefixListId"]
        for p in network.ec2.items(
            "describe_prefix_lists", "PrefixLists", Filters=[{"Name": "prefix-list-name", "Values": [service]}]
        )
    ]
    https = [
        {
            "IpProtocol": "tcp",
            "FromPort": 443,
            "ToPort": 443,
            "PrefixListIds": [{"PrefixListId": prefix, "Description": "the object store"} for prefix in prefixes],
        }
    ]
    network.adjust(
        "authorize_security_group_egress", GroupId=network.ids["security-group", "cluster"], IpPermissions=https
    )
