"""Does the simulation foresee the emulated runs better than the equations do? Each of `own_runs.csv` is simulated.

Before each of those runs the equations were asked (`bench_engine_predictions.py`); what they said then is compared with
what was measured. The rate of the disk was not kept: it is the one at which the engine `ideal` says again what it said
of the run without caps. None of the runs gave a figure to `models/engines/ray.toml`. They are older than the sort's
measuring of links, so slices are as short here as where links are not measured.

    python benchmarks/simulation/bench_emulated.py
    python benchmarks/simulation/bench_emulated.py --phases
    python benchmarks/simulation/bench_emulated.py --quiet

With `--phases` it is the phases of `engine_trials.jsonl` instead, on a machine that others used. They gave the engine
its processor seconds, and sorts on 5 and 7 nodes the share of processors that nodes get. Sorts on one node are left
out: they gave the rate of a stream (`bench_streams.py`). Links' idle shares are used by the equations alone. The
disk's rate is taken to be the median of the days above.

With `--quiet` it is the phases of docs/measurements.md ("Sorting on a cluster") that were measured on a quiet machine,
and gave no figure to anything.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Final

from planner.cost_model.engine_reader import load_engine
from planner.emulation.network_trial import payload_bytes_per_s
from planner.emulation.ray import NODE_STORE_BYTES
from planner.emulation.run import EmulatedRun, Question, question_for
from planner.emulation.shaping import parse_shaping
from planner.emulation.sort_trial import SAMPLE
from planner.measure.machine import Machine
from planner.planning.recommendation import recommend, require_best
from planner.simulation.result import Simulation
from planner.simulation.simulate import simulate_plan

CLUSTER: Final = Path(__file__).resolve().parents[1] / "cluster"
OWN_RUNS: Final = CLUSTER / "own_runs.csv"
TRIALS: Final = CLUSTER / "engine_trials.jsonl"
NO_LIMIT_BYTES_PER_S: Final = 1e12
MODELS: Final = {1: "indy", 2: "daytona"}
VCPU, MEMORY_BYTES, ROOM_BYTES = 2, 8_000_000_000, 10**12
"""The machine of the runs; what its memory and disks hold decided nothing."""
HALVINGS: Final = 24
SHUFFLE, REDUCE = "map and shuffle", "sort and reduce"
QUIET: Final = (
    (4, "400Mbit", 4_000_000_000, "indy", {SHUFFLE: 15.9, REDUCE: 5.3}),
    (4, "400Mbit", 4_000_000_000, "daytona", {SHUFFLE: 16.1, REDUCE: 22.8}),
    (2, "50Mbit", 300_000_000, "indy", {SHUFFLE: 13.2}),
    (4, "50Mbit", 600_000_000, "indy", {SHUFFLE: 19.8}),
    (8, "50Mbit", 1_200_000_000, "indy", {SHUFFLE: 23.9}),
)
"""Nodes, cap, data and seconds, medians of two or three sorts each."""


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """A run of `own_runs.csv`: what was sorted on what, the seconds it took, and those that were foreseen."""

    name: str
    nodes: int
    rate: str | None
    data_bytes: int
    model: str
    measured_s: float
    equations_s: float
    ideal_s: float


def own_runs() -> list[OwnRun]:
    """Return the runs."""
    with OWN_RUNS.open(newline="", encoding="utf-8") as file:
        return [_read(row) for row in csv.DictReader(file)]


def _read(row: dict[str, str]) -> OwnRun:
    nodes, rate, data, model = row["run"].split(", ")
    return OwnRun(
        name=row["run"],
        nodes=int(nodes.split()[0]),
        rate=None if rate == "no cap" else rate,
        data_bytes=round(float(data.split()[0]) * 1e7) * 100,
        model=model,
        measured_s=float(row["measured_s"]),
        equations_s=float(row["ray_expected_s"]),
        ideal_s=float(row["ideal_expected_s"]),
    )


def question(run: OwnRun, *, disk_bytes_per_s: float, engine: str) -> Question:
    """Return what was asked before a run on a machine whose disk reads and writes at a rate."""
    machine = Machine(
        vcpu=VCPU,
        memory_bytes=MEMORY_BYTES,
        disk_free_bytes=ROOM_BYTES,
        read_bytes_per_s=disk_bytes_per_s,
        write_bytes_per_s=disk_bytes_per_s,
        sample_bytes=512_000_000,
        repeats=1,
        measured_s=0.0,
    )
    shaping = parse_shaping(rate=run.rate)
    cap = shaping.draws(run.nodes).draw()[0]
    network = NO_LIMIT_BYTES_PER_S if cap is None else payload_bytes_per_s(cap.bytes_per_s)
    emulated = EmulatedRun(
        data_bytes=run.data_bytes, model=run.model, nodes=run.nodes, shaping=shaping, directory=Path()
    )
    loaded = load_engine(engine)
    if loaded.sizes is not None:
        loaded = replace(loaded, sizes=replace(loaded.sizes, measures_links=False))
    with TemporaryDirectory() as folder:
        return question_for(machine, emulated, Path(folder), network_bytes_per_s=network, engine=loaded)


def equations_s(asked: Question) -> float:
    """Return the expected seconds by the equations."""
    plan = recommend(asked.request, model=asked.model, catalogs=[asked.catalog], overheads=asked.overheads)
    return require_best(plan).time_s.expected


@cache
def disk_bytes_per_s(nodes: int) -> float:
    """Return the rate of the machine's disk on the day of the runs on so many nodes."""
    free = next(run for run in own_runs() if run.nodes == nodes and run.rate is None)
    slow, fast = 5e7, 2e10
    for _ in range(HALVINGS):
        middle = (slow * fast) ** 0.5
        takes_s = equations_s(question(free, disk_bytes_per_s=middle, engine="ideal"))
        slow, fast = (middle, fast) if takes_s > free.ideal_s else (slow, middle)
    return slow


