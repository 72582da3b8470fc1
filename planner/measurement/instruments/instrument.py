"""Fields that describe an instrument's result, so that its file can be understood years later."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Final

WITHIN: Final = 0.95
"""A setting is good enough at this share of the best rate or more (Scalyr's rule: the smallest within 5%)."""


def _version() -> str:
    try:
        return version("sortplanner")
    except PackageNotFoundError:
        return "unknown"


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The instrument of a result, its subject, time and method. `machine_type` is None unless the user named it."""

    instrument: str
    method: str
    machine_type: str | None
    nodes: int
    repeats: int
    planner_version: str = field(default_factory=_version)
    host: str = field(default_factory=platform.node)
    measured_at: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))


def smallest_good_enough(rate_by_setting: Sequence[tuple[int, float]]) -> int:
    """Return the smallest setting whose rate is within 5% of the best. Raises ValueError when there is none."""
    best = max(rate for _, rate in rate_by_setting)
    return min(setting for setting, rate in rate_by_setting if rate >= WITHIN * best)


def series_per_s(bytes_by_interval: Sequence[int], *, interval_s: float) -> tuple[float, ...]:
    """Return bytes/s in each interval of `interval_s` seconds."""
    return tuple(count / interval_s for count in bytes_by_interval)
