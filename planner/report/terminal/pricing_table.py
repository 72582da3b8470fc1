"""The best cluster under each way to pay, side by side: `plan --pricing on-demand,spot`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.report.cluster_names import cluster_name
from planner.report.words import wrapped
from planner.schemas.plan import Candidate, Plan
from planner.units import format_duration, format_usd

_LEAST_SHOWN: Final = 0.01
"""Least expected number of nodes shown as such: powers of ten are hard to read."""


def pricing_table(plan: Plan, *, width_of_screen: int = 80) -> Iterator[str]:
    """Yield the lines: the best cluster for each way to pay, its times and bills, and the nodes that may be taken back;
    or why no cluster does the job.
    """
    firsts: dict[str, Candidate | None] = dict.fromkeys(plan.request.pricings)
    firsts |= {candidate.pricing: candidate for candidate in plan.by_pricing}
    rows: list[tuple[str, list[str]]] = [
        ("", list(firsts)),
        ("cluster", [cluster_name(of) if of else "none" for of in firsts.values()]),
        ("whole run", [format_duration(of.whole_run_s) if of else "" for of in firsts.values()]),
        ("the sort", [_range(of) if of else "" for of in firsts.values()]),
        ("the bill", [format_usd(of.cost_usd.total) if of else "" for of in firsts.values()]),
        ("at its 95%", [format_usd(of.cost_usd.total_p95) if of else "" for of in firsts.values()]),
        ("taken back", [_interruptions(of) if of else "" for of in firsts.values()]),
    ]
    width = max(len(cells[0]) for _, cells in rows)
    for name, cells in rows:
        yield f"  {name:<10}  {cells[0]:<{width}}  {'  '.join(cells[1:])}".rstrip()
    for pricing, best in firsts.items():
        if best is None:
            unpriced = [warning for warning in plan.warnings if f"no {pricing} prices" in warning]
            why = "; ".join(unpriced) or "no cluster meets what is asked; --rejected says why"
            yield from wrapped(f"{pricing}: {why}", width_of_screen)


def _range(of: Candidate) -> str:
    return f"{format_duration(of.time_s.expected)} (95%: {format_duration(of.time_s.p95)})"


def _interruptions(of: Candidate) -> str:
    """Return how many nodes are expected to be taken back during the job, or that it is unknown."""
    if of.pricing != "spot":
        return "never"
    if of.interruptions is None:
        return "unknown how often"
    delay = f", {format_duration(of.interruptions.delay_s)} longer" if of.interruptions.delay_s >= 1 else ""
    expected = of.interruptions.expected
    shown = f"{expected:.2g}" if expected >= _LEAST_SHOWN else f"fewer than {_LEAST_SHOWN:g}"
    return f"{shown} of {of.nodes} nodes{delay}"
