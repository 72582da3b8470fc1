"""Resources that a run's machines need in a region before launch: network, firewall, placement policy.

One private network has one subnet. Its firewall lets machines of the run reach each other and the caller reach the head
by SSH, and nothing else in or out; where the run stages data, also HTTPS to the addresses behind
private.googleapis.com, which serve only the object store. Only the head gets a public address. In an existing subnet,
only firewall rules and policy are made; the rules apply to machines with the run's tags.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from planner.clouds.cloud_errors import DuplicateError, NotFoundError
from planner.clouds.gcp import resources
from planner.clouds.gcp.client import Compute
from planner.clouds.order import Order
from planner.clouds.protocol import ANYWHERE, NETWORK, Journal, Place, Resource
from planner.errors import BadInputError

OBJECT_STORE: Final = "199.36.153.8/30"
"""private.googleapis.com: Google's services for machines without a public address (Private Google Access)."""
MTU_BYTES: Final = 8896
"""Largest packets of a network; Google's default is 1,460 bytes."""
_FIRST: Final = 1000
_LAST: Final = 65000
"""Lowest priority of the run's firewall rules: lower numbers count first, and Google's own come after 65534."""
DOORS: Final = ("door", "door-2")
"""Names of the rule that lets the caller in; both exist only while one replaces the other."""
_KINDS: Final = ("network", "subnetwork", "firewall", "placement-policy")


@dataclass(frozen=True, kw_only=True)
class RunNetwork:
    """The resources of a run in a region, by kind and full name."""

    order: Order
    compute: Compute
    journal: Journal
    region: str
    existing: set[tuple[str, str]]

    @classmethod
    def of(cls, order: Order, compute: Compute, journal: Journal, *, region: str) -> RunNetwork:
        """Look up the run's resources in the region. A listing may not yet show what this process has just made."""
        existing = {item.key for item in journal.ordered() if item.region == region} | {
            resource.key
            for resource_kind in _KINDS
            for resource, _ in resources.find(compute, resource_kind, region=region, run=order.run)
        }
        return cls(order=order, compute=compute, journal=journal, region=region, existing=existing)

    def full_name(self, name: str) -> str:
        """Return the name of a resource; it includes run and region, because some resources are global."""
        return f"planner-{self.order.run}-{self.region}-{name}"

    def target_tags(self, *, head: bool) -> list[str]:
        """Return the network tags of the run's machines for the firewall; with `head` also the head's."""
        return [f"planner-{self.order.run}", *([f"planner-{self.order.run}-head"] if head else [])]

    @property
    def subnet_url(self) -> str:
        """The name of the subnet in which all machines stand."""
        subnet = self.order.subnet
        own = f"projects/{self.compute.project}/regions/{self.region}/subnetworks/{subnet}"
        return own if subnet else self.url("subnetwork", "nodes")

    def url(self, resource_kind: str, name: str) -> str:
        """Return how one resource names another."""
        resource_type = resources.RESOURCE_TYPES[resource_kind]
        scope = "global" if resource_type.scope == "global" else f"regions/{self.region}"
        return f"projects/{self.compute.project}/{scope}/{resource_type.collection}/{self.full_name(name)}"

    def ensure(self, resource_kind: str, name: str, body: dict[str, Any]) -> None:
        """Create a resource unless it exists; an existing one with the run's own name is the one requested before."""
        full, resource_type = self.full_name(name), resources.RESOURCE_TYPES[resource_kind]
        if (resource_kind, full) in self.existing:
            return
        self.journal.intend(resource_kind, name=full, region=self.region)
        named = {"name": full, "description": resources.description(self.order.tags, region=self.region), **body}
        where = {"region": self.region} if resource_type.scope == "region" else {}
        with suppress(DuplicateError):
            self.compute.create(f"{resource_type.collection}.insert", body=named, run=self.order.run, **where)
        self.existing.add((resource_kind, full))
        self.journal.made(Resource(kind=resource_kind, id=full, region=self.region, run=self.order.run))


