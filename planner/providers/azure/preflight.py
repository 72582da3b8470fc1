"""What is looked at on Azure before anything is created."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from planner.errors import PlannerError
from planner.providers.azure.client import Arm
from planner.providers.azure.instances import VOLUME_SKUS
from planner.providers.order import Choice, Order
from planner.providers.protocol import Finding, Place, Preflight

LONGEST: Final = timedelta(hours=23, minutes=30)
"""Azure's own shutdown knows the time of day and not the day."""
_HOST: Final = (
    "encryption at host is asked for; where the subscription lacks it, once: "
    "az feature register --namespace Microsoft.Compute --name EncryptionAtHost"
)
Price = Callable[[str, str], float | None]
"""Return US dollars per hour of a size in a region; None when not known."""


@dataclass(kw_only=True)
class _Look:
    arm: Arm
    price: Price
    findings: list[Finding] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    price_usd_per_hour: dict[tuple[str, str], float] = field(default_factory=dict)
    usage: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    sizes: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)

    def note(self, subject: str, ok: bool | None, text: str) -> bool:  # noqa: FBT001
        """Keep a finding and return whether it lets the place stand."""
        self.findings.append(Finding(subject=subject, ok=ok, text=text))
        return ok is not False

    def size(self, name: str, region: str) -> dict[str, Any] | None:
        """Return what Azure says of a size in a region, whose list is asked for once."""
        if region not in self.sizes:
            listed = self.arm.items("size", filter=f"location eq '{region}'")
            self.sizes[region] = {item["name"]: item for item in listed if item["resourceType"] == "virtualMachines"}
        return self.sizes[region].get(name)

    def used(self, region: str) -> dict[str, dict[str, Any]]:
        """Return the quotas of a region and what of them is used, by name."""
        if region not in self.usage:
            self.usage[region] = {item["name"]["value"]: item for item in self.arm.items("usage", region)}
        return self.usage[region]


def preflight(order: Order, arm: Arm, *, price: Price) -> Preflight:
    """Look at credentials, then at every choice in every region."""
    look = _Look(arm=arm, price=price)
    groups = sum(1 for _ in arm.items("resource-group"))
    look.note("credentials", True, f"subscription {arm.subscription}, with {groups} resource groups")
    look.note("permissions", None, "Azure has no dry run: what lacks shows when it is asked for, and is named then")
    look.note("encryption", None, _HOST)
    if _ends_in_time(look, order):
        for choice in order.choices:
            for region in choice.regions:
                look.places += _places(look, choice, region)
    return Preflight(
        findings=tuple(look.findings), places=tuple(look.places), price_usd_per_hour=look.price_usd_per_hour
    )


def _ends_in_time(look: _Look, order: Order) -> bool:
    hours = (order.expires_at - datetime.now(UTC)) / timedelta(hours=1)
    ok, most = hours <= LONGEST / timedelta(hours=1), LONGEST / timedelta(hours=1)
    text = (
        f"Azure stops every machine in {hours:.2f} h" if ok else f"{hours:.1f} h; Azure's own shutdown reaches {most:g}"
    )
    return look.note("time to live", ok, text + ("" if ok else ": --max-hours 23h"))


def _places(look: _Look, choice: Choice, region: str) -> list[Place]:
    name, subject = choice.instance_type, f"{choice.instance_type} in {region}"
    size = look.size(name, region)
    if size is None:
        look.note(subject, False, "not offered")
        return []
    if against := _against(size, choice):
        look.note(subject, False, against)
        return []
    if not _within_quota(look, choice, size, region):
        return []
    _price(look, choice, region)
    zones = sorted(_zones(size))
    look.note(subject, True, f"offered in zones {', '.join(zones)}" if zones else "offered, in a region without zones")
    names = [f"{region}-{zone}" for zone in zones] or [""]
    return [Place(choice=choice, region=region, zone=zone) for zone in names]


def _against(size: dict[str, Any], choice: Choice) -> str:
    """Return why a size cannot be had here at all, '' when it can."""
    able = {each["name"]: each["value"] for each in size.get("capabilities", ())}
    if any(each.get("type") == "Location" for each in size.get("restrictions") or ()):
        return "closed to this subscription"
    if able.get("EncryptionAtHostSupported", "True") != "True":
        return "cannot encrypt at host"
    if choice.volumes and choice.volumes.volume_type not in VOLUME_SKUS:
        return f"volumes of type {choice.volumes.volume_type} cannot be made with their machine"
    return ""


def _zones(size: dict[str, Any]) -> Iterator[str]:
    """Yield the zones that offer a size and are open to the subscription."""
    restrictions = [each for each in size.get("restrictions") or () if each.get("type") == "Zone"]
    closed = {zone for each in restrictions for zone in each.get("restrictionInfo", {}).get("zones", ())}
    for info in size.get("locationInfo", ()):
        yield from (zone for zone in info.get("zones") or () if zone not in closed)


def _within_quota(look: _Look, choice: Choice, size: dict[str, Any], region: str) -> bool:
    able = {each["name"]: each["value"] for each in size.get("capabilities", ())}
    vcpus = int(float(able.get("vCPUs", 0))) * choice.machines
    wanted = Counter({size.get("family", "?"): vcpus, "cores": vcpus, "virtualMachines": choice.machines})
    fine = True
    for name, amount in wanted.items():
        subject, quota = f"quota {name} for {choice.instance_type} in {region}", look.used(region).get(name)
        if quota is None:
            look.note(subject, None, f"not stated; {amount} needed")
            continue
        free = quota["limit"] - quota["currentValue"]
        fine &= look.note(subject, amount <= free, f"{amount} needed, {free} of {quota['limit']} free")
    return fine


def _price(look: _Look, choice: Choice, region: str) -> None:
    try:
        now = look.price(choice.instance_type, region)
    except PlannerError:
        now = None
    planned, subject = choice.price_usd_per_hour, f"price of {choice.instance_type} in {region}"
    if now is None:
        look.note(subject, None, f"not known; planned with ${planned:.4f} per hour")
        return
    look.price_usd_per_hour[choice.instance_type, region] = now
    change = f", {now / planned - 1:+.1%} against the plan" if now != planned else ", as planned"
    look.note(subject, True, f"${now:.4f} per hour{change}")
