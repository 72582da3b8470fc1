"""Results written to files that users name: whole or not at all."""

from __future__ import annotations

from pathlib import Path

from planner.cli.console import talk
from planner.errors import IoFailureError


def write_whole(path: Path, text: str, *, option: str) -> None:
    """Write `text` to `path`, replacing it at once. Raises IoFailureError, naming the option, with nothing written."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        if partial.parent.is_dir():
            partial.unlink(missing_ok=True)
        raise IoFailureError(f"{option} {path}: {error.strerror}; nothing was written") from error
    talk(f"written to {path}")
