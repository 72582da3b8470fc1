"""Reads a fleet in several processes, each one log at a time; a log that cannot be read is a row with its reason."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from planner.catalog.loading import load_catalog
from planner.errors import PlannerError
from planner.schemas.plan import Request
from planner.spark.fleet.places import Listing, LogUnit, fetch, list_logs
from planner.spark.fleet.row_store import RowStore, open_store
from planner.spark.fleet.rows import FleetRow, row_of
from planner.spark.log.reading import read_files

_ROWS_VERSION: Final = 3
"""Version of the stored rows; changing it makes all logs be read again."""
_MOST_PROCESSES: Final = 4
"""Default limit: at some 150 MB each, four processes stay below 1 GB. Callers may ask for more."""
_WAITING: Final = 4

OnLog = Callable[[int, int], None]
"""Callback with the number of logs done and the total."""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Rows of all logs at a place; `kept` counts logs read by an earlier call, `running` applications that were not
    read.
    """

    place: str
    rows: tuple[FleetRow, ...]
    logs: int
    kept: int
    running: int

    @property
    def applications(self) -> tuple[FleetRow, ...]:
        """Rows of logs that could be read."""
        return tuple(row for row in self.rows if not row.failure)

    @property
    def failures(self) -> tuple[FleetRow, ...]:
        """Rows of logs that could not be read."""
        return tuple(row for row in self.rows if row.failure)


def read_fleet(
    place: str,
    *,
    request: Request,
    ran_on: Sequence[str] = (),
    processes: int | None = None,
    on_log: OnLog | None = None,
) -> Fleet:
    """Return a row for each application of the logs at a place: a folder, an object store's prefix or a history server.

    Rows are stored as they come, so an interrupted call resumes, and a later one opens only new logs. Raises
    BadInputError if there is no log, IoFailureError if the place cannot be listed or rows cannot be stored.
    """
    listing = list_logs(place)
    with open_store(place=listing.place, question=_question(request, ran_on)) as store:
        rows = store.rows(listing.units)
        new = sorted((u for u in listing.units if u.key not in rows), key=lambda unit: -unit.size_bytes)
        kept = len(rows)
        for done, (unit, found) in enumerate(_read_each(new, request, ran_on, processes or _processes(len(new))), 1):
            rows[unit.key] = found
            _keep(store, unit, found)
            if on_log:
                on_log(done, len(new))
    return _fleet(listing, rows, kept=kept)


def _fleet(listing: Listing, rows: dict[str, list[FleetRow]], *, kept: int) -> Fleet:
    ordered = _counted_once([row for unit in listing.units for row in rows[unit.key]])
    return Fleet(place=listing.place, rows=tuple(ordered), logs=len(listing.units), kept=kept, running=listing.running)


def _counted_once(rows: Sequence[FleetRow]) -> list[FleetRow]:
    """Return the rows, counting each run once: where another log holds as much of it or more, the row has that reason
    instead.
    """
    best: dict[object, FleetRow] = {}
    for row in sorted(rows, key=lambda row: (-row.gaps, row.tasks)):
        if row.app_id and row.started_at_s is not None:
            best[row.app_id, row.attempt, row.started_at_s] = row
    copies = {
        id(row) for row in rows if row.app_id and best.get((row.app_id, row.attempt, row.started_at_s), row) is not row
    }
    reason = "another log has the same run, and as much of it"
    return [FleetRow(log=row.log, failure=reason) if id(row) in copies else row for row in rows]


def _keep(store: RowStore, unit: LogUnit, rows: Sequence[FleetRow]) -> None:
    """Store rows, except where the reader died or the place did not answer, since that may pass."""
    if not any(row.failure.startswith(_PASSING) for row in rows):
        store.keep(unit, rows)


def _question(request: Request, ran_on: Sequence[str]) -> str:
    """Return a key of everything besides the log that the rows depend on."""
    dates = [str(load_catalog(name).prices_as_of) for name in request.catalogs]
    asked = [_ROWS_VERSION, version("sortplanner"), *request.catalogs, *dates, *request.regions, request.pricing]
    return json.dumps([*asked, *ran_on])


def _processes(logs: int) -> int:
    return max(1, min(_MOST_PROCESSES, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1, logs))


_PASSING: Final = ("the process that read it", "not fetched")


def _read_each(
    units: Sequence[LogUnit], request: Request, ran_on: Sequence[str], processes: int
) -> Iterator[tuple[LogUnit, list[FleetRow]]]:
    """Yield the rows of each log as they come. Where a process dies, its logs are read again in one process each, to
    find the one that kills it.
    """
    suspects: list[LogUnit] = []
    pending = list(reversed(units))
    while pending:
        yield from _read_in_pool(pending, suspects, request, ran_on, processes)
        while suspects:
            alone = [suspects.pop()]
            blamed: list[LogUnit] = []
            yield from _read_in_pool(alone, blamed, request, ran_on, 1)
            for unit in blamed:
                yield unit, [FleetRow(log=unit.key, failure=f"{_PASSING[0]} died, perhaps for want of memory")]


def _read_in_pool(
    pending: list[LogUnit], lost: list[LogUnit], request: Request, ran_on: Sequence[str], processes: int
) -> Iterator[tuple[LogUnit, list[FleetRow]]]:
    """Read `pending`, taking from its end, until it is empty or a process dies; `lost` then has the logs being read."""
    running: dict[Future[list[FleetRow]], LogUnit] = {}
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            while pending or running:
                while pending and len(running) < _WAITING * processes:
                    unit = pending.pop()
                    running[pool.submit(read_unit, unit, request, tuple(ran_on))] = unit
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    rows = future.result()
                    yield running.pop(future), rows
        except BrokenProcessPool:
            lost += running.values()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def read_unit(unit: LogUnit, request: Request, ran_on: tuple[str, ...]) -> list[FleetRow]:
    """Return the rows of one log; one row with the reason where it cannot be read."""
    try:
        with tempfile.TemporaryDirectory(prefix="planner-log-") as folder:
            try:
                paths = fetch(unit, Path(folder))
            except PlannerError as error:
                return [_failure(unit, f"{_PASSING[1]}: {_first_line(error, unit)}")]
            logs = read_files(paths)
            return [
                row_of(application, log=unit.key, request=request, ran_on=ran_on) for application in logs.applications
            ]
    except PlannerError as error:
        return [_failure(unit, _first_line(error, unit))]
    except Exception as error:  # one log must not end the reading of thousands
        return [_failure(unit, _nameless(f"{type(error).__name__} while it was read: {error}"[:200], unit))]


def _failure(unit: LogUnit, reason: str) -> FleetRow:
    return FleetRow(log=unit.key, failure=reason)


def _first_line(error: PlannerError, unit: LogUnit) -> str:
    return _nameless("; ".join([error.message, *error.details[:1]]), unit)


def _nameless(text: str, unit: LogUnit) -> str:
    """Return a text without the names of the log's files, their copies, and an archive's members."""
    for file in unit.files:
        folder, _, base = file.rpartition("/")
        for name in (re.escape(file), rf"\S*/{re.escape(base or file)}", re.escape(folder or file)):
            text = re.sub(rf"{name}(?![\w.-])", "the log", text)  # whole names only, not parts of the reason's words
    return _COPY.sub("the log", text)


_COPY: Final = re.compile(r"(?:\S*planner-log-|the log!)\S*(?<!:)")
