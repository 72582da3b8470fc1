"""Simulation of this project's sort of 1 PB on 1,000 nodes and 10 PB on 10,000, with its driver and without.

The driver's share is zero in the second and fourth row: the gain from a driver that manages groups of nodes only. It
prints the processor seconds of each simulation.

python benchmarks/simulation/bench_petabyte.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from planner.api.request_inputs import inputs_of
from planner.cost_model.engine import Engine
from planner.planning.recommendation import recommend, require_best
from planner.schemas.plan import Request
from planner.simulation.simulate import simulate_plan

SHAPES: Final = ((1_000, 10**15), (10_000, 10**16))
TYPE: Final = "i8g.8xlarge"


def without_driver(engine: Engine) -> Engine:
    """Return an engine whose tasks take no time of its driver."""
    nothing = {"driver_s": 0.0, "driver_parcel_s": 0.0, "driver_per_node_s": 0.0}
    return replace(engine, tasks={name: replace(cost, **nothing) for name, cost in engine.tasks.items()})


def lines(draws: int) -> Iterator[str]:
    """Yield a table."""
    yield "| cluster | driver | equations | simulated | its 95% | waits for | processor seconds |"
    yield "|---|---|--:|--:|--:|---|--:|"
    for nodes, data_bytes in SHAPES:
        asked = Request(data_bytes=data_bytes, model="indy", catalogs=("aws",), instances=(TYPE,), nodes=nodes)
        request, given = inputs_of(asked)
        for driven in (True, False):
            models = [m if driven else replace(m, engine=without_driver(m.engine)) for m in given.models]
            inputs = {"catalogs": given.catalogs, "overheads": given.overheads}
            best = require_best(recommend(request, model=models, **inputs))
            begun_s = time.process_time()
            answer = simulate_plan(request, best, models=models, **inputs, draws=draws, seed=0)
            spent_s = time.process_time() - begun_s
            waits = " then ".join(phase.bottleneck.replace("_", " ") for phase in answer.phases)
            yield (
                f"| {data_bytes / 1e15:.0f} PB on {nodes:,} x {TYPE} | {'as it is' if driven else 'none'} | "
                f"{best.time_s.p50 / 60:,.0f} min | {answer.p50_s / 60:,.0f} min | {answer.p95_s / 60:,.0f} min | "
                f"{waits} | {spent_s:.1f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    print("\n".join(lines(parser.parse_args().draws)))


if __name__ == "__main__":
    main()
