"""The result of a simulation: each phase's range, the waits of its tasks, and one run in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from planner.errors import BadInputError
from planner.schemas.door import checked
from planner.schemas.json_values import from_jsonable, read_versioned
from planner.simulation.timeline import Span, Timeline


@dataclass(frozen=True, kw_only=True)
class PhaseRange:
    """A phase over all draws, with its `equation_s`; `waits` is the share of its tasks that wait for each resource."""

    name: str
    equation_s: float
    p50_s: float
    p95_s: float
    waits: dict[str, float]
    bottleneck: str


@dataclass(frozen=True, kw_only=True)
class LossCost:
    """The same runs with `nodes` nodes lost at a `share` of their time; `times` is the median ratio of run times."""

    nodes: int
    share: float
    p50_s: float
    p95_s: float
    times: float


@dataclass(frozen=True, kw_only=True)
class SlowCost:
    """The same runs with `nodes` nodes that take `factor` times as long for a `resource`, '' for everything."""

    nodes: int
    factor: float
    resource: str
    p50_s: float
    p95_s: float
    times: float


@dataclass(frozen=True, kw_only=True)
class SpotCost:
    """The same runs on spot machines, with `taken_back` reclaimed in an average run; `times` is the mean ratio of run
    times.
    """

    taken_back: float
    p50_s: float
    p95_s: float
    times: float


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """The `draws` of one cluster's sort, with the prediction of the equations (`planned`).

    `breaks_first` is the resource that the whole run waits for most. `timelines` are those of the median draw, by
    phase. `burst_bytes_per_s` is the rate at which links begin here while the equations count their baseline alone; 0
    where both count the same.
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
    slow: SlowCost | None = None
    spot: SpotCost | None = None
    burst_bytes_per_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the simulation as plain values; `timeline` has the spans of each group of nodes, by phase."""
        plain = asdict(self)
        timelines = plain.pop("timelines")
        return plain | {
            "time_s": {"p50": plain.pop("p50_s"), "p95": plain.pop("p95_s")},
            "first_limit": plain.pop("breaks_first"),
            "timeline": {
                phase: {
                    "waits": timeline["waits"],
                    "groups": [{"nodes": nodes, "spans": list(spans)} for nodes, spans in timeline["groups"]],
                }
                for phase, timeline in timelines.items()
            },
        }

    @classmethod
    @checked
    def from_plan_json(cls, text: str) -> Simulation | None:
        """Return the simulation in a plan's JSON. Raises BadInputError."""
        if (document := read_versioned(text, what="plan").get("simulation")) is None:
            return None
        try:
            shown = document.pop("timeline", {})
            time_s = document.pop("time_s")
            document |= {"p50_s": time_s["p50"], "p95_s": time_s["p95"], "breaks_first": document.pop("first_limit")}
            simulation: Simulation = from_jsonable(cls, document, where="simulation")
            return replace(simulation, timelines={phase: _timeline(drawn) for phase, drawn in shown.items()})
        except (KeyError, TypeError, AttributeError) as error:
            text = f"simulation: not as a plan holds it ({error}); simulate again"
            raise BadInputError(text, field="simulation", code="wrong-type") from error


def _timeline(document: dict[str, Any]) -> Timeline:
    groups = (
        (group["nodes"], from_jsonable(tuple[Span, ...], group["spans"], where="simulation.timeline"))
        for group in document["groups"]
    )
    return Timeline(waits=document["waits"], groups=tuple(groups))
