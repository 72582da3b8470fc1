"""Runs of others, predicted by the engine nearest to their program: equations and simulation against measured times.
All of `published_runs.csv`, and those of `published/further_runs.csv`, which are not sorts of a shipped model.

python benchmarks/simulation/bench_published.py           # prints the table
python benchmarks/simulation/bench_published.py --write   # and benchmarks/results/simulated_published_runs.csv
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from planner import recommend

CHECKOUT: Final = Path(__file__).resolve().parents[2]
RUNS: Final = CHECKOUT / "catalogs" / "published_runs.csv"
RESULTS: Final = CHECKOUT / "benchmarks" / "results" / "simulated_published_runs.csv"
"""File from which the page papers.md shows the simulation."""
FURTHER: Final = Path(__file__).resolve().parent / "published"
"""Runs with models and machines that only this folder describes."""


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Predictions of equations and simulation for a run: their error factors, and the known reasons for them."""

    name: str
    engine: str
    measured_s: float
    equations: float
    simulated: float
    held: bool
    waits: str
    miss: str
    is_further: bool

    @property
    def is_counted(self) -> bool:
        """Whether nothing was fitted to the run: the start and end of `minutesort` come from its two runs."""
        return not self.is_further and "MinuteSort" not in self.name


def predicted(row: dict[str, str], *, draws: int, is_further: bool) -> Predicted | None:
    """Return the prediction for a run; None if the planner finds no way to do it."""
    answer = recommend(
        data=int(row["data_bytes"]),
        model=_own(row["model"]),
        catalogs=(_own(row["catalog"]),),
        instances=(row["instance_type"],),
        nodes=int(row["nodes"]),
        assume=dict(pair.split("=") for pair in row["assume"].split()),
        engine=row["engine"],
        head_room=0.0,  # they ran without head room
    )
    if answer.best is None:
        return None
    simulation, measured_s = answer.simulate(draws=draws), float(row["seconds"])
    return Predicted(
        name=f"{row['group']}: {row['run']}, {row['nodes']} x {row['instance_type']}",
        engine=row["engine"],
        measured_s=measured_s,
        equations=answer.best.time_s.p50 / measured_s,
        simulated=simulation.p50_s / measured_s,
        held=measured_s <= simulation.p95_s,
        waits=", ".join(dict.fromkeys(phase.bottleneck.replace("_", " ") for phase in simulation.phases)),
        miss=row["miss"],
        is_further=is_further,
    )


def _own(name: str) -> str:
    """Return the path of a model or a catalog in this folder, or the name of a shipped one."""
    return str(FURTHER / name) if (FURTHER / name).exists() else name


def runs(draws: int) -> Iterator[Predicted]:
    """Yield all runs that the planner can do."""
    for path in (RUNS, FURTHER / "further_runs.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if (run := predicted(row, draws=draws, is_further=path != RUNS)) is not None:
                    yield run
                else:
                    print(f"not planned, as nothing is feasible: {row['group']}: {row['run']}", file=sys.stderr)


def lines(seen: Sequence[Predicted]) -> Iterator[str]:
    """Yield a table of the runs, ending with their mean errors."""
    yield "| published run | engine | measured | equations | simulated | waits for | what the miss is |"
    yield "|---|---|--:|--:|--:|---|---|"
    for run in seen:
        star = "*" if run.held else ""
        figures = f"{run.measured_s:,.0f} s | {run.equations:.2f} | {run.simulated:.2f}{star}"
        yield f"| {run.name} | `{run.engine}` | {figures} | {run.waits} | {run.miss} |"
    yield _mean("| mean error of sorts of a shipped model and catalog |", [run for run in seen if run.is_counted])
    yield _mean("| mean error, all |", seen)


def _mean(name: str, seen: Sequence[Predicted]) -> str:
    equations, simulated = (
        fmean(abs(factor - 1) for factor in factors)
        for factors in zip(*((run.equations, run.simulated) for run in seen), strict=True)
    )
    held = sum(run.held for run in seen)
    return f"{name} | | {equations:.0%} | {simulated:.0%} | | 95% held in {held} of {len(seen)} |"


def write(seen: Sequence[Predicted]) -> None:
    """Replace the file of results."""
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "simulated_over_measured", "p95_held", "waits_for"])
        writer.writerows([run.name, f"{run.simulated:.2f}", str(run.held).lower(), run.waits] for run in seen)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--write", action="store_true", help=f"replace {RESULTS.name}")
    given = parser.parse_args()
    seen = list(runs(given.draws))
    if given.write:
        write(seen)
    print("\n".join(lines(seen)))


if __name__ == "__main__":
    main()
