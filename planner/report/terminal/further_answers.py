"""Answers about clusters that the plan did not choose: `planner why-not TYPE`, `planner own '20 x m5d.12xlarge'`, and
`planner compare --mine`, which adds the fee of the machines' platform.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from planner.errors import some_of
from planner.planning.ranking.refusal import refusal_of
from planner.planning.what_if.own_cluster import OwnCluster
from planner.planning.what_if.why_not import WhyNot
from planner.report.clusters import Column, cluster_name, cluster_table, ratios, side_by_side, total_text
from planner.report.section import Section, aligned
from planner.report.terminal.decision import price_origin
from planner.report.words import RESOURCE_WORDS, bottleneck_word, region_text, wrapped
from planner.schemas.machine_lists import MachineList
from planner.schemas.plan import Candidate, Plan
from planner.spark.model.platforms import SparkPlatform, shipped_platforms
from planner.units import count_text, format_bytes, format_duration, format_rate, format_usd

_MORE: Final = 1.005
"""Figures within this factor count as equally long, or equally expensive."""
_CENT: Final = 0.01
_SHOWN: Final = 4
"""Number of larger clusters shown, besides the last that helps."""
_PLATFORMS: Final = {"aws emr": "EMR", "gcloud dataproc": "Dataproc", "databricks": "Databricks"}
"""Platform whose fee counts, by the start of the command that printed the machines."""


def why_not_text(answer: WhyNot, *, width: int = 80) -> str:
    """Return the answer in lines of at most `width` columns."""
    lines = wrapped(f"Why not {answer.instance_type}? {_verdict(answer)}", width)
    both = {"recommended": answer.recommended, "asked about": answer.cluster}
    known = {name: cluster for name, cluster in both.items() if cluster is not None}
    if known and not answer.is_recommended:
        names = ("cluster", "whole run", "the sort", "the bill", "a node-hour", "bottleneck", "place", "model")
        table = side_by_side({name: "expected" if name == "the sort" else name for name in names}, known)
        differing = [row for row in table.rows if row[0] not in ("place", "model") or len(set(row[1:])) > 1]
        lines += ["", *aligned(Section(columns=table.columns, rows=differing), indent="  "), ""]
    return "\n".join([*lines, *(line for text in _changes(answer) for line in wrapped(text, width))])


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
    time, cost = ratios(cluster, than)
    joined = "and" if (time > 1) == (cost > 1) else "but"
    return (
        f"takes {_change(time, 'long', 'longer', 'less time')} {joined} costs {_change(cost, 'much', 'more', 'less')}"
    )


def _change(ratio: float, word: str, more: str, less: str) -> str:
    if 1 / _MORE <= ratio <= _MORE:
        return f"as {word}"
    if ratio >= 2:
        return f"{ratio:.2g} times as {word}"
    return f"{ratio - 1:.0%} {more}" if ratio > 1 else f"{1 - ratio:.0%} {less}"


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
    rate, disks = answer.disk_bytes_per_s, answer.local_disks
    if rate is None:
        return "However fast its disks are, it would not be recommended."
    each = f" ({format_rate(rate / disks)} for each of its {count_text(disks, 'disk')})" if disks else ""
    return f"It would be recommended if the disks of a node read and write at least {format_rate(rate)}{each}."


def own_text(answer: OwnCluster, plan: Plan, *, width: int = 80) -> str:
    """Return the answer in lines of at most `width` columns; `plan` is the plan to compare with."""
    mine, size = answer.cluster, format_bytes(plan.request.bytes_to_sort)
    first = _fits(answer, size) if mine is None else _does(mine, plan, size)
    shown = [of for n, of in enumerate(answer.sizes) if n < _SHOWN or of.nodes == answer.helps_up_to]
    figures: dict[str, str | Column] = {"nodes": lambda of: f"{of.nodes:,}", "whole run": "whole run"}
    figures |= {"the sort": "expected"} | ({} if any(of.is_free for of in shown) else {"if rented": "total $"})
    table = aligned(cluster_table(figures, shown), indent="  ")
    last = (*_more(answer), *_against(answer, plan), *_read_from(answer.listed))
    lines = [line for text in first for line in wrapped(text, width)]
    table = ["", *table, ""] if shown else []
    return "\n".join([*lines, *table, *(line for text in last for line in wrapped(text, width))])


def _fits(answer: OwnCluster, size: str) -> Iterator[str]:
    yield f"Your {answer.machines} cannot do it for {size}: {answer.reason}."
    if answer.nodes_needed is not None:
        yield f"{answer.nodes_needed:,} of them would; their bottleneck: {bottleneck_word(answer.sizes[0])}."


def _does(cluster: Candidate, plan: Plan, size: str) -> Iterator[str]:
    whole = f"{format_duration(cluster.whole_run_s)} from boot to the end"
    if boot_s := cluster.overheads_s.get("boot", 0.0):
        whole += f", {format_duration(cluster.whole_run_s - boot_s)} if they run already,"
    sort = f"{format_duration(cluster.time_s.expected)}, at its 95% {format_duration(cluster.time_s.p95)}"
    yield f"Your {cluster_name(cluster)} take {whole} for {size} (the sort: {sort})."
    least = count_text(cluster.nodes_min, "node")
    yield f"Bottleneck: {bottleneck_word(cluster)}. The disks hold the data: {least} would do."
    spares = f", with {cluster.spares} spare" if cluster.spares else ""
    charges = cluster.cost_usd.charges
    rest = f"only requests and traffic: {format_usd(charges)}" if charges else "nothing more"
    price = f"{format_usd(cluster.price_usd_per_hour)} an hour each{price_origin(cluster)}"
    if not cluster.is_own:
        yield f"Rented at {price}{spares}: {total_text(cluster)}. If you pay for the machines anyway: {rest}."
    for name, limit_s, time_s in (
        ("deadline", plan.request.deadline_s, cluster.whole_run_s),
        ("deadline of the sort", plan.request.sort_deadline_s, cluster.time_s.expected),
    ):
        if limit_s is not None:
            yield f"They {'keep' if time_s <= limit_s else 'miss'} the {name} of {format_duration(limit_s)}."


def _more(answer: OwnCluster) -> Iterator[str]:
    most, hardly = answer.helps_up_to, "half as many again save less than 5% of the run."
    if most is not None and most == answer.sizes[0].nodes:
        yield f"More of them hardly help: {hardly}"
    elif most is not None:
        yield f"More of them help up to about {most:,} nodes; beyond, {hardly}"


def _against(answer: OwnCluster, plan: Plan) -> Iterator[str]:
    """Yield the comparison with the recommended cluster, in minutes and dollars."""
    best, mine = answer.recommended, answer.cluster
    if best is None:
        if answer.keeps_to(plan.request):  # else that is an error, which follows
            yield f"Nothing to rent does what is asked. {refusal_of(plan).details[0]}"
        return
    if best.is_own:
        yield f"The plan would use {cluster_name(best)}: {format_duration(best.whole_run_s)}."
        return
    figures = f"{format_duration(best.whole_run_s)}, {total_text(best)}"
    rent = f"The plan would rent {cluster_name(best)} ({region_text(best)}): {figures}"
    if mine is None:
        yield f"{rent}."
        return
    saved_s = best.whole_run_s - mine.whole_run_s
    time = f"{format_duration(abs(saved_s))} {'faster' if saved_s > 0 else 'slower'}"
    more = mine.cost_usd.total - best.cost_usd.total
    cost = f"{format_usd(abs(more))} {'more' if more > 0 else 'less'}" if abs(more) >= _CENT else "as much"
    yield f"{rent}. Yours are {time} and cost {cost}, if rented."


def _read_from(listed: MachineList | None) -> Iterator[str]:
    if listed is not None:
        unused = f"; not counted: {some_of(listed.unused)}" if listed.unused else ""
        yield f"Read as {listed.origin}{unused}."


def _fee_of(listed: MachineList | None) -> SparkPlatform | None:
    """Return the fee of the platform whose machines are listed."""
    source = listed.source if listed else ""
    return shipped_platforms().get(next((name for start, name in _PLATFORMS.items() if source.startswith(start)), ""))


def _both(answer: OwnCluster) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the user's own cluster and the best one, both with the platform's fee, as the best would run on it too."""
    fee = _fee_of(answer.listed)
    mine, best = (None if of is None else _with_fee(of, fee) for of in (answer.cluster, answer.recommended))
    return mine, best


