"""A platform, and a plan written for it: the file's text, what it cannot express, and what the reader fills in."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from textwrap import fill
from typing import Any, Final

from planner.errors import BadInputError
from planner.exports.block_yaml import block_yaml
from planner.exports.order import Order
from planner.units import format_bytes, format_duration, format_usd

PLACEHOLDER: Final = re.compile(r"REPLACE_[A-Z_]+")
"""What only the reader knows: accounts, subnets, buckets, images. A file of the planner never holds such a secret."""
_LINE: Final = 118

Written = Mapping[str, Any] | list[dict[str, Any]] | str
"""A document, several of them, or a script."""


class Feature(StrEnum):
    """What a plan may rest on and a platform may not have."""

    PLACEMENT_GROUP = "one placement group"
    SPARES = "spare machines"
    SCREENING = "slow machines dropped after a measurement"
    BANDWIDTH = "EC2's bandwidth weighting"
    VOLUMES = "volumes as planned"
    LOCAL_DISKS = "local disks, mounted"
    NEXT_CHOICES = "other types where the first cannot be had"
    MACHINE_TYPE = "a machine type"
    COUNT = "the number of machines"
    END = "an end by itself"


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What takes a file. `write` gives what is in the file. `runs` is what sorts there: `spark`, `ray` for this
    project's own sort, or '' where that is not said. `types` are patterns of the machine types that the platform
    documents (`types_from`: where and when); empty where only an account can list them, with the command `ask`.
    """

    name: str
    clouds: frozenset[str]
    file_name: str
    apply: str
    runs: str
    has: frozenset[Feature]
    write: Callable[[Order], Written]
    types: tuple[str, ...] = ()
    types_from: str = ""
    ask: str = ""

    def takes(self, machine_type: str) -> bool:
        """Whether the platform's documents have the type, or have no list."""
        return not self.types or any(re.fullmatch(pattern, machine_type) for pattern in self.types)


@dataclass(frozen=True, kw_only=True)
class Lost:
    """What the plan rests on and the platform cannot express, and what that costs in time."""

    what: str
    costs: str

    def __str__(self) -> str:
        return f"{self.what}: {self.costs}"


@dataclass(frozen=True, kw_only=True)
class Export:
    """A plan as a platform's file. `apply` is the command that hands it over."""

    platform: str
    file_name: str
    text: str
    lost: tuple[Lost, ...]
    placeholders: tuple[str, ...]
    apply: str


def export(order: Order, platform: Platform, *, version: str) -> Export:
    """Write an order for a platform. Raises BadInputError for a cloud or a machine type that the platform has not."""
    _require_fit(order, platform)
    lost = tuple(_lost(order, platform))
    written = platform.write(order)
    text = _text(written, tuple(_heading(order, platform, lost, version=version)), platform)
    placeholders = tuple(dict.fromkeys(PLACEHOLDER.findall(text)))
    apply = platform.apply.format(file=platform.file_name, name=order.name, region=order.best.region)
    return Export(
        platform=platform.name,
        file_name=platform.file_name,
        text=text,
        lost=lost,
        placeholders=placeholders,
        apply=apply,
    )


def _text(written: Written, heading: tuple[str, ...], platform: Platform) -> str:
    """Return the file: the heading is a comment at its top, in a script below its first line."""
    if platform.file_name.endswith(".json"):
        return json.dumps({"//": " ".join(heading), **written}, indent=2) + "\n"  # type: ignore[dict-item]
    head = "".join(fill(line, _LINE, initial_indent="# ", subsequent_indent="#   ") + "\n" for line in heading)
    if isinstance(written, str):
        first, rest = written.split("\n", 1)
        return f"{first}\n{head}{rest}"
    documents = [written] if isinstance(written, Mapping) else written
    return head + "---\n".join(block_yaml(document) for document in documents)


