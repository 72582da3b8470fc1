"""Does the simulation foresee the emulated runs better than the equations do? Each of `own_runs.jsonl` is simulated.

Before each of those runs the equations were asked (`benchmarks/cluster/bench_engine_predictions.py`), with what this
machine's disk and links gave then. None of the runs gave a figure to `models/engines/ray.toml`.

    python benchmarks/simulation/bench_emulated.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final

from planner.cost_model.engine_reader import load_engine
from planner.emulation.run import EmulatedRun, Question, question_for
from planner.emulation.shaping import parse_shaping
from planner.emulation.sort_trial import SAMPLE
from planner.measure.machine import Machine
from planner.planning.recommendation import recommend, require_best
from planner.simulation.result import Simulation
from planner.simulation.simulate import simulate_plan

CLUSTER: Final = Path(__file__).resolve().parents[1] / "cluster"
OWN_RUNS: Final = CLUSTER / "own_runs.jsonl"
TRIALS: Final = CLUSTER / "engine_trials.jsonl"
MODELS: Final = {1: "indy", 2: "daytona"}


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """What was sorted on what: `nodes` that share a machine, with links of `rate`, None for no cap."""

    nodes: int
    rate: str | None
    data_bytes: int
    model: str
    machine: Machine
    network_bytes_per_s: float

    @property
    def name(self) -> str:
        """Return the run in words."""
        return f"{self.nodes} nodes, {self.rate or 'no cap'}, {self.data_bytes / 1e9:.2f} GB, {self.model}"


def own_rows() -> list[dict[str, Any]]:
    """Return what was kept of each run."""
    return [json.loads(line) for line in OWN_RUNS.read_text(encoding="utf-8").splitlines()]


def run_of(row: dict[str, Any]) -> OwnRun:
    """Return the run of a row."""
    shape = row["shape"]
    return OwnRun(
        nodes=shape["nodes"],
        rate=shape["rate"] or None,
        data_bytes=shape["data_bytes"],
        model=MODELS[shape["copies"]],
        machine=Machine(**row["machine"]),
        network_bytes_per_s=row["network_bytes_per_s"],
    )


def usual_machine() -> Machine:
    """Return the machine as it was before the run in the middle, by what its disk wrote."""
    machines = sorted((run_of(row).machine for row in own_rows()), key=lambda seen: seen.write_bytes_per_s)
    return machines[len(machines) // 2]


def question(run: OwnRun, *, engine: str) -> Question:
    """Return what was asked before a run."""
    emulated = EmulatedRun(
        data_bytes=run.data_bytes,
        model=run.model,
        nodes=run.nodes,
        shaping=parse_shaping(rate=run.rate),
        directory=Path(),
    )
    with TemporaryDirectory() as folder:
        network = run.network_bytes_per_s
        return question_for(
            run.machine, emulated, Path(folder), network_bytes_per_s=network, engine=load_engine(engine)
        )


def simulated(run: OwnRun, *, draws: int) -> Simulation:
    """Return the simulation of a run."""
    asked = question(run, engine="ray")
    inputs = {"catalogs": [asked.catalog], "overheads": asked.overheads}
    best = require_best(recommend(asked.request, model=asked.model, **inputs))
    return simulate_plan(asked.request, best, models=[asked.model], **inputs, draws=draws, seed=0)


def lines(draws: int) -> Iterator[str]:
    """Yield a table of the runs and one of their phases, each with a summary."""
    rows = own_rows()
    answers = [simulated(run_of(row), draws=draws) for row in rows]
    yield "| run | measured | equations before the run | simulated | its 95% | waits for |"
    yield "|---|--:|--:|--:|--:|---|"
    pairs, held = list[tuple[float, float]](), 0
    for row, answer in zip(rows, answers, strict=True):
        took_s, foreseen_s = row["measured_s"], row["ray"]["expected_s"]
        pairs.append((foreseen_s / took_s - 1, answer.p50_s / took_s - 1))
        held += took_s <= answer.p95_s
        waits = " then ".join(phase.bottleneck for phase in answer.phases[1:]).replace("_", " ")
        figures = f"{_beside(foreseen_s, took_s)} | {_beside(answer.p50_s, took_s)} | {answer.p95_s:.1f} s"
        yield f"| {run_of(row).name} | {took_s:.1f} s | {figures} | {waits} |"
    yield from ("", f"{_errors(pairs)}; the simulation's 95% held in {held} of {len(rows)}", "")
    yield from phase_lines(rows, answers)


def phase_lines(rows: list[dict[str, Any]], answers: list[Simulation]) -> Iterator[str]:
    """Yield a table of each run's phases but for the sample, and a summary of each phase."""
    yield "| run | phase | measured | equations | simulated |"
    yield "|---|---|--:|--:|--:|"
    pairs: dict[str, list[tuple[float, float]]] = {}
    for row, answer in zip(rows, answers, strict=True):
        for phase in answer.phases:
            if phase.name == SAMPLE:
                continue
            took_s = row["phases_s"][phase.name]
            pairs.setdefault(phase.name, []).append((phase.equation_s / took_s - 1, phase.p50_s / took_s - 1))
            figures = f"{_beside(phase.equation_s, took_s)} | {_beside(phase.p50_s, took_s)}"
            yield f"| {run_of(row).name} | {phase.name} | {took_s:.1f} s | {figures} |"
    yield ""
    yield from (f"{name}: {_errors(of)}" for name, of in pairs.items())


def _beside(foreseen_s: float, took_s: float) -> str:
    return f"{foreseen_s:.1f} s ({foreseen_s / took_s - 1:+.0%})"


def _errors(pairs: list[tuple[float, float]]) -> str:
    """Return in words how far equations and simulation are off."""
    texts = [f"{fmean(map(abs, of)):.1%} (mean {fmean(of):+.1%})" for of in zip(*pairs, strict=True)]
    return f"mean error of the equations {texts[0]}, simulated {texts[1]}, {len(pairs)} runs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    print("\n".join(lines(options.draws)))


if __name__ == "__main__":
    main()