def _with_fee(cluster: Candidate, fee: SparkPlatform | None) -> dict[str, Any]:
    """Return the whole run on a cluster. `fee_usd` is the platform's, None if it charges one at an unknown rate;
    `total_usd` then excludes it and is `at_least` what is paid.
    """
    machines_usd = cluster.cost_usd.total
    fee_usd = 0.0 if fee is None else _fee_usd(cluster, fee)
    known = not math.isnan(fee_usd)
    return {
        "cluster": cluster_name(cluster),
        "nodes": cluster.nodes,
        "instance_type": cluster.instance_type,
        "whole_run_s": cluster.whole_run_s,
        "machines_usd": machines_usd,
        "fee_usd": fee_usd if known else None,
        "total_usd": machines_usd + (fee_usd if known else 0.0),
        "at_least": bool(cluster.cost_usd.at_least) or not known,
    }


def _fee_usd(cluster: Candidate, fee: SparkPlatform) -> float:
    """Return a platform's fee for the whole run, NaN if a rate or a fact of the machine is unknown."""
    machine = cluster.machine
    if machine.vcpus is None or machine.memory_bytes is None:
        return math.nan
    per_node_hour = fee.usd_per_node_hour(
        vcpus=int(machine.vcpus),
        memory_bytes=machine.memory_bytes,
        on_demand_usd_per_hour=cluster.price_usd_per_hour if cluster.pricing == "on-demand" else math.nan,
    )
    return cluster.nodes * per_node_hour * max(cluster.whole_run_s, fee.minimum_s) / 3600


