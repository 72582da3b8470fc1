"""Compute Engine for dry runs: it remembers what would be created, so that it can be listed again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from planner.clouds.cloud_errors import NotFoundError
from planner.clouds.gcp.resources import RESOURCE_TYPES
from planner.clouds.protocol import PlannedRequest

PROJECT: Final = "<project>"
_TYPES: Final = RESOURCE_TYPES.values()
_LOOKS: Final = {f"{listed.collection}.get": listed.collection for listed in _TYPES}
_DELETIONS: Final = {f"{listed.collection}.delete": (listed.collection, listed.parameter) for listed in _TYPES}


class DryRunCompute:
    """Compute that records requests and asks nothing, as a launch needs nothing that only the account knows."""

    at_once = 1

    def __init__(self, *, project: str) -> None:
        self.project = project
        self.requests: list[PlannedRequest] = []
        self._made: dict[str, list[dict[str, Any]]] = {listed.collection: [] for listed in _TYPES}

    def create(self, method: str, *, body: dict[str, Any], run: str, **where: str) -> None:
        """See Compute."""
        self._note(method, {**where, "requestId": f"<request id of {run}>", "body": body})
        self._made[method.partition(".")[0]] += _items_after(body, where)

    def finish(self, method: str, **where: str) -> None:
        """See Compute."""
        self._note(method, dict(where))
        if method in _DELETIONS:
            collection, parameter = _DELETIONS[method]
            self._made[collection] = [made for made in self._made[collection] if made["name"] != where[parameter]]

    def begin(self, method: str, **where: str) -> None:
        """See Compute."""
        self.finish(method, **where)

    def get(self, method: str, **where: str) -> dict[str, Any]:
        """See Compute."""
        self._note(method, dict(where))
        if method in _LOOKS and not [made for made in self._made[_LOOKS[method]] if made["name"] in where.values()]:
            raise NotFoundError(f"{method}: not made", cloud_code="notFound")
        return {}

    def items(self, method: str, **where: str) -> Iterator[dict[str, Any]]:
        """See Compute."""
        self._note(method, dict(where))
        yield from list(self._made.get(method.partition(".")[0], ()))
        if method == "subnetworks.list" and "filter" in where:  # an existing one, by its name
            name = where["filter"].removeprefix("name=")
            yield {"network": f"<network of {name}>", "ipCidrRange": f"<addresses of {name}>"}
        if method == "reservations.aggregatedList":
            yield {}

    def allowed(self, permissions: list[str]) -> set[str]:
        """See Compute."""
        return set(permissions)

    def allowed_on_account(self, account: str, permissions: list[str]) -> set[str]:
        """See Compute."""
        self._note("serviceAccounts.testIamPermissions", {"account": account, "permissions": permissions})
        return set(permissions)

    def access_state(self, permission: str, *, resource: dict[str, str]) -> str:
        """See Compute."""
        self._note("iam.troubleshoot", {"permission": permission, "resource": resource})
        return "CAN_ACCESS"

    def policy(self, constraint: str) -> dict[str, Any]:
        """See Compute."""
        return {"constraint": constraint}

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        region = parameters.get("region") or parameters.get("zone") or "global"
        parameters = {"project": self.project, **parameters}
        planned = PlannedRequest(service="compute", region=region, operation=method, parameters=parameters)
        self.requests.append(planned)


def _items_after(body: dict[str, Any], where: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the items that a listing would have after a create call."""
    if "perInstanceProperties" not in body:
        yield {**body, **where}
        return
    shared = body["instanceProperties"]
    for name in body["perInstanceProperties"]:
        machine = {"name": name, "status": "RUNNING", "machineType": shared["machineType"]}
        yield {**machine, "labels": shared["labels"], **where}
