"""Results written to files that users name: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from planner.cli.console import talk
from planner.errors import IoFailureError
from planner.stores.atomic_file import replace_file


def write_whole(path: Path, text: str, *, option: str) -> None:
    """Write `text` to `path`, replacing it at once. Raises IoFailureError, naming the option, with nothing written."""
    try:
        replace_file(path, text)
    except OSError as error:
        raise IoFailureError(f"{option} {path}: {error.strerror}; nothing was written") from error
    talk(f"written to {path}")
