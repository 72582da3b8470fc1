"""`planner schema`: JSON Schema of the stored JSON."""

from __future__ import annotations

from typing import Annotated, Final

from typer import Argument

from planner.cli.shell.completion import among
from planner.cli.shell.console import show_text
from planner.errors import BadInputError, nearest

KINDS: Final = ("plan", "run-report")


def schema(kind: Annotated[str, Argument(help="plan or run-report.", autocompletion=among(KINDS))]) -> None:
    """Print the JSON Schema (draft 2020-12) of what `plan --json` and `planner run --json` print and store.

    Readers accept fields that it does not name, and refuse other versions.

    Example: planner schema plan
    """
    from importlib.resources import files

    if kind not in KINDS:
        raise BadInputError(
            f"no schema of {kind!r}: use one of {', '.join(KINDS)}.{nearest(kind, KINDS)}", code="unknown-word"
        )
    show_text((files("planner.schemas") / "files" / f"{kind}.json").read_text(encoding="utf-8").rstrip("\n"))
