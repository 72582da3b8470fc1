"""A plan checked against limits, as lines and as a comment for a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planner.planning.policy import Breach
from planner.report.terminal.plan_comparison import FIGURES, changes, shown_figure
from planner.report.words import region_text
from planner.schemas.plan import Plan


def check_text(plan: Plan, broken: Sequence[Breach], before: Plan | None) -> str:
    """Return the answer in lines."""
    lines = [f"{'does not keep to' if broken else 'keeps to'} its limits: {cluster(plan)}"]
    lines += [f"  {breach}" for breach in broken]
    lines += [f"  {name}: {now}{change}" for name, now, change in _figures(plan, before)]
    return "\n".join(lines)


def check_markdown(plan: Plan, broken: Sequence[Breach], before: Plan | None) -> str:
    """Return the answer as a comment in Markdown."""
    lines = [f"**{cluster(plan)}** {'does not keep to its limits' if broken else 'keeps to its limits'}", ""]
    lines += ["| | this plan | change |", "|---|---|---|"]
    lines += [f"| {name} | {now} | {change.strip(' ()') or '-'} |" for name, now, change in _figures(plan, before)]
    if broken:
        lines += ["", "| limit | allowed | found |", "|---|---|---|"]
        lines += [f"| {breach.limit} | {breach.allowed} | {breach.found} |" for breach in broken]
    return "\n".join(lines)


def cluster(plan: Plan) -> str:
    """Return the chosen cluster in words."""
    best = plan.best
    return "nothing feasible" if best is None else f"{best.nodes} x {best.instance_type} ({region_text(best)})"


def _figures(plan: Plan, before: Plan | None) -> Iterator[tuple[str, str, str]]:
    """Yield each figure's name, its value, and its change if there is a plan before."""
    for name, (earlier, now) in changes(before or plan, plan).items():
        if now is not None:
            change = f" ({now / earlier - 1:+.1%})" if before and earlier else ""
            yield FIGURES[name], shown_figure(name, now), change
