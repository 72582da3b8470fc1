"""A plan beside another plan, beside a team's limits, and beside its run on a platform."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import reduce
from typing import Any, Final

from planner.errors import BadInputError
from planner.planning.policy import Breach
from planner.report.section import Section, aligned, markdown
from planner.report.words import phase_word, region_text
from planner.schemas.plan import Candidate, Plan, Request
from planner.schemas.platform_runs import PlatformRun
from planner.schemas.request_forms import NodeLimit, OwnPrice
from planner.units import format_duration, format_usd

FIGURES: Final = {
    "whole_run_s": "whole run",
    "time_s.expected": "job",
    "time_s.p95": "job in 95 of 100 runs",
    "cost_usd.expected": "cost of the job",
    "cost_usd.total": "cost",
    "cost_usd.total_p95": "cost in 95 of 100 runs",
}
"""The compared figures of a cluster, and their names for people."""


def differences(first: Plan, second: Plan) -> dict[str, tuple[Any, Any]]:
    """Return the fields of the requests, and the catalogs, that differ, each with both values."""
    asked = {f.name: (getattr(first.request, f.name), getattr(second.request, f.name)) for f in fields(Request)}
    asked |= {
        "catalog": (first.catalog.name, second.catalog.name),
        "prices_as_of": (first.catalog.prices_as_of, second.catalog.prices_as_of),
    }
    return {name: pair for name, pair in asked.items() if pair[0] != pair[1]}


def changes(first: Plan, second: Plan) -> dict[str, tuple[float | None, float | None]]:
    """Return times in seconds and costs in US dollars of the two best clusters; None where a plan has none."""

    def figure(best: Candidate | None, name: str) -> float | None:
        return None if best is None else float(reduce(getattr, name.split("."), best))  # type: ignore[arg-type]

    return {name: (figure(first.best, name), figure(second.best, name)) for name in FIGURES}


def _figures(first: Plan, second: Plan) -> Iterator[tuple[str, str, str, str]]:
    """Yield each figure's name, both values, and the change in parentheses, if there is one."""
    for name, (a, b) in changes(first, second).items():
        show = format_usd if name.startswith("cost") else format_duration
        before, after = ("-" if figure is None else show(figure) for figure in (a, b))
        yield FIGURES[name], before, after, f" ({b / a - 1:+.1%})" if a and b is not None else ""


def changed_text(before: Plan, now: Plan) -> str:
    """Return how the answer to a kept plan's request differs from the kept one."""
    pairs = [("cluster", _cluster(before.best), _cluster(now.best), ""), *_figures(before, now)]
    rows = [(name, a, b + change) for name, a, b, change in pairs if a != b]
    since = f"the plan of prices of {before.catalog.prices_as_of}"
    if not rows:
        return f"Nothing changed since {since}."
    return "\n".join([f"Since {since}:", *aligned(Section(columns=("", "then", "now"), rows=rows), indent="  ")])


def render_comparison(first: Plan, second: Plan) -> Iterator[Section]:
    """Yield both as tables."""
    asked = [(name, _cell_text(a), _cell_text(b)) for name, (a, b) in differences(first, second).items()]
    answer = [
        ("cluster", *(_cluster(best, lambda of: f"{of.cloud}, {of.model}") for best in (first.best, second.best))),
        *((name, before, after + change) for name, before, after, change in _figures(first, second)),
        ("waits for", _bottlenecks(first.best), _bottlenecks(second.best)),
    ]
    columns = ("", "first", "second")
    yield Section(title="Asked", columns=columns, rows=asked or [("nothing differs", "", "")])
    yield Section(title="Answer", columns=columns, rows=answer)


def _cell_text(value: Any) -> str:
    """Return a field of a request in the form of its option."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={amount:g}" for name, amount in value.items()) or "-"
    if isinstance(value, tuple):
        return ", ".join(map(_item_text, value)) or "-"
    return "-" if value is None else str(value)


def _item_text(value: Any) -> str:
    """Return a price or limit of the user's own as what it is for and its amount, and other items as they are."""
    if not isinstance(value, OwnPrice | NodeLimit):
        return str(value)
    places = [place for place in (value.cloud, value.region, value.instance) if place != "*"]
    if isinstance(value, NodeLimit):
        amount = str(value.nodes)
    else:
        amount = value.amount_text if value.discount is None else f"{100 * value.discount:.4g}% off"
    return f"{' '.join(places) or 'all types'}={amount}"


def _cluster(best: Candidate | None, where: Callable[[Candidate], str] = region_text) -> str:
    return "nothing feasible" if best is None else f"{best.nodes} x {best.instance_type} ({where(best)})"


