"""Recommended cluster for a logged Spark application on one screen: at most 24 lines of 80 columns, as plain text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

from planner.report.section import Section, aligned, with_notes
from planner.report.terminal.spark_explanation import completeness_json, more_notes, stream_notes
from planner.report.words import wrapped
from planner.schemas.json_values import VERSION, to_jsonable
from planner.schemas.rejections import by_reason, types_text
from planner.spark.application.application import Application, Cluster
from planner.spark.model.bounds import Explanation
from planner.spark.model.choices import MOST_UNEXPLAINED, SparkCluster, SparkPlan
from planner.spark.model.configuration import configuration, first_changes, local_directories
from planner.spark.model.machines import Nodes
from planner.spark.model.platforms import SparkPlatform, shipped_platforms
from planner.units import count_text, format_duration, format_usd

_DOUBTED: Final = 0.25
_CHOICES_SHOWN: Final = 3


def answer_lines(application: Application, plan: SparkPlan, explained: Explanation, *, width: int = 80) -> list[str]:
    """Return the answer in lines of at most `width` columns."""
    lines = [
        *wrapped(advice(plan), width),
        *wrapped(explained.completeness.sentence, width),
        *wrapped(_past_text(application, plan, explained), width),
        "",
        *aligned(choices_section(plan, others=_CHOICES_SHOWN)),
        "",
    ]
    chosen = plan.best or plan.fastest
    properties = " ".join(
        f"{key.removeprefix('spark.')}={value}" for key, value in configuration(plan.work, chosen.nodes).items()
    )
    lines += wrapped(f"With it, of spark.*: {properties}", width)
    lines += wrapped(fee_text(application.cluster.platform, plan), width)
    return with_notes(lines, [*notes(application, plan, explained)], width=width, ending=more_notes)


def answer_json(application: Application, plan: SparkPlan, explained: Explanation) -> dict[str, Any]:
    """Return the answer for programs."""
    chosen = plan.best or plan.fastest
    return {
        "version": VERSION,
        "app_id": application.app_id,
        "run": _run_json(application),
        "keep": plan.keep,
        "deadline_s": plan.deadline_s,
        "within_s": plan.within_s,
        "logged": _choice_json(plan.logged),
        "best": None if plan.best is None else _choice_json(plan.best),
        "cheapest": _choice_json(plan.cheapest),
        "fastest": _choice_json(plan.fastest),
        "slower": None if plan.slower is None else _choice_json(plan.slower),
        "choices": [_choice_json(choice) for choice in plan.choices],
        "curve": [_choice_json(choice) for choice in plan.curve],
        "configuration": configuration(plan.work, chosen.nodes),
        "platform": application.cluster.platform,
        "platforms": _platforms_json(chosen),
        "first_changes": list(first_changes(explained)),
        "local_directories": local_directories(chosen.nodes),
        "seconds_by_bound": explained.seconds_by_bound,
        "unexplained_share": plan.work.steps.unexplained_share,
        "rejected": to_jsonable(by_reason(plan.rejected)),
        "notes": [fee_text(application.cluster.platform, plan), *notes(application, plan, explained)],
        "runs": plan.runs,
        "unused_runs": list(plan.unused),
        "completeness": completeness_json(explained.completeness),
        "losses": [str(loss) for loss in application.losses],
    }


def _run_json(application: Application) -> dict[str, Any]:
    """Return the measured run that the answer is made from."""
    return {
        "name": application.name,
        "started_at_s": application.started_at_s,
        "duration_s": application.duration_s,
        "input_bytes": _amount_or_none(application.sums.input_bytes),
        "shuffle_write_bytes": _amount_or_none(application.sums.shuffle_write_bytes),
    }


def _choice_json(choice: SparkCluster) -> dict[str, Any]:
    prediction, machine = choice.prediction, choice.nodes.machine
    return {
        "cloud": machine.cloud,
        "instance_type": machine.instance_type,
        "nodes": choice.nodes.count,
        "time_s": prediction.duration_s,
        "time_low_s": prediction.low_s,
        "time_high_s": prediction.high_s,
        "cost_usd": _amount_or_none(choice.cost_usd),
        "chance_cheaper": _amount_or_none(choice.chance_cheaper),
        "chance_in_time": _amount_or_none(choice.chance_in_time),
        "ends_spill": prediction.ends_spill,
    }


def _amount_or_none(amount: float) -> float | None:
    return None if math.isnan(amount) else amount


def _past_text(application: Application, plan: SparkPlan, explained: Explanation) -> str:
    logged = plan.logged
    bounds = [f"{name} {format_duration(seconds)}" for name, seconds in list(explained.seconds_by_bound.items())[:4]]
    return (
        f"{application.name or application.app_id or 'It'} ran on {logged.name} ({logged.nodes.machine.cloud}) for"
        f" {format_duration(logged.prediction.duration_s)}, {_usd(logged.cost_usd)}. What bound it:"
        f" {', '.join(bounds)}; {format_duration(explained.timeline.startup_s)} before the first stage."
    )


def advice(plan: SparkPlan) -> str:
    """Return the advice in a sentence or two."""
    limit = format_duration(plan.within_s)
    if plan.best is None:
        known = " as surely as asked" if plan.fastest.prediction.duration_s <= plan.within_s else ""
        return f"No cluster ends within {limit}{known}. The fastest: {_words(plan.fastest, plan.logged)}."
    slower = "" if plan.slower is None else f" Slower, and cheaper: {_words(plan.slower, plan.logged)}."
    if plan.keep:
        reason = "no other cluster is as fast and cheaper with a chance above 80%"
        if plan.work.steps.unexplained_share > MOST_UNEXPLAINED:
            reason = f"{_doubt(plan)}, so no move is sure to pay"
        return f"Keep what you have: {reason}.{slower}"
    sure = plan.best.chance_cheaper
    cheaper = (
        "What it cost where it ran is unknown" if math.isnan(sure) else f"It is cheaper with a chance of {sure:.0%}"
    )
    in_time = f"ends within {limit} with one of {plan.best.chance_in_time:.0%}"
    return f"Move to {_words(plan.best, plan.logged)}. {cheaper}, and {in_time}.{slower}"


def _doubt(plan: SparkPlan) -> str:
    """Return how much of the time does not show how long it would take on other clusters."""
    steps = plan.work.steps
    if steps.lost_share:
        return f"failures, and waits of unknown cause, took {steps.unexplained_share:.0%} of the time"
    return f"what the tasks waited for is unknown for {steps.unexplained_share:.0%} of the time"


def _words(choice: SparkCluster, logged: SparkCluster) -> str:
    prediction = choice.prediction
    return (
        f"{choice.name} ({choice.nodes.machine.cloud}): {format_duration(prediction.duration_s)} (90%:"
        f" {format_duration(prediction.low_s)} to {format_duration(prediction.high_s)}), {_usd(choice.cost_usd)}"
        f"{_change(choice, logged)}"
    )


def _change(choice: SparkCluster, logged: SparkCluster) -> str:
    return f" ({choice.cost_usd / logged.cost_usd - 1:+.0%})" if logged.cost_usd > 0 else ""


def choices_section(plan: SparkPlan, *, others: int) -> Section:
    """Return the cluster as it was, the recommended one, and of the curve of time and cost its ends and at most
    `others` more, the cheapest first.
    """
    last, step = len(plan.curve) - 1, max(1, others + 1)
    shown = [plan.curve[round(place * last / step)] for place in range(step + 1)]
    shown += [each for each in (plan.best, plan.slower) if each is not None]
    by_name = {
        (each.nodes.machine.cloud, each.name): each for each in shown if not each.nodes.same_as(plan.logged.nodes)
    }
    slowest_first = sorted(by_name.values(), key=lambda each: -each.prediction.duration_s)
    named = [("as it was", plan.logged), *((_label(each, plan), each) for each in slowest_first)]
    rows = [
        (
            label,
            choice.name,
            clock(choice.prediction.duration_s),
            f"{clock(choice.prediction.low_s)} - {clock(choice.prediction.high_s)}",
            _usd(choice.cost_usd),
            "" if choice is plan.logged else _change(choice, plan.logged).strip(),
        )
        for label, choice in named
    ]
    return Section(columns=("", "cluster", "time", "90% range", "cost", ""), rows=rows)


def _label(choice: SparkCluster, plan: SparkPlan) -> str:
    named = {"best": plan.best, "cheapest": plan.cheapest, "fastest": plan.fastest}
    usual = "in time" if choice.prediction.duration_s <= plan.within_s else "slower"
    return next((word for word, each in named.items() if each and each.nodes.same_as(choice.nodes)), usual)


def _contradictions(cluster: Cluster, nodes: Nodes) -> Iterator[str]:
    """Yield contradictions between the log and the user's machines: in type, hosts, or cores left over."""
    vcpus = nodes.count * nodes.machine.vcpu
    other_type = cluster.instance_type not in ("", nodes.machine.instance_type.partition("+")[0])
    more_hosts = len(cluster.hosts) > nodes.count and not cluster.dynamic
    if not (other_type or more_hosts or (cluster.cores or vcpus) < vcpus / 2):
        return
    seen = [f"names {cluster.instance_type}"] if cluster.instance_type else []
    seen += [f"saw executors on {len(cluster.hosts)} hosts"] if cluster.hosts else []
    seen += [f"saw {cluster.cores} cores at most"] if cluster.cores else []
    yield f"The log {', '.join(seen)}; --ran-on says {nodes.name}, {vcpus} virtual CPUs: is that what it ran on?"


