"""Lines and rows that alone take more memory than a sort task may: told of where they are read, by file and place, as
nobody knows it later.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any, Final

import numpy as np

from planner.arrays import Bytes
from planner.distributed_sort.content.table_file import open_copy
from planner.distributed_sort.content.text_content import Text
from planner.distributed_sort.dataset.dataset import Layout, Partition
from planner.distributed_sort.dataset.partition_reader import Slice, copies_at, copy_here
from planner.distributed_sort.node_files.node_environment import node_name
from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow

_TABLE_COPIES: Final = 3
"""Of a row while it is sorted: as it came, in order, and in the file."""
_LINE_COPIES: Final = 4
"""Not less than what any line takes beside itself."""
_ADVICE: Final = "shorten or remove it, or sort with more memory: --memory, or a larger object store of Ray's"


def require_sortable(partition: Partition, layout: Layout, slice_: Slice, rows: Any, *, memory_bytes: int) -> None:
    """Raise BadInputError, which says where it is, for a line or a cell of a slice that cannot be sorted in the memory
    of a sort task. `rows` are what was read of the slice.
    """
    if layout.text is not None:
        _require_lines(partition, Text(layout.text), slice_, rows, memory_bytes=memory_bytes)
    elif layout.table is not None and rows.nbytes * _TABLE_COPIES > memory_bytes:
        _require_cells(_first_row(partition, slice_), rows, memory_bytes=memory_bytes)


def _require_lines(partition: Partition, text: Text, slice_: Slice, lines: Bytes, *, memory_bytes: int) -> None:
    if not _may_have_long_line(lines, text, memory_bytes // _LINE_COPIES):
        return
    ends = text.line_ends(lines)
    lengths = np.diff(ends, prepend=0)
    longest = int(lengths.argmax())
    size, begin = int(lengths[longest]), int(ends[longest] - lengths[longest])
    needed = text.needed_bytes(lines[begin : begin + size], 1)
    if needed > memory_bytes:
        copies = copies_at(partition, node_name())
        at = text.begin_of(partition, slice_) + begin + (copies[0].offset if copies else 0)
        raise BadInputError(
            f"the line that begins at byte {at} has {size} bytes and needs {needed} bytes of memory to be sorted, but "
            f"{memory_bytes} are allowed; {_ADVICE}"
        )


def _may_have_long_line(lines: Bytes, text: Text, least_bytes: int) -> bool:
    """Whether a piece of half the length has no newline, as within each line that is as long. Of most pieces no more
    than the beginning is looked at. A row of CSV with newlines within quotes is not noticed.
    """
    half = max(1, least_bytes // 2)
    pieces = (lines[begin : begin + half] for begin in range(0, len(lines) - half + 1, half))
    return any(not text.has_line_end(piece) for piece in pieces)


def _first_row(partition: Partition, slice_: Slice) -> int:
    """Return the number of the first row that was read, which begins a row group, from 1 on."""
    with open_copy(copy_here(partition)) as (_, footer):
        begins = accumulate(footer.group_rows, initial=0)
        return 1 + next(begin for begin in begins if begin >= slice_.first)


def _require_cells(first: int, rows: Any, *, memory_bytes: int) -> None:
    compute, types = arrow("pyarrow.compute"), arrow("pyarrow.types")
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        value_type = column.type
        is_text = types.is_string(value_type) or types.is_large_string(value_type)
        if not rows.num_rows or not (is_text or types.is_binary(value_type) or types.is_large_binary(value_type)):
            continue
        lengths = compute.fill_null(compute.binary_length(column), 0).to_numpy()
        row = int(lengths.argmax())
        size = int(lengths[row])
        if size * _TABLE_COPIES > memory_bytes:
            raise BadInputError(
                f"column {name} of row {first + row} has {size} bytes and needs {size * _TABLE_COPIES} bytes"
                f" of memory to be sorted, but {memory_bytes} are allowed; {_ADVICE}"
            )
