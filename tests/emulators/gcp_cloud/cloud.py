"""Contents of the emulated Compute Engine: its state, and the methods that make, list and delete resources."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from discovery import ApiCall
from gcp_cloud.facts import MACHINE_TYPES, REGIONS, ZONES, vcpus_of
from gcp_cloud.requests import RefusedError, fits, needed, paged
from poor_listings import PoorListings
from public_addresses import public_address

COLLECTIONS = ("networks", "subnetworks", "firewalls", "resourcePolicies", "instances", "disks")
ROOT = "https://www.googleapis.com/compute/v1/"


@dataclass
class World:
    """State of the cloud. Counts of polls are of listings of machines, those of operations of any request."""

    capacity: dict[str, int] = field(default_factory=dict)  # machines that a zone can still start; others have enough
    spot_capacity: dict[str, int] = field(default_factory=dict)  # of these, spot ones; others have enough
    quota: dict[str, dict[str, float]] = field(default_factory=dict)  # by region and metric; 50000 elsewhere
    price_factor: float = 1.0
    offered_in: list[str] | None = None  # zones; all if None
    starting_polls: int = 0
    ending_polls: int = 0
    operation_polls: int = 0
    end_at_boot: int = 0  # this number of the next machines end instead of running
    end_reason: str = "the guest has failed"
    fail_operations: list[list[str]] = field(default_factory=list)  # method and code, for the next operations
    reservations: list[dict[str, Any]] = field(default_factory=list)  # as Google describes them
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)  # of the organisation, by their constraint
    permissions: list[str] | None = None  # the account's permissions; everything if None
    conditional: dict[str, str] = field(default_factory=dict)  # by permission: text that resource names must contain
    account_permissions: list[str] = field(default_factory=list)  # its permissions on any service account
    troubleshoots: bool = True  # whether the policy troubleshooter is enabled


class Cloud:
    """One project."""

    def __init__(self) -> None:
        self.begin(World())

    def begin(self, world: World) -> None:
        self.world = world
        self.things: dict[str, dict[tuple[str, str], dict[str, Any]]] = {name: {} for name in COLLECTIONS}
        self.operations: dict[str, dict[str, Any]] = {}
        self.pending: list[tuple[int, dict[str, Any], Any]] = []
        self.replays: dict[str, tuple[Any, dict[str, Any]]] = {}
        self.consoles: dict[str, str] = {}
        self.poor = PoorListings()
        self.numbers = iter(range(1, 10**9))

    def machines(self) -> list[dict[str, Any]]:
        """Describe every existing machine, for the code that gives it a body."""
        return [body_of(item) for item in self.things["instances"].values() if item["status"] != "STOPPING"]

    def left(self) -> dict[str, int]:
        counts = {name: len(some) for name, some in self.things.items()} | {"operations": len(self.pending)}
        return {name: count for name, count in counts.items() if count}

    def answer(self, asked: ApiCall) -> dict[str, Any]:
        self._tick()
        self._permit(asked)
        collection, _, verb = asked.method.partition(".")
        act = getattr(self, f"{verb}_{collection}", None) or getattr(self, verb, None)
        if act is None:
            raise RefusedError(501, "notImplemented", asked.method)
        return dict(act(asked))

    def _permit(self, asked: ApiCall) -> None:
        if self.world.permissions is None:
            return
        for permission in needed(asked):
            named = [asked.body.get("name", ""), *asked.path.values(), *asked.body.get("perInstanceProperties", ())]
            part = self.world.conditional.get(permission)
            if permission not in self.world.permissions and not (part and any(part in name for name in named)):
                raise RefusedError(403, "forbidden", f"Required '{permission}' permission for 'projects/p'")

    def _tick(self) -> None:
        """Bring operations one request nearer to their end."""
        due, self.pending = [p for p in self.pending if p[0] <= 0], [(n - 1, *p) for n, *p in self.pending if n > 0]
        for _, operation, effect in due:
            finish(operation, effect)

    def _operation(self, asked: ApiCall, effect: Any) -> dict[str, Any]:
        """Begin an operation, or return the one that the same request began before."""
        key = asked.query.get("requestId")
        if key and key in self.replays:
            before, operation = self.replays[key]
            if before != (asked.method, asked.body):
                raise RefusedError(400, "invalid", "the request id was used with another request")
            return operation
        scope = {
            scope_name: f"{ROOT}projects/p/{scope_name}s/{asked.path[scope_name]}"
            for scope_name in ("zone", "region")
            if scope_name in asked.path
        }
        name, verb = f"operation-{next(self.numbers)}", asked.method.partition(".")[2]
        operation = {"name": name, "kind": "compute#operation", "status": "RUNNING", "operationType": verb, **scope}
        if key:
            operation["clientOperationId"] = key
            self.replays[key] = ((asked.method, asked.body), operation)
        self.operations[name] = operation
        for number, (method, code) in enumerate(self.world.fail_operations):
            if method == asked.method:
                del self.world.fail_operations[number]
                effect = failing(code)
                break
        if self.world.operation_polls:
            self.pending.append((self.world.operation_polls, operation, effect))
        else:
            finish(operation, effect)
        return operation

    def insert(self, asked: ApiCall) -> dict[str, Any]:
        collection, scope = asked.method.partition(".")[0], asked.path.get("region", "")
        key = (scope, asked.body["name"])
        require_rule(asked.body if collection == "firewalls" else {})
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", key[1]):
            raise RefusedError(400, "invalid", f"name {key[1]}")
        if asked.query.get("requestId") not in self.replays:
            if key in self.things[collection] or self._is_under_way(asked):
                raise RefusedError(409, "alreadyExists", f"The resource '{key[1]}' already exists")
            if "network" in asked.body:
                self._named("networks", asked.body["network"])
        region = {"region": f"{ROOT}projects/p/regions/{scope}"} if scope else {}
        made = {**asked.body, **region, "id": str(next(self.numbers))}
        return self._operation(asked, lambda: self.things[collection].update({key: made}))

    def _is_under_way(self, asked: ApiCall) -> bool:
        made = {before[1].get("name") for before, operation in self.replays.values() if operation["status"] != "DONE"}
        return asked.body["name"] in made

    def _named(self, collection: str, url: str, *, scope: str = "") -> dict[str, Any]:
        parts = url.split("/")
        where = parts[parts.index("regions") + 1] if "regions" in parts else scope
        thing = self.things[collection].get((where, parts[-1]))
        if thing is None:
            raise RefusedError(404, "notFound", f"The resource '{url}' was not found")
        return thing

    def bulkInsert_instances(self, asked: ApiCall) -> dict[str, Any]:
        zone, body = asked.path["zone"], asked.body
        wanted, names = body["instanceProperties"], list(body.get("perInstanceProperties", {}))
        if len(names) != int(body["count"]) or len(names) > 1000:
            raise RefusedError(400, "invalid", "count and names differ, or are too many")
        if "/" in wanted["machineType"] or any("/" in name for name in wanted.get("resourcePolicies", ())):
            raise RefusedError(400, "invalid", "names are wanted, not URLs")
        if asked.query.get("requestId") in self.replays:
            return self._operation(asked, None)
        for interface in wanted["networkInterfaces"]:
            self._named("subnetworks", interface["subnetwork"])
        region = zone.rpartition("-")[0]
        for name in wanted.get("resourcePolicies", ()):
            self._named("resourcePolicies", name, scope=region)
        return self._operation(asked, lambda: self._launch(zone, wanted, names))

    def _launch(self, zone: str, wanted: dict[str, Any], names: list[str]) -> None:
        region, machine_type = zone.rpartition("-")[0], wanted["machineType"]
        if any((zone, name) in self.things["instances"] for name in names):
            raise RefusedError(409, "RESOURCE_ALREADY_EXISTS", "an instance of this name exists")
        used = sum(vcpus_of(i) for (at, _), i in self.things["instances"].items() if at.startswith(region))
        metric = f"{machine_type.partition('-')[0].upper()}_CPUS"
        if used + len(names) * MACHINE_TYPES[machine_type]["guestCpus"] > self.quota(region, metric):
            raise RefusedError(403, "QUOTA_EXCEEDED", f"Quota '{metric}' exceeded. Limit: {self.quota(region, metric)}")
        offered = self.world.offered_in is None or zone in self.world.offered_in
        is_spot = wanted["scheduling"].get("provisioningModel") == "SPOT"
        rooms = [self.world.capacity, *([self.world.spot_capacity] if is_spot else [])]
        if not offered or min(room.get(zone, len(names)) for room in rooms) < len(names):
            raise RefusedError(503, "ZONE_RESOURCE_POOL_EXHAUSTED", f"The zone '{zone}' does not have enough resources")
        self._take_reserved(zone, wanted, len(names))
        for room in [room for room in rooms if zone in room]:
            room[zone] -= len(names)
        for name in names:
            self._make(zone, name, wanted)

    def _take_reserved(self, zone: str, wanted: dict[str, Any], machines: int) -> None:
        """Take machines from the reservation named by a launch: of the same kind, in its zone, with its placement
        policies.
        """
        affinity = wanted.get("reservationAffinity")
        if affinity is None:
            return
        if affinity["key"] != "compute.googleapis.com/reservation-name":
            raise RefusedError(400, "invalid", f"key {affinity['key']}")
        for held in self.world.reservations:
            specific, policies = held["specificReservation"], held.get("resourcePolicies", {})
            properties = specific["instanceProperties"]
            disks = sum(disk.get("type") == "SCRATCH" for disk in wanted["disks"])
            if (
                [held["name"]] == affinity["values"]
                and held["zone"].endswith(f"/{zone}")
                and held["specificReservationRequired"]
                and (properties["machineType"], len(properties["localSsds"])) == (wanted["machineType"], disks)
                and [url.rpartition("/")[2] for url in policies.values()] == wanted.get("resourcePolicies", [])
                and int(specific["count"]) - int(specific["inUseCount"]) >= machines
            ):
                specific["inUseCount"] = str(int(specific["inUseCount"]) + machines)
                return
        raise RefusedError(503, "RESOURCE_AVAILABILITY", f"no reservation {affinity['values']} has room for these")

    def _make(self, zone: str, name: str, wanted: dict[str, Any]) -> None:
        number, where = next(self.numbers), {"zone": f"{ROOT}projects/p/zones/{zone}"}
        ends = self.world.end_at_boot > 0
        self.world.end_at_boot -= ends
        interface = copy.deepcopy(wanted["networkInterfaces"][0])
        interface["networkIP"] = f"10.77.{number // 250 % 128}.{number % 250 + 2}"
        for access in interface.get("accessConfigs", ()):
            access["natIP"] = public_address()
        disks = []
        for order, disk in enumerate(wanted["disks"]):
            if disk.get("type") != "SCRATCH":
                parameters = disk["initializeParams"]
                made = {"name": f"{name}-{order}" if order else name, "labels": parameters.get("labels", {}), **where}
                self.things["disks"][zone, made["name"]] = {**made, "status": "READY", "users": [name]}
                disks.append(made["name"])
        self.things["instances"][zone, name] = {
            "name": name,
            "labels": wanted.get("labels", {}),
            "status": "STAGING",
            "machineType": f"{ROOT}projects/p/zones/{zone}/machineTypes/{wanted['machineType']}",
            "creationTimestamp": "2026-11-21T12:00:00.000-08:00",
            "networkInterfaces": [interface],
            "resourcePolicies": wanted.get("resourcePolicies", []),
            "metadata": wanted["metadata"],
            "polls": self.world.starting_polls,
            "next": "TERMINATED" if ends else "RUNNING",
            "disks": disks,
            **where,
        }

    def delete(self, asked: ApiCall) -> dict[str, Any]:
        collection = asked.method.partition(".")[0]
        scope = asked.path.get("region", "") or asked.path.get("zone", "")
        name = next(value for key, value in asked.path.items() if key not in ("project", "region", "zone"))
        thing = self.things[collection].get((scope, name))
        if thing is None:
            raise RefusedError(404, "notFound", f"The resource '{name}' was not found")
        if user := self._user_of(collection, scope, name):
            raise RefusedError(400, "resourceInUseByAnotherResource", f"'{name}' is already being used by '{user}'")
        if collection == "instances":
            thing.update({"status": "STOPPING", "next": "GONE", "polls": self.world.ending_polls})
            return self._operation(asked, lambda: None)
        return self._operation(asked, lambda: self.things[collection].pop((scope, name), None))

    def _user_of(self, collection: str, scope: str, name: str) -> str:
        machines, end = self.things["instances"], f"/{name}"
        on_network = [*self.things["subnetworks"].values(), *self.things["firewalls"].values()]
        users = {
            "networks": [u for u in on_network if u["network"].endswith(end)],
            "subnetworks": [i for i in machines.values() if i["networkInterfaces"][0]["subnetwork"].endswith(end)],
            "resourcePolicies": [i for i in machines.values() if name in i["resourcePolicies"]],
            "disks": [i for (zone, _), i in machines.items() if zone == scope and name in i["disks"]],
        }
        return next((user["name"] for user in users.get(collection, ())), "")

    def _advance(self) -> None:
        """Bring machines one listing nearer to their next state."""
        for (zone, name), machine in list(self.things["instances"].items()):
            if machine["next"] and machine["polls"] > 0:
                machine["polls"] -= 1
            elif machine["next"] == "GONE":
                del self.things["instances"][zone, name]
                for disk in machine["disks"]:
                    self.things["disks"].pop((zone, disk), None)
            elif machine["next"]:
                machine["status"], machine["next"] = machine["next"], ""
                if machine["status"] == "TERMINATED":
                    machine["statusMessage"] = self.world.end_reason

    def aggregatedList(self, asked: ApiCall) -> dict[str, Any]:
        collection = asked.method.partition(".")[0]
        if collection == "instances":
            self._advance()
        page, token = paged(asked, [self._addressed(item) for item in self._shown(collection, asked)])
        scopes: dict[str, dict[str, list[Any]]] = {"zones/empty": {"warning": {"code": "NO_RESULTS_ON_PAGE"}}}  # type: ignore[dict-item]
        under = "operations" if collection == "globalOperations" else collection
        for item in page:
            scope = str(item.get("zone", item.get("region", "global"))).removeprefix(f"{ROOT}projects/p/")
            scopes.setdefault(scope, {}).setdefault(under, []).append(item)
        return {"items": scopes, **token}

    def _shown(self, collection: str, asked: ApiCall) -> list[dict[str, Any]]:
        """Return the entries that a listing shows: a run's own resources not all at once."""
        items = self._all(collection, asked)
        is_own = collection in self.things and not asked.query.get("filter", "").startswith("name=")
        return self.poor.shown(collection, items, identity=lambda item: str(item["name"])) if is_own else items

    def _addressed(self, item: dict[str, Any]) -> dict[str, Any]:
        runs = "networkInterfaces" in item and item["status"] == "RUNNING"
        return item if not runs or self.poor.has_addresses(item["name"]) else {**item, "networkInterfaces": [{}]}

    def get(self, asked: ApiCall) -> dict[str, Any]:
        collection = asked.method.partition(".")[0]
        if collection == "instances":
            self._advance()
        scope = asked.path.get("region", "") or asked.path.get("zone", "")
        name = next(value for key, value in asked.path.items() if key not in ("project", "region", "zone"))
        if (scope, name) not in self.things[collection]:
            raise RefusedError(404, "notFound", f"The resource '{name}' was not found")
        return public(self.things[collection][scope, name])

    def _all(self, collection: str, asked: ApiCall) -> list[dict[str, Any]]:
        if collection == "globalOperations":
            items = list(self.operations.values())
        elif collection == "machineTypes":
            zones = ZONES if self.world.offered_in is None else self.world.offered_in
            items = [{**machine_type, "zone": zone} for zone in zones for machine_type in MACHINE_TYPES.values()]
        elif collection == "reservations":
            items = self.world.reservations
        else:
            items = [public(item) for item in self.things[collection].values()]
        return [item for item in items if fits(item, asked.query.get("filter", ""))]

    def list(self, asked: ApiCall) -> dict[str, Any]:
        collection, region = asked.method.partition(".")[0], asked.path.get("region")
        shown = self._shown(collection, asked)
        items = [item for item in shown if not region or item["region"].endswith(f"/{region}")]
        page, token = paged(asked, items)
        return {"items": page, **token}

    def list_regions(self, asked: ApiCall) -> dict[str, Any]:
        page, token = paged(asked, [{"name": name, "status": "UP"} for name in REGIONS])
        return {"items": page, **token}

    def get_projects(self, asked: ApiCall) -> dict[str, Any]:
        used = sum(vcpus_of(machine) for machine in self.things["instances"].values())
        use = {"CPUS_ALL_REGIONS": used}
        use |= {name.upper(): len(self.things[name]) for name in ("networks", "subnetworks", "firewalls")}
        quotas = [
            {"metric": metric, "limit": self.quota("everywhere", metric), "usage": float(of)}
            for metric, of in use.items()
        ]
        return {"name": asked.path["project"], "quotas": quotas}

    def get_regions(self, asked: ApiCall) -> dict[str, Any]:
        name = asked.path["region"]
        metrics = ("CPUS", "N2_CPUS", "C3_CPUS", "INSTANCES", "IN_USE_ADDRESSES", "LOCAL_SSD_TOTAL_GB", "SSD_TOTAL_GB")
        used = sum(vcpus_of(i) for (at, _), i in self.things["instances"].items() if at.startswith(name))
        quotas = [
            {"metric": m, "limit": self.quota(name, m), "usage": float(used) if m.endswith("CPUS") else 0.0}
            for m in metrics
        ]
        return {"name": name, "quotas": quotas}

    def quota(self, region: str, metric: str) -> float:
        return self.world.quota.get(region, {}).get(metric, 50000.0)

    def getSerialPortOutput(self, asked: ApiCall) -> dict[str, Any]:
        return {"contents": self.consoles.get(asked.path["instance"], "")}

    def wait(self, asked: ApiCall) -> dict[str, Any]:
        operation = self.operations.get(asked.path["operation"])
        if operation is None:
            raise RefusedError(404, "notFound", "no such operation")
        return operation