def _usd(amount: float) -> str:
    """Return dollars, with tenths of a cent below one cent."""
    return f"${amount:.3f}" if 0.005 <= amount < 1 else format_usd(amount)


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds, as a clock shows it."""
    whole = round(seconds)
    minutes = f"{whole % 3600 // 60:02}:{whole % 60:02}"
    return f"{whole // 3600}:{minutes}" if whole >= 3600 else minutes


def notes(application: Application, plan: SparkPlan, explained: Explanation) -> Iterator[str]:
    """Yield what a reader has to know besides the answer."""
    yield from stream_notes(application)
    yield from (f"Lost: {loss}" for loss in application.losses)
    if plan.runs > 1:
        yield f"The times rest on {plan.runs} runs, weighed by how near they are; the latest is 'as it was'."
    yield from (f"Not counted: {reason}" for reason in plan.unused)
    if plan.work.missing_share:
        counted = any(stage.unseen for step in plan.work.timeline.steps for stage in step.stages)
        what = (
            "count as the others of their stage" if counted else "are in no time or cost: these are of the logged part"
        )
        yield f"Missing tasks ({plan.work.missing_share:.1%}) {what}; the ranges are wider."
    if plan.work.steps.unexplained_share > _DOUBTED:
        doubt = _doubt(plan)
        yield f"{doubt[0].upper()}{doubt[1:]}: the times of other clusters are doubtful."
    if not all(step.slots_known for step in plan.work.timeline.steps):
        yield "The log does not tell the executors' cores: as many are taken as its tasks needed."
    contradictions = [*_contradictions(application.cluster, plan.logged.nodes)]
    yield from contradictions
    nodes, slots = plan.logged.nodes, plan.work.slots
    if not contradictions and slots * plan.work.task_cpus > nodes.count * nodes.machine.vcpu:
        yield (
            f"{slots} tasks ran at once, and {nodes.name} has {nodes.count * nodes.machine.vcpu} virtual CPUs: is that"
            " what it ran on?"
        )
    if plan.shuffle_edge:
        yield plan.shuffle_edge
    yield from (f"First, without new machines: {change}." for change in first_changes(explained)[:1])
    yield from _few_tasks(plan, explained)
    yield f"{local_directories((plan.best or plan.fastest).nodes)}."
    if plan.best is not None and plan.best.prediction.ends_spill:
        yield "Its memory ends the spill."
    without = sorted(
        {r.reason for r in plan.rejected if r.reason.startswith(("nobody", "less memory", "more shuffle"))}
    )
    counts = [f"{sum(r.reason == reason for r in plan.rejected)} types: {reason}" for reason in without]
    if counts:
        yield f"Left out: {'; '.join(counts)}."
    yield "Costs are of the workers while it runs: not of the driver, volumes or storage."


def fee_text(platform: str, plan: SparkPlan) -> str:
    """Return a sentence on the platform's charge, or that its fee is unknown."""
    if not platform:
        return "No platform is named in the log; the fee of one would come on top."
    fee = shipped_platforms().get(platform)
    if fee is None or math.isnan(fee_usd(fee, plan.logged)):
        dbu = f"; a DBU costs {format_usd(fee.usd_per_dbu)} ({fee.as_of})" if fee and fee.usd_per_dbu else ""
        return f"The fee of {platform} comes on top for every machine: it is unknown, and not in the costs{dbu}."
    chosen = plan.best or plan.fastest
    if not fee.is_in(chosen.nodes.machine.cloud):
        return f"{platform} does not run on {chosen.nodes.machine.cloud}'s machines: their costs are without a fee."
    amounts = [f"{_usd(fee_usd(fee, plan.logged))} as it was"]
    amounts += [f"{_usd(fee_usd(fee, chosen))} on {chosen.name}"] if chosen is not plan.logged else []
    place = "is in these costs" if fee.on_top else "is these costs, in place of the machines' price"
    start = f" It starts in about {format_duration(fee.startup_s)}, not in these times." if fee.startup_s else ""
    origin = f"{fee.evidence}, {fee.as_of}; {fee.source.partition(':')[0]}"
    return f"{platform}'s fee {place}: {', '.join(amounts)} ({origin}).{start}"


