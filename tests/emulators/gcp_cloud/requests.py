"""Requirements of a request to Compute Engine: its caller, permissions, items and page."""

from __future__ import annotations

import re
from typing import Any

from discovery import ApiCall
from gcp_cloud.facts import PERMISSIONS
from google.auth import jwt

TOKEN = "the-token-of-the-account"
ACCOUNT = "runner@some-project.iam.gserviceaccount.com"


class RefusedError(Exception):
    def __init__(self, status: int, reason: str, message: str = "") -> None:
        self.status, self.reason, self.message = status, reason, message or reason


def needed(call: ApiCall) -> list[str]:
    """Return the permissions that Google's reference names for a method; a launch needs more for resources it names."""
    wanted = list(PERMISSIONS[call.method])
    if call.method == "instances.bulkInsert":
        properties = call.body["instanceProperties"]
        wanted += ["compute.resourcePolicies.use"] * bool(properties.get("resourcePolicies"))
        wanted += ["compute.subnetworks.useExternalIp"] * ("accessConfigs" in properties["networkInterfaces"][0])
        wanted += [
            f"compute.instances.set{what.capitalize()}" for what in ("labels", "metadata", "tags") if what in properties
        ]
        wanted += ["compute.disks.setLabels"] * any("labels" in d["initializeParams"] for d in properties["disks"])
    return wanted


def fits(item: dict[str, Any], wanted: str) -> bool:
    """Return whether an item passes a filter of the few forms in use; any other is an error."""
    if not wanted:
        return True
    match = re.fullmatch(r"([\w.-]+)(!=|=|:)([\w*-]+)", wanted)
    if match is None:
        raise RefusedError(400, "invalid", f"filter {wanted}")
    name, sign, value = match.groups()
    have = item.get("labels", {}).get(name[7:]) if name.startswith("labels.") else item.get(name)
    if sign == ":":
        return have is not None
    return (have == value) == (sign == "=")


def paged(call: ApiCall, items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    start, size = int(call.query.get("pageToken") or 0), int(call.query.get("maxResults", 500))
    if not 1 <= size <= 500:
        raise RefusedError(400, "invalid", f"maxResults {size}")
    more = {"nextPageToken": str(start + size)} if len(items) > start + size else {}
    return items[start : start + size], more


def is_known(token: str) -> bool:
    """Return whether a token was issued here, or is one that a service account makes for itself."""
    return token == TOKEN or (token.count(".") == 2 and jwt.decode(token, verify=False)["iss"] == ACCOUNT)


def refused(status: int, reason: str, message: str) -> tuple[int, dict[str, Any]]:
    errors = [{"message": message, "domain": "global", "reason": reason}]
    return status, {"error": {"code": status, "message": message, "errors": errors}}
