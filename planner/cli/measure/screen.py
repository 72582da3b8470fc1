"""`planner screen`: nodes to drop, variation of nodes over time, and spares to launch next time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, Option

from planner.api.files import require_new
from planner.cli.shell.console import show, show_json, show_sentences, table, talk
from planner.cli.shell.files import Force, write_atomically
from planner.cli.shell.option_values import amount
from planner.errors import BadInputError, nearest
from planner.units import count_text

if TYPE_CHECKING:
    from planner.measurement.ingest.node_results import NodeRuns
    from planner.statistics.slow_node_screening import Persistence, Screening
    from planner.statistics.spare_nodes import Spares
    from planner.statistics.variance_components import Variation


@dataclass(frozen=True, kw_only=True)
class Study:
    """Results of the nodes' runs, by metric; `lower` has the metrics where less is better."""

    runs: NodeRuns
    rates: Mapping[str, Mapping[str, float]]
    lower: frozenset[str]
    verdict: Screening
    varies: Mapping[str, Variation]
    persistence_by_metric: Mapping[str, Persistence]


def screen(
    results: Annotated[
        list[Path], Argument(help="CSV with a column node, JSON by node, or files of instruments, one for each run.")
    ],
    *,
    better: Annotated[
        list[str] | None,
        Option(help="higher, lower or METRIC=lower: what is better where a metric's name does not say it."),
    ] = None,
    chart: Annotated[bool, Option("--chart", help="Show how nodes differ, and change from run to run.")] = False,
    html: Annotated[
        Path | None, Option(dir_okay=False, help="Write charts of it to this page; it opens without a network.")
    ] = None,
    force: Force = False,
    spares_for: Annotated[int | None, Option(min=1, help="Print how many spares a cluster of this size needs.")] = None,
    work: Annotated[str, Option(help="How long its job takes at the median rate, such as 15m.")] = "15m",
    screening: Annotated[str | None, Option(help="How long boot and screening take; as planned otherwise.")] = None,
    objective: Annotated[Literal["cost", "time"], Option(help="What the spares are to make least.")] = "cost",
    metric: Annotated[str | None, Option(help="Which rate sets the pace, where there are several.")] = None,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Find nodes that are too slow to keep, by a rule shown with its numbers, and how many spares to launch.

    With several runs of each node it shows how much variation stays with a node, and whether slow nodes stay slow.

    Example: planner screen nodes.csv --spares-for 178 --work 15m
    """
    require_new([html], force=force)
    study = studied(results, better or [])
    spares = None
    if spares_for is not None:
        paced = _paced_by(study, metric)
        spares = _spares(paced, spares_for, work=work, screening=screening, objective=objective)
    if html is not None:
        write_atomically(html, _page(study), option="--html")
    if json:
        show_json(study_json(study, spares))
        return
    show_study(study, chart=chart)
    if spares is not None and spares_for is not None:
        show_sentences(_spares_text(spares, spares_for))


def studied(paths: list[Path], better: list[str], *, rates_only: bool = False) -> Study:
    """Return the study of files of results; `better` gives the direction of metrics whose name does not.

    `rates_only` is for short runs: it leaves out latencies, whose slowest values are a matter of chance, and operations
    that most runs were too short for.
    """
    from planner.measurement.ingest.metric_names import parse_better
    from planner.measurement.ingest.node_results import median_rates, read_node_results
    from planner.statistics.slow_node_screening import persistence
    from planner.statistics.slow_node_screening import screen as judge
    from planner.statistics.variance_components import variation

    runs = read_node_results(paths)
    ways = parse_better(better, runs)
    if rates_only:
        medians = {name: list(by_node.values()) for name, by_node in median_rates(runs).items()}
        runs = {n: by_node for n, by_node in runs.items() if ways[n] == "higher" and median(medians[n]) > 0}
    lower = frozenset(name for name in runs if ways[name] == "lower")
    rates = median_rates(runs)
    persistence_by_metric = {
        name: persistence(name, by_node, lower_is_better=name in lower) for name, by_node in runs.items()
    }
    return Study(
        runs=runs,
        rates=rates,
        lower=lower,
        verdict=judge(rates, lower_is_better=lower),
        varies={name: spread for name in runs if (spread := variation(runs[name]))},
        persistence_by_metric={name: answer for name, answer in persistence_by_metric.items() if answer is not None},
    )


def show_study(study: Study, *, chart: bool) -> None:
    """Show the nodes to keep, the rule, and the variation of nodes."""
    from planner.report.screen import render_ranges

    _show(study.verdict)
    for name in study.runs:
        if chart:
            show(render_ranges(name, study.runs[name], study.verdict))
        for line in _lines(study, name):
            show_sentences(line)


def _lines(study: Study, name: str) -> list[str]:
    """Return the lines on a metric's repeated runs: variation that stays with a node, and if bad apples stay bad."""
    spread, answer = study.varies.get(name), study.persistence_by_metric.get(name)
    lines = [] if spread is None else [f"{name} {spread.text}"]
    return lines if answer is None else [*lines, answer.text]


def _page(study: Study) -> str:
    from planner.cli.shell.progress import stepped
    from planner.report.screen import screen_page

    lines = {name: _lines(study, name) for name in study.runs}
    with stepped(1) as on_step:
        on_step("writing the page")
        return screen_page(study.runs, study.verdict, lines=lines, made_on=date.today())


def _paced_by(study: Study, metric: str | None) -> list[float]:
    """Return the rates of the metric that sets the pace; for times their inverses, which serve equally well."""
    rates = study.rates
    if metric is None and len(rates) > 1:
        raise BadInputError(
            f"several rates; say with --metric which sets the pace: {', '.join(rates)}", code="several-rates"
        )
    name = metric or next(iter(rates))
    if name not in rates:
        raise BadInputError(
            f"--metric {name}: not among {', '.join(rates)}.{nearest(name, list(rates))}", code="unknown-word"
        )
    working = [rate for rate in rates[name].values() if rate > 0]
    if len(working) < len(rates[name]):
        talk(f"note: {len(rates[name]) - len(working)} nodes without a rate are left out of the spare count")
    return [1 / rate for rate in working] if name in study.lower else working


def _spares(
    rates: list[float], nodes: int, *, work: str, screening: str | None, objective: Literal["cost", "time"]
) -> Spares:
    from planner.cost_model.run_overheads import shipped
    from planner.statistics.spare_nodes import best_spares
    from planner.units import parse_duration

    usual = shipped()
    before_s = (
        usual.boot_s + usual.install_s + usual.screen_s
        if screening is None
        else amount("--screening", parse_duration, screening)
    )
    return best_spares(
        rates, nodes=nodes, work_s=amount("--work", parse_duration, work), screen_s=before_s, objective=objective
    )


def study_json(study: Study, spares: Spares | None) -> dict[str, Any]:
    """Return a study as JSON-able values."""
    from dataclasses import asdict

    verdict = study.verdict
    dropped = [
        {**asdict(drop), "rate_per_s": _known(drop.rate_per_s), "limit_per_s": _known(drop.limit_per_s)}
        for drop in verdict.dropped
    ]
    study_json: dict[str, Any] = {
        "kept": list(verdict.kept),
        "dropped": dropped,
        "limits": [
            {**asdict(limit), "limit_per_s": _known(limit.limit_per_s), "text": limit.text} for limit in verdict.limits
        ],
        "runs": {
            name: {node: [_known(r) for r in rates] for node, rates in nodes.items()}
            for name, nodes in study.runs.items()
        },
        "variation": {name: {**asdict(v), "lasting_share": v.lasting_share} for name, v in study.varies.items()},
        "bad_apples": {
            name: {**asdict(answer), "stays": answer.is_persistent}
            for name, answer in study.persistence_by_metric.items()
        },
    }
    if spares is not None:
        study_json["spares"] = {
            "count": spares.count,
            "expected_s": spares.expected_s.tolist(),
            "expected_node_hours": spares.expected_node_hours.tolist(),
        }
    return study_json


def _known(rate: float) -> float | None:
    return rate if math.isfinite(rate) else None


def _show(verdict: Screening) -> None:
    total = len(verdict.kept) + len(verdict.dropped)
    show_sentences(f"keep {len(verdict.kept)} of {count_text(total, 'node')}")
    if verdict.dropped:
        rows = [
            (drop.node, drop.metric, f"{drop.rate_per_s:.4g}", f"{drop.limit_per_s:.4g}", drop.reason)
            for drop in verdict.dropped
        ]
        show(table(("drop", "metric", "rate", "limit", "why"), rows))
    for limit in verdict.limits:
        show_sentences(limit.text)


def _spares_text(spares: Spares, nodes: int) -> str:
    from planner.units import format_duration

    best, hours = spares.count, spares.expected_node_hours
    bare, chosen = (f"{format_duration(spares.expected_s[k])}, {hours[k]:.4g} node-hours" for k in (0, best))
    launched = f"for {count_text(nodes, 'node')} launch {count_text(best, 'spare')}"
    return f"{launched} and keep the fastest: {chosen}; without spares {bare}"
