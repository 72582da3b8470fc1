"""Reading of plans, atomic writing of results, and the option that replaces files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from typer import Option

from planner.cli.shell.console import talk
from planner.config.atomic_file import replace_file
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, IoFailureError

if TYPE_CHECKING:
    from planner.schemas.plan import Plan
    from planner.schemas.run_report import RunReport

_OTHERS: Final = (
    ('{"Event"', "an event log of Spark; read it with `planner explain-log`"),
    ("[", "a JSON list, such as a timeline of Ray; read that with `planner explain-log`"),
    ("<", "a page; name what `plan --out` or `planner run --out` wrote"),
)
"""First characters of other files that are mistaken for plans, and advice on them."""

Force = Annotated[bool, Option("--force", help="Replace files that exist.")]


def read_plan(path: Path) -> Plan:
    """Return the plan in a file, or that of the run in it, with a message. Raises BadInputError where there is none."""
    from planner.schemas.run_report import RunReport

    stored = parse_plan_or_report(path, read_user_file(path))
    if isinstance(stored, RunReport):
        talk(f"{path}: taken for a run report; what counts is the plan in it")
        return stored.plan
    return stored


def parse_plan_or_report(path: Path, text: str) -> Plan | RunReport:
    """Return the plan or the run report in the text of a file. Raises BadInputError for other files, with their kind,
    or with the commands that write a plan, and for plans that contradict themselves.
    """
    from planner.schemas.plan import Plan
    from planner.schemas.run_report import RunReport

    if other := next((words for start, words in _OTHERS if text.lstrip().startswith(start)), ""):
        raise BadInputError(f"{path} is {other}", code="not-a-plan")
    wrote = "write one with `plan --out FILE` or `planner run --out FILE`"
    try:
        stored = RunReport.from_json(text) if '"steps_s"' in text else Plan.from_json(text)
    except BadInputError as error:
        is_other = error.code == "wrong-version"
        what = "is of another version of the planner" if is_other else "is no plan and no run report"
        raise BadInputError(f"{path} {what}", [str(error), wrote], code="not-a-plan") from error
    plan = stored.plan if isinstance(stored, RunReport) else stored
    if contradictions := list(plan.contradictions()):
        raise BadInputError(
            f"{path} contradicts itself: it was changed or damaged",
            [*contradictions[:3], wrote],
            code="self-contradiction",
        )
    return stored


def write_atomically(path: Path, text: str | bytes, *, option: str) -> None:
    """Write `text`, or bytes, to `path`, replacing it at once. Raises IoFailureError, naming the option, with nothing
    written.
    """
    try:
        replace_file(path, text)
    except OSError as error:
        raise IoFailureError(f"{option} {path}: {error.strerror}; nothing was written", code="io") from error
    talk(f"written to {path}")
