"""`planner screen`: which nodes to drop, and how many spares to launch next time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from planner.cli.console import show, show_json, show_text, table, talk
from planner.errors import BadInputError, nearest

if TYPE_CHECKING:
    from planner.statistics.slow_node_screening import Screening
    from planner.statistics.spare_nodes import Spares
    from planner.statistics.variance_components import Variation


def screen(
    results: Annotated[Path, Argument(help="CSV with a column node and one column per rate, or JSON by node.")],
    *,
    spares_for: Annotated[int | None, Option(min=1, help="Say how many spares a cluster of so many needs.")] = None,
    work: Annotated[str, Option(help="How long its job takes at the median rate, such as 15m.")] = "15m",
    screening: Annotated[str | None, Option(help="How long boot and screening take; as planned otherwise.")] = None,
    objective: Annotated[Literal["cost", "time"], Option(help="What the spares are to make least.")] = "cost",
    metric: Annotated[str | None, Option(help="Which rate sets the pace, where there are several.")] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say which nodes are too slow to keep, by a rule shown with its numbers, and how many spares to launch.

    Example: planner screen nodes.csv --spares-for 178 --work 15m
    """
    from planner.ingest.node_results import median_rates, read_node_results
    from planner.statistics.slow_node_screening import screen as judge
    from planner.statistics.variance_components import variation

    runs = read_node_results(results)
    rates = median_rates(runs)
    verdict = judge(rates)
    varies = {name: spread for name in runs if (spread := variation(runs[name]))}
    spares = None
    if spares_for is not None:
        spares = _spares(_paced_by(rates, metric), spares_for, work=work, screening=screening, objective=objective)
    if json:
        show_json(_plain(verdict, spares, varies))
        return
    _show(verdict)
    for name, spread in varies.items():
        show_text(f"{name} {spread.text}")
    if spares is not None and spares_for is not None:
        show_text(_spares_text(spares, spares_for))


def _paced_by(rates: dict[str, dict[str, float]], metric: str | None) -> list[float]:
    if metric is None and len(rates) > 1:
        raise BadInputError(f"several rates; say with --metric which sets the pace: {', '.join(rates)}")
    name = metric or next(iter(rates))
    if name not in rates:
        raise BadInputError(f"--metric {name}: not among {', '.join(rates)}.{nearest(name, list(rates))}")
    working = [rate for rate in rates[name].values() if rate > 0]
    if len(working) < len(rates[name]):
        talk(f"note: {len(rates[name]) - len(working)} nodes without a rate are left out of the spare count")
    return working


def _spares(
    rates: list[float], nodes: int, *, work: str, screening: str | None, objective: Literal["cost", "time"]
) -> Spares:
    from planner.cost_model.run_overheads import shipped
    from planner.statistics.spare_nodes import best_spares
    from planner.units import parse_duration

    usual = shipped()
    before_s = usual.boot_s + usual.screen_s if screening is None else parse_duration(screening)
    return best_spares(rates, nodes=nodes, work_s=parse_duration(work), screen_s=before_s, objective=objective)


def _plain(verdict: Screening, spares: Spares | None, varies: dict[str, Variation]) -> dict[str, Any]:
    from dataclasses import asdict

    dropped = [{**asdict(drop), "rate_per_s": _known(drop.rate_per_s)} for drop in verdict.dropped]
    plain: dict[str, Any] = {
        "kept": list(verdict.kept),
        "dropped": dropped,
        "limits": [{**asdict(limit), "text": limit.text} for limit in verdict.limits],
        "variation": {name: {**asdict(v), "lasting_share": v.lasting_share} for name, v in varies.items()},
    }
    if spares is not None:
        plain["spares"] = {
            "count": spares.count,
            "expected_s": spares.expected_s.tolist(),
            "expected_node_hours": spares.expected_node_hours.tolist(),
        }
    return plain


def _known(rate: float) -> float | None:
    return None if math.isnan(rate) else rate


def _show(verdict: Screening) -> None:
    total = len(verdict.kept) + len(verdict.dropped)
    show_text(f"keep {len(verdict.kept)} of {total} nodes")
    if verdict.dropped:
        rows = [
            (drop.node, drop.metric, f"{drop.rate_per_s:.4g}", f"{drop.limit_per_s:.4g}", drop.reason)
            for drop in verdict.dropped
        ]
        show(table(("drop", "metric", "rate", "limit", "why"), rows))
    for limit in verdict.limits:
        show_text(limit.text)


def _spares_text(spares: Spares, nodes: int) -> str:
    from planner.units import format_duration

    best, hours = spares.count, spares.expected_node_hours
    bare, chosen = (f"{format_duration(spares.expected_s[k])}, {hours[k]:.4g} node-hours" for k in (0, best))
    return f"for {nodes} nodes launch {best} spares and keep the fastest: {chosen}; without spares {bare}"
