"""JSON and text over plain HTTP, where no account is needed or the address is sufficient proof."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.client import HTTPException
from socket import gaierror
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from planner.clouds.calls.reading import CallFailure, FailureReason, read_cloud
from planner.clouds.calls.retry import RetryPolicy

TIMEOUT_S: Final = 60
_TOO_MANY_REQUESTS: Final = 429


def get_json(url: str, *, what: str, policy: RetryPolicy) -> Any:
    """Return the JSON at `url`. Raises ProviderRefusedError and IoFailureError as `read_cloud` does."""
    return _get(url, json.loads, accept="application/json", what=what, policy=policy)


def get_text(url: str, *, what: str, policy: RetryPolicy) -> str:
    """Return the text at `url`, with invalid UTF-8 replaced. Raises as `get_json` does."""
    return str(_get(url, lambda content: content.decode(errors="replace"), accept="*/*", what=what, policy=policy))


def header_of(url: str, name: str) -> str | None:
    """Return a header of the answer to HEAD, whatever its status; None without it, or without an answer."""
    request = Request(url, method="HEAD")
    try:
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.headers.get(name)  # type: ignore[no-any-return]
    except HTTPError as error:
        with error:
            return error.headers.get(name)
    except (OSError, HTTPException):
        return None


def _get(url: str, read: Callable[[bytes], Any], *, accept: str, what: str, policy: RetryPolicy) -> Any:
    request = Request(url, headers={"Accept": accept})

    def call() -> Any:
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:
                return read(answer.read())
        except HTTPError as error:
            error.close()  # the error holds an open connection
            raise

    return read_cloud(call, what=what, failure_of=failure_of, policy=policy)


def failure_of(error: Exception) -> CallFailure | None:
    """Return what went wrong with a call over HTTP; None for other errors."""
    if isinstance(error, HTTPError):
        return failure_of_status(error.code, str(error.reason), wait=error.headers.get("Retry-After"))
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return CallFailure(reason="lost", text=f"the answer is cut off or is not JSON ({error})")
    if isinstance(error, URLError) and isinstance(error.reason, gaierror):  # retrying does not find a network
        return CallFailure(reason="broken", text=f"{error.reason.strerror}: check the network and the proxy")
    if isinstance(error, URLError):
        return CallFailure(reason="lost", text=getattr(error.reason, "strerror", None) or str(error.reason))
    if isinstance(error, HTTPException | OSError):
        return CallFailure(reason="lost", text=str(error) or type(error).__name__)
    return None


def failure_of_status(status: int, text: str, *, code: str = "", wait: str | None = None) -> CallFailure:
    """Return what an HTTP status means; `wait` is its Retry-After."""
    wait_s = float(wait) if wait and wait.isdecimal() else 0.0
    reason: FailureReason = "refused" if status in (401, 403, 407) else "lost" if status >= 500 else "broken"
    if status == _TOO_MANY_REQUESTS:
        reason = "throttled"
    return CallFailure(reason=reason, text=text, code=code, status=status, wait_s=wait_s)
