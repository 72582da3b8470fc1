"""Does `--engine ray` predict sorts of shapes that it was not measured on? Each is predicted before it runs.

Clusters of 2, 4, 6 and 8 emulated nodes sort five shapes each, with links, sizes and copies drawn by a seed, and two
more: one behind token buckets, and one with a slow link. The engine's figures are those of `models/engines/ray.toml`,
from clusters of other sizes. Before a cluster is used the machine's disk is measured. Each shape is sorted once to
touch memory, as for the engine's figures, and then `--sorts` times, of which the medians count. A run in which other
programs took more than `--others` of the processors is repeated. Predictions and measurements are appended to a file,
as `own_runs.jsonl` is, which `benchmarks/simulation/bench_emulated.py` reads. As root:

python benchmarks/cluster/bench_engine_predictions.py --nodes 2,4,6,8 --seed 1 --out own_runs.jsonl

With `--forms` log lines, CSV and Parquet take turns instead of records, without disturbed links.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any, Final

import psutil
from engine_trials import PhaseCost, Shape, cluster_of, generated, sorted_once
from measured_question import measured_question
from sales_inputs import FORMS, sales
from sort_disk import sort_disk

from planner.clusters.emulated.network_trial import measure_links, payload_bytes_per_s
from planner.clusters.emulated.ray import EmulatedRay
from planner.clusters.emulated.run import EmulatedRun
from planner.clusters.ray.driver_session import Session
from planner.cost_model.model_reader import load_engine
from planner.distributed_sort.dataset.dataset import Dataset
from planner.measurement.instruments.machine import LocalMachine, measure_machine
from planner.planning.recommendation import require_best

RATES: Final = ("", "200Mbit", "300Mbit", "500Mbit", "800Mbit")
MODELS: Final = {1: "indy", 2: "daytona"}
ENGINES: Final = ("ray", "ideal")
LONGEST_S: Final = 20.0
"""Runs with a longer prediction get half of the data, or less."""
SAMPLE_BYTES: Final = 512_000_000
TRIES: Final = 2
DATA_GB: Final = (0.5, 4.0)
DATA_GB_OF_FORMS: Final = (0.25, 1.0)


def drawn(nodes: int, *, runs: int, seed: int, forms: Sequence[str]) -> list[Shape]:
    """Return shapes of a cluster: rates and forms in turn, either number of copies, sizes evenly spread in
    their log.
    """
    random_of = random.Random(f"{seed} {nodes}")
    shapes = []
    for number in range(runs):
        data = math.exp(random_of.uniform(*map(math.log, DATA_GB_OF_FORMS if forms else DATA_GB)))
        copies = random_of.choice(list(MODELS))
        rate = RATES[(number + nodes // 2) % len(RATES)]
        form = forms[number % len(forms)] if forms else "records"
        data_bytes = round(data * 1000) * 1_000_000
        shapes.append(Shape(nodes=nodes, copies=copies, data_bytes=data_bytes, rate=rate, form=form))
    return shapes if forms else shapes + list(disturbed(nodes, random_of))


def disturbed(nodes: int, random_of: random.Random) -> Iterator[Shape]:
    """Yield a shape behind token buckets of an eighth to a half of a node's data, and one whose last link has 0.4 to
    0.7 of the others' rate.
    """
    for kind in ("bucket", "slow"):
        data_bytes = round(random_of.uniform(0.8, 2.0) * 1000) * 1_000_000
        rate = random_of.choice((200, 300, 400))
        shape = Shape(nodes=nodes, copies=random_of.choice(list(MODELS)), data_bytes=data_bytes, rate=f"{rate}Mbit")
        if kind == "bucket":
            size = data_bytes / nodes * random_of.uniform(0.125, 0.5)
            yield replace(shape, bucket=f"{size / 1e6:.0f}MB", burst_rate=f"{2 * rate}Mbit")
        else:
            slow = f"{rate * random_of.uniform(0.4, 0.7):.0f}Mbit"
            yield replace(shape, rate=",".join([*[shape.rate] * (nodes - 1), slow]))


def predicted(
    shape: Shape, machine: LocalMachine, *, network_bytes_per_s: float, engine: str, source: Dataset | None = None
) -> dict[str, Any]:
    """Return the expected seconds of a run, its 95% value and its phases, as planned with an engine."""
    run = EmulatedRun(
        data_bytes=shape.data_bytes,
        model=MODELS[shape.copies],
        nodes=shape.nodes,
        shaping=shape.shaping(),
        directory=Path(),
        source=source,
    )
    with TemporaryDirectory() as folder:
        rate, measured = network_bytes_per_s, load_engine(engine)
        best = require_best(
            measured_question(machine, run, Path(folder), network_bytes_per_s=rate, engine=measured).plan()
        )
    phases = {phase.name: (phase.time_s, phase.bottleneck) for phase in best.phases}
    return {"expected_s": best.time_s.expected, "p95_s": best.time_s.p95, "phases": phases}


def trials(shapes: list[Shape], *, folder: Path | None, sorts: int, others: float) -> Iterator[dict[str, Any]]:
    """Predict, then run each shape on one cluster; with several rates the slowest link decides, at its own rate."""
    with cluster_of(replace(shapes[0], rate=""), folder) as (cluster, session, journal):
        machine = measure_machine(journal.parent, sample_bytes=SAMPLE_BYTES)
        disk, links = sort_disk(journal.parent), measure_links(cluster.nodes)
        for wanted in shapes:
            rates = [payload_bytes_per_s(cap.bytes_per_s) if cap else links for cap in wanted.caps()]
            shape, forecast = short_enough(wanted, machine, network_bytes_per_s=min(rates))
            if shape.form == "records":
                source = generated(cluster, session, shape)
            else:
                made = sales(cluster, shape.form, shape.data_bytes)
                source = {"dataset": json.loads(made.to_json()), "checksum": None}
                shape = replace(shape, data_bytes=made.bytes)
                foresee = partial(predicted, shape, machine, network_bytes_per_s=min(rates), source=made)
                forecast = {name: foresee(engine=name) for name in ENGINES}
            print(f"{describe(shape)}: predicted {forecast['ray']['expected_s']:.1f} s", flush=True)
            seen = {"machine": machine.to_dict(), "disk": disk, "network_bytes_per_s": rates}
            sort = partial(capped_and_sorted, cluster, session, shape=shape, journal=journal, others=others)
            yield seen | forecast | measured(sort, shape, source, sorts=sorts)


def short_enough(shape: Shape, machine: LocalMachine, *, network_bytes_per_s: float) -> tuple[Shape, dict[str, Any]]:
    """Return a shape, with less data if it would take long, and each engine's prediction."""
    while True:
        forecast = {
            name: predicted(shape, machine, network_bytes_per_s=network_bytes_per_s, engine=name) for name in ENGINES
        }
        if forecast["ray"]["expected_s"] <= LONGEST_S or shape.data_bytes < 2e9 * DATA_GB[0]:
            return shape, forecast
        shape = replace(shape, data_bytes=shape.data_bytes // 2)


def measured(
    sort: Callable[[dict[str, Any]], list[PhaseCost]], shape: Shape, source: dict[str, Any], *, sorts: int
) -> dict[str, Any]:
    """Sort once, and then several times; return the median seconds of the phases, with all counters."""
    first = sort(source)
    available_bytes = psutil.virtual_memory().available
    runs = [sort(source) for _ in range(sorts)]
    names = [cost.name for cost in first]
    each = {name: [cost.seconds for costs in runs for cost in costs if cost.name == name] for name in names}
    return {
        "name": describe(shape),
        "shape": asdict(shape),
        "available_bytes": available_bytes,
        "measured_s": median(sum(cost.seconds for cost in costs) for costs in runs),
        "phases_s": {name: median(seconds) for name, seconds in each.items()},
        "each_s": each,
        "first_s": {cost.name: cost.seconds for cost in first},
        "cpu_s": {name: median(busy_s(costs, name) for costs in runs) for name in names},
    }


def busy_s(costs: list[PhaseCost], name: str) -> float:
    """Return the processor seconds of all nodes and the head in a phase."""
    return sum(cost.nodes_cpu_s + cost.head_cpu_s for cost in costs if cost.name == name)


def capped_and_sorted(
    cluster: EmulatedRay, session: Session, source: dict[str, Any], *, shape: Shape, journal: Path, others: float
) -> list[PhaseCost]:
    """Sort behind links with full buckets; repeat if other programs took much of the processors."""
    for _ in range(TRIES):
        cluster.nodes.cap(shape.caps())
        costs = sorted_once(cluster, session, source, shape=shape, journal=journal)
        taken = costs[0].others_cpu_s / sum(cost.seconds for cost in costs) / (os.cpu_count() or 1)
        if taken <= others:
            break
        print(f"  others took {taken:.0%} of the processors: again", flush=True)
    return costs


def describe(shape: Shape) -> str:
    """Return a shape in words."""
    first, *_, last = [*shape.rate.split(","), shape.rate.split(",")[-1]]
    links = (first or "no cap") + (f", one {last}" if last != first else "")
    links += f", at first {shape.burst_rate} for {shape.bucket}" if shape.bucket else ""
    return f"{shape.nodes} nodes, {links}, {shape.data_bytes / 1e9:.2f} GB, {MODELS[shape.copies]}, {shape.form}"


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the errors of predictions, and how often the 95% value held, by engine."""
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
    parser.add_argument("--forms", action="store_true", help="lines, CSV and Parquet instead of records")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sorts", type=int, default=3, help="of each shape, beside the first")
    parser.add_argument("--others", type=float, default=0.05)
    parser.add_argument("--out", type=Path, default=None, help="append what was predicted and measured to this file")
    parser.add_argument("--dir", type=Path, default=None)
    options = parser.parse_args()
    rows = []
    for nodes in map(int, options.nodes.split(",")):
        forms = FORMS if options.forms else ()
        shapes = drawn(nodes, runs=options.runs, seed=options.seed, forms=forms)
        for row in trials(shapes, folder=options.dir, sorts=options.sorts, others=options.others):
            rows.append(row)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            forecast, seconds = row["ray"]["expected_s"], row["measured_s"]
            print(f"  measured {seconds:.1f} s, predicted / measured {forecast / seconds:.2f}", flush=True)
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
