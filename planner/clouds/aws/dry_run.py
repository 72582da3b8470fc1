"""AWS for dry runs: it remembers what would be created, so that it can be listed and deleted again.

Nothing is created or asked: a word in <angle brackets> stands for values that only AWS knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from planner.clouds.aws import resources
from planner.clouds.aws.client import Service
from planner.clouds.protocol import PlannedRequest

_UNKNOWN: Final = {
    "describe_images",
    "describe_instance_types",
    "describe_prefix_lists",
    "describe_instance_type_offerings",
    "describe_capacity_reservations",
}
_CREATIONS: Final = {
    "create_vpc": "vpc",
    "create_internet_gateway": "internet-gateway",
    "create_subnet": "subnet",
    "create_route_table": "route-table",
    "create_security_group": "security-group",
    "create_vpc_endpoint": "vpc-endpoint",
    "import_key_pair": "key-pair",
    "create_placement_group": "placement-group",
}


class DryRun:
    """All services of one dry run; `requests` grows with each call. With a service to `ask`, values that only AWS knows
    come from it.
    """

    def __init__(self, *, ask: Service | None = None) -> None:
        self.ask = ask
        self.requests: list[PlannedRequest] = []
        self.made: dict[str, list[dict[str, Any]]] = {kind: [] for kind in resources.resource_types()}
        self.numbers = count(1)

    def connect(self, name: str, region: str) -> Service:
        """Return a simulated service."""
        return _DryRunService(self, name, region)


class _DryRunService:
    def __init__(self, dry_run: DryRun, name: str, region: str) -> None:
        self.region = region
        self._name, self._dry_run = name, dry_run

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """See Service."""
        del repeatable, fresh
        self._note(operation, request)
        if operation == "run_instances":
            return {"Instances": [self._instance(request) for _ in range(request["MinCount"])]}
        if operation == "attach_internet_gateway":
            self._dry_run.made["internet-gateway"][-1]["Attachments"] = [{"VpcId": request["VpcId"]}]
        if operation in _CREATIONS:
            return self._create(_CREATIONS[operation], request)
        for resource_kind, resource_type in resources.resource_types().items():
            if operation == resource_type.deletion:
                self._delete(resource_kind, request)
            if operation == resource_type.listing:
                return {resource_type.list_key: self._dry_run.made[resource_kind]}
        return {}

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        chosen = {given["Name"]: given["Values"][0] for given in request.get("Filters", [])}
        if operation not in _UNKNOWN and chosen.get("subnet-id", "<").startswith("<"):  # not an existing one
            items = self.call(operation, **request).get(key, [])
            yield from [{"Instances": items}] if key == "Reservations" else items
            return
        self._note(operation, request)
        yield from (
            self._dry_run.ask.items(operation, key, **request) if self._dry_run.ask else _unknown(operation, request)
        )

    def _note(self, operation: str, request: dict[str, Any]) -> None:
        planned = PlannedRequest(service=self._name, region=self.region, operation=operation, parameters=request)
        self._dry_run.requests.append(planned)

    def _create(self, resource_kind: str, request: dict[str, Any]) -> dict[str, Any]:
        name = resources.resource_types()[resource_kind].id
        made = {name: request.get(name) or self._id(name), "Tags": _tags(request)}
        self._dry_run.made[resource_kind].append(made)
        return made

    def _instance(self, request: dict[str, Any]) -> dict[str, Any]:
        made = {
            "InstanceId": self._id("InstanceId"),
            "InstanceType": request["InstanceType"],
            "Placement": request["Placement"],
            "State": {"Name": "running"},
            "Tags": _tags(request),
        }
        self._dry_run.made["instance"].append(made)
        return made

    def _id(self, name: str) -> str:
        return f"<{name} {next(self._dry_run.numbers)}>"

    def _delete(self, resource_kind: str, request: dict[str, Any]) -> None:
        gone = {name for value in request.values() for name in (value if isinstance(value, list) else [value])}
        name = resources.resource_types()[resource_kind].id
        self._dry_run.made[resource_kind] = [
            made for made in self._dry_run.made[resource_kind] if made[name] not in gone
        ]


def _tags(request: dict[str, Any]) -> list[dict[str, str]]:
    return list(request["TagSpecifications"][0]["Tags"])


def _unknown(operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return placeholders for values that only the account can ask for."""
    filters = {chosen["Name"]: chosen["Values"][0] for chosen in request.get("Filters", [])}
    if "CapacityReservationIds" in request:
        return [{"CapacityReservationId": request["CapacityReservationIds"][0]}]
    if "ImageIds" in request:
        return [{"ImageId": image} for image in request["ImageIds"]]
    if operation == "describe_images":
        return [{"ImageId": f"<newest image {filters['name']}>", "CreationDate": ""}]
    if operation == "describe_instance_types":
        # AWS writes a g behind the generation of its Arm types: i8g, c7gn, but g5 and g6e are x86.
        arm = re.match(r"[a-z]+\d+[a-z]*g", filters["instance-type"].partition(".")[0])
        return [{"ProcessorInfo": {"SupportedArchitectures": ["arm64" if arm else "x86_64"]}}]
    if operation == "describe_prefix_lists":
        return [{"PrefixListId": f"<prefix list of {filters['prefix-list-name']}>"}]
    if operation == "describe_subnets":
        return [
            {"VpcId": f"<network of {filters['subnet-id']}>", "AvailabilityZone": f"<zone of {filters['subnet-id']}>"}
        ]
    return []
