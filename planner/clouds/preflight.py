"""Result of every cloud's preflight: findings, the places left to try, and today's prices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from planner.clouds.order import ClusterOffer
from planner.clouds.protocol import Finding, Place, Preflight, Resource
from planner.errors import ProviderRefusedError

_AT_ONCE: Final = 16
"""Parallel checks; each waits for a call or two of its own, and clouds accept ten or more reads a second."""


class AnswerCache:
    """Cache of answers that several checks of one preflight need, even at the same time: each is asked for once."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, Future[Any]] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, ask: Callable[[], Any]) -> Any:
        """Return the result of a key's first `ask`, or raise its error."""
        mine: Future[Any] = Future()
        with self._lock:
            answer = self._answers.setdefault(key, mine)
        if answer is mine:
            try:
                mine.set_result(ask())
            except BaseException as error:
                mine.set_exception(error)
        return answer.result()


class Unnoted:
    """A journal that records nothing: a preflight only simulates a launch."""

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """See Journal."""

    def made(self, resource: Resource) -> None:
        """See Journal."""

    def creation_refused(self, resource_kind: str, *, name: str) -> None:
        """See Journal."""

    def ordered(self) -> tuple[Resource, ...]:
        """See Journal."""
        return ()


@dataclass(kw_only=True)
class PreflightLog:
    """Collector of a preflight's findings, in the order of its checks."""

    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    price_usd_per_hour: dict[tuple[str, str, str], float] = field(default_factory=dict)

    def run_at_once(self, checks: Sequence[Callable[[PreflightLog], Any]]) -> list[Any]:
        """Run checks in parallel, each with its own log; add their findings and return their results in their order."""
        logs = [PreflightLog() for _ in checks]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            returned = list(pool.map(lambda check, log: check(log), checks, logs))
        for log in logs:
            self.findings += log.findings
            self.places += log.places
            self.price_usd_per_hour |= log.price_usd_per_hour
        return returned

    def add(self, finding: Finding) -> bool:
        """Add a finding and return whether the place can still be tried."""
        self.findings.append(finding)
        return finding.ok is not False

    def add_all(self, findings: Iterable[Finding]) -> bool:
        """Add findings, and return whether none of them forbids a launch."""
        return not [finding for finding in findings if not self.add(finding)]

    @contextmanager
    def noting_refusals(self, subject: str) -> Iterator[None]:
        """Record a cloud's refusals to answer as a finding, and go on."""
        try:
            yield
        except ProviderRefusedError as error:
            self.note(subject, False, error.message)

    def note(self, subject: str, ok: bool | None, text: str) -> bool:  # noqa: FBT001
        """Add a finding from its parts; see `add`."""
        return self.add(Finding(subject=subject, ok=ok, text=text))

    def note_prices(self, choice: ClusterOffer, region: str, price: Callable[[str], float | None]) -> None:
        """Record today's prices next to the planned ones: `price` by how machines are bought, None where not stated.
        The head of spot machines is bought on demand.
        """
        self.note_price(choice, region, price(choice.pricing))
        head = price("on-demand") if choice.is_spot else None
        if head is not None:
            self.price_usd_per_hour[choice.type_with_disks, region, "on-demand"] = head

    def note_price(self, choice: ClusterOffer, region: str, usd_per_hour: float | None) -> None:
        """Record today's price of a node next to the planned one; None is a price that the cloud does not state."""
        bought = "spot price" if choice.is_spot else "price"
        planned, subject = choice.price_usd_per_hour, f"{bought} of {choice.instance_type} in {region}"
        if usd_per_hour is None:
            self.note(subject, None, f"not known; planned with ${planned:.4f} per hour")
            return
        self.price_usd_per_hour[choice.type_with_disks, region, choice.pricing] = usd_per_hour
        change = "as planned" if usd_per_hour == planned else f"planned with ${planned:.4f}"
        if planned and usd_per_hour != planned:
            change = f"{usd_per_hour / planned - 1:+.1%} against the plan"
        self.note(subject, True, f"${usd_per_hour:.4f} per hour, {change}")

    def add_places(self, choice: ClusterOffer, region: str, zones: Iterable[str]) -> None:
        """Add the zones of a region, '' for a region without zones, as places to try."""
        self.places += [Place(choice=choice, region=region, zone=zone) for zone in zones]

    def result(self) -> Preflight:
        """Return the findings, places and prices."""
        return Preflight(
            findings=tuple(self.findings), places=tuple(self.places), price_usd_per_hour=self.price_usd_per_hour
        )
