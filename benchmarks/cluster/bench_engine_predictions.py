"""Does `--engine ray` foresee sorts of shapes that it was not measured on? Each is predicted before it runs.

Clusters of 2, 4, 6 and 8 emulated nodes sort five times each, with links, sizes and copies drawn by a seed. The
engine's figures are those of `models/engines/ray.toml`, from clusters of other sizes. Before a cluster is used the
machine's disk is measured. A run in which other programs took more than `--others` of the processors is done again.
What was foreseen and measured is kept in `own_runs.jsonl`, which `benchmarks/simulation/bench_emulated.py` reads. As
root:

    python benchmarks/cluster/bench_engine_predictions.py --nodes 2,4,6,8 --seed 1 --out own_runs.jsonl
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final

from engine_trials import Shape, cluster_of, generated, sorted_once

from planner.cost_model.engine_reader import load_engine
from planner.emulation.network_trial import measure_links, payload_bytes_per_s
from planner.emulation.ray import EmulatedRay
from planner.emulation.run import EmulatedRun, plan_for
from planner.emulation.shaping import parse_shaping
from planner.measure.machine import Machine, measure_machine
from planner.planning.recommendation import require_best
from planner.ray_cluster.driver_session import Session

RATES: Final = ("", "200Mbit", "300Mbit", "500Mbit", "800Mbit")
MODELS: Final = {1: "indy", 2: "daytona"}
ENGINES: Final = ("ray", "ideal")
LONGEST_S: Final = 30.0
"""Runs that are foreseen to take longer get half of the data, or less."""
SAMPLE_BYTES: Final = 512_000_000
TRIES: Final = 2
DATA_GB: Final = (0.5, 4.0)


def drawn(nodes: int, *, runs: int, seed: int) -> list[Shape]:
    """Return shapes of a cluster: every rate in turn, either number of copies, sizes even in their logarithm."""
    random_of = random.Random(f"{seed} {nodes}")
    shapes = []
    for number in range(runs):
        data = math.exp(random_of.uniform(*map(math.log, DATA_GB)))
        copies = random_of.choice(list(MODELS))
        rate = RATES[(number + nodes // 2) % len(RATES)]
        shapes.append(Shape(nodes=nodes, copies=copies, data_bytes=round(data * 1000) * 1_000_000, rate=rate))
    return shapes


def predicted(shape: Shape, machine: Machine, *, network_bytes_per_s: float, engine: str) -> dict[str, Any]:
    """Return the expected seconds of a run, its 95% and its phases, as planned with an engine."""
    run = EmulatedRun(
        data_bytes=shape.data_bytes,
        model=MODELS[shape.copies],
        nodes=shape.nodes,
        shaping=parse_shaping(rate=shape.rate or None),
        directory=Path(),
    )
    with TemporaryDirectory() as folder:
        plan = plan_for(machine, run, Path(folder), network_bytes_per_s=network_bytes_per_s, engine=load_engine(engine))
    best = require_best(plan)
    phases = {phase.name: (phase.time_s, phase.bottleneck) for phase in best.phases}
    return {"expected_s": best.time_s.expected, "p95_s": best.time_s.p95, "phases": phases}


def trials(shapes: list[Shape], *, folder: Path | None, others: float) -> Iterator[dict[str, Any]]:
    """Predict, then run each shape on one cluster; the first sort only starts processes."""
    with cluster_of(replace(shapes[0], rate=""), folder) as (cluster, session, journal):
        machine = measure_machine(journal.parent, sample_bytes=SAMPLE_BYTES)
        links = measure_links(cluster.nodes)
        warm = replace(shapes[0], data_bytes=300_000_000)
        sorted_once(cluster, session, generated(session, warm.data_bytes), shape=warm, journal=journal)
        for wanted in shapes:
            shape = wanted
            caps = parse_shaping(rate=shape.rate or None).draws(shape.nodes).draw()
            rate = payload_bytes_per_s(caps[0].bytes_per_s) if caps[0] else links
            shape, foreseen = short_enough(shape, machine, network_bytes_per_s=rate)
            print(f"{describe(shape)}: predicted {foreseen['ray']['expected_s']:.1f} s", flush=True)
            cluster.nodes.cap(caps)
            seen = {"machine": machine.to_dict(), "network_bytes_per_s": rate}
            yield seen | foreseen | measured(cluster, session, shape, journal=journal, others=others)


def short_enough(shape: Shape, machine: Machine, *, network_bytes_per_s: float) -> tuple[Shape, dict[str, Any]]:
    """Return a shape, with less data if it would take long, and what each engine says of it."""
    while True:
        foreseen = {
            name: predicted(shape, machine, network_bytes_per_s=network_bytes_per_s, engine=name) for name in ENGINES
        }
        if foreseen["ray"]["expected_s"] <= LONGEST_S or shape.data_bytes < 2e9 * DATA_GB[0]:
            return shape, foreseen
        shape = replace(shape, data_bytes=shape.data_bytes // 2)


def measured(cluster: EmulatedRay, session: Session, shape: Shape, *, journal: Path, others: float) -> dict[str, Any]:
    """Sort and return the seconds of the phases, of the last try."""
    source = generated(session, shape.data_bytes)
    for _ in range(TRIES):
        costs = sorted_once(cluster, session, source, shape=shape, journal=journal)
        seconds = sum(cost.seconds for cost in costs)
        disturbed = costs[0].others_cpu_s / seconds / (os.cpu_count() or 1)
        if disturbed <= others:
            break
        print(f"  others took {disturbed:.0%} of the processors: again", flush=True)
    phases = {cost.name: cost.seconds for cost in costs}
    return {"shape": asdict(shape), "measured_s": seconds, "others": disturbed, "phases_s": phases}


def describe(shape: Shape) -> str:
    links = shape.rate or "no cap"
    return f"{shape.nodes} nodes, {links}, {shape.data_bytes / 1e9:.2f} GB, {MODELS[shape.copies]}"


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how far predictions were off, and how often the 95% held, by engine."""
    for engine in ENGINES:
        errors = [row[engine]["expected_s"] / row["measured_s"] - 1 for row in rows]
        held = sum(row["measured_s"] <= row[engine]["p95_s"] for row in rows)
        yield (
            f"{engine}: mean error {fmean(map(abs, errors)):.1%} ({min(errors):+.0%} to {max(errors):+.0%}, mean "
            f"{fmean(errors):+.1%}), the 95% held in {held} of {len(rows)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="2,4,6,8")
    parser.add_argument("--runs", type=int, default=5, help="on a cluster of each size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--others", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=None, help="append what was predicted and measured to this file")
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for nodes in map(int, options.nodes.split(",")):
        shapes = drawn(nodes, runs=options.runs, seed=options.seed)
        for row in trials(shapes, folder=options.dir, others=options.others):
            rows.append(row)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            foreseen, seconds = row["ray"]["expected_s"], row["measured_s"]
            print(f"  measured {seconds:.1f} s, predicted / measured {foreseen / seconds:.2f}", flush=True)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
