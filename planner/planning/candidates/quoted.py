"""A cluster's sort in the units that the field quotes: TB/min, MB/s per node, dollars a terabyte, records a joule."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from planner.schemas.plan import Candidate, Quoted

_RECORD_BYTES: Final = 100
"""The sort benchmark's, also where the records of a job are others: figures are compared by it."""


def with_quoted(candidate: Candidate, *, data_bytes: float) -> Candidate:
    """Return the candidate with its expected time, cost and energy for `data_bytes` of input in the field's units."""
    seconds, terabytes = candidate.time_s.expected, data_bytes / 1e12
    if not seconds:
        return candidate
    energy = candidate.energy_j
    quoted = Quoted(
        tb_per_min=terabytes / (seconds / 60),
        mb_per_s_per_node=data_bytes / 1e6 / seconds / candidate.nodes,
        usd_per_tb=candidate.cost_usd.expected / terabytes,
        usd_per_tb_total=candidate.cost_usd.total / terabytes,
        records_per_j=data_bytes / _RECORD_BYTES / energy if energy else None,
    )
    return replace(candidate, quoted=quoted)