def comparison_json(answer: OwnCluster) -> dict[str, Any]:
    """Return both clusters, the platform whose fee counts, and the other contents of the list of machines."""
    mine, best = _both(answer)
    fee = _fee_of(answer.listed)
    return {
        "mine": mine,
        "best": best,
        "reason": answer.reason,
        "platform": fee and {"name": fee.platform, "as_of": fee.as_of, "source": fee.source, "evidence": fee.evidence},
        "read_as": answer.listed.source if answer.listed else None,
        "not_counted": list(answer.listed.unused) if answer.listed else [],
    }


def comparison_text(answer: OwnCluster, plan: Plan, *, width: int) -> str:
    """Return the answer of `planner own`, and below it the bill of both with the platform's fee."""
    (mine, best), fee = _both(answer), _fee_of(answer.listed)
    text = own_text(answer, plan, width=width)
    if mine is None or best is None or fee is None:
        return text
    rows = [
        (
            name,
            format_duration(each["whole_run_s"]),
            format_usd(each["machines_usd"]),
            "unknown" if each["fee_usd"] is None else format_usd(each["fee_usd"]),
            f"{'>= ' if each['at_least'] else ''}{format_usd(each['total_usd'])}",
        )
        for name, each in (("mine", mine), ("best", best))
    ]
    bill = Section(columns=("", "whole run", "machines", "fee", "in all"), rows=rows, numbers=(1, 2, 3, 4))
    note = f"The fee's rate is {fee.evidence} ({fee.as_of}); machines that do not work on data pay it as well."
    return "\n".join([text, "", f"With {fee.platform}'s fee:", *aligned(bill, indent="  "), note])
