"""Optional packages: imported when a feature is used, and named with what installs them when they are absent."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from planner.errors import PlannerError


def optional(module: str, *, extra: str, purpose: str) -> Any:
    """Import and return `module`. Raises PlannerError saying which extra of the package installs it."""
    try:
        return import_module(module)
    except ImportError as missing:
        package = module.partition(".")[0]
        raise PlannerError(
            f"{purpose} needs the package {package}, which is not installed: pip install 'sortplanner[{extra}]'",
            [str(missing)],
        ) from missing
