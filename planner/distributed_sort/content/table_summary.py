"""Summaries of consecutive rows of tables: count, checksum and order."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

from planner.distributed_sort.content.table_blocks import key_table, pack_rows, transfer_schema, unpack_rows
from planner.distributed_sort.content.table_format import TableFormat
from planner.sorting.tables.arrow_library import arrow
from planner.sorting.tables.table_hash import rows_checksum
from planner.sorting.tables.table_keys import ColumnKey
from planner.sorting.tables.table_runs import count_disorder

_MOST_SHOWN: Final = 80
"""Most characters of a value in a manifest."""
_ENDS: Final = ("first_keys", "last_keys")


@dataclass(kw_only=True)
class TableSummary:
    """Summary of consecutive rows, and the packed keys of the first and the last of them, b'' for none."""

    table: TableFormat
    records: int = 0
    checksum: int = 0
    unordered: int = 0
    duplicates: int = 0
    first_keys: bytes = b""
    last_keys: bytes = b""

    def append(self, behind: TableSummary) -> None:
        """Add the summary of the rows behind; order is also checked where both meet."""
        if behind.records == 0:
            return
        if self.records:
            meeting = arrow().concat_tables([*unpack_rows(self.last_keys), *unpack_rows(behind.first_keys)])
            unordered, duplicates = count_disorder(meeting, _keys(self.table)[1])
            self.unordered += unordered
            self.duplicates += duplicates
        else:
            self.first_keys = behind.first_keys
        self.records += behind.records
        self.checksum += behind.checksum
        self.unordered += behind.unordered
        self.duplicates += behind.duplicates
        self.last_keys = behind.last_keys

    def serialize(self) -> bytes:
        """Return the summary as one JSON object."""
        fields = {name: value for name, value in asdict(self).items() if name != "table"}
        return json.dumps(fields | {name: base64.b64encode(fields[name]).decode() for name in _ENDS}).encode()

    @staticmethod
    def of(table: TableFormat, rows: Any) -> TableSummary:
        """Return the summary of a table's rows."""
        if not rows.num_rows:
            return TableSummary(table=table)
        own, keys = key_table(rows, _keys(table)[0])
        own = own.cast(transfer_schema(own.schema))
        unordered, duplicates = count_disorder(own, keys)
        return TableSummary(
            table=table,
            records=rows.num_rows,
            checksum=rows_checksum(rows),
            unordered=unordered,
            duplicates=duplicates,
            first_keys=pack_rows(own.slice(0, 1)),
            last_keys=pack_rows(own.slice(own.num_rows - 1)),
        )

    @staticmethod
    def parse(table: TableFormat, serialized: bytes) -> TableSummary:
        """Parse a serialized summary."""
        fields: dict[str, Any] = json.loads(serialized)
        return TableSummary(**fields | {name: base64.b64decode(fields[name]) for name in _ENDS}, table=table)


def format_keys(keys: bytes) -> str:
    """Return the key values of one row as stored in a manifest, '' for none: a list in JSON, long values cut."""
    rows = [table.to_pylist()[0] for table in unpack_rows(keys)]
    return json.dumps([_format_value(value) for value in rows[0].values()], ensure_ascii=False) if rows else ""


def _format_value(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    return (value.hex() if isinstance(value, bytes) else str(value))[:_MOST_SHOWN]


@lru_cache(maxsize=8)
def _keys(table: TableFormat) -> tuple[list[ColumnKey], list[ColumnKey]]:
    """Return the keys of whole rows, and the same for rows that consist of keys alone."""
    keys = table.column_keys()
    return keys, [key._replace(column=place) for place, key in enumerate(keys)]
