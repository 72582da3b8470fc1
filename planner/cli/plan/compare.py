"""`planner compare`: two plans side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from planner.cli.shell.console import show, show_json
from planner.cli.shell.files import read_plan


def compare(
    first: Annotated[Path, Argument(help="A plan that `plan --out` wrote, or a run's report with one.")],
    second: Annotated[Path, Argument(help="Another.")],
    *,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Set two plans side by side: what was asked differently, and what that changes in time and cost.

    Example: planner compare small.json large.json
    """
    from planner.report.terminal.plan_comparison import changes, differences, render_comparison

    plans = read_plan(first), read_plan(second)
    if json:
        show_json({"asked": differences(*plans), "answer": changes(*plans)})
    else:
        show(render_comparison(*plans))
