"""Quotas of Compute Engine, in its own units: vCPUs of a series, GB of disk, machines and addresses of a region."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from planner.clouds.gcp.instances import ROOT_GB, series_of
from planner.clouds.order import Choice
from planner.clouds.protocol import Finding

_OWN_SERIES: Final = frozenset({"a2", "c2", "c2d", "c3", "e2", "m1", "m2", "m3", "n2", "n2a", "n2d", "t2a", "t2d"})
"""Series with a quota of their own in regions.get; n1 shares CPUS, newer ones are counted elsewhere."""
_LOCAL_GB: Final = 375
_EVERYWHERE: Final = "CPUS_ALL_REGIONS"
_SPOT_CPUS: Final = "PREEMPTIBLE_CPUS"
"""For spot machines, where a project has asked for it; otherwise they count towards the quotas of the others."""
_SPOT_OF: Final = {"LOCAL_SSD_TOTAL_GB": "PREEMPTIBLE_LOCAL_SSD_GB"}
_SOLID_STATE: Final = frozenset({"pd-balanced", "pd-ssd"})


def needs(choice: Choice, *, vcpus: int, bundled_disks: int) -> dict[str, float]:
    """Return what a choice needs, by Google's name of the quota. `vcpus` and `bundled_disks` are of one machine."""
    series, machines = series_of(choice.instance_type), choice.machines
    metric = f"{series.upper()}_CPUS" if series in _OWN_SERIES - {"e2"} else "CPUS"
    volumes = choice.volumes
    solid_gb = volumes.count * volumes.size_gib if volumes and volumes.volume_type in _SOLID_STATE else 0
    amounts = {
        metric: vcpus * machines,
        "INSTANCES": machines,
        "IN_USE_ADDRESSES": 1,
        "LOCAL_SSD_TOTAL_GB": (choice.local_disks + bundled_disks) * _LOCAL_GB * machines,
        "SSD_TOTAL_GB": (ROOT_GB + solid_gb) * machines,
    }
    if series not in _OWN_SERIES | {"n1", "e2", "f1", "g1"}:
        for name in (metric, "LOCAL_SSD_TOTAL_GB"):  # counted for each series by another service
            del amounts[name]
    return {name: float(amount) for name, amount in amounts.items() if amount}


def finding_everywhere(choice: Choice, project: dict[str, Any], *, vcpus: int) -> Finding:
    """Say whether what is free in all regions together (as projects.get tells it) will do: a quota of its own."""
    subject, needed = f"quota {_EVERYWHERE} for {choice.instance_type}", float(vcpus * choice.machines)
    quota = next((quota for quota in project.get("quotas", ()) if quota["metric"] == _EVERYWHERE), None)
    return _finding(subject, quota, needed)


def findings(choice: Choice, region: dict[str, Any], *, vcpus: int, bundled_disks: int) -> Iterator[Finding]:
    """Yield, for each quota, whether what is free in a region (as regions.get tells it) will do."""
    quotas = {quota["metric"]: quota for quota in region.get("quotas", ())}
    amounts = needs(choice, vcpus=vcpus, bundled_disks=bundled_disks)
    if choice.is_spot and quotas.get(_SPOT_CPUS, {}).get("limit"):
        amounts = _apart(amounts, spot=choice.machines - 1, machines=choice.machines)
    where = f"for {choice.instance_type} in {region['name']}"
    for metric, amount in amounts.items():
        yield _finding(f"quota {metric} {where}", quotas.get(metric), amount)
    if not any(name.endswith("CPUS") for name in amounts):
        text = f"not stated by Compute Engine; {vcpus * choice.machines} vCPUs needed"
        yield Finding(subject=f"quota of vCPUs {where}", ok=None, text=text)


def _apart(amounts: dict[str, float], *, spot: int, machines: int) -> dict[str, float]:
    """Count spot machines' vCPUs and local disks towards the quotas that are theirs alone; others share the usual."""
    own = {}
    for name, amount in amounts.items():
        spot_name = _SPOT_CPUS if name.endswith("CPUS") else _SPOT_OF.get(name)
        if spot_name:
            own[spot_name] = amount * spot / machines
        own[name] = amount * (machines - spot) / machines if spot_name else amount
    return own


def _finding(subject: str, quota: dict[str, Any] | None, amount: float) -> Finding:
    if quota is None:
        return Finding(subject=subject, ok=None, text=f"not stated; {amount:g} needed")
    limit, free = quota.get("limit", 0.0), quota.get("limit", 0.0) - quota.get("usage", 0.0)
    return Finding(subject=subject, ok=amount <= free, text=f"{amount:g} needed, {free:g} of {limit:g} free")
