"""Tables of other volumes, networks, sizes of data, regions and ways to pay.

Rate against number of block volumes, up to a full link of the node (SoCC 2015, Figure 10); the leading types under
three networks, the winner of each marked (Figure 9).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from planner.cost_model.volumes.volume_counts import VolumeCount
from planner.planning.what_if.data_curve import DataPoint
from planner.planning.what_if.network_views import VIEWS, NetworkRow, verdict
from planner.report.clusters import FIGURES, Column, cluster_name, side_by_side, total_text
from planner.report.section import Said, Section, aligned, markdown
from planner.report.words import wrapped
from planner.schemas.plan import Candidate, NetworkView, Plan
from planner.units import count_text, format_bytes, format_duration, format_rate, format_usd

_TYPES = 3
_LEAST_SHOWN: Final = 0.01
"""Least expected number of nodes shown as such: powers of ten are hard to read."""


def render_volumes(steps: Sequence[VolumeCount]) -> Iterator[Said | Section]:
    """Yield a table of the leading types' rates with each number of volumes."""
    if not steps:
        yield Said("Volumes: the recommended clusters use none, or their rates are unknown.")
    for name in list(dict.fromkeys(step.instance_type for step in steps))[:_TYPES]:
        of_type = [step for step in steps if step.instance_type == name]
        rows = []
        for kind, run in groupby(of_type, key=lambda step: (step.volume_type, step.rated)):
            counts = [*run]
            unknown = "-" if counts[-1].rated == "measured" else "unknown"
            usd = counts[-1].usd_per_hour
            rates = ", ".join(f"{step.count}: {_rate(step)}" for step in counts)
            rows.append((*kind, rates, unknown if usd is None else f"{usd:.3g}"))
        columns = ("volume", "rate of each", "count: MB/s together", "$/h when full")
        title = f"Volumes on {name}, whose link carries {format_rate(of_type[0].link_bytes_per_s)}"
        yield Section(title=title, columns=columns, rows=rows, numbers=(3,))


def _rate(step: VolumeCount) -> str:
    read, write = (f"{rate / 1e6:,.0f}" for rate in (step.read_bytes_per_s, step.write_bytes_per_s))
    return read if read == write else f"{read} read, {write} write"


HEADINGS: Final[dict[NetworkView, str]] = {
    "unlimited": "no limit",
    "ideal": "as stated",
    "expected": "expected at scale",
}
"""Names of the three networks in tables and charts."""


def render_networks(rows: Sequence[NetworkRow]) -> Iterator[Said | Section]:
    """Yield a table of the whole bill of each type's best cluster under each network, and where the winner changes."""
    if not rows:
        yield Said("Networks: the request says how fast the network is, so there is nothing to compare it with.")
        return
    several = len({row.model for row in rows}) > 1
    names = [f"{row.instance_type}, {row.model}" if several else row.instance_type for row in rows]
    cells = [(name, *(_cell(row, view) for view in VIEWS)) for row, name in zip(rows, names, strict=True)]
    title, columns = "Nodes and whole bill by network (* the winner)", ("type", *HEADINGS.values())
    yield Section(title=title, columns=columns, rows=cells, numbers=(1, 2, 3))
    yield Said(verdict(rows))
    yield Said("As stated: a type's rate between the fewest nodes measured, or what its cloud states.", style="dim")


def _cell(row: NetworkRow, view: NetworkView) -> str:
    cluster = row.clusters[view]
    if cluster is None:
        return "-"
    return f"{'* ' * (view in row.wins)}{cluster.nodes}, {format_usd(cluster.cost_usd.total)}"


def data_sizes_text(points: Sequence[DataPoint], *, width: int = 80) -> str:
    """Return a table of the recommended cluster for each size of data, and below it why some sizes have none."""
    return "\n".join([*aligned(_data_sizes(points)), *_reasons(points, width)])