def prepare(network: RunNetwork, place: Place) -> None:
    """Create what is missing in a region."""
    if not network.order.subnet:
        _own_network(network)
    for name, rule in _rules(network).items():
        network.ensure("firewall", name, rule)
    if place.choice.placement_group:
        network.ensure("placement-policy", "group", {"groupPlacementPolicy": {"collocation": "COLLOCATED"}})


def restrict_ssh(network: RunNetwork) -> None:
    """See Provider. Replacing a rule needs the right to change rules, so the rule and its successor alternate between
    two names.
    """
    doors = {name: rule for name in DOORS if (rule := rule_called(name, network))}
    right = [name for name, rule in doors.items() if rule["sourceRanges"] == [network.order.ssh_from]]
    if not right:
        if len(doors) == len(DOORS):
            _remove_rule(DOORS[1], network)
        right = [next((name for name in DOORS if name not in doors), DOORS[1])]
        network.ensure("firewall", right[0], _rules(network)["door"])
    for name in doors.keys() - set(right):
        _remove_rule(name, network)


def rule_called(name: str, network: RunNetwork) -> dict[str, Any] | None:
    """Return a firewall rule of a run by name, None if there is none."""
    try:
        return network.compute.get("firewalls.get", firewall=network.full_name(name))
    except NotFoundError:
        return None


def _remove_rule(name: str, network: RunNetwork) -> None:
    with suppress(NotFoundError):
        network.compute.finish("firewalls.delete", firewall=network.full_name(name))


def described_subnet(compute: Compute, name: str, *, region: str) -> dict[str, Any]:
    """Return Google's description of an existing subnet. Raises BadInputError when the region lacks it."""
    if not re.fullmatch("[a-z][a-z0-9-]*", name):
        raise BadInputError(
            f"--subnet {name}: name a subnet of this project, without a path",
            ["the planner cannot add rules to the firewall of a network that another project shares"],
            code="malformed",
        )
    for item in compute.items("subnetworks.list", region=region, filter=f"name={name}"):
        return item
    raise BadInputError(
        f"--subnet {name}: {region} has no such subnet; name its region with --region", code="no-such-subnet"
    )


def _own_network(network: RunNetwork) -> None:
    network.ensure(
        "network",
        "net",
        {"autoCreateSubnetworks": False, "mtu": MTU_BYTES, "routingConfig": {"routingMode": "REGIONAL"}},
    )
    network.ensure(
        "subnetwork",
        "nodes",
        {
            "network": network.url("network", "net"),
            "ipCidrRange": NETWORK,
            "stackType": "IPV4_ONLY",
            "privateIpGoogleAccess": network.order.staging,
        },
    )


def _rules(network: RunNetwork) -> dict[str, dict[str, Any]]:
    """Return the rules: machines reach each other, the caller reaches the head by SSH, nothing else goes in or out. The
    machines' addresses lie in a block that others may share.
    """
    network_url, block = network.url("network", "net"), NETWORK
    if network.order.subnet:
        subnet = described_subnet(network.compute, network.order.subnet, region=network.region)
        network_url, block = subnet["network"], subnet["ipCidrRange"]
    everything, order = [{"IPProtocol": "all"}], network.order
    (machines, head) = network.target_tags(head=True)
    inward = {"direction": "INGRESS", "priority": _FIRST, "targetTags": [machines]}
    outward = {"direction": "EGRESS", "priority": _FIRST, "targetTags": [machines]}
    rules: dict[str, dict[str, Any]] = {
        "in": {**inward, "sourceTags": [machines], "allowed": everything},
        "door": {
            **inward,
            "sourceRanges": [order.ssh_from],
            "targetTags": [head],
            "allowed": [{"IPProtocol": "tcp", "ports": ["22"]}],
        },
        "out": {**outward, "destinationRanges": [block], "allowed": everything},
        "shut": {**outward, "priority": _LAST, "destinationRanges": [ANYWHERE], "denied": everything},
    }
    if order.staging:
        https = [{"IPProtocol": "tcp", "ports": ["443"]}]
        rules["store"] = {**outward, "destinationRanges": [OBJECT_STORE], "allowed": https}
    return {name: {"network": network_url, **rule} for name, rule in rules.items()}
