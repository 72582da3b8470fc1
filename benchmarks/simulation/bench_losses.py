"""Simulated cost of lost and slow nodes: compared with the emulated kills, and on clusters of 178 and 1,000 nodes.

The kills are those of `benchmarks/cluster/bench_kills.py`: two copies of 1.6 GB on four nodes behind 400 Mbit/s.

python benchmarks/simulation/bench_losses.py
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Final

from bench_emulated import OwnRun, Shape, question, usual_machine

from planner import Recommendation, recommend
from planner.clusters.emulated.network_trial import payload_bytes_per_s
from planner.planning.recommendation import recommend as plan_again
from planner.planning.recommendation import require_best
from planner.simulation.losses import Loss
from planner.simulation.simulate import simulate_plan

KILLS: Final = OwnRun(
    shape=Shape(nodes=4, copies=2, data_bytes=1_600_000_000, rate="400Mbit"),
    machine=usual_machine(),
    links_bytes_per_s=(payload_bytes_per_s(50e6),) * 4,
)
MOMENTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
LARGE: Final = ((178, "100TB"), (1000, "1PB"))
RACK: Final = 16
"""Nodes lost together."""
SLOW: Final = {"links 1.5 times as long": "network:{}@1.5", "links twice": "network:{}@2", "everything twice": "{}@2"}


def emulated(draws: int) -> Iterator[str]:
    """Yield the simulated costs of the emulated kills."""
    asked = question(KILLS)
    inputs = {"catalogs": [asked.catalog], "overheads": replace(asked.overheads, shared_sigma=0.0)}
    best = require_best(plan_again(asked.request, model=asked.model, **inputs))
    times = []
    for share in MOMENTS:
        answer = simulate_plan(
            asked.request, best, models=[asked.model], **inputs, draws=draws, seed=0, loss=Loss(nodes=1, share=share)
        )
        times.append(answer.loss.times if answer.loss else 1.0)
    yield f"undisturbed {answer.p50_s:.1f} s; a node lost at {row_of(MOMENTS, '{:.0%}')} of it: {row_of(times)} times"
    yield f"median {median(times):.2f} ({min(times):.2f}-{max(times):.2f})"


def row_of(values: Iterator[float] | tuple[float, ...] | list[float], form: str = "{:.2f}") -> str:
    """Return numbers in a row."""
    return ", ".join(form.format(value) for value in values)


def large(draws: int) -> Iterator[str]:
    """Yield a table of the cost of losses in large clusters: a node, a rack of 16, a twentieth of all."""
    yield "| nodes | lost | undisturbed | " + " | ".join(f"at {share:.0%}" for share in MOMENTS) + " |"
    yield "|--:|--:|--:|" + "--:|" * len(MOMENTS)
    for answer, nodes in clusters():
        for lost in sorted({1, RACK, nodes // 20}):
            runs = [answer.simulate(draws=draws, lose=f"{lost}@{share:.0%}") for share in MOMENTS]
            times = " | ".join(f"{run.loss.times:.2f}" for run in runs if run.loss)
            yield f"| {nodes:,} | {lost} | {runs[0].p50_s / 60:.0f} min | {times} |"


def slow(draws: int) -> Iterator[str]:
    """Yield a table of the cost of slow nodes that stay in large clusters."""
    yield "| nodes | slow | " + " | ".join(SLOW) + " |"
    yield "|--:|---|" + "--:|" * len(SLOW)
    for answer, nodes in clusters():
        for who in ("1", "10%"):
            costs = [answer.simulate(draws=draws, slow=how.format(who)).slow for how in SLOW.values()]
            yield f"| {nodes:,} | {who} | " + " | ".join(f"{cost.times:.2f}" for cost in costs if cost) + " |"


def clusters() -> Iterator[tuple[Recommendation, int]]:
    """Yield plans of large clusters."""
    for nodes, data in LARGE:
        yield recommend(data, model="daytona", instance="i8g.8xlarge", nodes=nodes), nodes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    draws = parser.parse_args().draws
    print("\n".join([*emulated(draws), "", *large(draws), "", *slow(draws)]))


if __name__ == "__main__":
    main()
