"""The answer to `planner why-not TYPE`: the type's best cluster against the recommended one, and what would help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.planning.what_if.why_not import WhyNot
from planner.report.cluster_names import cluster_name
from planner.report.words import RESOURCE_WORDS, bottleneck_word, region_word, wrapped
from planner.schemas.plan import Candidate
from planner.units import count_text, format_duration, format_rate, format_usd

_MORE: Final = 1.005
"""Figures within this factor count as equally long, or equally expensive."""


def why_not_text(answer: WhyNot, *, width: int = 80) -> str:
    """Return the answer in lines of at most `width` columns."""
    lines = wrapped(f"Why not {answer.instance_type}? {_verdict(answer)}", width)
    both = {"recommended": answer.recommended, "asked about": answer.cluster}
    known = {name: cluster for name, cluster in both.items() if cluster is not None}
    if known and not answer.is_recommended:
        lines += ["", *side_by_side(known), ""]
    return "\n".join([*lines, *(line for text in _changes(answer) for line in wrapped(text, width))])


def side_by_side(clusters: dict[str, Candidate]) -> Iterator[str]:
    """Yield the lines that compare clusters, one column each."""
    rows: list[tuple[str, list[str]]] = [
        ("", list(clusters)),
        ("cluster", [cluster_name(of) for of in clusters.values()]),
        ("whole run", [format_duration(of.whole_run_s) for of in clusters.values()]),
        ("the sort", [format_duration(of.time_s.expected) for of in clusters.values()]),
        ("the bill", [_total(of) for of in clusters.values()]),
        ("a node-hour", [format_usd(of.price_usd_per_hour) for of in clusters.values()]),
        ("bottleneck", [bottleneck_word(of) for of in clusters.values()]),
        ("place", [f"{region_word(of.region)}, {of.pricing}" for of in clusters.values()]),
        ("model", [of.model for of in clusters.values()]),
    ]
    alike = ("place", "model")  # shown only where they differ
    kept = [row for row in rows if row[0] not in alike or len(set(row[1])) > 1]
    first = max(len(cells[0]) for _, cells in kept)
    for name, cells in kept:
        if any(cells):
            yield f"  {name:<12} {cells[0]:<{first}}  {'  '.join(cells[1:])}".rstrip()


def _total(cluster: Candidate) -> str:
    return f"{'at least ' if cluster.cost_usd.at_least else ''}{format_usd(cluster.cost_usd.total)}"


def _verdict(answer: WhyNot) -> str:
    if answer.is_recommended:
        return "It is what the plan recommends."
    if answer.reason:
        lift = f" To include it, {' and '.join(answer.lifted_by)}." if answer.lifted_by else ""
        return f"It is left out: {answer.reason}.{lift}"
    if answer.recommended is None or answer.cluster is None:
        return "It was not chosen."
    return f"Its best cluster {difference(answer.recommended, answer.cluster)}."


def difference(than: Candidate, cluster: Candidate) -> str:
    """Return a comparison of a cluster's whole run and bill with another's: `takes 13% longer and costs 2.6 times as
    much`.
    """
    time = cluster.whole_run_s / than.whole_run_s
    cost = cluster.cost_usd.total / than.cost_usd.total if than.cost_usd.total else 1.0
    joined = "and" if (time > 1) == (cost > 1) else "but"
    return f"{_change(time, 'takes', 'longer', 'less time', 'as long')} {joined} " + _change(
        cost, "costs", "more", "less", "as much"
    )


def _change(ratio: float, verb: str, more: str, less: str, alike: str) -> str:
    if 1 / _MORE <= ratio <= _MORE:
        return f"{verb} {alike}"
    if ratio >= 2:
        return f"{verb} {ratio:.2g} times as {'long' if verb == 'takes' else 'much'}"
    return f"{verb} {ratio - 1:.0%} {more}" if ratio > 1 else f"{verb} {1 - ratio:.0%} {less}"


def _changes(answer: WhyNot) -> Iterator[str]:
    """Yield what would make the type the first choice."""
    cluster, needed = answer.cluster, answer.needed
    if answer.measure:
        yield _disks(answer)
        yield f"To measure them: {answer.measure}"
    if answer.is_recommended or answer.recommended is None or cluster is None or answer.measure:
        return
    if needed.price_usd_per_hour is not None:
        off = 1 - needed.price_usd_per_hour / cluster.price_usd_per_hour
        shown = format_usd(needed.price_usd_per_hour)
        option = f"--own-price {cluster.instance_type}={needed.price_usd_per_hour:g}"
        yield f"It would be recommended at {shown} a node-hour or less, {off:.0%} off: {option}."
    for name, factor in needed.factors.items():
        be = "is" if name in ("network", "objects") else "are"
        yield f"Or if its {RESOURCE_WORDS[name]} {be} {factor:.2g} times as fast as planned."
    if answer.reason:
        yield f"Then it {difference(answer.recommended, cluster)}."
    elif not needed.factors and needed.price_usd_per_hour is None:
        yield "No discount of 90% and no disks or network 10 times as fast would make it the first choice."
    elif not needed.factors:
        yield "Disks or network alone, even 10 times as fast, would not be enough."


def _disks(answer: WhyNot) -> str:
    if answer.disk_bytes_per_s is None:
        return "However fast its disks are, it would not be recommended."
    needed = format_rate(answer.disk_bytes_per_s)
    disks = answer.local_disks
    each = (
        f" ({format_rate(answer.disk_bytes_per_s / disks)} for each of its {count_text(disks, 'disk')})"
        if disks
        else ""
    )
    return f"It would be recommended if the disks of a node read and write at least {needed}{each}."
