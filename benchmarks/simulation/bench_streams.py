"""What one task reads and writes in a second on emulated nodes, from sorts on one node, which no other check uses.

A task that reads or writes is one stream. On a single node three of them at most are under way, and they, not the disk,
decide how long a phase takes. So the rate of a stream is the one at which one node's sorts of `engine_trials.jsonl` are
simulated as long as they took: those figures are in `models/engines/ray.toml`.

    python benchmarks/simulation/bench_streams.py
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean, geometric_mean
from typing import Any, Final

from bench_emulated import TRIALS, OwnRun, question

from planner.cost_model.engine import Engine
from planner.measure.machine import Machine
from planner.planning.recommendation import recommend, require_best
from planner.simulation.simulate import simulate_plan

PHASES: Final = {"map and shuffle": "partition", "sort and reduce": "sort"}
HALVINGS: Final = 14
SLOWEST, FASTEST = 5e7, 1e10
NO_LINK_BYTES_PER_S: Final = 1e12
"""Nothing leaves a lone node."""


def trials() -> Iterator[dict[str, Any]]:
    """Yield the phases of sorts on one node."""
    for row in map(json.loads, TRIALS.read_text(encoding="utf-8").splitlines()):
        if row["shape"]["nodes"] == 1 and row["name"] in PHASES:
            yield row


def measured() -> dict[int, dict[str, float]]:
    """Return the seconds of each phase, by bytes of data."""
    seconds: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in trials():
        seconds[row["shape"]["data_bytes"]][row["name"]].append(row["seconds"])
    return {size: {name: fmean(each) for name, each in phases.items()} for size, phases in seconds.items()}


def simulated(data_bytes: int, machine: Machine, rates: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each phase on one node whose tasks read and write at such rates."""
    run = OwnRun(
        nodes=1,
        rate=None,
        data_bytes=data_bytes,
        model="indy",
        machine=machine,
        network_bytes_per_s=NO_LINK_BYTES_PER_S,
    )
    asked = question(run, engine="ray")
    model = replace(asked.model, engine=with_streams(asked.model.engine, rates))
    inputs = {"catalogs": [asked.catalog], "overheads": asked.overheads}
    best = require_best(recommend(asked.request, model=model, **inputs))
    answer = simulate_plan(asked.request, best, models=[model], **inputs, draws=1, seed=0)
    return {phase.name: phase.p50_s for phase in answer.phases}


def with_streams(engine: Engine, rates: dict[str, float]) -> Engine:
    given = {f"{PHASES[name]}_stream_bytes_per_s": rate for name, rate in rates.items()}
    return replace(engine, emulated=replace(engine.emulated, **given))


def main() -> None:
    took, machine = measured(), Machine(**next(trials())["machine"])
    slow, fast = dict.fromkeys(PHASES, SLOWEST), dict.fromkeys(PHASES, FASTEST)
    for _ in range(HALVINGS):
        middle = {name: (slow[name] * fast[name]) ** 0.5 for name in PHASES}
        answers = {size: simulated(size, machine, middle) for size in took}
        for name in PHASES:
            too_slow = geometric_mean([answers[size][name] / took[size][name] for size in took]) > 1
            (slow if too_slow else fast)[name] = middle[name]
    for name in PHASES:
        off = ", ".join(f"{size / 1e9:.1f} GB {answers[size][name] / took[size][name] - 1:+.0%}" for size in took)
        print(f"{name}: {middle[name]:.3g} bytes/s; simulated beside measured: {off}")


if __name__ == "__main__":
    main()