def fee_usd(fee: SparkPlatform, choice: SparkCluster) -> float:
    """Return a platform's charge for an application on a cluster, NaN if unknown."""
    return fee.usd(choice.nodes, seconds=choice.prediction.duration_s)


def _platforms_json(choice: SparkCluster) -> list[dict[str, Any]]:
    """Return each platform's charge for the same cluster, with and without its machines' price."""
    machines_usd = choice.nodes.usd_per_hour * choice.prediction.duration_s / 3600
    return [
        {
            "platform": fee.platform,
            "fee_usd": _amount_or_none(usd),
            "total_usd": _amount_or_none(usd + machines_usd if fee.on_top else usd),
            **{name: getattr(fee, name) for name in ("as_of", "source", "minimum_s", "startup_s", "startup_source")},
        }
        for fee in shipped_platforms().values()
        if fee.charges
        for usd in [fee_usd(fee, choice)]
    ]


def _few_tasks(plan: SparkPlan, explained: Explanation) -> Iterator[str]:
    seconds = explained.seconds_by_bound.get("too few tasks", 0.0)
    if seconds > _DOUBTED * explained.duration_s:
        tasks = max(stage.stage.tasks for stage in explained.stages if stage.bound == "too few tasks")
        count = count_text(tasks, "task")
        yield (
            f"Stages of at most {count} held {plan.work.slots} slots for {format_duration(seconds)}: more partitions"
            " would use them, where the input can be split."
        )


def rejected_lines(plan: SparkPlan) -> Sequence[str]:
    """Return why types are left out: for each reason their number, and some of them."""
    return [f"{types_text(group)}: {group.reason}" for group in by_reason(plan.rejected)]
