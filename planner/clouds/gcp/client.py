"""Client for Compute Engine in one project that repeats calls where that is safe, and waits for operations.

Requests and answers follow the REST reference; the SDK checks their fields and sends them. Its own retries are switched
off, and its waiting too: `insert(...).result()` always asks the public address, whatever address is set.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Protocol

from planner.clouds import cloud_errors as errors
from planner.clouds.calls.gcp import PROJECT_HINT, failure_of, found_credentials, gcloud_account
from planner.clouds.calls.reading import pages, sdk
from planner.clouds.calls.retry import RetryPolicy, retry
from planner.clouds.cloud_errors import NotFoundError, PassingError, call_translating_errors, worst_of
from planner.config.cloud_defaults import default_account
from planner.config.settings import load_settings
from planner.errors import BadInputError, IoFailureError, PlannerError

_SCOPES: Final = ("https://www.googleapis.com/auth/cloud-platform",)
_OVERRIDE: Final = "CLOUDSDK_API_ENDPOINT_OVERRIDES_"
"""Environment variables that send gcloud to other addresses; they apply here too."""
_OTHER_SERVICES: Final = {
    "manager_url": "CLOUDRESOURCEMANAGER",
    "iam_url": "IAM",
    "troubleshooter_url": "POLICYTROUBLESHOOTER",
}


@dataclass(frozen=True, kw_only=True)
class Access:
    """Access to a project. Addresses are '' for the SDK's own."""

    project: str
    account: str
    credentials: Any = field(repr=False)
    compute_url: str = ""
    prices_url: str = ""
    manager_url: str = "https://cloudresourcemanager.googleapis.com"
    iam_url: str = "https://iam.googleapis.com"
    troubleshooter_url: str = "https://policytroubleshooter.googleapis.com"


def default_access() -> Access:
    """Return the access that the SDK's environment and the settings file give.

    Raises BadInputError without the SDK or a project, PermissionDeniedError without credentials.
    """
    settings = load_settings(today=datetime.now(UTC).date()).of("gcp")
    credentials, usual = call_translating_errors(
        lambda: found_credentials(scopes=_SCOPES), what="Google Cloud", failure_of=failure_of, meaning_of=meaning_of
    )
    _library()  # takes seconds to load
    project = project_named() or usual
    if not project:
        raise BadInputError("Google Cloud: no project is named", [PROJECT_HINT], code="no-account")
    return Access(
        project=project,
        account=str(getattr(credentials, "service_account_email", "") or _person(credentials) or "this user"),
        credentials=credentials,
        compute_url=os.environ.get(f"{_OVERRIDE}COMPUTE") or settings.specs_url,
        prices_url=settings.prices_url,
        **{
            field_name: url.rstrip("/")
            for field_name, name in _OTHER_SERVICES.items()
            if (url := os.environ.get(f"{_OVERRIDE}{name}"))
        },
    )


def _person(credentials: Any) -> str:
    """Return whose credentials these are: their file rarely states it, but gcloud, which wrote it, does."""
    return getattr(credentials, "account", "") or gcloud_account()


def project_named() -> str:
    """Return the project from the environment, the settings or gcloud's configuration, or ''."""
    settings, set_for_tool = load_settings(today=datetime.now(UTC).date()).of("gcp"), default_account("gcp")
    named = os.environ.get("GOOGLE_CLOUD_PROJECT") or settings.account
    return named or (set_for_tool.value if set_for_tool else "")


_TIMEOUT_S: Final = 150
"""Longer than the two minutes after which a wait always answers."""
_PAGE: Final = 500
_BODIES: Final = {
    "networks.insert": "Network",
    "subnetworks.insert": "Subnetwork",
    "firewalls.insert": "Firewall",
    "resourcePolicies.insert": "ResourcePolicy",
    "instances.bulkInsert": "BulkInsertInstanceResource",
}
"""The SDK's message for the body of each call that has one."""


_NAMED: Final = re.compile(r"resource '[^']+'")
"""What Google does not find, in its words."""


