"""Client for Azure's Resource Manager in one subscription that repeats calls where that is safe.

Requests and answers follow the REST reference. A create call is a PUT under a name of the run's own, so repeating it is
safe. The SDK's own retries and polling are switched off: it waits half a minute at a time for each resource, where one
listing covers all machines.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Protocol

from planner.clouds import cloud_errors as errors
from planner.clouds.calls.azure import (
    SUBSCRIPTION_HINT,
    SUBSCRIPTION_VARIABLE,
    client_arguments,
    failure_of,
    found_credentials,
)
from planner.clouds.calls.codes import rule_of
from planner.clouds.calls.facts import table_of
from planner.clouds.calls.http import get_text
from planner.clouds.calls.reading import sdk
from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import PassingError, RefusedCallError, StillInUseError, call_translating_errors
from planner.config.cloud_defaults import default_account
from planner.config.settings import load_settings
from planner.errors import BadInputError, IoFailureError, PlannerError


@dataclass(frozen=True, kw_only=True)
class Access:
    """Access to a subscription. `arguments` go to every client of the SDK, besides credentials and subscription."""

    subscription: str
    credentials: Any = field(repr=False)
    arguments: dict[str, Any]
    prices_url: str = ""


def subscription_named() -> str:
    """Return the subscription from the environment or the settings, else az's default, else ''."""
    settings, set_for_tool = load_settings(today=datetime.now(UTC).date()).of("azure"), default_account("azure")
    named = os.environ.get(SUBSCRIPTION_VARIABLE) or settings.account
    return named or (set_for_tool.value if set_for_tool else "")


def default_access() -> Access:
    """Return the access that the SDK's environment and the settings file give.

    Raises BadInputError without the SDK or a subscription.
    """
    sdk("azure.mgmt.compute", extra="azure")
    subscription, settings = subscription_named(), load_settings(today=datetime.now(UTC).date()).of("azure")
    if not subscription:
        raise BadInputError("Azure: no subscription is named", [SUBSCRIPTION_HINT], code="no-account")
    return Access(
        subscription=subscription,
        credentials=found_credentials(),
        arguments=client_arguments(settings.specs_url),
        prices_url=settings.prices_url,
    )


def require_access() -> None:
    """Raise the errors of `default_access`, and PermissionDeniedError where it gets no token."""
    access = default_access()
    if access.arguments.get("authentication_policy"):
        return  # the address takes no token
    scopes = access.arguments.get("credential_scopes", [_SCOPE])
    call_translating_errors(
        lambda: access.credentials.get_token(*scopes), what="Azure", failure_of=failure_of, meaning_of=meaning_of
    )


_SCOPE: Final = "https://management.azure.com/.default"

FEATURES_VERSION: Final = "2021-07-01"
"""API version of Microsoft.Features, for which they have none either."""
POLICY_VERSION: Final = "2022-03-01"
"""API version of Microsoft.PolicyInsights/checkPolicyRestrictions, for which they have none either."""
_FORCED: Final = "Microsoft.Compute/virtualMachines"
"""Deleting a group ends its machines at once, without a shutdown of their own."""


@dataclass(frozen=True, kw_only=True)
class ResourceType:
    """The SDK's client of a type, the client's group of operations, and those that create one and list all; for what a
    launch creates, Azure's name of the `type`, and the API `version` of its body.
    """

    client: str
    operations: str
    create: str = "begin_create_or_update"
    listing: str = "list"
    type: str = ""
    version: str = ""


def type_of(resource_kind: str) -> ResourceType:
    """Return a type by the planner's name."""
    return table_of("azure", "resource_types", ResourceType)[resource_kind]


_CLIENTS: Final = {
    "compute": ("azure.mgmt.compute", "ComputeManagementClient"),
    "network": ("azure.mgmt.network", "NetworkManagementClient"),
    "resource": ("azure.mgmt.resource.resources", "ResourceManagementClient"),
}


