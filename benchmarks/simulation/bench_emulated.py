"""Does the simulation predict the emulated runs better than the equations do? Each of `own_runs.jsonl` is simulated.

The equations predicted each of those runs in advance (`benchmarks/cluster/bench_engine_predictions.py`), with the rates
of this machine's disk and links at the time. None of the runs contributed to `models/engines/ray.toml`.

python benchmarks/simulation/bench_emulated.py
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

CLUSTER: Final = Path(__file__).resolve().parents[1] / "cluster"
sys.path.insert(0, str(CLUSTER))  # the shapes of the runs

from bench_engine_predictions import MODELS  # noqa: E402
from engine_trials import Shape  # noqa: E402
from measured_question import measured_question  # noqa: E402

from planner.clusters.emulated.network_trial import payload_bytes_per_s  # noqa: E402
from planner.clusters.emulated.run import EmulatedRun, Question  # noqa: E402
from planner.clusters.emulated.sort_trial import SAMPLE  # noqa: E402
from planner.cost_model.model import CostModel  # noqa: E402
from planner.cost_model.model_reader import load_engine  # noqa: E402
from planner.measurement.instruments.machine import LocalMachine  # noqa: E402
from planner.planning.recommendation import recommend, require_best  # noqa: E402
from planner.simulation.machines import Machines, NodeGroup, machines_of  # noqa: E402
from planner.simulation.phase_work import at_full_rate, phase_work  # noqa: E402
from planner.simulation.simulate import draw_runs, simulation_context  # noqa: E402
from planner.simulation.sort_job import simulate_job  # noqa: E402

OWN_RUNS: Final = CLUSTER / "own_runs.jsonl"


@dataclass(frozen=True, kw_only=True)
class OwnRun:
    """A sorted shape, its disk, and the rate of each node's link once its bucket is empty."""

    shape: Shape
    machine: LocalMachine
    links_bytes_per_s: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Simulated medians of each phase's seconds, and of the total, with the total's 95% value."""

    phases_s: dict[str, float]
    p50_s: float
    p95_s: float


def own_rows() -> list[dict[str, Any]]:
    """Return the stored rows of all runs."""
    return [json.loads(line) for line in OWN_RUNS.read_text(encoding="utf-8").splitlines()]


def run_of(row: dict[str, Any]) -> OwnRun:
    """Return the run of a row, with the disk as the sort finds it. Each node gets the memory that was available when
    the sort began, plus the memory that the engine assumes for a node's processes.
    """
    shape, ray = Shape(**row["shape"]), load_engine("ray")
    memory_bytes = row["available_bytes"] + shape.nodes * ray.memory_node_bytes
    return OwnRun(
        shape=shape,
        machine=replace(LocalMachine(**row["machine"]), **row["disk"], memory_bytes=round(memory_bytes)),
        links_bytes_per_s=tuple(row["network_bytes_per_s"]),
    )


def usual_machine() -> LocalMachine:
    """Return the machine's state before the middle run by disk write rate."""
    machines = sorted((run_of(row).machine for row in own_rows()), key=lambda seen: seen.write_bytes_per_s)
    return machines[len(machines) // 2]


def question(run: OwnRun) -> Question:
    """Return the question about a run, with the fastest link for all of them."""
    shape = run.shape
    emulated = EmulatedRun(
        data_bytes=shape.data_bytes,
        model=MODELS[shape.copies],
        nodes=shape.nodes,
        shaping=shape.shaping(),
        directory=Path(),
    )
    rate = max(run.links_bytes_per_s)
    with TemporaryDirectory() as folder:
        asked = measured_question(
            run.machine, emulated, Path(folder), network_bytes_per_s=rate, engine=load_engine("ray")
        )
    return replace(asked, model=_from_memory(asked.model))


def _from_memory(model: CostModel) -> CostModel:
    """Return a model that reads its input from no disk: the previous sort left it in the page cache."""
    phases = [
        replace(phase, read={group: moved for group, moved in phase.read.items() if group != "data"})
        for phase in model.phases
    ]
    return replace(model, phases=tuple(phases))


def simulated(run: OwnRun, *, draws: int) -> Predicted:
    """Return the prediction for a run from this number of draws."""
    asked = question(run)
    inputs = {"catalogs": [asked.catalog], "overheads": asked.overheads}
    best = require_best(recommend(asked.request, model=asked.model, **inputs))
    context = at_full_rate(simulation_context(asked.request, best, models=[asked.model], **inputs))
    machines = with_bucket(machines_of(context, best.nodes), run.shape)
    works = [phase_work(context, phase, best.nodes, machines) for phase in context.model.phases]
    each: dict[str, list[float]] = {}
    for draw in draw_runs(context, works, machines, best=best, draws=draws, seed=0):
        for phase in simulate_job(works, with_links(draw.groups, run.links_bytes_per_s), machines):
            each.setdefault(phase.name, []).append(draw.factor * phase.seconds)
    totals = sorted(map(sum, zip(*each.values(), strict=True)))
    return Predicted(
        phases_s={name: median(seconds) for name, seconds in each.items()},
        p50_s=median(totals),
        p95_s=totals[min(len(totals) - 1, round(0.95 * len(totals)))],
    )


def with_bucket(machines: Machines, shape: Shape) -> Machines:
    """Return machines whose links have the bucket of a shape."""
    cap = shape.caps()[0]
    if cap is None or cap.bucket is None:
        return machines
    burst_bytes_per_s, bucket_bytes = map(payload_bytes_per_s, (cap.bucket.burst_bytes_per_s, cap.bucket.size_bytes))
    return machines.with_bucket(burst_bytes_per_s=burst_bytes_per_s, bucket_bytes=bucket_bytes)


def with_links(groups: list[NodeGroup], links_bytes_per_s: tuple[float, ...]) -> list[NodeGroup]:
    """Return separate nodes, each with its own link."""
    fastest = max(links_bytes_per_s)
    return [
        replace(group, slowness={**group.slowness, "network": group.slowness_of("network") * fastest / rate})
        for group, rate in zip(groups, links_bytes_per_s, strict=True)
    ]


def lines(draws: int) -> Iterator[str]:
    """Yield a table of the runs and one of their phases, each with a summary."""
    rows = own_rows()
    answers = [simulated(run_of(row), draws=draws) for row in rows]
    yield "| run | measured | equations before the run | simulated | its 95% |"
    yield "|---|--:|--:|--:|--:|"
    pairs, held = list[tuple[float, float]](), 0
    for row, answer in zip(rows, answers, strict=True):
        took_s, predicted_s = row["measured_s"], row["ray"]["expected_s"]
        pairs.append((predicted_s / took_s - 1, answer.p50_s / took_s - 1))
        held += took_s <= answer.p95_s
        figures = f"{_compared(predicted_s, took_s)} | {_compared(answer.p50_s, took_s)} | {answer.p95_s:.1f} s"
        yield f"| {row['name']} | {took_s:.1f} s | {figures} |"
    yield from ("", f"{_errors(pairs)}; the simulation's 95% held in {held} of {len(rows)}", "")
    yield from phase_lines(rows, answers)


def phase_lines(rows: list[dict[str, Any]], answers: list[Predicted]) -> Iterator[str]:
    """Yield a table of each run's phases but for the sample, and a summary of each phase."""
    yield "| run | phase | measured | equations | simulated |"
    yield "|---|---|--:|--:|--:|"
    pairs: dict[str, list[tuple[float, float]]] = {}
    for row, answer in zip(rows, answers, strict=True):
        for name, simulated_s in answer.phases_s.items():
            if name == SAMPLE:
                continue
            took_s, equation_s = row["phases_s"][name], row["ray"]["phases"][name][0]
            pairs.setdefault(name, []).append((equation_s / took_s - 1, simulated_s / took_s - 1))
            spread = f"{min(row['each_s'][name]):.1f}-{max(row['each_s'][name]):.1f}"
            figures = f"{_compared(equation_s, took_s)} | {_compared(simulated_s, took_s)}"
            yield f"| {row['name']} | {name} | {took_s:.1f} s ({spread}) | {figures} |"
    yield ""
    yield from (f"{name}: {_errors(of)}" for name, of in pairs.items())


def _compared(predicted_s: float, took_s: float) -> str:
    return f"{predicted_s:.1f} s ({predicted_s / took_s - 1:+.0%})"


def _errors(pairs: list[tuple[float, float]]) -> str:
    """Return the errors of equations and simulation in words."""
    texts = [f"{fmean(map(abs, of)):.1%} (mean {fmean(of):+.1%})" for of in zip(*pairs, strict=True)]
    return f"mean error of the equations {texts[0]}, simulated {texts[1]}, {len(pairs)} runs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    print("\n".join(lines(options.draws)))


if __name__ == "__main__":
    main()
