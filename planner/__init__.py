"""The cluster to rent to sort or shuffle terabytes, for how long and for how much.

>>> import planner
>>> answer = planner.recommend("100TB")
>>> answer.best.model
'daytona'
"""

from __future__ import annotations

TYPE_CHECKING = False
"""True for type checkers. Ctrl-C while `typing` loads, before any code can handle it, would print a traceback."""
if TYPE_CHECKING:
    from typing import Any

    from planner.api.clusters import down, up
    from planner.api.generate import generate
    from planner.api.measure import measure
    from planner.api.recommend import Recommendation, calibrate, own, recommend
    from planner.api.recommend import recommend as plan
    from planner.api.recommend_each import DataSizes, recommend_each
    from planner.api.run import run
    from planner.api.sort import find_disorder, sort
    from planner.api.validate import validate, validate_on_ray
    from planner.sorting.tables.table import sort_table

    __version__: str

__all__ = [
    "DataSizes",
    "Recommendation",
    "calibrate",
    "down",
    "find_disorder",
    "generate",
    "measure",
    "own",
    "plan",
    "recommend",
    "recommend_each",
    "run",
    "sort",
    "sort_table",
    "up",
    "validate",
    "validate_on_ray",
]

_HOMES = {
    "DataSizes": "api.recommend_each.DataSizes",
    "Recommendation": "api.recommend.Recommendation",
    "calibrate": "api.recommend.calibrate",
    "down": "api.clusters.down",
    "find_disorder": "api.sort.find_disorder",
    "generate": "api.generate.generate",
    "measure": "api.measure.measure",
    "own": "api.recommend.own",
    "plan": "api.recommend.recommend",
    "recommend": "api.recommend.recommend",
    "recommend_each": "api.recommend_each.recommend_each",
    "run": "api.run.run",
    "sort": "api.sort.sort",
    "sort_table": "sorting.tables.table.sort_table",
    "up": "api.clusters.up",
    "validate": "api.validate.validate",
    "validate_on_ray": "api.validate.validate_on_ray",
}
"""Path of each public name. Its module loads on first use, so importing the package costs nothing."""

_FORMER_ROOMS = {"spark_log": "planner.spark.log", "task_trace": "planner.spark.task_trace"}
"""Names documented before 0.1; `from planner import ...` finds them until 0.2."""


def __getattr__(name: str) -> Any:
    """Load the API, or look up the version, on first use."""
    from importlib import import_module

    if name == "__version__":
        return import_module("importlib.metadata").version("sortplanner")
    if name in _FORMER_ROOMS:
        return import_module(_FORMER_ROOMS[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].rpartition(".")
    return getattr(import_module(f"planner.{module}"), attribute)


def __dir__() -> list[str]:
    """Return the public names, for completion, without internals."""
    return sorted(__all__)
