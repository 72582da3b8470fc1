"""Does the simulation foresee the runs of others better than the equations do? All of `published_runs.csv`, and those
of `published/further_runs.csv`, which are no sorts of a shipped model.

Their programs are not this project's: `ideal` knows neither tasks nor a driver, and there the simulation can differ
from the equations only in how it draws nodes. `ray` shows what this project's own sort would take.

    python benchmarks/simulation/bench_published.py
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from planner import recommend

RUNS: Final = Path(__file__).resolve().parents[2] / "catalogs" / "published_runs.csv"
FURTHER: Final = Path(__file__).resolve().parent / "published"
"""Runs whose models and machines are described here alone."""
ENGINES: Final = ("ideal", "ray")


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """What equations and simulation say of a run by one engine: the factors by which they are off."""

    name: str
    measured_s: float
    equations: float
    simulated: float
    held: bool
    waits: str


def foreseen(row: dict[str, str], *, engine: str, draws: int) -> Foreseen | None:
    """Return what is said of a run; None where the planner finds no way to do it."""
    answer = recommend(
        data=int(row["data_bytes"]),
        model=_own(row["model"]),
        catalogs=(_own(row["catalog"]),),
        instances=(row["instance_type"],),
        nodes=int(row["nodes"]),
        assume=dict(pair.split("=") for pair in row["assume"].split()),
        engine=engine,
        head_room=0.0,  # they ran as they were
    )
    if answer.best is None:
        return None
    simulation, measured_s = answer.simulate(draws=draws), float(row["seconds"])
    return Foreseen(
        name=f"{row['group']}: {row['run']}, {row['nodes']} x {row['instance_type']}",
        measured_s=measured_s,
        equations=answer.best.time_s.p50 / measured_s,
        simulated=simulation.p50_s / measured_s,
        held=measured_s <= simulation.p95_s,
        waits=" then ".join(phase.bottleneck.replace("_", " ") for phase in simulation.phases),
    )


def _own(name: str) -> str:
    """Return the path of a model or a catalog that is described here, the name of a shipped one."""
    return str(FURTHER / name) if (FURTHER / name).exists() else name


def lines(draws: int) -> Iterator[str]:
    """Yield a table of the runs, then a summary of each engine."""
    rows = list[dict[str, str]]()
    for path in (RUNS, FURTHER / "further_runs.csv"):
        with path.open(newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file)
    yield "| run | measured | " + " | ".join(f"{e}: equations | simulated | waits for" for e in ENGINES) + " |"
    yield "|---|--:|" + "--:|--:|---|" * len(ENGINES)
    by_engine: dict[str, list[Foreseen]] = {engine: [] for engine in ENGINES}
    for row in rows:
        said = {engine: foreseen(row, engine=engine, draws=draws) for engine in ENGINES}
        if not all(said.values()):
            continue
        cells = []
        for engine, run in said.items():
            if run is not None:
                by_engine[engine].append(run)
                cells.append(f"{run.equations:.2f} | {run.simulated:.2f}{'*' * run.held} | {run.waits}")
                name, measured_s = run.name, run.measured_s
        yield f"| {name} | {measured_s:,.0f} s | {' | '.join(cells)} |"
    yield ""
    for engine, runs in by_engine.items():
        errors = [fmean(abs(getattr(run, way) - 1) for run in runs) for way in ("equations", "simulated")]
        held = sum(run.held for run in runs)
        yield (
            f"{engine}: mean error of the equations {errors[0]:.1%}, simulated {errors[1]:.1%}; "
            f"the simulation's 95% held in {held} of {len(runs)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    print("\n".join(lines(parser.parse_args().draws)))


if __name__ == "__main__":
    main()
