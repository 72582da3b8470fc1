"""Rows of logs that were read, stored on this machine: reading a place again opens only new or changed logs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from planner.config.paths import state_directory
from planner.errors import IoFailureError
from planner.spark.fleet.places import LogUnit
from planner.spark.fleet.rows import FleetRow

_TABLE: Final = """create table if not exists rows (
    place text, log text, question text, version text, rows text, primary key (place, log, question))"""


def store_directory() -> Path:
    """Return the folder of the stored rows; it need not exist."""
    return state_directory("fleets")


class RowStore:
    """Stored rows of one place and one question; another question, such as other machines or prices, has its own."""

    def __init__(self, connection: sqlite3.Connection, *, place: str, question: str) -> None:
        self._connection, self._place, self._question = connection, place, question

    def rows(self, units: Sequence[LogUnit]) -> dict[str, list[FleetRow]]:
        """Return the stored rows of unchanged logs, by the logs' keys."""
        found = self._connection.execute(
            "select log, version, rows from rows where place = ? and question = ?", (self._place, self._question)
        )
        versions = {unit.key: unit.version for unit in units}
        return {
            log: [FleetRow(**row) for row in json.loads(rows)]
            for log, version, rows in found
            if versions.get(log) == version
        }

    def keep(self, unit: LogUnit, rows: Sequence[FleetRow]) -> None:
        """Store the rows of a log, replacing earlier ones."""
        text = json.dumps([asdict(row) for row in rows])
        with self._connection:
            self._connection.execute(
                "insert or replace into rows values (?, ?, ?, ?, ?)",
                (self._place, unit.key, self._question, unit.version, text),
            )


@contextmanager
def open_store(*, place: str, question: str) -> Iterator[RowStore]:
    """Yield the store; several processes may use it at once. Raises IoFailureError if the disk cannot be read or
    written.
    """
    path = store_directory() / "rows.sqlite"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.execute(_TABLE)
            yield RowStore(connection, place=place, question=question)
    except (sqlite3.Error, OSError) as error:
        raise IoFailureError(
            f"cannot keep what was read in {path}: {error}", ["`planner where --clear fleets` removes it"], code="io"
        ) from error
