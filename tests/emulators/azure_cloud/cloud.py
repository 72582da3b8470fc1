"""Contents of the emulated Azure: its state, its groups and their resources, and how machines come and go."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from azure.mgmt.resource.resources import models as resources
from azure_cloud.facts import FAMILY, MODELS, PROVIDER, SIZES, SKUS
from azure_cloud.requests import RefusedError, able_to, check, demanded, fits, references, require_able
from poor_listings import PoorListings
from public_addresses import public_address

PAGE = 50
POWER = {"powerOff": "stopped", "deallocate": "deallocated"}
"""State of a machine after a call, or after it did the same on its own."""


@dataclass
class World:
    """State of the cloud. Counts of polls are of listings."""

    capacity: dict[str, int] = field(default_factory=dict)  # machines that a zone can still start; others have enough
    spot_capacity: dict[str, int] = field(default_factory=dict)  # of these, spot ones; others have enough
    quota_vcpus: dict[str, int] = field(default_factory=dict)  # of the family, per region; 50000 elsewhere
    quota_network: dict[str, dict[str, int]] = field(default_factory=dict)  # of network parts, per region and name
    features: dict[str, str] = field(default_factory=dict)  # states of features; others are registered
    price_factor: float = 1.0
    starting_polls: int = 0
    ending_polls: int = 0
    fail_machines: list[list[str]] = field(default_factory=list)  # code and message, for the next machines
    reservations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by their group's name
    refuse_at_once: bool = False  # no capacity: reported in the answer to the call, not later
    reject_deletions: int = 0  # this number of deletions of groups are accepted, but have no effect
    policies: dict[str, list[str]] = field(default_factory=dict)  # of allowed sizes, by the assignment's name
    unregistered: list[str] = field(default_factory=list)  # services for which the subscription is not registered
    actions: list[str] | None = None  # the actions of the caller's role; everything if None


class Cloud:
    """One subscription. Resources have the key (group, kind, name), in lower case where Azure ignores case."""

    def __init__(self) -> None:
        self.begin(World())

    def begin(self, world: World) -> None:
        self.world = world
        self.groups: dict[str, dict[str, Any]] = {}
        self.things: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.numbers = iter(range(1, 10**9))
        self.consoles: dict[str, str] = {}
        self.poor = PoorListings()

    def machines(self) -> list[dict[str, Any]]:
        """Describe every existing machine, for the code that gives it a body."""
        interfaces = [
            (group, name) for group, resource_type, name in self.things if resource_type == "networkInterfaces"
        ]
        return [self._body(group, name) for group, name in interfaces if not self._goes(group)]

    def _goes(self, group: str) -> bool:
        return str(self.groups[group]["properties"]["provisioningState"]) == "Deleting"

    def _body(self, group: str, name: str) -> dict[str, Any]:
        interface = self.things[group, "networkInterfaces", name]["properties"]["ipConfigurations"][0]["properties"]
        public = self.things.get((group, "publicIPAddresses", name), {"properties": {"ipAddress": ""}})
        system = self.things[group, "virtualMachines", name]["properties"]["osProfile"]["linuxConfiguration"]
        return {
            "id": f"{group}.{name}",
            "private_address": interface["privateIPAddress"],
            "public_address": public["properties"]["ipAddress"],
            "public_key": system["ssh"]["publicKeys"][0]["keyData"],
        }

    def left(self) -> dict[str, int]:
        counts = {"groups": len(self.groups)} if self.groups else {}
        for _, resource_type, _ in self.things:
            name = "instances" if resource_type == "virtualMachines" else resource_type
            counts[name] = counts.get(name, 0) + 1
        return counts

    def answer(self, verb: str, parts: dict[str, str], query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        group, resource_type, name = parts["group"], parts["kind"], parts["name"]
        self.permit(demanded(verb, parts, body))
        if parts["under"] in ("usages", "capacityReservations"):
            usages = self._network_usages if parts["provider"] == "Microsoft.Network" else self._usages
            return 200, paged(usages(name) if parts["under"] == "usages" else self._reserved(name), query)
        if resource_type == "skus":
            return 200, paged(self._sizes(query), query)
        if not group and resource_type == "virtualMachines":
            return 200, paged(self._everywhere(query), query)
        if not resource_type:
            return self._group(verb, group, query, body)
        if group not in self.groups:
            raise RefusedError(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")
        if PROVIDER.get(resource_type) != parts["provider"]:
            raise RefusedError(404, "InvalidResourceType", f"{parts['provider']}/{resource_type}")
        if verb == "GET" and not name:
            return 200, paged(self._listed(group, resource_type, query), query)
        key = (group, resource_type, name)
        if verb == "PUT":
            return self._put(key, body)
        if key not in self.things:
            raise RefusedError(404, "ResourceNotFound", f"The Resource '{resource_type}/{name}' was not found.")
        if verb == "DELETE":
            self._remove_machine(key)
            return 202, {}
        if verb == "POST" and (state := POWER.get(parts["under"])):
            self.things[key]["statuses"] = [{"code": "ProvisioningState/succeeded"}, {"code": f"PowerState/{state}"}]
            return 202, {}
        return 200, self._part(key, parts["under"])

    def _reserved(self, name: str) -> list[dict[str, Any]]:
        if name not in self.world.reservations:
            raise RefusedError(404, "ResourceNotFound", f"capacityReservationGroups/{name} was not found.")
        return self.world.reservations[name]

    def _part(self, key: tuple[str, str, str], under: str) -> dict[str, Any]:
        if under.startswith("subnets/"):
            return self._subnet(key, under.partition("/")[2])
        if under == "retrieveBootDiagnosticsData":
            return self._console(key)
        if under == "instanceView":
            return {"statuses": self.things[key].get("statuses", [])}
        return public(self.things[key])

    def _subnet(self, key: tuple[str, str, str], name: str) -> dict[str, Any]:
        subnets = [subnet for subnet in self.things[key]["properties"].get("subnets", ()) if subnet["name"] == name]
        if not subnets:
            raise RefusedError(404, "NotFound", f"Resource {name} not found.")
        return subnets[0]

    def permit(self, actions: list[str]) -> None:
        for action in actions:
            if self.world.actions is not None and action not in self.world.actions:
                message = f"The client does not have authorization to perform action '{action}'"
                raise RefusedError(403, "AuthorizationFailed", message)

    def restrictions(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Evaluate policies as the built-in "Allowed virtual machine size SKUs" does; the content must be a request."""
        content = dict(asked["resourceContent"])
        kind = content.pop("type").rpartition("/")[2]
        if not (content.pop("name") and asked["apiVersion"]):
            raise RefusedError(400, "InvalidRequestContent", "name and apiVersion")
        check(MODELS.get(kind, resources.ResourceGroup), content)
        size = content.get("properties", {}).get("hardwareProfile", {}).get("vmSize")
        denying = [name for name, sizes in self.world.policies.items() if size and size not in sizes]
        return {
            "fieldRestrictions": [],
            "contentEvaluationResult": {"policyEvaluations": [denial(name, size) for name in denying]},
        }

    def providers(self) -> dict[str, Any]:
        names = ("Microsoft.Compute", "Microsoft.Network", "Microsoft.DevTestLab", "Microsoft.Sql")
        states = {name: "NotRegistered" if name in self.world.unregistered else "Registered" for name in names}
        return {"value": [{"namespace": name, "registrationState": state} for name, state in states.items()]}

    def _group(self, verb: str, group: str, query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if verb == "GET":
            self._advance_groups()
        if verb == "GET" and not group:
            fitting = [item for item in self.groups.values() if fits(item, query.get("$filter", ""))]
            return 200, paged(self.poor.shown("groups", fitting, identity=lambda item: str(item["name"])), query)
        if verb == "DELETE" and query.get("forceDeletionTypes") not in (None, "Microsoft.Compute/virtualMachines"):
            raise RefusedError(400, "InvalidForceDeletionTypes", query["forceDeletionTypes"])
        existing = self.groups.get(group)
        if existing and existing["properties"]["provisioningState"] == "Deleting":
            raise RefusedError(409, "ResourceGroupBeingDeleted", f"The resource group '{group}' is being deleted.")
        if verb == "PUT":
            check(resources.ResourceGroup, body)
            item = {"id": f"/subscriptions/s/resourceGroups/{group}", "name": group, **body}
            self.groups[group] = {**item, "properties": {"provisioningState": "Succeeded"}, "polls": 0}
            return 200 if existing else 201, public(self.groups[group])
        if existing is None:
            raise RefusedError(404, "ResourceGroupNotFound", f"Resource group '{group}' could not be found.")
        if verb == "DELETE":
            existing["properties"] = {"provisioningState": "Deleting"}
            existing["polls"] = self.world.ending_polls
            return 202, {}
        return 200, public(existing)

    def _advance_groups(self) -> None:
        """Bring deletions one listing nearer to their end."""
        for name, group in list(self.groups.items()):
            if group["properties"]["provisioningState"] != "Deleting":
                continue
            if group["polls"] > 0:
                group["polls"] -= 1
            elif self.world.reject_deletions > 0:
                self.world.reject_deletions -= 1
                group["properties"] = {"provisioningState": "Succeeded"}
            else:
                del self.groups[name]
                self.things = {key: thing for key, thing in self.things.items() if key[0] != name}

    def _put(self, key: tuple[str, str, str], body: dict[str, Any]) -> tuple[int, Any]:
        group, resource_type, name = key
        if resource_type not in MODELS:
            raise RefusedError(405, "MethodNotAllowed", resource_type)
        check(MODELS[resource_type], body)
        for identity in references(body):
            self._named(identity)
        existing = self.things.get(key)
        if resource_type == "virtualMachines" and existing is None:
            self._room(group, body)
        identity = f"/subscriptions/s/resourceGroups/{group}/providers/{PROVIDER[resource_type]}/{resource_type}/{name}"
        if existing is None:
            self._take_reserved(identity, body)
            item = {"id": identity, "name": name, **copy.deepcopy(body)}
            if resource_type != "proximityPlacementGroups":  # these are made at once, and have no such field
                state = "Creating" if resource_type == "virtualMachines" else "Succeeded"
                item["properties"]["provisioningState"] = state
            self.things[key] = item
            if resource_type == "virtualMachines":
                self._begin_machine(key, item)
        elif resource_type != "virtualMachines":
            state = {name: existing["properties"][name] for name in existing["properties"].keys() - body["properties"]}
            self.things[key] = {**existing, **copy.deepcopy(body), "properties": {**body["properties"], **state}}
        return 200 if existing else 201, public(self.things[key])

    def _named(self, identity: str) -> None:
        parts = identity.split("/")
        key = (parts[4], parts[7], parts[8])
        if key[1] == "capacityReservationGroups":
            self._reserved(key[2])
            return
        if key not in self.things:
            raise RefusedError(404, "NotFound", f"Resource {identity} not found.")
        if len(parts) > 9:
            subnets = [subnet["name"] for subnet in self.things[key]["properties"].get("subnets", ())]
            if parts[10] not in subnets:
                raise RefusedError(400, "InvalidResourceReference", identity)

    def _room(self, group: str, body: dict[str, Any]) -> None:
        region, size = body["location"], body["properties"]["hardwareProfile"]["vmSize"]
        require_able(next(able_to(sku) for sku in SKUS if sku["name"] == size), body["properties"])
        if self._used(region) + SIZES[size] > self.world.quota_vcpus.get(region, 50000):
            message = "Operation could not be completed as it results in exceeding approved quota."
            raise RefusedError(409, "OperationNotAllowed", message)
        if self.world.refuse_at_once and self._full(body):
            raise RefusedError(409, "SkuNotAvailable", f"The requested size is currently not available in {region}")

    def _take_reserved(self, identity: str, body: dict[str, Any]) -> None:
        """Take a machine from the group of reservations that its request names."""
        wanted = body["properties"].get("capacityReservation")
        if wanted is None:
            return
        if "proximityPlacementGroup" in body["properties"]:
            raise RefusedError(400, "BadRequest", "Capacity reservations do not support proximity placement groups.")
        for held in self._reserved(wanted["capacityReservationGroup"]["id"].rpartition("/")[2]):
            taken = held["properties"].setdefault("virtualMachinesAssociated", [])
            wanted_of = (body["location"], body["properties"]["hardwareProfile"]["vmSize"], body.get("zones"))
            is_alike = (held["location"], held["sku"]["name"], held.get("zones")) == wanted_of
            if is_alike and len(taken) < held["sku"]["capacity"]:
                taken.append({"id": identity})
                return
        raise RefusedError(409, "OverconstrainedAllocationRequest", "No capacity is reserved for such a machine.")

    def _full(self, body: dict[str, Any]) -> bool:
        zone = "-".join([body["location"], *body.get("zones", ())])
        return min(room.get(zone, 1) for room in self._rooms(body)) <= 0

    def _rooms(self, body: dict[str, Any]) -> list[dict[str, int]]:
        """Return the places where a machine must find room."""
        is_spot = body["properties"].get("priority") == "Spot"
        return [self.world.capacity, *([self.world.spot_capacity] if is_spot else [])]

    def _used(self, region: str) -> int:
        machines = [t for (_, resource_type, _), t in self.things.items() if resource_type == "virtualMachines"]
        return sum(SIZES[m["properties"]["hardwareProfile"]["vmSize"]] for m in machines if m["location"] == region)

    def _begin_machine(self, key: tuple[str, str, str], item: dict[str, Any]) -> None:
        """Decide the machine's fate."""
        zone = "-".join([item["location"], *item.get("zones", ())])
        if self.world.fail_machines:
            item["fails"] = self.world.fail_machines.pop(0)
        elif self._full(item):
            item["fails"] = ["ZonalAllocationFailed", "Allocation failed. We do not have sufficient capacity"]
        else:
            for room in [room for room in self._rooms(item) if zone in room]:
                room[zone] -= 1
        item["polls"] = self.world.starting_polls

    def _everywhere(self, query: dict[str, str]) -> list[dict[str, Any]]:
        """List the machines of all groups: their description or, with statusOnly, their state. The group's name is in
        capitals in the ids.
        """
        machines = [(key, thing) for key, thing in self.things.items() if key[1] == "virtualMachines"]
        if query.get("statusOnly") != "true":
            return [public(thing) for _, thing in machines]
        return [
            {
                "id": thing["id"].replace(group, group.upper()),
                "name": name,
                "location": thing["location"],
                "properties": {
                    "provisioningState": thing["properties"]["provisioningState"],
                    "instanceView": {"statuses": thing.get("statuses", [])},
                },
            }
            for (group, _, name), thing in machines
        ]

    def _listed(self, group: str, resource_type: str, query: dict[str, str]) -> list[dict[str, Any]]:
        if "$expand" in query and "virtualMachineScaleSet/id" not in query.get("$filter", ""):
            raise RefusedError(400, "BadRequest", "The expand option needs a filter by virtualMachineScaleSet/id.")
        things = [(key, thing) for key, thing in self.things.items() if key[:2] == (group, resource_type)]
        if resource_type == "virtualMachines":
            for key, machine in things:
                self._advance_machine(key, machine)
        listing = f"{group} {resource_type}"
        shown = self.poor.shown(listing, [thing for _, thing in things], identity=lambda thing: str(thing["name"]))
        return [public(self._addressed(thing, resource_type)) for thing in shown]

    def _addressed(self, thing: dict[str, Any], resource_type: str) -> dict[str, Any]:
        if resource_type != "networkInterfaces" or self.poor.has_addresses(thing["name"]):
            return thing
        return {**thing, "properties": {**thing["properties"], "ipConfigurations": []}}

    def _advance_machine(self, key: tuple[str, str, str], machine: dict[str, Any]) -> None:
        properties = machine["properties"]
        if properties["provisioningState"] != "Creating":
            return
        if machine["polls"] > 0:
            machine["polls"] -= 1
        elif "fails" in machine:
            properties["provisioningState"] = "Failed"
            code, message = machine["fails"]
            machine["statuses"] = [{"code": f"ProvisioningState/failed/{code}", "message": message}]
        else:
            properties["provisioningState"] = "Succeeded"
            machine["statuses"] = [{"code": "ProvisioningState/succeeded"}, {"code": "PowerState/running"}]
            self._make_parts(key, machine)

    def _make_parts(self, key: tuple[str, str, str], machine: dict[str, Any]) -> None:
        group, _, name = key
        scope = f"/subscriptions/s/resourceGroups/{group}/providers"
        number = next(self.numbers)
        storage = machine["properties"]["storageProfile"]
        for order in range(1 + len(storage.get("dataDisks", ()))):
            self.things[group, "disks", f"{name}-{order}"] = {"name": f"{name}-{order}", "of": name}
        for wanted in machine["properties"]["networkProfile"]["networkInterfaceConfigurations"]:
            address = {"privateIPAddress": f"10.77.{number // 250 % 128}.{number % 250 + 4}", "primary": True}
            if "publicIPAddressConfiguration" in wanted["properties"]["ipConfigurations"][0]["properties"]:
                identity = f"{scope}/Microsoft.Network/publicIPAddresses/{name}"
                address["publicIPAddress"] = {"id": identity}
                door = {"id": identity, "name": name, "properties": {"ipAddress": public_address()}, "of": name}
                self.things[group, "publicIPAddresses", name] = door
            properties = {
                "virtualMachine": {"id": machine["id"]},
                "ipConfigurations": [{"name": "cluster", "properties": address}],
            }
            self.things[group, "networkInterfaces", name] = {"name": name, "properties": properties, "of": name}

    def _console(self, key: tuple[str, str, str]) -> dict[str, Any]:
        """Return the path of the console's log, on the same server; refuse for a machine that keeps none."""
        if not self.things[key]["properties"]["diagnosticsProfile"]["bootDiagnostics"]["enabled"]:
            raise RefusedError(409, "OperationNotAllowed", "Boot diagnostics is not enabled for the virtual machine.")
        return {"serialConsoleLogBlobUri": f"/console/{key[0]}.{key[2]}"}

    def _remove_machine(self, key: tuple[str, str, str]) -> None:
        del self.things[key]
        parts = [other for other, thing in self.things.items() if other[0] == key[0] and thing.get("of") == key[2]]
        for other in parts:
            del self.things[other]

    def _usages(self, region: str) -> list[dict[str, Any]]:
        used, limit = self._used(region), self.world.quota_vcpus.get(region, 50000)
        limits = {FAMILY: (used, limit), "cores": (used, 100000), "virtualMachines": (used // 8, 25000)}
        limits["lowPriorityCores"] = (0, 1000)
        return [
            {"name": {"value": name}, "currentValue": at, "limit": most, "unit": "Count"}
            for name, (at, most) in limits.items()
        ]

    def _network_usages(self, region: str) -> list[dict[str, Any]]:
        """Return the number of network resources in a region, and their limits."""
        used = dict.fromkeys(("VirtualNetworks", "NetworkSecurityGroups", "NetworkInterfaces"), 0)
        for group, resource_type, _ in self.things:
            name = resource_type[0].upper() + resource_type[1:]
            if name in used and self.groups[group]["location"] == region:
                used[name] += 1
        limits = {"VirtualNetworks": 1000, "NetworkSecurityGroups": 5000, "NetworkInterfaces": 65536}
        limits |= self.world.quota_network.get(region, {})
        return [
            {"name": {"value": name}, "currentValue": at, "limit": limits[name], "unit": "Count"}
            for name, at in (used | {"PublicIPAddresses": 0}).items()
            if name in limits
        ]

    def _sizes(self, query: dict[str, str]) -> list[dict[str, Any]]:
        region = query["$filter"].split("'")[1]
        return [
            sku | {"locations": [region], "locationInfo": [info | {"location": region} for info in sku["locationInfo"]]}
            for sku in SKUS
        ]


def public(thing: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a resource that the API shows."""
    return {key: value for key, value in thing.items() if key not in ("polls", "fails", "statuses", "of")}


def paged(items: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    start = int(query.get("$skiptoken") or 0)
    page: dict[str, Any] = {
        "value": [public(item) if "polls" in item else item for item in items[start : start + PAGE]]
    }
    if len(items) > start + PAGE:
        page["more"] = start + PAGE
    return page


def denial(assignment: str, size: str) -> dict[str, Any]:
    """Return the denial of a size by a policy, in the form of the REST reference's example."""
    expression = {
        "result": "True",
        "expressionKind": "Field",
        "expression": "Microsoft.Compute/virtualMachines/sku.name",
        "path": "properties.hardwareProfile.vmSize",
        "expressionValue": size,
        "targetValue": "[parameters('listOfAllowedSKUs')]",
        "operator": "NotIn",
    }
    return {
        "policyInfo": {
            "policyAssignmentId": f"/subscriptions/s/providers/Microsoft.Authorization/policyAssignments/{assignment}"
        },
        "evaluationResult": "NonCompliant",
        "evaluationDetails": {"evaluatedExpressions": [expression]},
    }
