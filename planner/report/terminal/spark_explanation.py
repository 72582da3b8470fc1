"""Account of a Spark application's time on one screen: at most 24 lines of 80 columns, as plain text.

Also the table of a trace of tasks, a row for each name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final

from planner.report.section import LINES, Section, aligned, with_notes
from planner.report.words import wrapped
from planner.spark.application.application import Application, Cluster, stage_row
from planner.spark.application.completeness import Completeness
from planner.spark.model.bounds import Explanation, StageBound
from planner.spark.model.configuration import first_changes
from planner.spark.model.task_time import RESOURCES
from planner.spark.task_trace.trace import TaskTrace
from planner.units import count_text, format_bytes, format_duration

_STAGES_SHOWN: Final = 6
_CHANGES_SHOWN: Final = 5
_NOTES: Final = 1
_WORTH: Final = 0.01
_NAMED: Final = 0.05
_MOST_NAMED: Final = 3
_LEAST_TABLE: Final = 3
_TIMES: Final = ("gc", "wait", "write", "sched")
_HEAD: Final = ("stage", "time", "tasks", "bound by", "busy", "cpu", "gc", "input", "shuffle", "spill", "skew")


def explanation_lines(
    application: Application, explained: Explanation, *, notes: Sequence[str] = (), width: int = 80
) -> list[str]:
    """Return the explanation in lines of at most `width` columns."""
    top = wrapped(explained.completeness.sentence, width)
    top += [*wrapped(_headline(application, explained), width, indent=""), ""]
    changes = ["", *_changes(explained, width)]
    for named in range(_MOST_NAMED, -1, -1):
        head = [*top, *_where(explained, width, named=named), ""]
        room = LINES - len(head) - len(changes) - _NOTES
        if room > _LEAST_TABLE:
            break
    lines = [*head, *_longest(explained.stages, most=max(room - 1, 1), width=width), *changes][: LINES - _NOTES]
    every = [*stream_notes(application), *(f"Lost: {loss}" for loss in application.losses), *notes]
    return with_notes(lines, every, width=width, ending=more_notes)


def more_notes(left: int) -> list[str]:
    """Return the last line of a screen that leaves notes out."""
    return ["More notes: --json."] if left else []


def stream_notes(application: Application) -> Iterator[str]:
    """Yield how much of an application is a stream, whose end does not depend on the machines."""
    streamed = sum(bool(job.batch) for job in application.jobs)
    if streamed:
        yield (
            f"{streamed} of {len(application.jobs)} jobs are batches of a stream: unless it takes what there is and "
            "ends, it runs until it is stopped, on any cluster."
        )


def completeness_json(whole: Completeness) -> dict[str, Any]:
    """Return how much of a run the log holds, for programs."""
    return {"share": whole.share, **asdict(whole)}


def cluster_text(cluster: Cluster) -> str:
    """Return the cluster in words, as far as the log shows it."""
    executors = "unknown executors" if cluster.executors is None else count_text(cluster.executors, "executor")
    cores = "an unknown number of cores" if cluster.cores is None else count_text(cluster.cores, "core")
    count = cluster.hosts_at_once
    hosts = count_text(count, "host") if count else "unknown hosts"
    hosts += f" ({len(cluster.hosts)} in all)" if count != len(cluster.hosts) else ""
    types = f" of {cluster.instance_type}" if cluster.instance_type else ""
    return f"{executors}{' at most' if cluster.dynamic else ''} with {cores} on {hosts}{types}"


def _headline(application: Application, explained: Explanation) -> str:
    name, version = application.name or "An application", application.spark_version or "of unknown version"
    platform = f" on {application.cluster.platform}" if application.cluster.platform else ""
    end = "took" if application.started_at_s is not None and application.ended else "took, as far as the log goes,"
    text = f"{name} ({application.app_id or 'id unknown'}, Spark {version}{platform}) {end}"
    return f"{text} {format_duration(explained.duration_s)}: {cluster_text(application.cluster)}."


def _where(explained: Explanation, width: int, *, named: int) -> Iterator[str]:
    """Yield the account of the time, with the evidence of the first `named` bounds."""
    shares = sorted(((explained.time.share(name), name) for name in RESOURCES), reverse=True)
    spent = ", ".join(f"{name} {share:.0%}" for share, name in shares if share >= 0.005)
    yield from wrapped(f"Task time {format_duration(explained.time.total)}: {spent or 'none'}.", width, indent="")
    ran = sum(explained.seconds_by_bound.values())
    bounds = ", ".join(f"{name} {format_duration(s)}" for name, s in explained.seconds_by_bound.items() if s > 0.1)
    yield from wrapped(f"After the first stage began, time by what bound it: {bounds or 'none'}.", width, indent="")
    idle = ("driver", "ending")  # the line below has them
    evident = [n for n, amount in explained.seconds_by_bound.items() if amount > _NAMED * ran and n not in idle]
    for name in evident[:named]:
        yield from wrapped(f"  {name}: {explained.evidence.get(name, '')}.", width, indent="    ")
    line = explained.timeline
    yield from wrapped(
        f"No stage ran for {format_duration(line.driver_s)}: {format_duration(line.startup_s)} before the first,"
        f" {format_duration(line.between_s)} between stages, {format_duration(line.after_s)} after the last.",
        width,
        indent="",
    )


def _changes(explained: Explanation, width: int) -> Iterator[str]:
    counted = [change for change in explained.changes if abs(change.share) >= _WORTH][:_CHANGES_SHOWN]
    others = [c.resource for c in explained.changes if abs(c.share) < _WORTH and c.resource in ("cores", *RESOURCES)]
    if counted:
        yield from wrapped("With nothing else changed, the application would take at best:", width, indent="")
    for change in counted:
        text = f"  {change.what}: {format_duration(change.duration_s)} ({change.share:+.0%})"
        yield from wrapped(text, width, indent="    ")
    for first in first_changes(explained)[:1]:
        yield from wrapped(f"First, without new machines: {first}.", width)
    if others:
        yield from wrapped(f"Less than 1% would come of more or faster {', '.join(others)}.", width, indent="")


def _longest(bounds: Sequence[StageBound], *, most: int, width: int) -> list[str]:
    """Return the stages in as many columns as fit; `--show stages` has all."""
    longest = sorted(bounds, key=lambda bound: -(bound.stage.duration_s or 0.0))[: min(most, _STAGES_SHOWN)]
    numbers = {*range(len(_HEAD))} - {3}
    return aligned(Section(columns=_HEAD, rows=[*map(_row, longest)], numbers=numbers), gap=1, width=width)


def _row(bound: StageBound) -> tuple[str, ...]:
    stage, sums, total = bound.stage, bound.stage.sums, bound.time.total
    attempt, seconds = f".{stage.attempt}" if stage.attempt else "", stage.duration_s or 0.0
    return (
        f"{stage.stage_id}{attempt}",
        f"{seconds:.{int(seconds < 100)}f} s",
        str(stage.tasks),
        bound.bound,
        "?" if bound.busy is None else f"{bound.busy:.0%}",
        f"{bound.time.cpu / total:.0%}" if total else "",
        f"{bound.time.gc / total:.0%}" if total else "",
        _size(sums.input_bytes),
        _size(sums.shuffle_read_bytes + sums.shuffle_write_bytes),
        _size(sums.spill_disk_bytes),
        "" if stage.time_skew is None else f"{stage.time_skew:.1f}",
    )


def _size(size: float) -> str:
    if math.isnan(size):
        return "?"
    return format_bytes(float(f"{size:.2g}")).replace(" ", "") if size else "-"


def brief_stage_table(explained: Explanation) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the cells of every stage, in order of start, with few enough columns for a page."""
    return _HEAD, [_row(bound) for bound in explained.stages]


