"""Read-only calls to a cloud: retried while their failure may pass, and paged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from planner.clouds.calls.retry import RetryPolicy, retry
from planner.errors import IoFailureError, PlannerError, ProviderRefusedError
from planner.extras import optional

T = TypeVar("T")

READING: Final = RetryPolicy(most_attempts=7, longest_pause_s=30.0)
"""Retries of a reading call: about half a minute in all."""
_CONNECTION_LOST: Final = "nothing was changed; check the network and run again"


FailureReason = Literal["throttled", "lost", "refused", "broken"]


@dataclass(frozen=True, kw_only=True)
class CallFailure:
    """Reason why a call failed: `throttled` and `lost` may pass, `refused` and `broken` will not.

    `code` and `status` are the cloud's error code and its HTTP status. `wait_s` is how long the cloud asks to wait. All
    three are blank where it does not state them. `hints` are present where the account is wrong, whatever the call: the
    remedy and the SDK's message.
    """

    reason: FailureReason
    text: str
    code: str = ""
    status: int = 0
    wait_s: float = 0.0
    hints: tuple[str, ...] = ()

    @property
    def may_pass(self) -> bool:
        """True if the same call may succeed later."""
        return self.reason in ("throttled", "lost")


class CutOffError(Exception):
    """An incomplete answer that a library took for a whole one; a retry may succeed."""


class _FailedCallError(Exception):
    def __init__(self, failure: CallFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure
        self.wait_s = failure.wait_s


def read_cloud(
    call: Callable[[], T], *, what: str, failure_of: Callable[[Exception], CallFailure | None], policy: RetryPolicy
) -> T:
    """Return what `call` returns, retried while its failure may pass.

    Raises ProviderRefusedError when the cloud refuses or throttles to the end, IoFailureError when it cannot be reached
    or understood. Exceptions that are not the cloud's failures (`failure_of` returns None) are not caught.
    """

    def attempt() -> T:
        try:
            return call()
        except CutOffError as error:
            raise _FailedCallError(CallFailure(reason="lost", text=str(error))) from error
        except Exception as error:
            failure = failure_of(error)
            if failure is None:
                raise
            raise _FailedCallError(failure) from error

    try:
        return retry(
            attempt,
            policy=policy,
            may_pass=lambda error: isinstance(error, _FailedCallError) and error.failure.may_pass,
        )
    except _FailedCallError as error:
        raise _error_of(error.failure, what=what, attempts=policy.most_attempts) from error.__cause__


def _error_of(failure: CallFailure, *, what: str, attempts: int | None) -> PlannerError:
    if failure.hints:
        return ProviderRefusedError(failure.text, failure.hints, code="account-unfit")
    origin = [f"HTTP {failure.status}"] * bool(failure.status) + [failure.code] * bool(failure.code)
    text = f"{failure.text} ({', '.join(origin)})" if origin else failure.text
    if failure.reason == "refused":
        hint = ". The account needs the permission named above" if failure.code else ""
        return ProviderRefusedError(f"{what}: {text}{hint}", code="call-refused")
    if failure.reason == "throttled":
        return ProviderRefusedError(
            f"{what}: throttled {attempts} times, most recently: {text}. Try again later", code="throttled"
        )
    if failure.reason == "lost":
        return IoFailureError(
            f"{what}: tried {attempts} times, most recently: {text}; {_CONNECTION_LOST}", code="no-answer"
        )
    return IoFailureError(f"{what}: {text}; nothing was changed", code="broken-answer")


def pages(fetch: Callable[[str], tuple[list[T], str]], *, what: str) -> Iterator[list[T]]:
    """Yield the pages of a list; `fetch` takes the token of a page ('' the first) and returns it with the next token.

    Raises IoFailureError when a token repeats, which would never end.
    """
    token, seen = "", set()
    while True:
        items, token = fetch(token)
        yield items
        if not token:
            return
        if token in seen:
            raise IoFailureError(
                f"{what}: page {token[:40]!r} came twice, the list has no end; nothing was changed", code="endless-list"
            )
        seen.add(token)


def read_pages(
    fetch: Callable[[str], tuple[list[T], str]],
    *,
    what: str,
    failure_of: Callable[[Exception], CallFailure | None],
    policy: RetryPolicy,
) -> Iterator[list[T]]:
    """Yield the pages of a list as `pages` does, each fetched by `read_cloud`."""
    return pages(
        lambda token: read_cloud(lambda: fetch(token), what=what, failure_of=failure_of, policy=policy), what=what
    )


def sdk(module: str, *, extra: str) -> Any:
    """Import a module of a cloud's SDK. Raises PlannerError with how to install it when it is missing."""
    return optional(module, extra=extra, purpose=f"asking {extra}")
