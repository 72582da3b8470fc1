"""When to simulate a plan: where sorts of its shape, simulated beforehand, did not take what the equations say."""

from __future__ import annotations

from collections.abc import Iterator

from planner.catalog.shipped_tables import nearest_gap
from planner.cost_model.stated_bursts import stated_burst_bytes_per_s
from planner.cost_model.workload import JobContext


def simulation_advice(context: JobContext, *, nodes: int) -> Iterator[str]:
    """Yield a warning where `--simulate` is likely to say other times than the planned range."""
    engine = context.model.engine
    if engine.sizes is None or engine.shares_processors or nodes < 2:  # no tasks, or no cluster like those of the table
        return
    burst = stated_burst_bytes_per_s(context, nodes)
    gap = nearest_gap(
        model=context.model.name,
        links="steady" if burst is None else "bursting",
        nodes=nodes,
        node_bytes=context.job.map_in / nodes,
    )
    if gap is not None and gap.is_beyond_range:
        why = "" if burst is None else f": links carry {burst / 1e9:.3g} GB/s at first, and the plan takes the baseline"
        yield f"equations: like sorts, simulated, took {gap.simulated_over_p50:.2g} times as long{why}; try --simulate"