class Arm(Protocol):
    """The Resource Manager of one subscription; requests and answers follow its REST reference."""

    at_once: int
    """Most simultaneous calls."""

    @property
    def subscription(self) -> str:
        """The subscription's id."""

    def create(self, resource_kind: str, *names: str, body: dict[str, Any]) -> None:
        """Create something (`names`: its group, then its own), or find the existing one. Does not wait for machines.

        Raises what `cloud_errors.meaning_of` returns.
        """

    def schedule(self, group: str, name: str, *, body: dict[str, Any]) -> None:
        """Create one of Azure's own schedules in a group."""

    def items(self, resource_kind: str, *names: str, **options: str) -> Iterator[dict[str, Any]]:
        """Yield all of a listing, page by page."""

    def get(self, resource_kind: str, *names: str) -> dict[str, Any]:
        """Return one resource. Raises NotFoundError when it does not exist."""

    def size(self, name: str, region: str) -> dict[str, Any] | None:
        """Return the description of a machine size in a region; None where it is not offered."""

    def feature(self, namespace: str, name: str) -> str:
        """Return the state of a feature of a service in this subscription: Registered, NotRegistered and others."""

    def restrictions(self, content: dict[str, Any], *, api_version: str) -> dict[str, Any]:
        """Return Azure Policy's answer to the creation of a `content`: type, name and body of a resource."""

    def machine_view(self, group: str, name: str) -> dict[str, Any]:
        """Return a machine's instance view, which has its state."""

    def console(self, group: str, name: str) -> str:
        """Return what a machine has written to its console; nothing until it can be read."""

    def delete(self, resource_kind: str, *names: str) -> None:
        """Request a deletion without waiting for it."""