def _require_fit(order: Order, platform: Platform) -> None:
    best = order.best
    if platform.clouds and best.cloud not in platform.clouds:
        clouds = ", ".join(sorted(platform.clouds))
        raise BadInputError(
            f"{platform.name} is on {clouds}; the plan rents on {best.cloud}: plan with --cloud {clouds}"
        )
    if Feature.MACHINE_TYPE in platform.has and not platform.takes(best.cloud_type):
        fits = next((choice.machine_type for choice in order.choices if platform.takes(choice.machine_type)), None)
        instead = (
            f"the best that it has is {fits}: plan with --instance {fits}" if fits else "none of the plan's types is"
        )
        raise BadInputError(f"{platform.name} has no {best.cloud_type} ({platform.types_from})", [instead])


def _lost(order: Order, platform: Platform) -> Iterator[Lost]:
    best, has = order.best, platform.has
    needed = {
        Feature.MACHINE_TYPE: (True, "the platform chooses machines; the plan's times are for its own"),
        Feature.COUNT: (True, "it follows what is asked of the platform later"),
        Feature.PLACEMENT_GROUP: (best.placement_group, "links may be slower; nobody measured by how much"),
        Feature.SPARES: (best.spares > 0, _without_spares(order)),
        Feature.SCREENING: ("screen" in best.overheads_s, _unscreened(order)),
        Feature.BANDWIDTH: (bool(best.bandwidth_weighting), _without_weighting(order)),
        Feature.VOLUMES: (best.volumes is not None, "volumes of the platform's own kind, of which nothing was planned"),
        Feature.LOCAL_DISKS: (
            order.local_disks > 0,
            "intermediate data goes to another disk, whose rate was not planned",
        ),
        Feature.NEXT_CHOICES: (len(order.choices) > 1, "where the type cannot be had, plan again with --exclude"),
        Feature.END: (True, f"it is paid for until somebody ends it: {format_usd(best.usd_per_hour)} an hour"),
    }
    yield from (
        Lost(what=str(what), costs=costs)
        for what, (is_needed, costs) in needed.items()
        if is_needed and what not in has
    )
    if platform.runs not in ("", _sorter(order)):
        yield Lost(what=f"the engine {order.plan.request.engine}", costs=_other_engine(platform))


def _sorter(order: Order) -> str:
    return "spark" if order.plan.request.engine == "spark" else "ray"


def _other_engine(platform: Platform) -> str:
    if platform.runs == "spark":
        return "Spark runs here, whose times were not planned; plan with --engine spark"
    return "this project's sort on Ray runs here, whose times were not planned; plan with --engine ray"


def _without_spares(order: Order) -> str:
    nodes, job_s = order.best.nodes, order.best.time_s.expected
    if nodes == 1:
        return "if the machine fails at boot there is none"
    return f"one machine less takes about {format_duration(job_s / (nodes - 1))} longer"


def _unscreened(order: Order) -> str:
    time = order.best.time_s
    return f"with slow ones it may take {format_duration(time.p95)} and more, not {format_duration(time.expected)}"


def _without_weighting(order: Order) -> str:
    """Return how much longer the phases are where what was raised by a quarter of a baseline is not."""
    weighting = order.best.bandwidth_weighting
    raised = ("network",) if weighting.startswith("vpc") else ("volumes", "volume_read", "volume_write")
    longer_s = 0.0
    for phase in order.best.phases:
        times = [use.time_s * (1.25 if name in raised else 1.0) for name, use in phase.resources.items()]
        longer_s += max(0.0, max(times, default=0.0) - phase.time_s)
    return f"without {weighting} it takes about {format_duration(longer_s)} longer"


def _heading(order: Order, platform: Platform, lost: tuple[Lost, ...], *, version: str) -> Iterator[str]:
    best, request = order.best, order.plan.request
    size = format_bytes(request.data_bytes)
    cluster = f"{best.nodes} x {best.instance_type} ({best.cloud} {best.region}, {best.pricing})"
    yield f"sortplanner {version} planned {cluster} for {size}, model {best.model}, engine {request.engine}."
    expected, most = format_duration(best.time_s.expected), format_duration(best.time_s.p95)
    total = f"{'at least ' if best.cost_usd.at_least else ''}{format_usd(best.cost_usd.total)}"
    yield f"The job takes {expected}, in 95 of 100 runs at most {most}. In all {total}, without a platform's fee."
    yield from (f"Not expressed here: {each}." for each in lost)
    if platform.ask:
        yield f"Whether the platform has these types: {platform.ask.format(region=best.region)}"
