"""Checks of a request to Azure's Resource Manager: its body, the resources it names, the caller's role."""

from __future__ import annotations

import json
import re
from typing import Any

from sdk_models import wrong


class RefusedError(Exception):
    def __init__(self, status: int, code: str, message: str = "") -> None:
        self.status, self.code, self.message = status, code, message or code


def check(model: type, body: dict[str, Any]) -> None:
    if complaints := list(wrong(model, body)):
        raise RefusedError(400, "InvalidRequestContent", f"WRONG REQUEST: {'; '.join(complaints)}")


def able_to(sku: dict[str, Any]) -> dict[str, str]:
    """Return the capabilities in a row of Azure's listing of sizes."""
    return {item["name"]: item["value"] for item in sku.get("capabilities") or ()}


def require_able(able: dict[str, str], machine: dict[str, Any]) -> None:
    """Refuse a machine that needs a capability its size lacks."""
    interfaces = machine["networkProfile"]["networkInterfaceConfigurations"]
    accelerated = any(interface["properties"].get("enableAcceleratedNetworking") for interface in interfaces)
    if accelerated and able.get("AcceleratedNetworkingEnabled") != "True":
        raise RefusedError(400, "VMSizeIsNotPermittedToEnableAcceleratedNetworking", "The size does not permit it.")
    image = machine["storageProfile"]["imageReference"].get("sku", "")
    if image and "V2" not in able.get("HyperVGenerations", "V2") and not image.endswith("-gen1"):
        raise RefusedError(400, "BadRequest", "The selected VM size cannot boot Hypervisor Generation '2'.")
    if machine["securityProfile"]["encryptionAtHost"] and able.get("EncryptionAtHostSupported") == "False":
        raise RefusedError(400, "InvalidParameter", "The property 'securityProfile.encryptionAtHost' is not valid.")


def references(value: Any) -> list[str]:
    """Return the ids of other resources named in a body."""
    if isinstance(value, list):
        return [reference for item in value for reference in references(item)]
    if not isinstance(value, dict):
        return []
    own = [value["id"]] if str(value.get("id", "")).startswith("/subscriptions/") else []
    own += [value["targetResourceId"]] if "targetResourceId" in value else []
    return own + [reference for item in value.values() for reference in references(item)]


def demanded(verb: str, parts: dict[str, str], body: dict[str, Any]) -> list[str]:
    """Return the actions that a request needs, by the names of Azure's list of operations: the action on the kind in
    its path, joining the subnets and security groups it names, and making the parts that come with a machine.
    """
    resource_type, does = parts["kind"], {"GET": "read", "PUT": "write", "DELETE": "delete", "POST": "action"}[verb]
    if not resource_type:
        return [f"Microsoft.Resources/subscriptions/resourceGroups/{does}"]
    if verb == "POST":
        return [f"{parts['provider']}/{resource_type}/{parts['under']}/action"]
    under = f"/{parts['under'].partition('/')[0]}" if parts["under"] else ""
    actions = [f"{parts['provider']}/{resource_type}{under}/{does}"]
    named = [identity.split("/") for identity in references(body)]
    actions += ["Microsoft.Network/virtualNetworks/subnets/join/action" for path in named if "subnets" in path]
    actions += [f"Microsoft.Network/{path[7]}/join/action" for path in named if path[7] == "networkSecurityGroups"]
    reserved = [path for path in named if path[7] == "capacityReservationGroups"]
    actions += ["Microsoft.Compute/capacityReservationGroups/deploy/action" for _ in reserved]
    if resource_type == "virtualMachines" and verb == "PUT":
        actions += ["Microsoft.Compute/disks/write", "Microsoft.Network/networkInterfaces/write"]
        addressed = "publicIPAddressConfiguration" in json.dumps(body)
        actions += ["Microsoft.Network/publicIPAddresses/write"] if addressed else []
    return actions


def fits(group: dict[str, Any], wanted: str) -> bool:
    """Return whether a group passes a filter of the two forms in use; any other is an error."""
    if not wanted:
        return True
    match = re.fullmatch(r"tagName eq '([\w-]+)'(?: and tagValue eq '([\w-]+)')?", wanted)
    if match is None:
        raise RefusedError(400, "InvalidFilterInQueryString", wanted)
    have = {key.lower(): value for key, value in group.get("tags", {}).items()}.get(match[1])  # as Azure compares keys
    return have is not None and match[2] in (None, have)
