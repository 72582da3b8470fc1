"""Models that keep the data elsewhere, for types that only lack local disks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from planner.cost_model.model import CostModel
from planner.planning.candidates.feasibility import NO_DISKS
from planner.planning.request.filters import NOT_WANTED
from planner.schemas.plan import Candidate, Plan
from planner.units import count_text, format_duration, format_usd

_PLACES = {"volumes": "on volumes", "object-store": "in an object store"}


def lacks_only_disks(plan: Plan) -> bool:
    """Return whether nothing is feasible, as all wanted types are without the local disks that the model needs."""
    reasons = {r.reason for r in plan.rejected if not r.reason.startswith(NOT_WANTED)}
    return plan.best is None and reasons == {NO_DISKS}


def models_elsewhere(asked: Iterable[CostModel], others: Iterable[CostModel]) -> Iterator[CostModel]:
    """Yield the `others` that keep no data on local disks, and are run by the same kind of software as one `asked`."""
    kinds = {model.software is None for model in asked}
    yield from (m for m in others if m.storage["data"] in _PLACES and (m.software is None) in kinds)


def advice(models: Iterable[CostModel], best_of: Callable[[str], Candidate | None]) -> Iterator[str]:
    """Yield, for each model, the cluster that it takes: the best, as `best_of` returns it by the model's name."""
    for model in models:
        if (best := best_of(model.name)) is not None:
            cluster = f"{count_text(best.nodes, 'machine')} ({best.instance_type})"
            cost = f"{format_duration(best.whole_run_s)}, {format_usd(best.cost_usd.total)}"
            yield f"Try --model {model.name}: {cluster} with the data {_PLACES[model.storage['data']]}, {cost}."