@cache
def usual_disk_bytes_per_s() -> float:
    """Return the rate of the machine's disk on a day in the middle."""
    return median(disk_bytes_per_s(nodes) for nodes in {run.nodes for run in own_runs()})


def simulated(run: OwnRun, *, draws: int, disk: float | None = None) -> Simulation:
    """Return the simulation of a run, on a `disk` of so many bytes/s, or that of the day of the runs on its nodes."""
    asked = question(run, disk_bytes_per_s=disk or disk_bytes_per_s(run.nodes), engine="ray")
    inputs = {"catalogs": [asked.catalog], "overheads": asked.overheads}
    best = require_best(recommend(asked.request, model=asked.model, **inputs))
    return simulate_plan(asked.request, best, models=[asked.model], **inputs, draws=draws, seed=0)


def lines(draws: int) -> Iterator[str]:
    """Yield a table of the runs, and a summary."""
    yield "| run | measured | equations | simulated | its 95% | waits for |"
    yield "|---|--:|--:|--:|--:|---|"
    by_equations, by_simulation, held = [], [], 0
    for run in own_runs():
        answer = simulated(run, draws=draws)
        by_equations.append(run.equations_s / run.measured_s - 1)
        by_simulation.append(answer.p50_s / run.measured_s - 1)
        held += run.measured_s <= answer.p95_s
        waits = " then ".join(phase.bottleneck for phase in answer.phases[1:])
        yield (
            f"| {run.name} | {run.measured_s:.1f} s | {run.equations_s:.1f} s ({by_equations[-1]:+.0%}) | "
            f"{answer.p50_s:.1f} s ({by_simulation[-1]:+.0%}) | {answer.p95_s:.1f} s | {waits.replace('_', ' ')} |"
        )
    yield ""
    for name, errors in (("equations", by_equations), ("simulated", by_simulation)):
        yield (
            f"{name}: mean error {fmean(map(abs, errors)):.1%}, mean {fmean(errors):+.1%}, "
            f"{min(errors):+.0%} to {max(errors):+.0%}"
        )
    yield f"the simulation's 95% held in {held} of {len(by_simulation)}"


def phase_lines(draws: int) -> Iterator[str]:
    """Yield the errors of each phase of the trials, as a table."""
    measured: dict[tuple[OwnRun, str], list[float]] = {}
    for row in map(json.loads, TRIALS.read_text(encoding="utf-8").splitlines()):
        shape = row["shape"]
        is_usual = shape.get("store_bytes", NODE_STORE_BYTES) == NODE_STORE_BYTES
        if not is_usual or row["name"] == SAMPLE or shape["nodes"] == 1:
            continue
        run = OwnRun(
            name=f"{shape['nodes']} nodes, {shape['rate'] or 'no cap'}, {shape['data_bytes'] / 1e9:.1f} GB",
            nodes=shape["nodes"],
            rate=shape["rate"] or None,
            data_bytes=shape["data_bytes"],
            model=MODELS[shape["copies"]],
            measured_s=0.0,
            equations_s=0.0,
            ideal_s=0.0,
        )
        measured.setdefault((run, row["name"]), []).append(row["seconds"])
    yield from _beside(measured, draws)


def quiet_lines(draws: int) -> Iterator[str]:
    """Yield the errors of each phase that was measured on a quiet machine, as a table."""
    measured = {}
    for nodes, rate, data_bytes, model, phases in QUIET:
        run = OwnRun(
            name=f"{nodes} nodes, {rate}, {data_bytes / 1e9:.1f} GB",
            nodes=nodes,
            rate=rate,
            data_bytes=data_bytes,
            model=model,
            measured_s=0.0,
            equations_s=0.0,
            ideal_s=0.0,
        )
        measured |= {(run, name): [seconds] for name, seconds in phases.items()}
    yield from _beside(measured, draws)


def _beside(measured: Mapping[tuple[OwnRun, str], list[float]], draws: int) -> Iterator[str]:
    answers = {run: simulated(run, draws=draws, disk=usual_disk_bytes_per_s()) for run, _ in measured}
    yield "| run | phase | measured | equations | simulated |"
    yield "|---|---|--:|--:|--:|"
    errors: dict[str, list[tuple[float, float]]] = {}
    for (run, name), seconds in measured.items():
        phase, took_s = next(seen for seen in answers[run].phases if seen.name == name), fmean(seconds)
        pair = phase.equation_s / took_s - 1, phase.p50_s / took_s - 1
        errors.setdefault(name, []).append(pair)
        foreseen = f"{phase.equation_s:.1f} s ({pair[0]:+.0%}) | {phase.p50_s:.1f} s ({pair[1]:+.0%})"
        yield f"| {run.name}, {run.model} | {name} | {took_s:.1f} s | {foreseen} |"
    yield ""
    for name, pairs in errors.items():
        means = [(fmean(map(abs, of)), fmean(of)) for of in zip(*pairs, strict=True)]
        texts = [f"{size:.0%} (mean {bias:+.0%})" for size, bias in means]
        yield f"{name}: mean error of the equations {texts[0]}, simulated {texts[1]}, {len(pairs)} runs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    table = phase_lines if options.phases else quiet_lines if options.quiet else lines
    print("\n".join(table(options.draws)))


if __name__ == "__main__":
    main()