class Compute(Protocol):
    """Compute Engine of one project; requests and answers follow its REST reference."""

    at_once: int
    """Most simultaneous calls."""

    @property
    def project(self) -> str:
        """The project's id."""

    def create(self, method: str, *, body: dict[str, Any], run: str, **where: str) -> None:
        """Create something for a run and wait until it exists.

        Raises what `cloud_errors.meaning_of` returns, for the call as for its operation.
        """

    def finish(self, method: str, **where: str) -> None:
        """Make a change and wait until it is done."""

    def begin(self, method: str, **where: str) -> None:
        """Make a change without waiting."""

    def get(self, method: str, **where: str) -> dict[str, Any]:
        """Return one resource."""

    def items(self, method: str, **where: str) -> Iterator[dict[str, Any]]:
        """Yield all items of a listing, page by page; of an aggregated one without the scopes."""

    def allowed(self, permissions: list[str]) -> set[str]:
        """Return the subset of `permissions` that the caller has in the project."""

    def allowed_on_account(self, account: str, permissions: list[str]) -> set[str]:
        """Return the subset of `permissions` that the caller has on a service account, from any policy."""

    def access_state(self, permission: str, *, resource: dict[str, str]) -> str:
        """Return the policy troubleshooter's answer on the caller's permission on a resource that need not exist yet:
        CAN_ACCESS, CANNOT_ACCESS, UNKNOWN_INFO or UNKNOWN_CONDITIONAL. `resource` has its service, name and type.
        """

    def policy(self, constraint: str) -> dict[str, Any]:
        """Return the organisation's policy for a constraint, such as compute.requireOsLogin, as it applies here."""


