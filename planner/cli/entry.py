"""Where `planner` and `plan` begin: an interrupt while their modules load gets its sentence too."""

from __future__ import annotations

import sys

_INTERRUPTED = 130


def main() -> None:
    """Entry point of `planner`."""
    _begin("main")


def plan_main() -> None:
    """Entry point of `plan`, which is `planner plan`."""
    _begin("plan_main")


def _begin(command: str) -> None:
    try:
        from planner.cli import app
    except KeyboardInterrupt:
        print("error: interrupted before anything was begun", file=sys.stderr)
        sys.exit(_INTERRUPTED)
    getattr(app, command)()
