"""The answer to `planner own '20 x m5d.12xlarge'`: time, bill and bottleneck, and the gain from more machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.errors import some_of
from planner.planning.what_if.own_cluster import OwnCluster
from planner.report.cluster_names import cluster_name
from planner.report.terminal.decision import price_origin
from planner.report.words import bottleneck_word, region_text, wrapped
from planner.schemas.plan import Candidate, Plan, Request
from planner.units import count_text, format_bytes, format_duration, format_usd

_CENT: Final = 0.01
_SHOWN: Final = 4
"""Number of larger clusters shown, besides the last that helps."""


def own_text(answer: OwnCluster, plan: Plan, *, width: int = 80) -> str:
    """Return the answer in lines of at most `width` columns; `plan` is the plan to compare with."""
    size = format_bytes(plan.request.bytes_to_sort)
    first = _fits(answer, size) if answer.cluster is None else _does(answer.cluster, plan.request, size)
    table = ["", *_sizes(answer), ""] if answer.sizes else []
    last = (*_more(answer), *_against(answer), *_read_from(answer))
    lines = [line for text in first for line in wrapped(text, width)]
    return "\n".join([*lines, *table, *(line for text in last for line in wrapped(text, width))])


def _does(cluster: Candidate, request: Request, size: str) -> Iterator[str]:
    whole = f"{format_duration(cluster.whole_run_s)} from boot to the end"
    if boot_s := cluster.overheads_s.get("boot", 0.0):
        whole += f", {format_duration(cluster.whole_run_s - boot_s)} if they run already,"
    sort = f"{format_duration(cluster.time_s.expected)}, at its 95% {format_duration(cluster.time_s.p95)}"
    yield f"Your {cluster_name(cluster)} take {whole} for {size} (the sort: {sort})."
    least = count_text(cluster.nodes_min, "node")
    yield f"Bottleneck: {bottleneck_word(cluster)}. The disks hold the data: {least} would do."
    yield _costs(cluster)
    for name, limit_s, time_s in (
        ("deadline", request.deadline_s, cluster.whole_run_s),
        ("deadline of the sort", request.sort_deadline_s, cluster.time_s.expected),
    ):
        if limit_s is not None:
            yield f"They {'keep' if time_s <= limit_s else 'miss'} the {name} of {format_duration(limit_s)}."


def _costs(cluster: Candidate) -> str:
    spares = f", with {cluster.spares} spare" if cluster.spares else ""
    price = f"{format_usd(cluster.price_usd_per_hour)} an hour each{price_origin(cluster)}"
    rented = f"Rented at {price}{spares}: {_usd(cluster)}."
    charges = cluster.cost_usd.charges
    rest = f"only requests and traffic: {format_usd(charges)}" if charges else "nothing more"
    return f"{rented} If you pay for the machines anyway: {rest}."


def _usd(cluster: Candidate) -> str:
    return f"{'at least ' if cluster.cost_usd.at_least else ''}{format_usd(cluster.cost_usd.total)}"


def _fits(answer: OwnCluster, size: str) -> Iterator[str]:
    yield f"Your {answer.machines} cannot do it for {size}: {answer.reason}."
    if answer.nodes_needed is not None:
        yield f"{answer.nodes_needed:,} of them would; their bottleneck: {bottleneck_word(answer.sizes[0])}."


def _sizes(answer: OwnCluster) -> Iterator[str]:
    yield f"  {'nodes':>7}  {'whole run':>14}  {'the sort':>14}  {'if rented':>12}"
    for cluster in _shown(answer):
        times = f"{format_duration(cluster.whole_run_s):>14}  {format_duration(cluster.time_s.expected):>14}"
        yield f"  {cluster.nodes:>7,}  {times}  {format_usd(cluster.cost_usd.total):>12}"


def _shown(answer: OwnCluster) -> Sequence[Candidate]:
    first = answer.sizes[:_SHOWN]
    return [*first, *(of for of in answer.sizes[_SHOWN:] if of.nodes == answer.helps_up_to)]


def _more(answer: OwnCluster) -> Iterator[str]:
    most = answer.helps_up_to
    if most is None:
        return
    if most == answer.sizes[0].nodes:
        yield "More of them hardly help: half as many again save less than 5% of the run."
        return
    yield f"More of them help up to about {most:,} nodes; beyond, half as many again save less than 5% of the run."


def _against(answer: OwnCluster) -> Iterator[str]:
    """Yield the comparison with the recommended cluster, in minutes and dollars."""
    best, mine = answer.recommended, answer.cluster
    if best is None:
        yield "Nothing to rent does what is asked."
        return
    figures = f"{format_duration(best.whole_run_s)}, {_usd(best)}"
    rent = f"The plan would rent {cluster_name(best)} ({region_text(best)}): {figures}"
    if mine is None:
        yield f"{rent}."
        return
    saved_s = best.whole_run_s - mine.whole_run_s
    time = f"{format_duration(abs(saved_s))} {'faster' if saved_s > 0 else 'slower'}"
    more = mine.cost_usd.total - best.cost_usd.total
    cost = f"{format_usd(abs(more))} {'more' if more > 0 else 'less'}" if abs(more) >= _CENT else "as much"
    yield f"{rent}. Yours are {time} and cost {cost}, if rented."


def _read_from(answer: OwnCluster) -> Iterator[str]:
    if answer.listed is not None:
        unused = f"; not counted: {some_of(answer.listed.unused)}" if answer.listed.unused else ""
        yield f"Read as the output of `{answer.listed.source}`{unused}."
