"""What errors of Google Cloud's SDK mean, whether calls only read or rent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.clouds.calls.http import failure_of_status
from planner.clouds.calls.reading import CallFailure, sdk

_THROTTLED: Final = ("rateLimitExceeded", "userRateLimitExceeded", "RATE_LIMIT_EXCEEDED", "quotaExceeded")
_CODES: Final = {
    401: "UNAUTHENTICATED", 403: "FORBIDDEN", 404: "NOT_FOUND", 409: "ALREADY_EXISTS", 429: "RATE_LIMIT_EXCEEDED",
}  # fmt: skip


def failure_of(error: Exception) -> CallFailure | None:
    """Return what an error of the SDK means; None for one that is not of the SDK. A reading call takes every quota
    for one of calls per minute.
    """
    faults = sdk("google.api_core.exceptions", extra="gcp")
    auth = sdk("google.auth.exceptions", extra="gcp")
    if isinstance(error, auth.DefaultCredentialsError | auth.RefreshError):
        return CallFailure(reason="refused", text=f"{error}. Run: gcloud auth application-default login")
    if isinstance(error, faults.GoogleAPICallError):
        return _failure_of_answer(error)
    if isinstance(error, auth.TransportError | OSError):  # those of requests are OSErrors
        return CallFailure(reason="lost", text=str(error))
    parsing = sdk("google.protobuf.json_format", extra="gcp")
    if isinstance(error, parsing.ParseError | ValueError):  # what the REST transport raises for what is not JSON
        return CallFailure(reason="lost", text=f"the answer is cut off or cannot be read ({error})")
    return None


def _failure_of_answer(error: Any) -> CallFailure:
    reasons = [
        str(detail["reason"]) for detail in error.errors or () if isinstance(detail, Mapping) and "reason" in detail
    ]
    status, text = int(error.code or 500), str(error.message)
    code = reasons[0] if reasons else _CODES.get(status, "BACKEND_ERROR" if status >= 500 else str(status))
    if any(word in reasons or word in text for word in _THROTTLED):
        return CallFailure(reason="throttled", text=text, code=code)
    return failure_of_status(status, text, code=code)
