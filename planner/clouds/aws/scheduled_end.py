"""AWS-side end of machines: a one-time schedule of EventBridge Scheduler for each machine.

The schedule ends its machine with a role of the account, whether or not cloud-init ever ran, and then deletes itself.
One call for several machines would end none if one of them was lost an hour before: EC2 no longer knows its id.
Schedules have no tags: a run's are identified by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import compress
from typing import Any, Final

from planner.clouds.aws.client import Service
from planner.clouds.cloud_errors import DuplicateError, NotFoundError, RefusedCallError
from planner.clouds.order import Order
from planner.clouds.protocol import Finding, Journal, Resource
from planner.config.settings import load_settings
from planner.errors import PlannerError

KIND: Final = "end-schedule"
_NAME: Final = re.compile(r"planner-(.+)-\d+-(i-[0-9a-f]+|<.+>)")
"""Name of a schedule: run, round and machine, <in brackets> in a dry run."""
_TARGET: Final = "arn:aws:scheduler:::aws-sdk:ec2:terminateInstances"
_SERVICE: Final = "scheduler.amazonaws.com"
AT_ONCE: Final = 8
"""Most simultaneous calls."""


def role_named() -> str:
    """Return the ARN of the role with which the scheduler may end machines, '' where the settings have none."""
    return load_settings(today=datetime.now(UTC).date()).of("aws").end_role


@dataclass(frozen=True)
class NotingMachines:
    """A journal that also remembers the machines of a launch."""

    journal: Journal
    ids: list[str]

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """See Journal."""
        self.journal.intend(resource_kind, name=name, region=region)

    def made(self, resource: Resource) -> None:
        """See Journal."""
        self.journal.made(resource)
        self.ids.append(resource.id)

    def creation_refused(self, resource_kind: str, *, name: str) -> None:
        """See Journal."""
        self.journal.creation_refused(resource_kind, name=name)

    def ordered(self) -> tuple[Resource, ...]:
        """See Journal."""
        return self.journal.ordered()


def schedule(scheduler: Service, order: Order, journal: Journal, ids: Sequence[str], *, role: str, round: int) -> None:
    """Have AWS end machines when the order does; repeating the call changes nothing."""
    names = [f"planner-{order.run}-{round}-{id_}" for id_ in ids]
    for name in names:
        journal.intend(KIND, name=name, region=scheduler.region)

    def create(name: str, id_: str) -> None:
        request: dict[str, Any] = {
            "Name": name,
            "Description": f"ends a machine of {order.run}, of {order.owner}",
            "ScheduleExpression": f"at({order.expires_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "ClientToken": name,
            "Target": {"Arn": _TARGET, "RoleArn": role, "Input": json.dumps({"InstanceIds": [id_]})},
        }
        with suppress(DuplicateError):  # the name includes the machine's id: a call whose answer was lost had made it
            scheduler.call("create_schedule", **request)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(create, names, ids))
    for name in names:
        journal.made(Resource(kind=KIND, id=name, region=scheduler.region, run=order.run))


def find(scheduler: Service, *, run: str | None) -> Iterator[Resource]:
    """Yield the schedules of a run, or of any; others' schedules may begin with the same words."""
    for item in scheduler.items("list_schedules", "Schedules", NamePrefix=f"planner-{run}-" if run else "planner-"):
        match = _NAME.fullmatch(name := str(item["Name"]))
        if match and run in (None, match[1]):
            tags = {"planner-run": match[1]}
            yield Resource.from_tags(tags, resource_kind=KIND, id=name, region=scheduler.region, ending=False)


def look_up(scheduler: Service, resources: Sequence[Resource]) -> Iterator[Resource]:
    """Yield those of some schedules that exist."""

    def exists(resource: Resource) -> bool:
        try:
            scheduler.call("get_schedule", Name=resource.id)
        except NotFoundError:
            return False
        return True

    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield from compress(resources, pool.map(exists, resources))


def delete(scheduler: Service, name: str) -> None:
    """Delete a schedule. Raises NotFoundError for one that is gone."""
    scheduler.call("delete_schedule", Name=name)


def finding(iam: Service, role: str) -> Finding:
    """Return a finding on whether AWS itself will end the machines: whether the scheduler may assume the role."""
    subject = "end without cloud-init"
    if not role:
        text = (
            "none: `end_role` under [aws] in the settings names a role with which EventBridge Scheduler ends machines"
        )
        return Finding(subject=subject, ok=None, text=text)
    try:
        trust = iam.call("get_role", RoleName=role.rpartition("/")[2])["Role"].get("AssumeRolePolicyDocument", {})
    except RefusedCallError as error:
        return Finding(subject=subject, ok=False, text=f"role {role}: {error.message}")
    except PlannerError as error:
        return Finding(subject=subject, ok=None, text=f"role {role}: not known: {error.message}")
    statements = list(filter(_is_about_scheduler, _listed(trust.get("Statement", ()))))
    denials = [statement for statement in statements if statement.get("Effect") == "Deny"]
    if any(statement.get("Effect") == "Allow" for statement in statements) and not denials:
        return Finding(subject=subject, ok=True, text=f"EventBridge Scheduler, as {role}")
    if denials and all("Condition" in statement for statement in denials):
        text = f"role {role}: not known: it denies {_SERVICE} under conditions"
        return Finding(subject=subject, ok=None, text=text)
    return Finding(subject=subject, ok=False, text=f"role {role} does not trust {_SERVICE}")


def _is_about_scheduler(statement: dict[str, Any]) -> bool:
    """Return whether a statement of a trust policy applies to the scheduler's taking the role."""
    principal = statement.get("NotPrincipal") or statement.get("Principal", {})
    named = [name for names in principal.values() for name in _listed(names)] if isinstance(principal, dict) else ["*"]
    is_named = _SERVICE in named or "*" in named
    actions = statement.get("NotAction") or statement.get("Action", ())
    takes_role = any(fnmatchcase("sts:assumerole", action.lower()) for action in _listed(actions))
    return is_named != ("NotPrincipal" in statement) and takes_role != ("NotAction" in statement)


def _listed(value: Any) -> list[Any]:
    return [value] if isinstance(value, str | dict) else list(value)
