"""Plans that are read, results that are written whole, and the option that replaces files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from planner.cli.shell.console import talk
from planner.config.atomic_file import replace_file
from planner.errors import BadInputError, IoFailureError

if TYPE_CHECKING:
    from planner.schemas.plan import Plan

Force = Annotated[bool, Option("--force", help="Replace files that exist.")]


def read_plan(path: Path) -> Plan:
    """Return the plan in a file. Raises BadInputError where there is none, with what writes it."""
    from planner.schemas.plan import Plan

    try:
        return Plan.from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path} cannot be read as a plan: {error}") from error
    except BadInputError as error:
        raise BadInputError(f"{path}: {error}; write plans with `plan --out FILE`") from error


def write_whole(path: Path, text: str | bytes, *, option: str) -> None:
    """Write `text`, or bytes, to `path`, replacing it at once. Raises IoFailureError, naming the option, with nothing
    written.
    """
    try:
        replace_file(path, text)
    except OSError as error:
        raise IoFailureError(f"{option} {path}: {error.strerror}; nothing was written") from error
    talk(f"written to {path}")
