"""pyarrow, which is loaded when it is first needed."""

from __future__ import annotations

from typing import Any

from planner.extras import optional


def arrow(module: str = "pyarrow") -> Any:
    """Return pyarrow or a module of it. Raises PlannerError that says what installs it."""
    return optional(module, extra="arrow", purpose="sorting Arrow tables and Parquet")
