"""Meaning of the errors of Google Cloud's SDK, for reading and renting."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from configparser import ConfigParser
from pathlib import Path
from typing import Any, Final

from planner.clouds.calls.account import account_failure, clock_failure, quieten
from planner.clouds.calls.http import failure_of_status
from planner.clouds.calls.reading import CallFailure, sdk

_THROTTLED: Final = ("rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "quotaExceeded")
_CODES: Final = {
    401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "ALREADY_EXISTS", 429: "RATE_LIMIT_EXCEEDED",
}  # fmt: skip


def found_credentials(*, scopes: Sequence[str] = ()) -> tuple[Any, str | None]:
    """Return the credentials that the SDK finds, and their project. Outside Google's cloud it does not wait for a
    metadata server. Raises what `google.auth` raises.
    """
    quieten("google.auth")
    for name, short in (("GCE_METADATA_TIMEOUT", "1"), ("GCE_METADATA_DETECT_RETRIES", "1")):
        os.environ.setdefault(name, short)
    credentials, project = sdk("google.auth", extra="gcp").default(scopes=list(scopes) or None)
    return credentials, project


def gcloud_account() -> str:
    """Return the account that gcloud is signed in with on this machine, '' if none."""
    if named := os.environ.get("CLOUDSDK_CORE_ACCOUNT"):
        return named
    folder = Path(os.environ.get("CLOUDSDK_CONFIG") or f"{os.environ.get('HOME', '')}/.config/gcloud")
    active = folder / "active_config"
    name = os.environ.get("CLOUDSDK_ACTIVE_CONFIG_NAME") or (
        active.read_text("utf-8") if active.exists() else "default"
    )
    settings = ConfigParser(interpolation=None)
    settings.read(folder / "configurations" / f"config_{name.strip()}", encoding="utf-8")
    return settings.get("core", "account", fallback="")


def failure_of(error: Exception) -> CallFailure | None:
    """Return what an error of the SDK means; None for other errors. For a reading call every quota counts as one of
    calls per minute.
    """
    faults = sdk("google.api_core.exceptions", extra="gcp")
    auth = sdk("google.auth.exceptions", extra="gcp")
    if isinstance(error, auth.RefreshError) and "reasonable timeframe" in str(error):
        return clock_failure("Google Cloud", error)
    if isinstance(error, auth.RefreshError):
        return account_failure("Google Cloud: the credentials have expired or were revoked", hint=_GET, error=error)
    if isinstance(error, auth.GoogleAuthError) and not isinstance(error, auth.TransportError):
        return account_failure(_unusable_text(), hint=_GET, error=error if os.environ.get(_FILE_VARIABLE) else "")
    if isinstance(error, faults.GoogleAPICallError):
        return _failure_of_answer(error)
    if isinstance(error, auth.TransportError | OSError):  # errors of requests are OSErrors
        return CallFailure(reason="lost", text=str(error))
    parsing = sdk("google.protobuf.json_format", extra="gcp")
    if isinstance(error, parsing.ParseError | ValueError):  # the REST transport's errors for answers that are not JSON
        return CallFailure(reason="lost", text=f"the answer is cut off or cannot be read ({error})")
    return None


_FILE_VARIABLE: Final = "GOOGLE_APPLICATION_CREDENTIALS"
_GET: Final = f"run `gcloud auth application-default login`, or set {_FILE_VARIABLE} to a key file"
PROJECT_HINT: Final = (
    "set GOOGLE_CLOUD_PROJECT to one that `gcloud projects list` names, or account under [gcp] in the settings"
)
_PROJECT: Final = re.compile(
    r"resource 'projects/(?P<project>[\w:.-]+)' was not found|CONSUMER_INVALID|Unknown project id"
    r"|denied on resource project|[Pp]roject .{0,80}(?:not found or deleted|has been deleted)"
)


def _unusable_text() -> str:
    if os.environ.get(_FILE_VARIABLE):
        return f"Google Cloud: {_FILE_VARIABLE} names no usable credentials"
    return "Google Cloud: no credentials found"


def no_project_text(project: str) -> str:
    """Return the message for a project that cannot be used; '' is one whose name is unknown."""
    named = f" {project!r}" if project else ""
    return f"Google Cloud: the project{named} is not there, or not yours"[:100]


def _failure_of_answer(error: Any) -> CallFailure:
    reasons = [
        str(detail["reason"]) for detail in error.errors or () if isinstance(detail, Mapping) and "reason" in detail
    ]
    status, text = int(error.code or 500), str(error.message)
    if status in (400, 403, 404) and (match := _PROJECT.search(text)):
        return account_failure(no_project_text(match["project"] or ""), hint=PROJECT_HINT, error=text)
    code = reasons[0] if reasons else _CODES.get(status, "BACKEND_ERROR" if status >= 500 else str(status))
    if any(word in reasons or word in text for word in _THROTTLED):
        return CallFailure(reason="throttled", text=text, code=code)
    wait = getattr(error.response, "headers", {}).get("Retry-After")
    return failure_of_status(status, text, code=code, wait=wait)
