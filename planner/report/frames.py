"""A Plan as pandas frames, one row per thing shown. Seconds, bytes, bytes/s and US dollars throughout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import pandas as pd

from planner.cost_model.volumes.volume_counts import VolumeCount
from planner.planning.what_if.data_curve import DataPoint
from planner.planning.what_if.network_views import NetworkRow
from planner.report.clusters import cluster_name
from planner.report.words import phase_word
from planner.schemas.json_values import to_jsonable
from planner.schemas.plan import Candidate, Plan
from planner.schemas.run_report import RunReport

_TIMES = ("time_s", "time_s_equation", "time_s_p50", "time_s_p95")
MAIN_COLUMNS: Final = (
    "model", "cloud", "region", "instance_type", "nodes", "time_s.expected", "time_s.p95", "cost_usd.total",
    "cost_usd.total_p95", "evidence", "bottlenecks", "machine.vcpus", "machine.memory_bytes", "machine.local_disks",
    "machine.local_disk_bytes", "machine.network_bytes_per_s", "price_usd_per_hour",
)  # fmt: skip
"""Columns of candidate tables by default, besides the lines of the bill."""

_BILL = "bill_usd."
"""Prefix of the bill's columns: a line that a cluster lacks, or whose price is unknown, is empty."""


def candidates_frame(plan: Plan) -> pd.DataFrame:
    """Return one row per candidate for charts, best first: its identity, times, costs, bottlenecks and evidence."""
    several = len({candidate.model for candidate in plan.candidates}) > 1
    return pd.DataFrame(
        [
            {
                "cluster": cluster_name(of, several_models=several),
                "chosen": of == plan.best,
                **_of(of, "model", "cloud", "region", "instance_type", "nodes"),
                **_times(of),
                "cost_usd": of.cost_usd.expected,
                "cost_usd_total": of.cost_usd.total,
                "cost_usd_total_p95": of.cost_usd.total_p95,
                "bottlenecks": ", ".join(phase_word(phase.bottleneck) for phase in of.phases),
                **_of(of, "evidence", "price_usd_per_hour"),
                **to_jsonable(of.machine),
                **(to_jsonable(of.quoted) if of.quoted else {}),
            }
            for of in plan.candidates
        ]
    )


def answer_frame(plan: Plan, *, wide: bool) -> pd.DataFrame:
    """Return the candidates in the main columns and the bill's; `wide` has every field. Nested fields are columns such
    as `time_s.p95`. `attrs["not_shown"]` is the number of feasible types without a row, None if unknown; the index is
    named by how many have one. Resources have their names of JSON.
    """
    rows = [
        {key: value for key, value in to_jsonable(of).items() if key != "phases"}
        | {"bottlenecks": ", ".join(phase.bottleneck for phase in of.phases)}
        | {_BILL + line.name.replace(":", "").replace(" ", "_"): line.usd for line in of.bill}
        for of in plan.candidates
    ]
    frame = pd.json_normalize(rows)
    nested = {name.partition(".")[0] for name in frame.columns if "." in name}
    frame = frame.drop(columns=[name for name in frame.columns if name in nested])  # empty if another row has parts
    if not wide:
        frame = frame[main_columns(frame)]
    frame.attrs["not_shown"] = plan.not_shown
    frame.index.name = f"{len(frame)} of {plan.feasible}" if plan.not_shown else None
    return frame


def main_columns(wide: pd.DataFrame) -> list[str]:
    """Return the main columns of a wide frame, in their order, and the bill's."""
    return [*(name for name in MAIN_COLUMNS if name in wide), *(name for name in wide if name.startswith(_BILL))]


def frontier_frame(plan: Plan) -> pd.DataFrame:
    """Return the clusters that nothing beats in both time and total cost, fastest first."""
    several = len({p.model for p in plan.frontier}) > 1
    names = ("model", "cloud", "region", "instance_type", "nodes", "time_s", "cost_usd_total")
    return pd.DataFrame([{"cluster": cluster_name(p, several_models=several), **_of(p, *names)} for p in plan.frontier])


def _of(value: Any, *names: str) -> dict[str, Any]:
    """Return some fields of a value; None for each if there is no value."""
    return {name: None if value is None else getattr(value, name) for name in names}


def networks_frame(rows: Sequence[NetworkRow]) -> pd.DataFrame:
    """Return one row per type and network (`unlimited`, `ideal`, `expected`): the type's best cluster there, its time
    and costs, and whether it is recommended under that network; cells are empty if none is feasible.
    """
    of_type = ("instance_type", "model", "cloud", "region")
    made = [
        (
            *(getattr(row, name) for name in of_type),
            view,
            *((of.nodes, of.time_s.expected, of.cost_usd.expected, of.cost_usd.total) if of else [None] * 4),
            view in row.wins,
        )
        for row in rows
        for view, of in row.clusters.items()
    ]
    columns = [*of_type, "network", "nodes", "time_s", "cost_usd", "cost_usd_total", "winner"]
    return pd.DataFrame(made, columns=columns)


def data_sizes_frame(points: Sequence[DataPoint]) -> pd.DataFrame:
    """Return one row for each size of data, least first, and number of nodes: the recommended cluster, its times, bill
    and bottleneck; if nothing is feasible, empty cells and the reason in `why_not`.
    """
    rows = [
        {
            "data_bytes": point.data_bytes,
            "cluster": cluster_name(point.cluster) if point.cluster else None,
            **_of(point.cluster, "cloud", "region", "pricing", "instance_type", "nodes"),
            "nodes": point.cluster.nodes if point.cluster else point.nodes,
            "time_s": point.sort_s,
            "whole_run_s": point.whole_run_s,
            "cost_usd_total": point.total_usd,
            **_of(point.cluster, "bottleneck"),
            "why_not": point.why_not or None,
        }
        for point in points
    ]
    return pd.DataFrame(rows)