def stage_table(explained: Explanation) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the cells of every stage, in order of start, for people."""
    columns = (*_HEAD[:6], "failed", "input", "local", "remote", "written", "spill", "output", *_TIMES, "skew", "name")
    return columns, [_wide_row(bound) for bound in explained.stages]


def _wide_row(bound: StageBound) -> tuple[str, ...]:
    stage, sums, brief = bound.stage, bound.stage.sums, _row(bound)
    sizes = (
        sums.input_bytes, sums.shuffle_read_local_bytes, sums.shuffle_read_remote_bytes, sums.shuffle_write_bytes,
        sums.spill_disk_bytes, sums.output_bytes,
    )  # fmt: skip
    shares = (bound.time.gc, bound.time.fetch, bound.time.shuffle_write, bound.time.scheduling)
    return (
        *brief[:6],
        str(stage.failed),
        *map(_size, sizes),
        *(f"{share / bound.time.total:.0%}" if bound.time.total else "" for share in shares),
        brief[-1],
        stage.name,
    )


def stage_rows(application: Application, explained: Explanation) -> list[dict[str, Any]]:
    """Return every stage as one flat row, with its bound; None is unknown."""
    bounds = {(of.stage.stage_id, of.stage.attempt): {"bound": of.bound, "busy": of.busy} for of in explained.stages}
    return [
        stage_row(stage, origin_s=application.started_at_s)
        | bounds.get((stage.stage_id, stage.attempt), {"bound": "", "busy": None})
        for stage in application.stages
    ]


_PARTS = {"deserialisation_s": "arguments", "run_s": "running"}
"""Columns of a trace's table; results, mostly short, are only in CSV and JSON."""


def trace_table(trace: TaskTrace) -> tuple[list[str], Iterator[Sequence[str]]]:
    """Return the headings and rows of a trace's table, in order of start."""
    parts = [name for name in _PARTS if name in trace.parts]
    headings = ["tasks", "count", "lasted", "in all", *(_PARTS[name] for name in parts), "median", "longest"]
    seconds = ["duration_s", "elapsed_s", *parts, "task_median_s", "task_longest_s"]
    rows = (
        [str(row["name"]), str(row["tasks"]), *(format_duration(float(str(row[name]))) for name in seconds)]
        for row in trace.stage_rows()
    )
    return headings, rows


def trace_sentence(trace: TaskTrace) -> str:
    """Return a sentence on the trace's contents, and on what it lacks."""
    workers = f"{count_text(trace.workers, 'worker')} on {count_text(len(trace.nodes), 'node')}"
    return (
        f"{trace.system}: {format_duration(trace.duration_s)}, {workers}. The file has the times of "
        "tasks, but no bytes, processors or memory, so what bound them is unknown."
    )
