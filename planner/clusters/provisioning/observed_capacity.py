"""A cloud's capacity as seen by earlier runs: their journals record the machines refused and granted.

Capacity comes and goes, so refusals older than SEEN_DAYS are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from planner.config.paths import user_directory
from planner.errors import PlannerError
from planner.schemas.plan import NodeLimit

if TYPE_CHECKING:
    from planner.clusters.provisioning.run_directory import Event

SEEN_DAYS: Final = 7


def observed_limits(*, now: datetime | None = None) -> list[NodeLimit]:
    """Return a limit for each type and region that recently lacked capacity: one less than the smallest request
    refused. A larger cluster granted since then removes it.
    """
    since = (now or datetime.now(UTC)) - timedelta(days=SEEN_DAYS)
    limits: dict[tuple[str, str, str], NodeLimit] = {}
    for cloud, event in _events(since):
        name, region = event.details.get("instance_type"), event.details.get("region")
        if not isinstance(name, str) or not isinstance(region, str):
            continue
        key, limit = (cloud, name, region), limits.get((cloud, name, region))
        if event.what == "up" and limit is not None and limit.nodes < len(event.details["nodes"]):
            del limits[key]
        if event.what == "refused" and event.details.get("capacity"):
            machines = int(event.details["machines"])
            if limit is None or machines - 1 < limit.nodes:
                note = f"{machines} were refused on {event.at:%Y-%m-%d}"
                limits[key] = NodeLimit(nodes=machines - 1, cloud=cloud, instance=name, region=region, note=note)
    return list(limits.values())


def _events(since: datetime) -> Iterator[tuple[str, Event]]:
    """Yield refusals and clusters that came up, oldest first, with their cloud; unreadable runs are skipped."""
    if not user_directory("runs").is_dir():
        return iter(())
    from planner.clusters.provisioning.run_directory import RunDirectory, known_runs

    events: list[tuple[str, Event]] = []
    for run in known_runs():
        try:
            directory = RunDirectory.open(run)
            cloud = directory.order().cloud
            seen = [event for event in directory.events() if event.what in ("refused", "up") and event.at >= since]
        except (PlannerError, OSError, ValueError, KeyError, TypeError):
            continue
        events += [(cloud, event) for event in seen]
    return iter(sorted(events, key=lambda pair: pair[1].at))