def volumes_frame(steps: Sequence[VolumeCount]) -> pd.DataFrame:
    """Return one row per instance type, volume type and number of volumes: rates, link, and dollars an hour."""
    columns = [field.name for field in fields(VolumeCount)]
    return pd.DataFrame([to_jsonable(step) for step in steps], columns=columns)


def phases_frame(candidates: Sequence[Candidate]) -> pd.DataFrame:
    """Return one row per candidate, phase and resource for charts: its start, its busy time, and the bytes it moves.

    A phase starts when the one before ends; `bottleneck` marks the resource that the phase waits for.
    """
    several = len({candidate.model for candidate in candidates}) > 1
    return pd.DataFrame([row for candidate in candidates for row in _phases(candidate, several=several)])


def sensitivities_frame(best: Candidate | None, reliefs: Mapping[float, Mapping[str, Candidate]]) -> pd.DataFrame:
    """Return time and total cost of the best cluster with each of its resources `factor` times as fast; no rows if
    there is no best cluster.

    `reliefs` has the changed cluster by factor and resource, one row each; the changes are fractions of the cluster as
    recommended: -0.1 is 10% less.
    """
    rows = [
        (name, factor, time_s, time_s / best.time_s.expected - 1, usd, usd / best.cost_usd.total - 1)
        for factor, clusters in reliefs.items()
        for name, made in clusters.items()
        for time_s, usd in [(made.time_s.expected, made.cost_usd.total)]
        if best is not None
    ]
    columns = ["resource", "factor", "time_s", "time_change", "cost_usd_total", "cost_change"]
    return pd.DataFrame(rows, columns=columns)


def comparison_frame(this: Candidate | None, other: Candidate | None) -> pd.DataFrame:
    """Return two clusters side by side, with the difference and the percentage by which the other's figures are higher;
    None if there is no cluster.
    """
    figures: dict[str, Callable[[Candidate], float]] = {
        "sort_s": lambda of: of.time_s.expected,
        "sort_p95_s": lambda of: of.time_s.p95,
        "whole_run_s": lambda of: of.whole_run_s,
        "total_usd": lambda of: of.cost_usd.total,
        "total_p95_usd": lambda of: of.cost_usd.total_p95,
    }
    rows: dict[str, list[Any]] = {"cluster": [*(of and cluster_name(of) for of in (this, other)), None, None]}
    for name, figure in figures.items():
        before, after = (None if of is None else figure(of) for of in (this, other))
        change = after - before if before is not None and after is not None else None
        rows[name] = [before, after, change, 100 * change / before if change is not None and before else None]
    return pd.DataFrame.from_dict(rows, orient="index", columns=["this", "other", "difference", "percent"])


def sizes_frame(sizes: Sequence[Candidate]) -> pd.DataFrame:
    """Return one row per candidate: `nodes`, the four times (`time_s` is the mean) and `cost_usd_total`."""
    rows = [{"nodes": size.nodes, **_times(size), "cost_usd_total": size.cost_usd.total} for size in sizes]
    return pd.DataFrame(rows, columns=["nodes", *_TIMES, "cost_usd_total"])


def run_phases_frame(report: RunReport) -> pd.DataFrame:
    """Return one row per phase of a run: predicted and measured seconds, and the prediction's error."""
    names = ("predicted_s", "measured_s", "error", "bottleneck")
    return pd.DataFrame([{"phase": phase.name, **_of(phase, *names)} for phase in report.phases])


def timeline_frame(report: RunReport) -> pd.DataFrame:
    """Return the start and end of each step of a run on each node, in seconds since the start.

    The sort is shown as its phases if their measured seconds fit into it; the remainder is its start and end.
    """
    return pd.DataFrame(_timeline(report), columns=["node", "step", "start_s", "end_s"])


def _times(candidate: Candidate) -> dict[str, float]:
    times = candidate.time_s
    return dict(zip(_TIMES, (times.expected, times.equation, times.p50, times.p95), strict=True))


def _phases(candidate: Candidate, *, several: bool) -> Iterator[dict[str, Any]]:
    start_s = 0.0
    for phase in candidate.phases:
        for name, use in phase.resources.items():
            yield {
                "cluster": cluster_name(candidate, several_models=several),
                "phase": phase.name,
                "resource": phase_word(name),
                "start_s": start_s,
                "end_s": start_s + use.time_s,
                "phase_end_s": start_s + phase.time_s,
                **_of(use, "time_s", "bytes_per_node", "bytes_per_s"),
                "bottleneck": name == phase.bottleneck,
            }
        start_s += phase.time_s


def _timeline(report: RunReport) -> Iterator[tuple[str, str, float, float]]:
    node = report.plan.best.instance_type if report.plan.best else "this machine"
    now = 0.0
    for step, seconds in report.steps_s.items():
        parts = [(phase.name, phase.measured_s) for phase in report.phases] if step == "sort" else []
        if not parts or sum(s for _, s in parts) > seconds:
            parts = [(step, seconds)]
        begun = now
        for name, length in parts:
            yield node, name, begun, begun + length
            begun += length
        now += seconds
