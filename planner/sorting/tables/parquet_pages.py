"""Memory that decoding Parquet takes, from the headers of its pages: pyarrow has a page whole, however long it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from planner.sorting.tables.parquet_parts import Struct, read_sized_struct

_TYPE, _DECODED_BYTES, _STORED_BYTES, _CHECKSUM, _DICTIONARY, _VALUES = 1, 2, 3, 4, 7, 1
"""Fields of a page's header, and the number of values in that of a dictionary; see `parquet_parts`."""
_DICTIONARY_PAGE: Final = 2
_HEADER_BYTES: Final = (256, 1 << 14)
"""A header has the least and the greatest value, too, which may be long."""
_MOST_PAGE_BYTES: Final = 1 << 21
"""Columns of a row group that are no longer are not looked into: pages have 1 MB, as a rule."""


class PageSizes(NamedTuple):
    """Bytes of the longest page of each column in a row group, all together, and of a row, where values are long or
    repeated.
    """

    longest: int
    row: float


def page_sizes(path: str, metadata: Any) -> PageSizes:
    """Return the largest of all row groups."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    with Path(path).open("rb", buffering=0) as file:
        sizes = [_of_group(file, group) for group in groups if group.num_rows]
    return PageSizes(max((size.longest for size in sizes), default=0), max((size.row for size in sizes), default=0))


def has_checksums(path: str, metadata: Any) -> bool:
    """Whether the first page has one."""
    if not (metadata.num_row_groups and metadata.num_columns):
        return False
    with Path(path).open("rb", buffering=0) as file, suppress(IndexError, KeyError, ValueError):
        return _CHECKSUM in next(_headers(file, metadata.row_group(0).column(0)), {})
    return False


def _of_group(file: FileIO, group: Any) -> PageSizes:
    sizes = [_of_chunk(file, group.column(number)) for number in range(group.num_columns)]
    rows = sum(max(size.row, group.column(i).total_uncompressed_size / group.num_rows) for i, size in enumerate(sizes))
    return PageSizes(sum(size.longest for size in sizes), rows)


def _of_chunk(file: FileIO, chunk: Any) -> PageSizes:
    """Return the longest page of a column, and what one value of its dictionary takes on average."""
    size = chunk.total_uncompressed_size
    if size <= _MOST_PAGE_BYTES and not chunk.has_dictionary_page:
        return PageSizes(size, 0)
    longest, value_bytes = 0, 0.0
    try:
        for header in _headers(file, chunk):
            longest = max(longest, header[_DECODED_BYTES].value)
            if header[_TYPE].value == _DICTIONARY_PAGE:
                value_bytes = header[_DECODED_BYTES].value / max(header[_DICTIONARY].value[_VALUES].value, 1)
                if size <= _MOST_PAGE_BYTES:
                    return PageSizes(size, value_bytes)
    except (IndexError, KeyError, ValueError):  # damaged, as pyarrow says better
        return PageSizes(size, value_bytes)
    return PageSizes(longest, value_bytes)


def _headers(file: FileIO, chunk: Any) -> Iterator[Struct]:
    """Yield the headers of a column's pages in turn."""
    place = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    end = place + chunk.total_compressed_size
    while place < end:
        header, size = _header(file, place)
        yield header
        place += size + header[_STORED_BYTES].value


def _header(file: FileIO, place: int) -> tuple[Struct, int]:
    """Return a header and its size. Raises IndexError for what is none."""
    for most_bytes in _HEADER_BYTES:
        file.seek(place)
        with suppress(IndexError):
            return read_sized_struct(file.read(most_bytes))
    raise IndexError(f"no page has its header at {place}")
