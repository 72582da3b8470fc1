"""Which cluster to rent to sort or shuffle terabytes, for how long and for how much.

>>> import planner
>>> answer = planner.recommend("100TB")
>>> answer.best.model
'daytona'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation, calibrate, recommend
    from planner.sorting.tables.table import sort_table

__all__ = ["Recommendation", "calibrate", "recommend", "sort_table"]

_INSTEAD = {
    "plan": "; planner.recommend('100TB') plans",
    **dict.fromkeys(("sort", "generate", "validate", "run"), "; it is a command of the shell, beside `planner plan`"),
}
"""What is said for commands that Python has not, or under another name."""

_FORMER_ROOMS = {"spark_log": "planner.spark.log", "task_trace": "planner.spark.task_trace"}
"""Documented names of version 0.0, which `from planner import ...` still finds until 0.2."""


def __getattr__(name: str) -> Any:
    """Load the API on first use, so that importing the package costs nothing."""
    if name == "sort_table":
        from planner.sorting.tables.table import sort_table

        return sort_table
    if name in _FORMER_ROOMS:
        from importlib import import_module

        return import_module(_FORMER_ROOMS[name])
    if name in __all__:
        from planner.api import recommend as api

        return getattr(api, name)
    raise AttributeError(f"module 'planner' has no attribute {name!r}{_INSTEAD.get(name, '')}")


def __dir__() -> list[str]:
    """Return what the package offers, for completion: nothing of how it is built."""
    return sorted(__all__)