def data_sizes_markdown(points: Sequence[DataPoint]) -> str:
    """Return the same table in Markdown."""
    return "\n".join([*markdown(_data_sizes(points)), *(f"\n{line}" for line in _reasons(points, 10_000))])


def _data_sizes(points: Sequence[DataPoint]) -> Section:
    """Return `planner sizes --data 3TB,6TB,12TB` as a table."""
    rows = [
        (
            format_bytes(point.data_bytes),
            cluster_name(best, several_pricings=True),
            format_duration(best.whole_run_s),
            format_usd(best.cost_usd.total),
            format_usd(best.cost_usd.total / (point.data_bytes / 1e12)),
            FIGURES["bottleneck"](best),
        )
        if (best := point.cluster)
        else (format_bytes(point.data_bytes), f"none{_on_nodes(point, points, 'of')}", "", "", "", "")
        for point in points
    ]
    columns = ("data", "cluster", "whole run", "bill", "$ per TB", "bottleneck")
    return Section(columns=columns, rows=rows, numbers=(2, 3, 4))


def _reasons(points: Sequence[DataPoint], width: int) -> Iterator[str]:
    for point in points:
        if point.why_not:
            yield from wrapped(
                f"{format_bytes(point.data_bytes)}{_on_nodes(point, points, 'on')}: {point.why_not}", width
            )


def _on_nodes(point: DataPoint, points: Sequence[DataPoint], word: str) -> str:
    """Return the nodes of a point where points differ in them."""
    several = len({each.nodes for each in points}) > 1
    return f" {word} {count_text(point.nodes, 'node')}" if several and point.nodes else ""


def regions_table(by_region: Mapping[str, Candidate | None]) -> list[str]:
    """Return the lines: the best cluster in each region alone, the cheapest bill first."""
    cheapest = sorted(by_region.items(), key=lambda item: item[1].cost_usd.total if item[1] else math.inf)
    rows = [
        (name, cluster_name(best, several_pricings=True), format_duration(best.whole_run_s), total_text(best))
        if best
        else (name, "none", "", "")
        for name, best in cheapest
    ]
    section = Section(columns=("alone in", "cluster", "whole run", "the bill"), rows=rows, numbers=(2, 3))
    return [*aligned(section, indent="  ")]


def pricing_table(plan: Plan, *, width_of_screen: int = 80) -> Iterator[str]:
    """Yield the lines: the best cluster for each way to pay, its times and bills, and the nodes that may be taken back;
    or why no cluster does the job.
    """
    firsts: dict[str, Candidate | None] = dict.fromkeys(plan.request.pricings)
    firsts |= {candidate.pricing: candidate for candidate in plan.by_pricing}
    figures: dict[str, str | Column] = {
        "cluster": "cluster", "whole run": "whole run",
        "the sort": lambda of: f"{FIGURES['expected'](of)} (95%: {FIGURES['95 of 100'](of)})",
        "the bill": "the bill", "at its 95%": "total, 95 of 100", "taken back": _interruptions,
    }  # fmt: skip
    yield from aligned(side_by_side(figures, firsts), indent="  ")
    for pricing, best in firsts.items():
        if best is None:
            unpriced = [warning for warning in plan.warnings if f"no {pricing} prices" in warning]
            why = "; ".join(unpriced) or "no cluster meets what is asked; --rejected says why"
            yield from wrapped(f"{pricing}: {why}", width_of_screen)


def _interruptions(of: Candidate) -> str:
    """Return how many nodes are expected to be taken back during the job, or that it is unknown."""
    if of.pricing != "spot" or of.is_own:
        return "never"
    if of.interruptions is None:
        return "unknown how often"
    delay = f", {format_duration(of.interruptions.delay_s)} longer" if of.interruptions.delay_s >= 1 else ""
    expected = of.interruptions.expected
    shown = f"{expected:.2g}" if expected >= _LEAST_SHOWN else f"fewer than {_LEAST_SHOWN:g}"
    return f"{shown} of {of.nodes} nodes{delay}"
