"""`planner why-not TYPE`, `planner own 'N x TYPE'` and `planner most-data`: questions about other clusters than the
recommended one.
"""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.plan.plan_output import show_answer
from planner.cli.plan.request_options import RequestOptions
from planner.cli.shell import completion
from planner.cli.shell.console import columns, show_text
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.schemas.plan import Plan

Json = Annotated[bool, Option("--json", help="Print the plan as one JSON object, with the answer as a field.")]


def why_not(
    why_not: Annotated[
        list[str], Argument(metavar="TYPE", help="Instance types.", autocompletion=completion.every_type)
    ],
    *,
    request_options: RequestOptions,
    json: Json = False,
) -> None:
    """Say why a type is not recommended: its best cluster, and what would change that.

    Example: planner why-not c6id.32xlarge --data 3TB
    """
    from planner.planning.recommendation import require_best
    from planner.report.terminal.further_answers import why_not_text
    from planner.schemas.json_values import to_jsonable

    answered = request_options.answer()
    answers = [answered.why_not(name) for name in why_not]
    if json:
        show_text(plan_json(answered.plan, why_not=[to_jsonable(answer) for answer in answers]))
    else:
        show_text("\n\n".join(why_not_text(answer, width=min(columns(), 100)) for answer in answers))
    require_best(answered.plan)


def own(
    machines: Annotated[
        str,
        Argument(
            metavar="MACHINES",
            help="'20 x m5d.12xlarge', or a FILE from kubectl, aws, gcloud, databricks, sinfo, ray or terraform.",
            autocompletion=completion.own_machines,
        ),
    ],
    *,
    request_options: RequestOptions,
    json: Json = False,
) -> None:
    """Say how long your own machines take, and whether more of them help.

    Example: planner own '20 x m5d.12xlarge' --data 3TB
    """
    from planner.planning.recommendation import require_best
    from planner.report.terminal.further_answers import own_text
    from planner.schemas.json_values import to_jsonable

    answered = request_options.answer()
    answer = answered.own(machines)
    if json:
        show_text(plan_json(answered.plan, own=to_jsonable(answer)))
    else:
        show_text(own_text(answer, answered.plan, width=min(columns(), 100)))
    if not answer.keeps_to(answered.plan.request):
        require_best(answered.plan)


def most_data(
    *,
    request_options: RequestOptions,
    json: Annotated[bool, Option("--json", help="Print the plan as one JSON object.")] = False,
) -> None:
    """Say how much can be sorted within a deadline, a budget and a number of nodes, in place of --data.

    Example: planner most-data --sort-deadline 60s --model indy
    """
    from planner.planning.recommendation import require_best

    if request_options["data"]:
        raise BadInputError("--data: how much is the question here; leave it out, or ask `plan`", code="not-applicable")
    answered = RequestOptions(request_options, most_data=True).answer()
    if json:
        show_text(answered.plan.to_json())
    require_best(answered.plan)
    if not json:
        show_answer(answered, "answer")


def plan_json(plan: Plan, **further: Any) -> str:
    """Return a plan as JSON, with further fields."""
    return json_module.dumps(json_module.loads(plan.to_json()) | further, indent=2)
