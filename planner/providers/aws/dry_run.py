"""AWS as far as a dry run needs it: what would be created is remembered, so that it can be listed and deleted again.

Nothing is created. What AWS alone knows is asked of it where there are credentials; otherwise a word in <angle
brackets> stands for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from planner.providers.aws import resources
from planner.providers.aws.client import Connect, Service
from planner.providers.protocol import PlannedRequest

_ASKED: Final = {
    "describe_images",
    "describe_instance_types",
    "describe_prefix_lists",
    "describe_instance_type_offerings",
}
_KIND_OF: Final = {how.listing: kind for kind, how in resources.KINDS.items()}
_DELETIONS: Final = {how.deletion: kind for kind, how in resources.KINDS.items()}
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


class Rehearsal:
    """All services of one dry run; `requests` grows as calls are made."""

    def __init__(self, *, live: Connect | None) -> None:
        self.live = live
        self.requests: list[PlannedRequest] = []
        self.made: dict[str, list[dict[str, Any]]] = {kind: [] for kind in resources.KINDS}
        self.numbers = count(1)

    def connect(self, name: str, region: str) -> Service:
        """Return a service that pretends."""
        return _Pretended(self, name, region)


class _Pretended:
    def __init__(self, rehearsal: Rehearsal, name: str, region: str) -> None:
        self.region = region
        self._name, self._of = name, rehearsal

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        """See Service."""
        del repeatable, fresh
        self._note(operation, request)
        if operation == "run_instances":
            return {"Instances": [self._instance(request) for _ in range(request["MinCount"])]}
        if operation == "attach_internet_gateway":
            self._of.made["internet-gateway"][-1]["Attachments"] = [{"VpcId": request["VpcId"]}]
        if operation in _CREATIONS:
            return self._create(_CREATIONS[operation], request)
        if operation in _DELETIONS:
            self._delete(_DELETIONS[operation], request)
        listed = _KIND_OF.get(operation)
        return {resources.KINDS[listed].under: self._of.made[listed]} if listed else {}

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        """See Service."""
        if operation not in _ASKED:
            found = self.call(operation, **request).get(key, [])
            yield from [{"Instances": found}] if key == "Reservations" else found
            return
        self._note(operation, request)
        live = self._of.live
        yield from (
            live(self._name, self.region).items(operation, key, **request) if live else _unknown(operation, request)
        )

    def _note(self, operation: str, request: dict[str, Any]) -> None:
        planned = PlannedRequest(service=self._name, region=self.region, operation=operation, parameters=request)
        self._of.requests.append(planned)

    def _create(self, kind: str, request: dict[str, Any]) -> dict[str, Any]:
        name = resources.KINDS[kind].id
        made = {name: request.get(name) or self._id(name), "Tags": _tags(request)}
        self._of.made[kind].append(made)
        return made

    def _instance(self, request: dict[str, Any]) -> dict[str, Any]:
        made = {
            "InstanceId": self._id("InstanceId"),
            "InstanceType": request["InstanceType"],
            "Placement": request["Placement"],
            "State": {"Name": "running"},
            "Tags": _tags(request),
        }
        self._of.made["instance"].append(made)
        return made

    def _id(self, name: str) -> str:
        return f"<{name} {next(self._of.numbers)}>"

    def _delete(self, kind: str, request: dict[str, Any]) -> None:
        gone = {name for value in request.values() for name in (value if isinstance(value, list) else [value])}
        name = resources.KINDS[kind].id
        self._of.made[kind] = [made for made in self._of.made[kind] if made[name] not in gone]


def _tags(request: dict[str, Any]) -> list[dict[str, str]]:
    return list(request["TagSpecifications"][0]["Tags"])


def _unknown(operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    """Stand in for what only the account can ask."""
    wanted = {each["Name"]: each["Values"][0] for each in request.get("Filters", [])}
    if operation == "describe_images":
        return [{"ImageId": f"<newest image {wanted['name']}>", "CreationDate": ""}]
    if operation == "describe_instance_types":
        # AWS writes a g behind the generation of its Arm types: i8g, c7gn, but g5 and g6e are x86.
        arm = re.match(r"[a-z]+\d+[a-z]*g", wanted["instance-type"].partition(".")[0])
        return [{"ProcessorInfo": {"SupportedArchitectures": ["arm64" if arm else "x86_64"]}}]
    if operation == "describe_prefix_lists":
        return [{"PrefixListId": f"<prefix list of {wanted['prefix-list-name']}>"}]
    return []
