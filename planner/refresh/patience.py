"""Trying again what may pass by itself, for a while: throttling, lost connections, servers in trouble."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from planner.errors import IoFailureError, PlannerError, ProviderRefusedError

T = TypeVar("T")

_LOST = "nothing was changed; check the network and run again"


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What went wrong with a call: `throttled` and `lost` may pass, `refused` and `broken` will not.

    `wait_s` is how long the cloud asks to wait, if it says.
    """

    kind: Literal["throttled", "lost", "refused", "broken"]
    text: str
    wait_s: float | None = None


class CutOffError(Exception):
    """An answer that a library took for whole and is not; it may pass."""


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How often a call is tried, and how long is waited in between: twice as long each time, half of it at random."""

    attempts: int = 7
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def waits_s(self) -> Iterator[float]:
        """Yield the waits between attempts."""
        for number in range(self.attempts - 1):
            longest = min(self.longest_wait_s, self.first_wait_s * 2**number)
            yield longest * random.uniform(0.5, 1.0)


def patiently(
    call: Callable[[], T], *, what: str, trouble_of: Callable[[Exception], Trouble | None], patience: Patience
) -> T:
    """Return what `call` returns, tried again while its trouble may pass.

    Raises ProviderRefusedError when the cloud refuses or throttles to the end, IoFailureError when it cannot be
    reached or cannot be understood; an exception that is no trouble of the cloud's (`trouble_of` gives None) goes on.
    """
    waits = patience.waits_s()
    while True:
        try:
            return call()
        except Exception as error:
            cut = isinstance(error, CutOffError)
            trouble = Trouble(kind="lost", text=str(error)) if cut else trouble_of(error)
            if trouble is None:
                raise
            wait_s = next(waits, None) if trouble.kind in ("throttled", "lost") else None
            if wait_s is None:
                raise _given_up(trouble, what=what, patience=patience) from error
            time.sleep(min(max(wait_s, trouble.wait_s or 0.0), patience.longest_wait_s))


def _given_up(trouble: Trouble, *, what: str, patience: Patience) -> PlannerError:
    times = f"{patience.attempts} time{'s' * (patience.attempts > 1)}"
    if trouble.kind == "refused":
        return ProviderRefusedError(f"{what}: {trouble.text}")
    if trouble.kind == "throttled":
        return ProviderRefusedError(f"{what}: throttled {times}, most recently: {trouble.text}. Try again later")
    if trouble.kind == "lost":
        return IoFailureError(f"{what}: tried {times}, most recently: {trouble.text}; {_LOST}")
    return IoFailureError(f"{what}: {trouble.text}; nothing was changed")


def pages(fetch: Callable[[str], tuple[list[T], str]], *, what: str) -> Iterator[list[T]]:
    """Yield the pages of a list; `fetch` takes the token of a page ('' the first) and returns it with the next token.

    Raises IoFailureError when a token comes back, which would go on for ever.
    """
    token, seen = "", set()
    while True:
        items, token = fetch(token)
        yield items
        if not token:
            return
        if token in seen:
            raise IoFailureError(f"{what}: page {token[:40]!r} came twice, the list has no end; nothing was changed")
        seen.add(token)
