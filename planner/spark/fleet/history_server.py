"""Spark's history server: its list of applications, page by page, and the zip of each one's event logs.

The interface is that of Spark's monitoring guide: `/api/v1/applications` with `status`, `limit` and `maxEndDate`, and
`/api/v1/applications/ID/logs`, which holds the logs of all attempts. The list starts with the latest end.
"""

from __future__ import annotations

import json
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from tenacity import retry, retry_if_exception, stop_after_attempt, wait_exponential

from planner.errors import BadInputError, IoFailureError

_PAGE: Final = 500
_MOST_PAGE: Final = 64_000
"""Page size at which to give up: this many applications cannot have ended within one millisecond."""
_TIMEOUT_S: Final = 120
_TRIES: Final = 4
_API: Final = "/api/v1"


@dataclass(frozen=True, kw_only=True)
class ListedApplication:
    """An application that ended; `version` changes when its log was written on."""

    app_id: str
    version: str
    logs_url: str


@dataclass(frozen=True, kw_only=True)
class Applications:
    """Applications on a server: those that `ended`, the latest first, and the number still `running`."""

    ended: tuple[ListedApplication, ...]
    running: int


def is_server(place: str) -> bool:
    """Return whether a place is the address of a server."""
    return place.startswith(("http://", "https://"))


def list_applications(address: str, *, page: int = _PAGE) -> Applications:
    """Return a server's applications, fetched a `page` at a time. Raises BadInputError where no history server answers
    at the address, IoFailureError where it does not answer.
    """
    base = address.rstrip("/").removesuffix(_API) + f"{_API}/applications"
    ended: dict[str, ListedApplication] = {}
    until, limit = "", page
    while True:
        asked = {"status": "completed", "limit": str(limit), **({"maxEndDate": until} if until else {})}
        listed = _list(f"{base}?{urlencode(asked)}")
        before = len(ended)
        for one in listed:
            ended.setdefault(one["id"], _application(one, base))
        if len(listed) < limit:
            break
        if len(ended) == before:  # a whole page ended in the same millisecond
            limit *= 2
            if limit > _MOST_PAGE:
                raise IoFailureError(
                    f"{address} repeats a page of {len(listed)} applications, whatever is asked", code="endless-list"
                )
        until = _date(min(_last_end_ms(one) for one in listed))
    running = _list(f"{base}?status=running")
    late = {one["id"]: _application(one, base) for one in running if _has_ended(one)}
    return Applications(ended=tuple({**late, **ended}.values()), running=len(running) - len(late))


def download(url: str, path: Path) -> None:
    """Download the content of an address into a file. Raises IoFailureError."""
    with _http_errors(url):
        _download(url, path)


def _application(one: dict[str, Any], base: str) -> ListedApplication:
    version = " ".join(f"{attempt.get('endTimeEpoch')}/{attempt.get('lastUpdatedEpoch')}" for attempt in _attempts(one))
    return ListedApplication(app_id=one["id"], version=version, logs_url=f"{base}/{quote(one['id'], safe='')}/logs")


def _attempts(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from (attempt for attempt in one.get("attempts", ()) if isinstance(attempt, dict))


def _last_end_ms(one: dict[str, Any]) -> int:
    return max((int(attempt.get("endTimeEpoch", 0)) for attempt in _attempts(one)), default=0)


def _has_ended(one: dict[str, Any]) -> bool:
    """Return whether the latest attempt ended; Spark before 3.4 lists an application as running if any has not."""
    latest = max(_attempts(one), key=lambda attempt: int(attempt.get("startTimeEpoch", 0)), default={})
    return latest.get("completed") is True


def _date(at_ms: int) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03}GMT"


def _list(url: str) -> list[dict[str, Any]]:
    with _http_errors(url):
        text = _read(url)
    try:
        listed = json.loads(text)
    except ValueError:
        listed = None
    if not isinstance(listed, list) or not all(
        isinstance(one, dict) and isinstance(one.get("id"), str) for one in listed
    ):
        raise BadInputError(
            f"{url} is no list of applications: give the address of Spark's history server", code="not-a-history-server"
        )
    return listed


def _passing(error: BaseException) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500
    return isinstance(error, OSError)


_retrying: Final = retry(
    retry=retry_if_exception(_passing),
    stop=stop_after_attempt(_TRIES),
    wait=wait_exponential(multiplier=0.2, max=5),
    reraise=True,
)


@_retrying
def _read(url: str) -> bytes:
    with _answer(url) as answer:
        content: bytes = answer.read()
    return content


@_retrying
def _download(url: str, path: Path) -> None:
    with _answer(url) as answer, path.open("wb") as file:
        shutil.copyfileobj(answer, file, 1 << 20)


@contextmanager
def _answer(url: str) -> Iterator[Any]:
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise


@contextmanager
def _http_errors(url: str) -> Iterator[None]:
    try:
        yield
    except urllib.error.HTTPError as error:
        if error.code == 404 and url.endswith("/logs"):
            raise IoFailureError("the history server no longer has its log (HTTP 404)", code="log-gone") from error
        raise IoFailureError(f"{url} answers {error.code} {error.reason}", code="http-error") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise IoFailureError(
            f"{url} does not answer: {reason}; is the address right, and the server up?", code="no-answer"
        ) from error
