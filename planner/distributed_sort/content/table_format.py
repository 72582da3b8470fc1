"""The format of a dataset's Parquet files: schema, keys, and style of writing."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.sorting.tables.parquet_output import ParquetStyle
    from planner.sorting.tables.table_keys import ColumnKey


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """Tables of one `schema` (Arrow's serialization of it, as base64) and their sort keys.

    Keys are `COLUMN[:asc|desc][:first|last]`; `unique` keeps one of the rows with equal keys. The other fields are as
    in `ParquetStyle`.
    """

    schema: str
    keys: tuple[str, ...]
    unique: bool = False
    compression: str = "snappy"
    dictionaries: tuple[str, ...] | None = None
    group_rows: int = 1 << 20
    has_decimal_integers: bool = False

    @staticmethod
    def of(fields: Mapping[str, Any]) -> TableFormat:
        """Return the format in a manifest. Raises TypeError for anything else."""
        leaves = fields.get("dictionaries")
        dictionaries = None if leaves is None else tuple(leaves)
        return TableFormat(**{**fields, "keys": tuple(fields["keys"]), "dictionaries": dictionaries})

    def arrow_schema(self) -> Any:
        """Return pyarrow's schema."""
        return _parse_schema(self.schema)

    def column_keys(self) -> list[ColumnKey]:
        """Return the keys by the columns' places. Raises BadInputError for a missing column."""
        from planner.sorting.tables.table_keys import parse_table_keys

        return parse_table_keys(self.keys, self.arrow_schema())

    def style(self) -> ParquetStyle:
        """Return the style in which files are written."""
        from planner.sorting.tables.parquet_output import ParquetStyle

        return ParquetStyle(
            compression=self.compression,
            dictionaries=self.dictionaries,
            group_rows=self.group_rows,
            has_decimal_integers=self.has_decimal_integers,
        )


def serialize_schema(schema: Any) -> str:
    """Return a schema as stored in a manifest."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


@lru_cache(maxsize=8)
def _parse_schema(schema: str) -> Any:
    from planner.sorting.tables.arrow_library import arrow

    return arrow("pyarrow.ipc").read_schema(arrow().py_buffer(base64.b64decode(schema)))