class LiveCompute:
    """Compute backed by Google."""

    at_once = 8

    def __init__(self, *, policy: RetryPolicy) -> None:
        self._policy = policy
        self._clients: dict[str, Any] = {}

    @cached_property
    def access(self) -> Access:
        """Credentials and project."""
        return default_access()

    @property
    def project(self) -> str:
        """See Compute."""
        return self.access.project

    def create(self, method: str, *, body: dict[str, Any], run: str, **where: str) -> None:
        """See Compute. A failure that may pass is retried, with another request id of the run, because Google would
        repeat its answer to the old one. Google may not know yet what the run has just made, by its name.
        """

        def attempt() -> None:
            request = {**where, **_body(method, body), "request_id": request_id(run)}
            self._wait(self._call(method, request), what=_what(method, where))

        def may_pass(error: BaseException) -> bool:
            named = _NAMED.search(str(error))
            is_of_run = named is None or f"planner-{run}" in named[0]
            return _is_passing(error) or (isinstance(error, NotFoundError) and is_of_run)

        retry(attempt, policy=self._policy, may_pass=may_pass)

    def finish(self, method: str, **where: str) -> None:
        """See Compute."""

        def attempt() -> None:
            self._wait(self._call(method, dict(where)), what=_what(method, where))

        retry(attempt, policy=self._policy, may_pass=_is_passing)

    def begin(self, method: str, **where: str) -> None:
        """See Compute."""
        self._call(method, dict(where))

    def get(self, method: str, **where: str) -> dict[str, Any]:
        """See Compute."""
        return self._call(method, dict(where))

    def items(self, method: str, **where: str) -> Iterator[dict[str, Any]]:
        """See Compute."""

        def fetch(token: str) -> tuple[list[dict[str, Any]], str]:
            page = self._call(method, {**where, "max_results": _PAGE, "page_token": token})
            return list(_flat(page.get("items", ()))), page.get("nextPageToken", "")

        for items in pages(fetch, what=_what(method, where)):
            yield from items

    def allowed(self, permissions: list[str]) -> set[str]:
        """See Compute."""
        return set(self._manage("testIamPermissions", {"permissions": permissions}).get("permissions", ()))

    def allowed_on_account(self, account: str, permissions: list[str]) -> set[str]:
        """See Compute. The account may belong to another project."""
        url = f"{self.access.iam_url}/v1/projects/-/serviceAccounts/{account}:testIamPermissions"
        return set(
            self._post(url, {"permissions": permissions}, what=f"permissions on {account}").get("permissions", ())
        )

    def access_state(self, permission: str, *, resource: dict[str, str]) -> str:
        """See Compute."""
        asked = {
            "principal": self.access.account,
            "fullResourceName": f"//cloudresourcemanager.googleapis.com/projects/{self.project}",
            "permission": permission,
            "conditionContext": {"resource": resource},
        }
        url = f"{self.access.troubleshooter_url}/v3/iam:troubleshoot"
        return str(self._post(url, {"accessTuple": asked}, what="iam:troubleshoot").get("overallAccessState", ""))

    def policy(self, constraint: str) -> dict[str, Any]:
        """See Compute."""
        return self._manage("getEffectiveOrgPolicy", {"constraint": f"constraints/{constraint}"})

    def _manage(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._post(f"{self.access.manager_url}/v1/projects/{self.project}:{verb}", body, what=verb)

    def _post(self, url: str, body: dict[str, Any], *, what: str) -> dict[str, Any]:
        """Call a service that this SDK does not cover."""
        from google.auth.transport.requests import AuthorizedSession

        def ask() -> dict[str, Any]:
            with AuthorizedSession(self.access.credentials) as session:  # type: ignore[no-untyped-call]
                answer = session.post(url, json=body, timeout=_TIMEOUT_S)
            if answer.status_code != 200:
                error = answer.json().get("error", {})
                raise meaning_of(str(error.get("status", "")), str(error.get("message", "")), what=what)
            return dict(answer.json())

        return self._call_with_retry(ask, what=what)

    def _wait(self, operation: dict[str, Any], *, what: str) -> None:
        """Wait until an operation is done. Raises its error."""
        scope = _scope_of(operation)
        request = {**scope, "operation": operation["name"]}
        method = f"{next(iter(scope), 'global')}Operations.wait"
        for _ in self._policy.polls(self._policy.join_s):
            if operation["status"] == "DONE":
                errors = operation.get("error", {}).get("errors", ())
                if errors:
                    raise worst_of([meaning_of(error["code"], error.get("message", ""), what=what) for error in errors])
                return
            operation = self._call(method, request)
        raise IoFailureError(
            f"{what}: operation {operation['name']} is not done after {self._policy.join_s:g} s", code="not-done"
        )

    def _call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._call_with_retry(lambda: self._once(method, request), what=_what(method, request))

    def _call_with_retry(self, call: Callable[[], dict[str, Any]], *, what: str) -> dict[str, Any]:
        """Make a call until it is answered: names and request ids make every call here safe to repeat."""

        return retry(
            lambda: call_translating_errors(call, what=what, failure_of=failure_of, meaning_of=meaning_of),
            policy=self._policy,
            may_pass=_is_passing,
        )

    def _once(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        collection, _, verb = method.partition(".")
        changes = method in _BODIES or verb == "delete"
        function = getattr(self._client(collection), _snake(verb) + ("_unary" if changes else ""))
        answer = function({"project": self.project, **request}, retry=None, timeout=_TIMEOUT_S)
        if "max_results" in request:
            answer = next(iter(answer.pages))
        return dict(json.loads(type(answer).to_json(answer, use_integers_for_enums=False, indent=None)))

    def _client(self, collection: str) -> Any:
        if collection not in self._clients:
            access = self.access
            options = {"api_endpoint": access.compute_url} if access.compute_url else None
            client_class = getattr(_library(), f"{collection[0].upper()}{collection[1:]}Client")
            self._clients[collection] = client_class(credentials=access.credentials, client_options=options)
        return self._clients[collection]


def _is_passing(error: BaseException) -> bool:
    return isinstance(error, PassingError)


def request_id(run: str) -> str:
    """Return an id by which Google recognises a repetition: a UUID that starts like all of the run's (`run_mark`)."""
    return run_mark(run) + str(uuid.uuid4())[len(run_mark(run)) :]


def run_mark(run: str) -> str:
    """Return the common prefix of a run's request ids."""
    digest = hashlib.sha256(run.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-"


def _library() -> Any:
    return sdk("google.cloud.compute_v1", extra="gcp")


def _body(method: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a call as the SDK takes it. Raises BadInputError for a field unknown to Google."""
    message_class = getattr(_library(), _BODIES[method])
    from google.protobuf.json_format import ParseError

    try:
        return {f"{_snake(_BODIES[method])}_resource": message_class.from_json(json.dumps(body))}
    except ParseError as error:
        raise BadInputError(f"{method}: {error}", code="malformed") from error


def _flat(items: Any) -> Iterator[dict[str, Any]]:
    """Yield the listed items; an aggregated listing has them by scope, under the collection's name."""
    if not isinstance(items, dict):
        yield from items
        return
    for scope in items.values():
        for listed in scope.values():
            yield from listed if isinstance(listed, list) else ()


def _scope_of(operation: dict[str, Any]) -> dict[str, str]:
    """Return the zone or region of an operation; nothing for a global one."""
    return {scope: operation[scope].rpartition("/")[2] for scope in ("zone", "region") if operation.get(scope)}


def _what(method: str, request: dict[str, Any]) -> str:
    where = request.get("zone") or request.get("region")
    return f"{method} in {where}" if where else method


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def meaning_of(code: str, message: str, *, status: int = 0, what: str) -> PlannerError:
    """Return the error to raise for an error of Compute Engine; `what` names the request and its target."""
    upper = _snake(code).upper()  # HTTP errors have rateLimitExceeded, operations RATE_LIMIT_EXCEEDED
    return errors.meaning_of("gcp", upper, message, status=status, what=what)
