"""`planner schema`: JSON Schema of the stored JSON."""

from __future__ import annotations

from typing import Annotated, Final

from typer import Argument

from planner.cli.shell.completion import among
from planner.cli.shell.console import show_text
from planner.errors import BadInputError, nearest

KINDS: Final = ("plan", "run-report", "request")


def schema(kind: Annotated[str, Argument(help="plan, run-report or request.", autocompletion=among(KINDS))]) -> None:
    """Print the JSON Schema (draft 2020-12) of a plan, of a run's report, or of a request.

    `plan --json` and `planner run --json` print and store the first two. A request has the options of `plan`, as
    `planner.recommend` and `planner serve` take them. Readers accept fields of a plan that its schema does not name,
    and refuse other versions; a request has no other fields.

    Example: planner schema plan
    """
    from importlib.resources import files

    if kind not in KINDS:
        raise BadInputError(
            f"no schema of {kind!r}: use one of {', '.join(KINDS)}.{nearest(kind, KINDS)}", code="unknown-word"
        )
    show_text((files("planner.schemas") / "files" / f"{kind}.json").read_text(encoding="utf-8").rstrip("\n"))
