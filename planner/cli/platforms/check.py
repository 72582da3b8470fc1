"""`planner check`: check of plans against a team's limits, for pipelines."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from planner.cli.shell.console import show_json, show_text
from planner.cli.shell.files import read_plan
from planner.cli.shell.option_values import amount
from planner.errors import BadInputError, InfeasibleError

if TYPE_CHECKING:
    from planner.planning.policy import Policy
    from planner.schemas.plan import Plan


def check(
    plans: Annotated[
        list[Path], Argument(help="Plans that `plan --out` wrote, reports with one, or requests in TOML.")
    ],
    *,
    max_cost: Annotated[float | None, Option(help="Most US dollars that the whole run may cost.", min=0)] = None,
    deadline: Annotated[str | None, Option(help="The whole run may take so long: 1h, 90m.")] = None,
    p95: Annotated[bool, Option("--p95", help="Both as 95 of 100 runs keep them, not as expected.")] = False,
    policy: Annotated[
        Path | None, Option(help="TOML with max_cost, deadline, p95, clouds, instances and others.")
    ] = None,
    baseline: Annotated[Path | None, Option(help="The plan, or request, before the change, to compare with.")] = None,
    markdown: Annotated[bool, Option("--markdown", help="Print a comment for a pull request.")] = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Check whether plans keep to limits; end with exit code 3 if one does not.

    Example: planner check small.json --max-cost 100 --deadline 2h

    Example: planner check nightly.toml --max-cost 100
    """
    from datetime import UTC, datetime

    from planner.planning.policy import breaches, with_limits
    from planner.report.terminal.plan_comparison import changes, check_markdown, check_text
    from planner.units import parse_duration

    if json and markdown:
        raise BadInputError("--json and --markdown are two forms of one answer: give one of them", code="contradiction")
    deadline_s = amount("--deadline", parse_duration, deadline) if deadline else None
    limits = with_limits(_read_policy(policy), max_cost_usd=max_cost, deadline_s=deadline_s, p95=p95)
    if limits == type(limits)():
        raise BadInputError(
            "nothing is to be checked: give --max-cost, --deadline or --policy FILE",
            ["plans are checked here; `planner validate FILE` checks data"],
            code="missing-argument",
        )
    before, today = _plan_of(baseline) if baseline else None, datetime.now(UTC).date()
    read = {path: _plan_of(path) for path in plans}
    broken = {path: breaches(plan, limits, today=today) for path, plan in read.items()}
    if json:
        rows = [
            {
                "plan": str(path),
                "keeps": not broken[path],
                "breaches": [asdict(breach) for breach in broken[path]],
                "changes": changes(before, plan) if before else None,
            }
            for path, plan in read.items()
        ]
        show_json({"plans": rows})
    else:
        write = check_markdown if markdown else check_text
        show_text("\n\n".join(write(plan, broken[path], before) for path, plan in read.items()))
    if any(broken.values()):
        found = [f"{path}: {breach}" for path, each in broken.items() for breach in each]
        raise InfeasibleError("not all limits are kept", found, code="limits-not-kept")


def _plan_of(path: Path) -> Plan:
    """Return a kept plan, or that of a request in TOML, planned now."""
    from planner.cli.plan.request_options import RequestOptions

    return RequestOptions().on_top_of(path, ()).answer().plan if path.suffix == ".toml" else read_plan(path)


def _read_policy(path: Path | None) -> Policy:
    import tomllib

    from planner.config.user_files import read_user_file
    from planner.planning.policy import Policy, policy_of

    if path is None:
        return Policy()
    try:
        table = tomllib.loads(read_user_file(path))
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{path} is no TOML: {error}", code="not-toml") from error
    return policy_of(table, source=str(path))
