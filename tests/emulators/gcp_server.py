"""Compute Engine over HTTP for the tests: every request is checked against Google's own discovery document.

    python gcp_server.py        prints its port, and serves until it is killed

Behind it: names, labels and descriptions, references between resources, operations that take a while and may fail,
request ids, all-or-none launches, capacity by zone, quotas by region, permissions by method, machines that take time to
start and to end. It also answers for the Resource Manager (testIamPermissions), the price list and OAuth tokens, and at
/control: PUT resets the world (JSON, see World), GET returns what really exists, whatever its labels.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from discovery import Discovery, WrongRequestError
from gcp_cloud.cloud import Cloud, World
from gcp_cloud.facts import price_list
from gcp_cloud.requests import TOKEN, RefusedError, is_known, refused
from json_server import JsonHandler, serve

CLOUD = Cloud()
COMPUTE, MANAGER = Discovery("compute.v1"), Discovery("cloudresourcemanager.v1")
IAM, TROUBLESHOOTER = Discovery("iam.v1"), Discovery("policytroubleshooter.v3")


def access_state(asked: dict[str, Any]) -> str:
    """Return the troubleshooter's answer: a condition cannot be evaluated without the name of a resource."""
    permission, name = asked["permission"], asked.get("conditionContext", {}).get("resource", {}).get("name", "")
    part = CLOUD.world.conditional.get(permission)
    if CLOUD.world.permissions is None or permission in CLOUD.world.permissions:
        return "CAN_ACCESS"
    if part and not name:
        return "UNKNOWN_CONDITIONAL"
    return "CAN_ACCESS" if part and part in name else "CANNOT_ACCESS"


class Handler(JsonHandler):
    def answer(self, path: str, query: dict[str, str], body: bytes) -> tuple[int, dict[str, Any]]:
        if path == "/control":
            if self.command == "POST":
                CLOUD.consoles.update(json.loads(body))
            if self.command == "PUT":
                CLOUD.begin(World(**json.loads(body or b"{}")))
            return 200, {"left": CLOUD.left(), "world": asdict(CLOUD.world), "machines": CLOUD.machines()}
        if path == "/token":
            return 200, {"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}
        try:
            return 200, self._service(path, query, body)
        except WrongRequestError as wrong:
            return refused(400, "invalid", f"WRONG REQUEST: {wrong}")
        except RefusedError as error:
            return refused(error.status, error.reason, error.message)

    def _service(self, path: str, query: dict[str, str], body: bytes) -> dict[str, Any]:
        if not is_known(self.headers.get("Authorization", "").removeprefix("Bearer ")):
            raise RefusedError(401, "authError", "Invalid Credentials")
        if path.endswith("/skus"):
            return price_list(CLOUD.world.price_factor)
        asked = COMPUTE.asked(self.command, path, query, body)
        if asked:
            answer = CLOUD.answer(asked)
            COMPUTE.require_known(asked.method, answer)
            return answer
        asked = MANAGER.asked(self.command, path, query, body)
        if asked and asked.method == "projects.testIamPermissions":
            have = CLOUD.world.permissions
            return {"permissions": [p for p in asked.body["permissions"] if have is None or p in have]}
        if asked and asked.method == "projects.getEffectiveOrgPolicy":
            constraint = asked.body["constraint"].removeprefix("constraints/")
            return {"constraint": asked.body["constraint"], **CLOUD.world.policies.get(constraint, {})}
        asked = IAM.asked(self.command, path, query, body)
        if asked and asked.method == "projects.serviceAccounts.testIamPermissions":
            return {"permissions": [p for p in asked.body["permissions"] if p in CLOUD.world.account_permissions]}
        asked = TROUBLESHOOTER.asked(self.command, path, query, body)
        if asked and asked.method == "iam.troubleshoot":
            if not CLOUD.world.troubleshoots:
                raise RefusedError(403, "accessNotConfigured", "Policy Troubleshooter API has not been used in project")
            return {"overallAccessState": access_state(asked.body["accessTuple"])}
        raise RefusedError(404, "notFound", f"{self.command} {path}")


if __name__ == "__main__":
    serve(Handler)