def require_rule(rule: dict[str, Any]) -> None:
    """Refuse a firewall rule with a field of the other direction, or with an invalid tag."""
    other = {"INGRESS": ("destinationRanges",), "EGRESS": ("sourceRanges", "sourceTags")}.get(rule.get("direction", ""))
    if wrong := [name for name in other or () if name in rule]:
        raise RefusedError(400, "invalid", f"{wrong} of a rule for {rule['direction']}")
    for tag in [*rule.get("targetTags", ()), *rule.get("sourceTags", ())]:
        if not re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", tag):
            raise RefusedError(400, "invalid", f"tag {tag}")


def finish(operation: dict[str, Any], effect: Any) -> None:
    try:
        effect()
    except RefusedError as error:
        operation["error"] = {"errors": [{"code": error.reason, "message": error.message}]}
        operation["httpErrorStatusCode"] = error.status
    operation["status"] = "DONE"


def failing(code: str) -> Any:
    def effect() -> None:
        raise RefusedError(500, code, "it was not to be")

    return effect


def public(item: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a resource that the API shows."""
    own = {key: value for key, value in item.items() if key not in ("polls", "next")}
    return {**own, "disks": [{"deviceName": name} for name in own["disks"]]} if "disks" in own else own


def body_of(machine: dict[str, Any]) -> dict[str, Any]:
    """Return a machine's name, its addresses, and the key that opens it."""
    interface = machine["networkInterfaces"][0]
    metadata = {item["key"]: item["value"] for item in machine["metadata"]["items"]}
    return {
        "id": machine["name"],
        "private_address": interface["networkIP"],
        "public_address": next((access["natIP"] for access in interface.get("accessConfigs", ())), ""),
        "public_key": metadata["ssh-keys"].partition(":")[2],
    }
