"""`planner compare`: two plans side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.cli.console import show, show_json
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.schemas.plan import Plan


def compare(
    first: Annotated[Path, Argument(help="A plan that `plan --out` wrote.")],
    second: Annotated[Path, Argument(help="Another.")],
    *,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Set two plans side by side: what was asked differently, and what that changes in time and cost.

    Example: planner compare small.json large.json
    """
    from planner.report.plan_comparison import changes, differences, render_comparison

    plans = _read(first), _read(second)
    if json:
        show_json({"asked": differences(*plans), "answer": changes(*plans)})
    else:
        show(render_comparison(*plans))


def _read(path: Path) -> Plan:
    from planner.schemas.plan import Plan

    try:
        return Plan.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read as a plan: {error}") from error
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}; write plans with `plan --out FILE`") from error
