"""JSON over plain HTTP, for price lists that need no account."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from planner.refresh.patience import Patience, Trouble, patiently

_TIMEOUT_S: Final = 60
_TOO_MANY_REQUESTS: Final = 429


def get_json(url: str, *, what: str, patience: Patience) -> Any:
    """Return the JSON at `url`. Raises ProviderRefusedError and IoFailureError as `patiently` does."""
    request = Request(url, headers={"Accept": "application/json"})

    def call() -> Any:
        with urlopen(request, timeout=_TIMEOUT_S) as answer:
            return json.loads(answer.read())

    return patiently(call, what=what, trouble_of=_trouble_of, patience=patience)


def _trouble_of(error: Exception) -> Trouble | None:
    if isinstance(error, HTTPError):
        return trouble_of_status(error.code, f"HTTP {error.code} {error.reason}", wait=error.headers.get("Retry-After"))
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return Trouble(kind="lost", text=f"the answer is cut off or is not JSON ({error})")
    if isinstance(error, URLError | HTTPException | OSError):
        return Trouble(kind="lost", text=str(error) or type(error).__name__)
    return None


def trouble_of_status(status: int, text: str, *, wait: str | None = None) -> Trouble:
    """Return what an HTTP status means; `wait` is its Retry-After."""
    wait_s = float(wait) if wait and wait.isdecimal() else None
    if status == _TOO_MANY_REQUESTS:
        return Trouble(kind="throttled", text=text, wait_s=wait_s)
    if status >= 500:
        return Trouble(kind="lost", text=text, wait_s=wait_s)
    if status in (401, 403, 407):
        return Trouble(kind="refused", text=text)
    return Trouble(kind="broken", text=text)
