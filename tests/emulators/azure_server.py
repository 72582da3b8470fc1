"""Azure's Resource Manager over HTTP for the tests: every body is checked against the models of Azure's own SDK.

    python azure_server.py        prints its port, and serves until it is killed

Behind it: resource groups with tags, whose deletion removes all their resources; references between resources; machines
that start later, with their interfaces, addresses and disks, and may fail by then; capacity by zone, quotas by region.
It also answers for the retail price list, and at /control: PUT resets the world (JSON, see World), GET returns what
really exists, whatever its tags.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from azure_cloud.cloud import Cloud, World
from azure_cloud.facts import ANSWERS, MODELS, PRICES, price_item
from azure_cloud.requests import RefusedError
from json_server import JsonHandler, serve
from sdk_models import wrong

PATH = re.compile(
    r"/subscriptions/(?P<subscription>[^/]+)"
    r"(?:/resourcegroups(?:/(?P<group>[^/]+))?)?"
    r"(?:/providers/(?P<provider>[^/]+)/(?P<kind>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<under>usages|instanceView|retrieveBootDiagnosticsData|capacityReservations|powerOff|deallocate|subnets/[^/]+))?)?/?",
    re.IGNORECASE,
)
FEATURE = re.compile(r"/subscriptions/[^/]+/providers/Microsoft.Features/providers/([^/]+)/features/([^/]+)")
CLOUD = Cloud()


def require_known(parts: dict[str, str], answer: Any, *, verb: str) -> None:
    """Raise RefusedError for an answer with fields unknown to Azure's SDK."""
    if not answer:
        return
    name = parts["under"].partition("/")[0] or parts["kind"]
    model = ANSWERS.get(name) or MODELS[name]
    for body in answer.get("value", [] if verb == "DELETE" else [answer]):
        if complaints := list(wrong(model, body, "answer", asking=False)):
            raise RefusedError(400, "WrongAnswer", f"WRONG ANSWER: {'; '.join(complaints[:5])}")


class Handler(JsonHandler):
    def answer(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        if path.startswith("/console/"):
            text = CLOUD.consoles.get(path.removeprefix("/console/"))
            return (404, {}) if text is None else (200, text)
        status, answer = self._answer(path, query, body)
        here = f"http://{self.headers['Host']}"
        if "serialConsoleLogBlobUri" in answer:
            answer["serialConsoleLogBlobUri"] = f"{here}{answer['serialConsoleLogBlobUri']}"
        if "more" in answer:
            token = f"%24skiptoken={answer.pop('more')}"
            others = [f"{quote(k)}={quote(v)}" for k, v in query.items() if k != "$skiptoken"]
            answer["nextLink"] = f"{here}{path}?{'&'.join([*others, token])}"
        return status, answer

    def _answer(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        content = json.loads(body or b"{}")
        if path == "/control":
            if self.command == "PUT":
                CLOUD.begin(World(**content))
            if self.command == "POST":
                CLOUD.consoles |= content
            return 200, {"left": CLOUD.left(), "world": asdict(CLOUD.world), "machines": CLOUD.machines()}
        if path == "/prices":
            return 200, {"Items": [price_item(name, CLOUD.world.price_factor) for name in PRICES], "NextPageLink": None}
        match = PATH.fullmatch(path)
        try:
            if re.fullmatch(r"/subscriptions/[^/]+/providers", path):
                CLOUD.permit(["Microsoft.Resources/subscriptions/providers/read"])
                return 200, CLOUD.providers()
            if feature := FEATURE.fullmatch(path):
                CLOUD.permit(["Microsoft.Features/providers/features/read"])
                state = CLOUD.world.features.get(feature[2], "Registered")
                return 200, {"id": path, "name": f"{feature[1]}/{feature[2]}", "properties": {"state": state}}
            if path.endswith("/providers/Microsoft.PolicyInsights/checkPolicyRestrictions"):
                CLOUD.permit(["Microsoft.PolicyInsights/checkPolicyRestrictions/read"])
                return 200, CLOUD.restrictions(content["resourceDetails"])
            if match is None or "api-version" not in query:
                raise RefusedError(404, "InvalidPath", f"{self.command} {path}")
            parts = {key: value or "" for key, value in match.groupdict().items()}
            if parts["kind"] == "locations":
                parts["under"] = parts["under"] or "usages"
            status, answer = CLOUD.answer(self.command, parts, query, content)
            require_known(parts, answer, verb=self.command)
            return status, answer
        except RefusedError as error:
            return error.status, {"error": {"code": error.code, "message": error.message}}


if __name__ == "__main__":
    serve(Handler)
