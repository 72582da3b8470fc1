"""`planner compare`: comparison of two plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.cli.shell.console import columns, show, show_json, show_text
from planner.cli.shell.files import read_plan
from planner.config.user_files import read_user_file
from planner.errors import InfeasibleError
from planner.schemas.machine_lists import MachineList, lists_machines, read_machine_list

if TYPE_CHECKING:
    from planner.schemas.plan import Plan


def compare(
    first: Annotated[
        Path, Argument(help="A plan that `plan --out` wrote, a run's report with one; or a list of your machines.")
    ],
    second: Annotated[Path, Argument(help="Another.")],
    *,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Compare two plans: the differences in the request, and in time and cost.

    A file that lists your machines, as of `planner own`, is compared with a plan: yours against the best.

    Example: planner compare small.json large.json
    """
    text = read_user_file(first)
    if lists_machines(text):
        _compare_own(read_machine_list(text, where=str(first)), read_plan(second), as_json=json)
        return
    from planner.report.terminal.plan_comparison import changes, differences, render_comparison

    plans = read_plan(first), read_plan(second)
    if json:
        show_json({"asked": differences(*plans), "answer": changes(*plans)})
    else:
        show(render_comparison(*plans))


def _compare_own(mine: MachineList, plan: Plan, *, as_json: bool) -> None:
    from planner.api.recommend import Recommendation
    from planner.report.terminal.further_answers import comparison_json, comparison_text

    answer = Recommendation(plan).own(mine)
    if as_json:
        show_json(comparison_json(answer))
    else:
        show_text(comparison_text(answer, plan, width=columns()))
    if answer.cluster is None:
        raise InfeasibleError(f"{answer.machines} cannot do the plan's job: {answer.reason}", code="own-cluster-unfit")
