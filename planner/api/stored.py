"""Files that the planner keeps on this machine: place, size, age, removal."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from planner.config.paths import cache_directory, state_directory, user_directory
from planner.config.settings import settings_file
from planner.errors import BadInputError, IoFailureError, PlannerError, nearest


@dataclass(frozen=True, kw_only=True)
class StoredFiles:
    """One kind of kept files: `files` with `bytes` in total at `place`, the oldest written `since` (None: no file).

    `keeps` is why `clear` keeps it, or a part of it; '' without a reason.
    """

    kind: str
    what: str
    place: Path
    files: int
    bytes: int
    since: datetime | None
    keeps: str


@dataclass(frozen=True, kw_only=True)
class _Kind:
    what: str
    place: Callable[[], Path]
    clear: Callable[[Path], None] | None = None
    keeps: Callable[[Path], str] = lambda place: ""


def kinds() -> tuple[str, ...]:
    """Return the kinds of kept files."""
    return tuple(_KINDS)


def stored_files(kind: str | None = None) -> tuple[StoredFiles, ...]:
    """Return the kept files, for each kind or one; a place that does not exist has no files.

    Raises BadInputError for an unknown kind.
    """
    if kind is not None and kind not in _KINDS:
        words = [*filter(can_clear, _KINDS), "all"]
        raise BadInputError(
            f"nothing is called {kind!r}: use one of {', '.join(words)}.{nearest(kind, words)}", code="unknown-word"
        )
    return tuple(_stored_files(name, of) for name, of in _KINDS.items() if kind in (None, name))


def can_clear(kind: str) -> bool:
    """Return whether `clear` takes a kind."""
    return kind in _KINDS and _KINDS[kind].clear is not None


def clearable(text: str) -> tuple[str, ...]:
    """Return the kinds that `prices,runs` or `all` names, each once. Raises BadInputError for an unknown one."""
    named = [word.strip() for word in text.split(",")]
    if named == ["all"]:
        return tuple(filter(can_clear, _KINDS))
    for kind in named:
        stored_files(kind)
    return tuple(dict.fromkeys(named))


def clear(kind: str) -> tuple[StoredFiles, StoredFiles]:
    """Remove the kept files of a kind, except runs that may still cost money; return it before and after.

    Raises BadInputError for files that cannot be made again, IoFailureError if the disk refuses.
    """
    (before,) = stored_files(kind)
    remove = _KINDS[kind].clear
    if remove is None:
        raise BadInputError(f"{kind} are not cleared: {before.keeps}", code="not-cleared")
    try:
        remove(before.place)
    except OSError as error:
        raise IoFailureError(
            f"{error.filename or before.place}: {error.strerror}; the rest is as it was", code="io"
        ) from error
    (after,) = stored_files(kind)
    return before, after


def _stored_files(name: str, of: _Kind) -> StoredFiles:
    place = of.place()
    sizes, times = [], []
    for path in _files(place):
        try:
            status = path.stat()
        except OSError:  # removed meanwhile, or a broken link
            continue
        sizes.append(status.st_size)
        times.append(status.st_mtime)
    return StoredFiles(
        kind=name,
        what=of.what,
        place=place,
        files=len(sizes),
        bytes=sum(sizes),
        since=datetime.fromtimestamp(min(times), UTC) if times else None,
        keeps=of.keeps(place),
    )


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir():
        every = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        yield from (path for path in every if path.suffix != ".lock" and path.name != ".lock")


def _forget_prices(place: Path) -> None:
    from planner.catalog.refreshed import REFRESHABLE
    from planner.clouds.price_lists.writing import forget

    del place
    for name in REFRESHABLE:
        forget(name)


def _remove_bugs(place: Path) -> None:
    for path in place.glob("bug-*.txt"):
        path.unlink(missing_ok=True)


def _remove_arrays(place: Path) -> None:
    for path in place.glob("*.arrays"):
        path.unlink(missing_ok=True)


def _remove_ended_runs(place: Path) -> None:
    from planner.clusters.provisioning.run_directory import RunDirectory

    for run in _runs():
        with suppress(BadInputError), RunDirectory.open(run).lock():  # the lock fails while a process works on the run
            if _has_ended(run):
                shutil.rmtree(place / run)


def _runs() -> Sequence[str]:
    from planner.clusters.provisioning.run_directory import known_runs

    return known_runs()


def _may_bill(place: Path) -> list[str]:
    """Return the runs that may still have cloud resources, including those with an unreadable journal."""
    del place
    return [run for run in _runs() if not _has_ended(run)]


def _has_ended(run: str) -> bool:
    from planner.clusters.provisioning.run_directory import RunDirectory

    try:
        directory = RunDirectory.open(run)
        directory.order()
        events = directory.events()
    except (PlannerError, OSError, ValueError, KeyError, TypeError):
        return False
    steps = [event.what for event in events if event.what in ("down", "up", "intent", "made")]
    return not steps or steps[-1] == "down"


def _open_runs(place: Path) -> str:
    runs = _may_bill(place)
    if not runs:
        return ""
    listed = f"{', '.join(runs[:3])}{f' and {len(runs) - 3} more' if len(runs) > 3 else ''}"
    return f"{listed} may still cost money: `planner cluster down RUN` first"


def _keep_with_reason(text: str) -> Callable[[Path], str]:
    return lambda place: text


def _emulated() -> Path:
    from planner.clusters.emulated.registry import registry_directory

    return registry_directory()


def _fleets() -> Path:
    from planner.spark.fleet.row_store import store_directory

    return store_directory()


def _remove_fleets(place: Path) -> None:
    (place / "rows.sqlite").unlink(missing_ok=True)


_KINDS: Final = {
    "settings": _Kind(
        what="clouds and prices that you set",
        place=settings_file,
        keeps=_keep_with_reason("you wrote the file; edit it, or delete it"),
    ),
    "measurements": _Kind(
        what="rates that you ingested",
        place=lambda: user_directory("measurements"),
        keeps=_keep_with_reason(
            "they cost time and money to measure; `planner catalog measurements --forget TYPE` removes some"
        ),
    ),
    "profiles": _Kind(
        what="what calibrate learned",
        place=lambda: user_directory("profiles"),
        keeps=_keep_with_reason("they cost runs to learn; delete the file of the one that you no longer want"),
    ),
    "prices": _Kind(what="refreshed catalogs", place=lambda: user_directory("catalogs"), clear=_forget_prices),
    "runs": _Kind(
        what="journals of rented clusters",
        place=lambda: user_directory("runs"),
        clear=_remove_ended_runs,
        keeps=_open_runs,
    ),
    "emulated": _Kind(
        what="clusters emulated here",
        place=_emulated,
        keeps=_keep_with_reason("each ends with the command that made it; `planner emulate sweep` removes lost ones"),
    ),
    "fleets": _Kind(what="rows of event logs read", place=_fleets, clear=_remove_fleets),
    "cache": _Kind(what="catalogs as they were read last", place=cache_directory, clear=_remove_arrays),
    "bugs": _Kind(what="errors to report", place=lambda: state_directory("bugs"), clear=_remove_bugs),
}