class LiveArm:
    """Arm backed by Azure."""

    at_once = 8

    def __init__(self, *, policy: RetryPolicy) -> None:
        self._policy = policy
        self._clients: dict[str, Any] = {}
        self._sizes: dict[str, dict[str, dict[str, Any]]] = {}

    @cached_property
    def access(self) -> Access:
        """Credentials and subscription."""
        return default_access()

    @property
    def subscription(self) -> str:
        """See Arm."""
        return self.access.subscription

    def create(self, resource_kind: str, *names: str, body: dict[str, Any]) -> None:
        """See Arm. Azure may not know a new resource everywhere yet: not found is retried like throttling."""
        resource_type = type_of(resource_kind)
        operations = self._operations(resource_type)
        polling = {"polling": False} if resource_type.create.startswith("begin_") else {}

        def call() -> dict[str, Any]:
            made = getattr(operations, resource_type.create)(*names, body, **polling)
            return _as_dict(made.result() if polling else made)

        made = self._call_with_retry(call, what=f"creating {resource_kind} {names[-1]}", fresh=True)
        if polling and resource_kind != "machine":
            self._wait(operations, resource_kind, names, made)

    def schedule(self, group: str, name: str, *, body: dict[str, Any]) -> None:
        """See Arm."""
        scope = f"/subscriptions/{self.subscription}/resourceGroups/{group}"
        resource_type = type_of("schedule")
        path = f"{scope}/providers/{resource_type.type}/{name}"
        creating, version = self._operations(resource_type).begin_create_or_update_by_id, resource_type.version

        def call() -> Any:
            return creating(path, body, api_version=version, polling=False)

        self._call_with_retry(call, what=f"creating schedule {name}", fresh=True)

    def items(self, resource_kind: str, *names: str, **options: str) -> Iterator[dict[str, Any]]:
        """See Arm."""
        resource_type = type_of(resource_kind)
        listed = getattr(self._operations(resource_type), resource_type.listing)(*names, **options).by_page()
        while True:  # a failed page is fetched again
            page = self._call_with_retry(lambda: next(listed, None), what=f"listing {resource_kind}")
            if page is None:
                return
            yield from map(_as_dict, page)

    def get(self, resource_kind: str, *names: str) -> dict[str, Any]:
        """See Arm."""
        operations = self._operations(type_of(resource_kind))
        what = f"asking after {resource_kind} {names[-1]}"
        return dict(self._call_with_retry(lambda: _as_dict(operations.get(*names)), what=what))

    def size(self, name: str, region: str) -> dict[str, Any] | None:
        """See Arm. All sizes of a region are listed at once, when the first is asked for."""
        if region not in self._sizes:
            listed = self.items("size", filter=f"location eq '{region}'")
            self._sizes[region] = {item["name"]: item for item in listed if item["resourceType"] == "virtualMachines"}
        return self._sizes[region].get(name)

    def feature(self, namespace: str, name: str) -> str:
        """See Arm."""
        path = f"/subscriptions/{self.subscription}/providers/Microsoft.Features/providers/{namespace}/features/{name}"
        resources, what = self._client("resource").resources, f"asking after feature {namespace}/{name}"

        def asked() -> dict[str, Any]:
            return _as_dict(resources.get_by_id(path, api_version=FEATURES_VERSION))

        return str((self._call_with_retry(asked, what=what).get("properties") or {}).get("state", ""))

    def restrictions(self, content: dict[str, Any], *, api_version: str) -> dict[str, Any]:
        """See Arm."""
        request_class = sdk("azure.core.rest", extra="azure").HttpRequest
        client, what = self._client("resource"), f"checking policies on {content['type']}"
        url = f"/subscriptions/{self.subscription}/providers/Microsoft.PolicyInsights/checkPolicyRestrictions"
        body = {"resourceDetails": {"resourceContent": content, "apiVersion": api_version}}

        def asked() -> dict[str, Any]:
            request = request_class("POST", url, params={"api-version": POLICY_VERSION}, json=body)
            answer = client.send_request(request)
            answer.raise_for_status()
            return dict(answer.json())

        return dict(self._call_with_retry(asked, what=what))

    def machine_view(self, group: str, name: str) -> dict[str, Any]:
        """See Arm."""
        machines = self._operations(type_of("machine"))
        return dict(
            self._call_with_retry(
                lambda: _as_dict(machines.instance_view(group, name)), what=f"asking after machine {name}"
            )
        )

    def console(self, group: str, name: str) -> str:
        """See Arm. The log's address, which needs no other credentials, is valid for a minute."""
        machines, what = self._operations(type_of("machine")), f"reading the console of machine {name}"

        def asked() -> dict[str, Any]:
            return _as_dict(machines.retrieve_boot_diagnostics_data(group, name, sas_uri_expiration_time_in_minutes=1))

        try:
            url = self._call_with_retry(asked, what=what).get("serialConsoleLogBlobUri")
            return get_text(url, what=what, policy=self._policy) if url else ""
        except PlannerError:
            return ""  # the log does not exist before the machine has written to it

    def delete(self, resource_kind: str, *names: str) -> None:
        """See Arm."""
        operations = self._operations(type_of(resource_kind))
        forced = {"force_deletion_types": _FORCED} if resource_kind == "resource-group" else {}
        self._call_with_retry(
            lambda: operations.begin_delete(*names, polling=False, **forced),
            what=f"deleting {resource_kind} {names[-1]}",
        )

    def _wait(self, operations: Any, resource_kind: str, names: tuple[str, ...], made: dict[str, Any]) -> None:
        """Wait until a small resource is made: Azure answers before it is."""
        what = f"creating {resource_kind} {names[-1]}"
        for _ in self._policy.polls(self._policy.join_s):
            state = made.get("properties", {}).get("provisioningState", "Succeeded")
            if state == "Succeeded":
                return
            if state in ("Failed", "Canceled"):
                raise RefusedCallError(f"{what}: {state}", cloud_code=state)
            made = self._call_with_retry(lambda: _as_dict(operations.get(*names)), what=what, fresh=True)
        raise IoFailureError(f"{what}: not done after {self._policy.join_s:g} s", code="not-done")

    def _call_with_retry(self, call: Callable[[], Any], *, what: str, fresh: bool = False) -> Any:
        """Make a call until it is answered: every call here is safe to repeat, because it names its resource. A `fresh`
        call names something new, which Azure may not know yet, or not have ready.
        """

        def meaning(code: str, text: str, *, status: int, what: str) -> PlannerError:
            error = meaning_of(code, text, status=status, what=what)
            if fresh and (code in _NOT_YET or rule_of("azure", code, "").meaning == "gone"):
                return PassingError(error.message)
            if not fresh and status == _CONFLICT and type(error) is RefusedCallError:
                return StillInUseError(error.message)  # take-down goes on trying whatever the reason
            return error

        return retry(
            lambda: call_translating_errors(call, what=what, failure_of=failure_of, meaning_of=meaning),
            policy=self._policy,
            may_pass=lambda error: isinstance(error, PassingError),
        )

    def _operations(self, resource_type: ResourceType) -> Any:
        return getattr(self._client(resource_type.client), resource_type.operations)

    def _client(self, name: str) -> Any:
        if name not in self._clients:
            module, class_name = _CLIENTS[name]
            access, client_class = self.access, getattr(sdk(module, extra="azure"), class_name)
            self._clients[name] = client_class(access.credentials, access.subscription, **access.arguments)
        return self._clients[name]


def _as_dict(item: Any) -> dict[str, Any]:
    """Return an answer's fields. When several threads use one of Azure's models for the first time, the SDK sometimes
    returns the raw answer, a dictionary of the same fields.
    """
    return dict(item if isinstance(item, dict) else item.as_dict())


_CONFLICT: Final = 409
_NOT_YET: Final = ("ReferencedResourceNotProvisioned", "ResourceGroupBeingDeleted")
"""Codes that pass for a creation, as those of what is gone do: Azure does not know what it refers to yet, or is still
making or deleting it.
"""


def meaning_of(code: str, message: str, *, status: int, what: str) -> PlannerError:
    """Return the error to raise for an error of Azure; `status` is the HTTP status, 0 for later errors."""
    return errors.meaning_of("azure", code, message, status=status, what=what)
