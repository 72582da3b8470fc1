"""What a simulation answers: each phase's range, what its tasks wait for, and one run in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from planner.schemas.json_values import from_jsonable
from planner.simulation.timeline import Timeline


@dataclass(frozen=True, kw_only=True)
class PhaseRange:
    """A phase over all draws, beside its `equation_s`; `waits` has what share of its tasks wait for each resource."""

    name: str
    equation_s: float
    p50_s: float
    p95_s: float
    waits: dict[str, float]
    bottleneck: str


@dataclass(frozen=True, kw_only=True)
class LossCost:
    """The same runs with so many `nodes` lost at a `share` of their time; `times` is how much longer, in the median."""

    nodes: int
    share: float
    p50_s: float
    p95_s: float
    times: float


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """So many `draws` of one cluster's sort, beside what the equations say of the same (`planned`).

    `breaks_first` is what the whole run waits for most. `timelines` are those of the draw in the middle, by phase.
    """

    cluster: str
    nodes: int
    draws: int
    seed: int
    p50_s: float
    p95_s: float
    planned_p50_s: float
    planned_p95_s: float
    phases: tuple[PhaseRange, ...]
    breaks_first: str
    timelines: Mapping[str, Timeline] = field(default_factory=dict)
    loss: LossCost | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the timelines' spans."""
        plain = asdict(self)
        del plain["timelines"]
        return plain

    @classmethod
    def beside_plan(cls, text: str) -> Simulation | None:
        """Return the simulation that a plan's JSON has, without its timelines. Raises BadInputError."""
        if (document := json.loads(text).get("simulation")) is None:
            return None
        simulation: Simulation = from_jsonable(cls, document, where="simulation")
        return simulation
