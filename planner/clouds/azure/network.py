"""Resources that a run's machines need in a zone before launch, in one resource group.

Deleting the group removes everything in it, so only the group has to be found, by its tags. One private network has two
subnets: the caller reaches the head's by SSH, nobody reaches the nodes'. Machines of the run reach each other and,
where the run stages data, Azure's object store, and nothing else. In an existing subnet the security groups guard the
machines' interfaces instead, and other machines in the subnet reach them, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from planner.clouds.azure.client import Arm
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.order import Order
from planner.clouds.protocol import HEAD_SUBNET, NETWORK, NODES_SUBNET, Journal, Place, Resource
from planner.errors import BadInputError

SUBNETS: Final = {"nodes": NODES_SUBNET, "head": HEAD_SUBNET}
_SUBNET_ID: Final = re.compile(
    "/subscriptions/([^/]+)/resourceGroups/([^/]+)/providers/Microsoft.Network/virtualNetworks/([^/]+)/subnets/([^/]+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, kw_only=True)
class RunNetwork:
    """The resource group of a run at a place."""

    order: Order
    arm: Arm
    journal: Journal
    place: Place

    @property
    def group(self) -> str:
        """The name of the resource group."""
        return f"planner-{self.order.run}-{self.place.zone or self.place.region}"

    def url(self, provider: str, name: str) -> str:
        """Return the id by which other resources refer to this one: `provider` is Microsoft.Network/virtualNetworks and
        the like.
        """
        return f"/subscriptions/{self.arm.subscription}/resourceGroups/{self.group}/providers/{provider}/{name}"

    def subnet_url(self, role: str) -> str:
        """Return the id of the subnet for machines of a role, head or node."""
        own = self.url("Microsoft.Network/virtualNetworks", "network") + "/subnets"
        return self.order.subnet or f"{own}/{'head' if role == 'head' else 'nodes'}"

    def create(self, resource_kind: str, *names: str, body: dict[str, Any]) -> None:
        """Announce something in the journal, and create it with the run's tags."""
        self.journal.intend(resource_kind, name=names[-1], region=self.place.region)
        self.arm.create(resource_kind, *names, body={"location": self.place.region, "tags": self.order.tags, **body})
        made = Resource(kind=resource_kind, id="/".join(names), region=self.place.region, run=self.order.run)
        self.journal.made(made)


def prepare(network: RunNetwork) -> None:
    """Create the group, its network and its placement group, or find the existing ones."""
    network.create("resource-group", network.group, body={})
    block = _block(network)
    for name in SUBNETS:
        _secure(network, name, block=block)
    if not network.order.subnet:
        properties = {
            "addressSpace": {"addressPrefixes": [NETWORK]},
            "subnets": [_subnet(network, name) for name in SUBNETS],
        }
        network.create("virtual-network", network.group, "network", body={"properties": properties})
    if network.place.choice.placement_group:
        body = {"properties": {"proximityPlacementGroupType": "Standard"}}
        network.create("proximity-placement-group", network.group, "near", body=body)


def _block(network: RunNetwork) -> str:
    """Return the block of the machines' addresses."""
    subnet = network.order.subnet
    return blocks_of(described_subnet(network.arm, subnet))[0] if subnet else NETWORK


def _secure(network: RunNetwork, name: str, *, block: str) -> None:
    """Create the rules of the head's or the nodes' subnet, or replace them."""
    head = (block if network.order.subnet else HEAD_SUBNET) if name == "head" else ""
    rules = _rules(network.order, block, head=head)
    network.create("network-security-group", network.group, name, body={"properties": {"securityRules": rules}})


def restrict_ssh(network: RunNetwork) -> None:
    """See Provider. One call replaces all rules of a group."""
    _secure(network, "head", block=_block(network))


def described_subnet(arm: Arm, subnet: str) -> dict[str, Any]:
    """Return Azure's description of an existing subnet. Raises BadInputError when it does not exist."""
    try:
        return arm.get("subnet", *names_of(subnet))
    except NotFoundError as error:
        raise BadInputError(f"--subnet {subnet}: the subscription has no such subnet", code="no-such-subnet") from error


def region_of(arm: Arm, subnet: str) -> str:
    """Return the region of a subnet's network, as Azure names it."""
    return str(arm.get("virtual-network", *names_of(subnet)[:2])["location"])


def names_of(subnet: str) -> tuple[str, str, str]:
    """Return the group, network and name in a subnet's id. Raises BadInputError for an invalid id."""
    match = _SUBNET_ID.fullmatch(subnet)
    if match is None:
        raise BadInputError(
            f"--subnet {subnet}: this is not the id of a subnet",
            [
                "give /subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Network/"
                "virtualNetworks/NETWORK/subnets/NAME",
                "`az network vnet subnet show --query id` prints it",
            ],
            code="malformed",
        )
    return match[2], match[3], match[4]


def blocks_of(subnet: dict[str, Any]) -> list[str]:
    """Return a subnet's address blocks in CIDR notation; Azure has two fields for them."""
    properties = subnet["properties"]
    return list(properties.get("addressPrefixes") or [properties["addressPrefix"]])


def _subnet(network: RunNetwork, name: str) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "addressPrefix": SUBNETS[name],
        "networkSecurityGroup": {"id": network.url("Microsoft.Network/networkSecurityGroups", name)},
        "defaultOutboundAccess": False,
    }
    if network.order.staging:
        properties["serviceEndpoints"] = [{"service": "Microsoft.Storage"}]
    return {"name": name, "properties": properties}


def _rules(order: Order, block: str, *, head: str) -> list[dict[str, Any]]:
    """Return the rules of a subnet by priority. Machines have addresses in `block`; the caller reaches those in `head`,
    unless it is ''.
    """
    rules: dict[str, dict[str, str]] = {}
    rules["within-in"] = {"direction": "Inbound", "source": block, "destination": block}
    if head:
        rules["caller"] = {"direction": "Inbound", "source": order.ssh_from, "destination": head, "port": "22"}
    rules["shut-in"] = {"direction": "Inbound", "access": "Deny"}
    rules["within-out"] = {"direction": "Outbound", "source": block, "destination": block}
    if order.staging:
        rules["store"] = {"direction": "Outbound", "source": block, "destination": "Storage", "port": "443"}
    rules["shut-out"] = {"direction": "Outbound", "access": "Deny"}
    return [_rule(name, 100 + 10 * number, **rule) for number, (name, rule) in enumerate(rules.items())]


def _rule(
    name: str,
    priority: int,
    *,
    direction: str,
    access: str = "Allow",
    source: str = "*",
    destination: str = "*",
    port: str = "*",
) -> dict[str, Any]:
    properties = {
        "priority": priority,
        "direction": direction,
        "access": access,
        "protocol": "*" if port == "*" else "Tcp",
        "sourceAddressPrefix": source,
        "sourcePortRange": "*",
        "destinationAddressPrefix": destination,
        "destinationPortRange": port,
    }
    return {"name": name, "properties": properties}
