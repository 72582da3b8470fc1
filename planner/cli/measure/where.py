"""`planner where`: files that the planner keeps on this machine, and their removal."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from typer import Option

from planner.cli.shell.completion import clearable
from planner.cli.shell.console import show, show_json, show_sentences, show_text, shown_width, table
from planner.units import count_text

if TYPE_CHECKING:
    from planner.api.stored import StoredFiles

_WITH_WHAT: Final = 100
"""Narrowest screen that also shows a description of each kind."""


def where(
    *,
    clear: Annotated[
        str | None,
        Option(
            help="Remove prices, runs, fleets, cache, bugs, several (runs,bugs) or all; runs that may cost money stay.",
            autocompletion=clearable,
        ),
    ] = None,
    yes: Annotated[bool, Option("--yes", help="Do not ask.")] = False,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what the planner keeps on this machine: where, how much, since when.

    Example: planner where

    Example: planner where --clear prices
    """
    from planner.api import stored

    if clear is not None:
        _clear(clear, yes=yes, json=json)
        return
    kept = stored.stored_files()
    if json:
        show_json({"kept": [_stored_files_json(each) for each in kept]})
        return
    columns, rows = ("kind", "files", "size", "since", "where", "what"), [_row(each) for each in kept]
    shown = len(columns) if shown_width() >= _WITH_WHAT else -1
    show(table(columns[:shown], [row[:shown] for row in rows]))
    for each in kept:
        if each.kind == "runs" and each.keeps:
            show_sentences(f"Runs: {each.keeps}.")


def _clear(kinds: str, *, yes: bool, json: bool) -> None:
    from planner.api import stored
    from planner.cli.rent.renting import confirm
    from planner.units import format_bytes

    named = stored.clearable(kinds)
    for kind in named:
        (now,) = stored.stored_files(kind)
        if not stored.can_clear(kind):
            stored.clear(kind)
        if now.files:
            staying = f"; {now.keeps}, and stays" if now.keeps else ""
            confirm(
                f"{kind}: {count_text(now.files, 'file')}, {format_bytes(now.bytes)} in {now.place}{staying}", yes=yes
            )
    cleared = []
    for kind in named:
        before, after = stored.clear(kind)
        removed = {"files": before.files - after.files, "bytes": before.bytes - after.bytes}
        if json:
            cleared.append({"removed": removed, "kept": _stored_files_json(after)})
        else:
            of = f"{kind}: " if len(named) > 1 else ""
            show_text(f"{of}{count_text(removed['files'], 'file')} removed, {format_bytes(removed['bytes'])}")
    if json:
        show_json(cleared[0] if len(cleared) == 1 else {"cleared": cleared})


def _stored_files_json(kept: StoredFiles) -> dict[str, Any]:
    since = None if kept.since is None else kept.since.isoformat(timespec="seconds")
    return {**asdict(kept), "place": str(kept.place), "since": since}


def _row(kept: StoredFiles) -> tuple[str, ...]:
    from pathlib import Path

    from planner.units import format_bytes

    since = "" if kept.since is None else f"{kept.since:%Y-%m-%d}"
    home, place = os.environ.get("HOME"), kept.place
    where = str(Path("~") / place.relative_to(home)) if home and place.is_relative_to(home) else str(place)
    return kept.kind, f"{kept.files:,}", format_bytes(kept.bytes) if kept.files else "", since, where, kept.what
