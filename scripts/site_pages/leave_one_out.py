"""Section of papers.md: published runs and their predictions, and what runs of other systems teach about each."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from planner import recommend

CHECKOUT: Final = Path(__file__).resolve().parents[2]
RUNS: Final = CHECKOUT / "catalogs" / "published_runs.csv"
SIMULATED: Final = CHECKOUT / "benchmarks" / "results" / "simulated_published_runs.csv"
OWN: Final = CHECKOUT / "benchmarks" / "cluster" / "own_runs.jsonl"
OWN_ENGINE: Final = "ray"
Z95: Final = 1.645

HEAD: Final = """# Predicted and published run times

The runs of others are in `catalogs/published_runs.csv`, with their sources. Those of this project are in
`benchmarks/cluster/own_runs.jsonl`: emulated nodes, each predicted before it ran
(`benchmarks/cluster/bench_engine_predictions.py`).

* **As planned** compares the answer of `plan`: predicted over measured, and whether the 95% held. Two figures behind it
  come from the authors of runs in this table: the scatter of whole runs, 0.116, from Themis's three, and the rate at
  which d3's disks move large files, from Exoshuffle's plots. What i4i.4xlarge moves to and from S3 is a bound from
  Exoshuffle's own runs.
* **Left out** corrects a prediction by the *other* systems' runs: their mean of ln(measured / predicted), in
  which each system counts once, and a 95% as wide as they scatter. The run's own system has no part in it.
* **Simulated** is what `python benchmarks/simulation/bench_published.py --write` last wrote, and what the run waits
  for there.

Each program is planned with the engine nearest to it: `ideal` for Themis and TritonSort, whose equations it has,
`spark` for Spark, and `ray` for Exoshuffle, which runs on Ray, too. `ray` describes this project's sort, so
Exoshuffle's rows show how far its figures carry over.
"""
COLUMNS: Final = (
    "system",
    "engine",
    "runs",
    "mean error",
    "mean of predicted / measured",
    "95% held",
    "left out: mean error",
    "left out: 95% held",
)


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """A run and the engine's prediction: seconds expected and those not exceeded in 95 of 100 runs. Both are NaN if the
    planner finds no way to do it. `miss` explains the difference, as far as known.
    """

    group: str
    run: str
    engine: str
    measured_s: float
    expected_s: float
    p95_s: float
    miss: str = ""

    @property
    def ratio(self) -> float:
        """Return predicted over measured."""
        return self.expected_s / self.measured_s

    @property
    def feasible(self) -> bool:
        """True if the planner had an answer."""
        return not math.isnan(self.expected_s)

    @property
    def held(self) -> bool:
        """True if the run stayed within the 95% value."""
        return self.measured_s <= self.p95_s


def published() -> Iterator[Predicted]:
    """Yield the published runs of others with their predictions."""
    with RUNS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        best = recommend(
            data=int(row["data_bytes"]),
            model=row["model"],
            catalogs=(row["catalog"],),
            instances=(row["instance_type"],),
            nodes=int(row["nodes"]),
            assume=dict(pair.split("=") for pair in row["assume"].split()),
            engine=row["engine"],
            head_room=0.0,  # they ran without head room
        ).best
        yield Predicted(
            group=row["group"],
            run=f"{row['run']}, {row['nodes']} x {row['instance_type']}",
            engine=row["engine"],
            measured_s=float(row["seconds"]),
            expected_s=math.nan if best is None else best.time_s.expected,
            p95_s=math.nan if best is None else best.time_s.p95,
            miss=row["miss"],
        )


def own() -> Iterator[Predicted]:
    """Yield this project's emulated runs, with the prediction made before each."""
    rows = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        yield Predicted(
            group="own, emulated",
            run=row["name"],
            engine=OWN_ENGINE,
            measured_s=round(row["measured_s"], 2),
            expected_s=row[OWN_ENGINE]["expected_s"],
            p95_s=row[OWN_ENGINE]["p95_s"],
        )


def left_out(run: Predicted, runs: Sequence[Predicted]) -> Predicted:
    """Return a prediction corrected by the runs of all other systems."""
    others: dict[str, list[float]] = {}
    for other in runs:
        if other.group != run.group and other.feasible:
            others.setdefault(other.group, []).append(-math.log(other.ratio))
    bias = fmean(fmean(logs) for logs in others.values())
    spread = math.sqrt(fmean(fmean((value - bias) ** 2 for value in logs) for logs in others.values()))
    expected_s = run.expected_s * math.exp(bias)
    return replace(run, expected_s=expected_s, p95_s=expected_s * math.exp(Z95 * spread))


def page() -> str:
    """Return the page."""
    runs = [*published(), *own()]
    return "\n".join([HEAD, *_summary(runs), "", *_table(runs), ""])


def _summary(runs: Sequence[Predicted]) -> Iterator[str]:
    yield "## In short\n"
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|"
    for group in (*dict.fromkeys(run.group for run in runs), "all"):
        of_group = [run for run in runs if run.feasible and group in (run.group, "all")]
        yield _summary_row(group, of_group, [left_out(run, runs) for run in of_group])


def _summary_row(group: str, runs: Sequence[Predicted], corrected: Sequence[Predicted]) -> str:
    mean = math.exp(fmean(math.log(run.ratio) for run in runs))
    engine = ", ".join(dict.fromkeys(run.engine for run in runs))
    cells = [f"| {group} | {engine} | {len(runs)} | {_error(runs):.0%} | {mean:.2f} | {_held(runs)}"]
    return " | ".join([*cells, f"{_error(corrected):.0%}", f"{_held(corrected)} |"])


def _error(runs: Sequence[Predicted]) -> float:
    return fmean(abs(run.ratio - 1) for run in runs)


def _held(runs: Sequence[Predicted]) -> str:
    return f"{sum(run.held for run in runs)} of {len(runs)}"


def _table(runs: Sequence[Predicted]) -> Iterator[str]:
    """Yield a row for each run: its time, and predicted over measured by engine; a star where the 95% held."""
    yield "## Run by run\n"
    yield "Predicted over measured; a star where the 95% held."
    yield "\n| system | run | measured | as planned | left out | simulated | what the miss is |"
    yield "|---|---|--:|--:|--:|---|---|"
    simulated = _simulated()
    for run in runs:
        cells = f"{_cell(run)} | {_cell(left_out(run, runs))} | {simulated.get((run.group, run.run), '')} | {run.miss}"
        yield f"| {run.group} | {run.run} | {run.measured_s:,.4g} s | {cells} |"


def _cell(run: Predicted) -> str:
    return f"{run.ratio:.2f}{'*' if run.held else ''}" if run.feasible else "not feasible"


def _simulated() -> dict[tuple[str, str], str]:
    """Return the simulation's cell of each published run, by group and run."""
    cells = {}
    with SIMULATED.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            group, _, run = row["run"].partition(": ")
            star = "*" if row["p95_held"] == "true" else ""
            cells[group, run] = f"{row['simulated_over_measured']}{star}, {row['waits_for']}"
    return cells
