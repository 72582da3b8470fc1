"""An idle phase, for tests to fill in."""

from __future__ import annotations

from typing import Final

from planner.simulation.phase_work import PhaseWork

IDLE: Final = PhaseWork(
    name="",
    read_s={},
    write_s={},
    both_ways=frozenset(),
    compute_s=0.0,
    move_s=0.0,
    block_s=0.0,
    exchanged_bytes=0.0,
    in_bytes=0.0,
    out_bytes=0.0,
    spread=0.0,
    driver_s=0.0,
    order_s=0.0,
    driver_core_s=0.0,
    requests_s=0.0,
    fixed_s={},
    tasks=None,
)
