"""Azure for dry runs: it remembers what would be created, so that it can be listed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from planner.clouds.azure.client import Arm
from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.protocol import PlannedRequest

SUBSCRIPTION: Final = "<subscription>"


class DryRunArm:
    """Arm that records requests and creates nothing. With an `ask`, sizes and subnets are Azure's; without one nothing
    is asked, as a launch needs nothing that only the account knows.
    """

    at_once = 1

    def __init__(self, *, subscription: str, ask: Arm | None = None) -> None:
        self.subscription, self.ask = subscription, ask
        self.requests: list[PlannedRequest] = []
        self._made: dict[tuple[str, ...], dict[str, Any]] = {}

    def create(self, resource_kind: str, *names: str, body: dict[str, Any]) -> None:
        """See Arm."""
        self._note("create", resource_kind, names, {"body": body})
        item = {"id": "/".join(names), "name": names[-1], **body}
        if resource_kind == "machine":
            item["properties"] = {**body["properties"], "provisioningState": "Succeeded"}
        self._made[resource_kind, *names] = item

    def schedule(self, group: str, name: str, *, body: dict[str, Any]) -> None:
        """See Arm."""
        self._note("create", "schedule", (group, name), {"body": body})

    def items(self, resource_kind: str, *names: str, **options: str) -> Iterator[dict[str, Any]]:
        """See Arm."""
        self._note("list", resource_kind, names, dict(options))
        yield from [
            item for (of, *under), item in self._made.items() if of == resource_kind and tuple(under[:-1]) == names
        ]

    def get(self, resource_kind: str, *names: str) -> dict[str, Any]:
        """See Arm. A launch gets nothing but an existing subnet."""
        self._note("get", resource_kind, names, {})
        if self.ask and resource_kind == "subnet":
            return self.ask.get(resource_kind, *names)
        if resource_kind != "subnet" and (resource_kind, *names) not in self._made:
            raise NotFoundError(f"{resource_kind} {names[-1]}: not made", cloud_code="NotFound")
        return {"properties": {"addressPrefix": f"<addresses of {names[-1]}>"}}

    def size(self, name: str, region: str) -> dict[str, Any] | None:
        """See Arm."""
        self._note("list", "size", (), {"filter": f"location eq '{region}'"})
        if self.ask:
            return self.ask.size(name, region)
        accelerated = f"<true if {name} can>"
        return {"capabilities": [{"name": "AcceleratedNetworkingEnabled", "value": accelerated}]}

    def feature(self, namespace: str, name: str) -> str:
        """See Arm."""
        self._note("get", "feature", (namespace, name), {})
        return "Registered"

    def restrictions(self, content: dict[str, Any], *, api_version: str) -> dict[str, Any]:
        """See Arm."""
        self._note("check", "policy", (content["name"],), {"content": content, "api-version": api_version})
        return {}

    def machine_view(self, group: str, name: str) -> dict[str, Any]:
        """See Arm."""
        self._note("view", "machine", (group, name), {})
        return {}

    def console(self, group: str, name: str) -> str:
        """See Arm."""
        self._note("console", "machine", (group, name), {})
        return ""

    def delete(self, resource_kind: str, *names: str) -> None:
        """See Arm."""
        self._note("delete", resource_kind, names, {})
        self._made.pop((resource_kind, *names), None)

    def _note(self, verb: str, resource_kind: str, names: tuple[str, ...], parameters: dict[str, Any]) -> None:
        region = parameters.get("body", {}).get("location", "global")
        about = {"subscription": self.subscription, "names": list(names), **parameters}
        planned = PlannedRequest(service="arm", region=region, operation=f"{verb} {resource_kind}", parameters=about)
        self.requests.append(planned)