def _bottlenecks(best: Candidate | None) -> str:
    return "-" if best is None else ", ".join(phase_word(phase.bottleneck) for phase in best.phases)


def check_text(plan: Plan, broken: Sequence[Breach], before: Plan | None) -> str:
    """Return in lines whether a plan keeps to its limits."""
    verdict = f"{'does not keep to' if broken else 'keeps to'} its limits"
    lines = [f"{verdict}: {_cluster(plan.best)}"]
    lines += [f"  {breach}" for breach in broken]
    return "\n".join([*lines, *(f"  {name}: {now}{change}" for name, now, change in _checked(plan, before))])


def check_markdown(plan: Plan, broken: Sequence[Breach], before: Plan | None) -> str:
    """Return the same as a comment for a pull request."""
    rows = [(name, now, change.strip(" ()") or "-") for name, now, change in _checked(plan, before)]
    lines = [f"**{_cluster(plan.best)}** {'does not keep' if broken else 'keeps'} to its limits", ""]
    lines += markdown(Section(columns=("", "this plan", "change"), rows=rows))
    if broken:
        limits = [(str(breach.limit), str(breach.allowed), str(breach.found)) for breach in broken]
        lines += ["", *markdown(Section(columns=("limit", "allowed", "found"), rows=limits))]
    return "\n".join(lines)


def _checked(plan: Plan, before: Plan | None) -> Iterator[tuple[str, str, str]]:
    for name, _, now, change in _figures(before or plan, plan) if plan.best else ():
        yield name, now, change if before else ""


def run_json(run: PlatformRun, plan: Plan, best: Candidate) -> dict[str, Any]:
    """Return the predicted and measured times of a run on a platform in seconds, None if unknown, and machines."""
    machines = run.machines
    return {
        "platform": run.platform,
        "job": run.job,
        "engine": plan.request.engine,
        "time_s": {name: {"predicted": a, "measured": b} for name, a, b in _times(run, best)},
        "machines": {
            "planned": {"nodes": best.nodes, "instance_type": best.cloud_type},
            "ran_on": machines and {"nodes": machines.nodes, "instance_type": machines.instance_type},
        },
        "within_95": None if run.job_s is None else run.job_s <= best.time_s.p95,
    }


def _times(run: PlatformRun, best: Candidate) -> Iterator[tuple[str, float | None, float | None]]:
    yield "job", best.time_s.expected, run.job_s
    yield "job, 95 of 100 runs", best.time_s.p95, None
    planned_s = [best.overheads_s[name] for name in ("boot", "compile", "install") if name in best.overheads_s]
    yield "boot and install", sum(planned_s) if planned_s else None, run.boot_s


def run_text(run: PlatformRun, plan: Plan, best: Candidate) -> str:
    """Return the same as a table, and below it the differences between the two sides."""
    rows = [
        (
            name,
            *("-" if seconds is None else format_duration(seconds) for seconds in (predicted, measured)),
            f"{predicted / measured:.0%}" if predicted and measured else "",
        )
        for name, predicted, measured in _times(run, best)
    ]
    table = Section(columns=("", "predicted", "measured", "of measured"), rows=rows, numbers=(1, 2, 3))
    head = f"{run.job or 'the job'} on {run.platform}, planned for the engine {plan.request.engine}:"
    return "\n".join([head, *aligned(table, indent="  "), *_differences(run, plan, best)])


def _differences(run: PlatformRun, plan: Plan, best: Candidate) -> Iterator[str]:
    if plan.request.engine != "spark":
        yield f"The job ran on Spark; the plan is of the engine {plan.request.engine}: plan with --engine spark."
    if run.machines is None:
        yield "No file names the machines: add the description of the cluster."
    elif (run.machines.nodes, run.machines.instance_type) != (best.nodes, best.cloud_type):
        ran, planned = f"{run.machines.nodes} x {run.machines.instance_type}", f"{best.nodes} x {best.cloud_type}"
        yield f"It ran on {ran}, and the plan is of {planned}: the times are of two clusters."


def calibration_csv(run: PlatformRun, plan: Plan) -> str:
    """Return the run as `planner calibrate` reads it: a heading and a row. Raises BadInputError if no file names the
    machines.
    """
    if run.machines is None or run.job_s is None:
        raise BadInputError(
            "--runs: no file names the machines; add the cluster's to --from-platform", code="machines-unknown"
        )
    row = (run.machines.instance_type, run.machines.nodes, plan.request.data_bytes / 1e9, round(run.job_s, 3))
    return "instance_type,nodes,data_gb,runtime_s\n" + ",".join(map(str, row)) + "\n"
