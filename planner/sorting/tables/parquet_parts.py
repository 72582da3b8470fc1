"""A Parquet file out of parts that threads encode at the same time, each a file of its own with some row groups.

The pages of a part are copied as they are. Its footer says where they are, so those places are moved, and the row
groups of all parts are listed in one footer. `format.thrift` of Apache Parquet numbers the fields.
"""

from __future__ import annotations

from typing import Any, Final

from planner.sorting.tables.compact_thrift import Field, List, Struct, read_struct, written

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
"""The length of the footer, and the magic bytes."""
_FILE_ROWS, _FILE_GROUPS = 3, 4
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _CHUNK_METADATA, _CHUNK_OFFSET_INDEX, _CHUNK_COLUMN_INDEX = 2, 3, 4, 6
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER = 9, 10, 11, 14
_MOST_ORDINAL: Final = 2**15 - 1


class JoinedParts:
    """What of the parts has been written to a file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._footer: Struct | None = None
        self._groups: list[Struct] = []
        self._rows = 0
        self.end = 0
        """How many bytes have been written."""

    def add(self, part: Any) -> None:
        """Write what a part, a Parquet file in memory, has beside its footer."""
        view = memoryview(part)
        footer_bytes = int.from_bytes(view[-_TAIL_BYTES:-4], "little")
        past = len(view) - _TAIL_BYTES - footer_bytes
        footer = read_struct(bytes(view[past:-_TAIL_BYTES]))
        if self._footer is None:
            self._footer = footer
            self._write(_MAGIC)
        moved_by = self.end - len(_MAGIC)
        self._write(view[len(_MAGIC) : past])
        self._rows += footer[_FILE_ROWS].value
        for group in footer[_FILE_GROUPS].value.values:
            _move_group(group, moved_by, ordinal=len(self._groups))
            self._groups.append(group)

    def finish(self) -> int:
        """Write the footer, after one part at least; return the size of the file."""
        assert self._footer is not None
        rows, groups = self._footer[_FILE_ROWS], self._footer[_FILE_GROUPS]
        self._footer[_FILE_ROWS] = rows._replace(value=self._rows)
        self._footer[_FILE_GROUPS] = Field(groups.type_id, List(groups.value.type_id, list(self._groups)))
        footer = written(self._footer)
        self._write(footer + len(footer).to_bytes(4, "little") + _MAGIC)
        return self.end

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self.end += len(data)


def _move_group(group: Struct, moved_by: int, *, ordinal: int) -> None:
    _move(group, _GROUP_OFFSET, moved_by)
    if ordinal > _MOST_ORDINAL:
        group.pop(_GROUP_ORDINAL, None)
    elif _GROUP_ORDINAL in group:
        group[_GROUP_ORDINAL] = group[_GROUP_ORDINAL]._replace(value=ordinal)
    for chunk in group[_GROUP_COLUMNS].value.values:
        for field in (_CHUNK_OFFSET, _CHUNK_OFFSET_INDEX, _CHUNK_COLUMN_INDEX):
            _move(chunk, field, moved_by)
        for field in (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER):
            _move(chunk[_CHUNK_METADATA].value, field, moved_by)


def _move(struct: Struct, field: int, moved_by: int) -> None:
    """Move a place in the file; there is none at 0, where the magic bytes are."""
    if field in struct and struct[field].value > 0:
        struct[field] = struct[field]._replace(value=struct[field].value + moved_by)
