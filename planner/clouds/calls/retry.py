"""Repeated calls to a cloud: after a passing failure with growing pauses, for a change of state at a steady pace."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from planner.errors import IoFailureError

if TYPE_CHECKING:
    from tenacity import RetryCallState

Answer = TypeVar("Answer")


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """Policy of how long to wait for a cloud, in seconds, and how often to ask it.

    A failed call is repeated after `first_pause_s`, then after pauses that double up to `longest_pause_s`. It is given
    up after `give_up_s`, and after `most_attempts` unless that is None. A listing is repeated every `poll_s`: for at
    most `join_s` until machines run, `gone_s` until resources are gone. A listing shows every accepted request
    `settle_s` later; in that time it is read `listings` times, since any one may be incomplete.
    """

    first_pause_s: float = 0.5
    longest_pause_s: float = 20.0
    give_up_s: float = 300.0
    most_attempts: int | None = None
    poll_s: float = 5.0
    join_s: float = 600.0
    gone_s: float = 900.0
    settle_s: float = 5.0
    listings: int = 3

    def polls(self, total_s: float) -> Iterator[None]:
        """Yield at once, then every `poll_s`, until `total_s` have passed."""
        end = time.monotonic() + total_s
        yield
        while time.monotonic() < end:
            time.sleep(self.poll_s)
            yield

    def settling(self) -> Iterator[None]:
        """Yield `listings` times, at once and then spread over `settle_s`: whatever none shows does not exist."""
        yield
        for _ in range(self.listings - 1):  # none if `listings` is 1
            time.sleep(self.settle_s / (self.listings - 1))
            yield


def retry(call: Callable[[], Answer], *, policy: RetryPolicy, may_pass: Callable[[BaseException], bool]) -> Answer:
    """Return what `call` returns, repeating it while it raises errors that `may_pass`.

    A pause is at least an error's `wait_s`, where the cloud asks to wait. Up to half of each pause is cut at random,
    so that many callers do not ask at the same moment. Raises the first error that may not pass. When the policy's time
    or attempts are used up, or would be by the next pause, raises the last error; an IoFailureError then states how
    long was tried.
    """
    from tenacity import Retrying, retry_if_exception, stop_after_attempt, stop_before_delay, wait_exponential

    growing = wait_exponential(multiplier=policy.first_pause_s, max=policy.longest_pause_s)

    def pause_s(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked_s = getattr(error, "wait_s", 0.0)
        return max(growing(state) * random.uniform(0.5, 1.0), asked_s)

    in_time = stop_before_delay(policy.give_up_s)
    attempts = Retrying(
        retry=retry_if_exception(may_pass),
        stop=in_time | stop_after_attempt(policy.most_attempts) if policy.most_attempts else in_time,
        wait=pause_s,
        reraise=True,
    )
    try:
        return attempts(call)
    except IoFailureError as error:
        if may_pass(error):
            raise IoFailureError(
                f"gave up after {attempts.statistics['delay_since_first_attempt']:.0f} s: {error}", code="gave-up"
            ) from error
        raise
