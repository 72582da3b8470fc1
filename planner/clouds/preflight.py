"""Result of every cloud's preflight: findings, the places left to try, and today's prices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from planner.clouds.order import ClusterOffer
from planner.clouds.protocol import Finding, Place, Preflight
from planner.errors import ProviderRefusedError


@dataclass(kw_only=True)
class PreflightLog:
    """Collects what a preflight finds out, in the order of its checks."""

    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    price_usd_per_hour: dict[tuple[str, str], float] = field(default_factory=dict)
    head_usd_per_hour: dict[tuple[str, str], float] = field(default_factory=dict)

    def add(self, finding: Finding) -> bool:
        """Add a finding and return whether the place can still be tried."""
        self.findings.append(finding)
        return finding.ok is not False

    def add_all(self, findings: Iterable[Finding]) -> bool:
        """Add findings, and return whether none of them is against a launch."""
        return not [finding for finding in findings if not self.add(finding)]

    @contextmanager
    def noting_refusals(self, subject: str) -> Iterator[None]:
        """Add what a cloud refuses to tell as a finding, and go on."""
        try:
            yield
        except ProviderRefusedError as error:
            self.note(subject, False, error.message)

    def note(self, subject: str, ok: bool | None, text: str) -> bool:  # noqa: FBT001
        """Add a finding from its parts; see `add`."""
        return self.add(Finding(subject=subject, ok=ok, text=text))

    def note_prices(self, choice: ClusterOffer, region: str, price: Callable[[str], float | None]) -> None:
        """Set today's prices beside the planned ones: `price` by how machines are bought, None where not stated."""
        if not choice.is_spot and (choice.type_with_disks, region) in self.head_usd_per_hour:
            return  # the same machines were asked for as spot ones before, whose head is bought so
        self.note_price(choice, region, price(choice.pricing))
        head = price("on-demand") if choice.is_spot else None
        if head is not None:
            self.head_usd_per_hour[choice.type_with_disks, region] = head

    def note_price(self, choice: ClusterOffer, region: str, usd_per_hour: float | None) -> None:
        """Set today's price of a node beside the planned one; None is a price that the cloud does not state."""
        bought = "spot price" if choice.is_spot else "price"
        planned, subject = choice.price_usd_per_hour, f"{bought} of {choice.instance_type} in {region}"
        if usd_per_hour is None:
            self.note(subject, None, f"not known; planned with ${planned:.4f} per hour")
            return
        self.price_usd_per_hour[choice.type_with_disks, region] = usd_per_hour
        change = "as planned" if usd_per_hour == planned else f"planned with ${planned:.4f}"
        if planned and usd_per_hour != planned:
            change = f"{usd_per_hour / planned - 1:+.1%} against the plan"
        self.note(subject, True, f"${usd_per_hour:.4f} per hour, {change}")

    def add_places(self, choice: ClusterOffer, region: str, zones: Iterable[str]) -> None:
        """Add the zones of a region, '' for a region without zones, as places to try."""
        self.places += [Place(choice=choice, region=region, zone=zone) for zone in zones]

    def result(self) -> Preflight:
        """Return what was collected."""
        return Preflight(
            findings=tuple(self.findings),
            places=tuple(self.places),
            price_usd_per_hour=self.price_usd_per_hour,
            head_usd_per_hour=self.head_usd_per_hour,
        )
