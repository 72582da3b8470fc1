"""Memory that decoding Parquet takes, from the headers of its pages: pyarrow holds even very long pages whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, Final, NamedTuple

from planner.errors import BadInputError, reading
from planner.sorting.tables.parquet_parts import Struct, read_sized_struct, stored_count

_TYPE, _DECODED_BYTES, _STORED_BYTES, _CHECKSUM, _DICTIONARY, _VALUES = 1, 2, 3, 4, 7, 1
"""Fields of a page header, and the number of values in a dictionary page's header; see `parquet_parts`."""
_DATA_HEADERS: Final = {0: 5, 3: 8}
"""Field of a page header about its rows, by the type of the page; its first field is the number of values."""
_DICTIONARY_PAGE: Final = 2
_HEADER_BYTES: Final = (256, 1 << 14, 1 << 24)
"""Sizes of header reads: a header also has the least and the greatest value, which may be long."""
_UNCOUNTED_BYTES: Final = 100
"""Bytes of dictionary pages that old writers left out of a column's size, as in pyarrow (PARQUET-816)."""
_MOST_PAGE_BYTES: Final = 1 << 21
"""Columns of a row group up to this size count as one page: pages usually have 1 MB."""
_MOST_PAGES_BYTES: Final = 1 << 24
"""The same for all columns together: each may have its share."""


class Cell(NamedTuple):
    """A column, the first and last of some rows, and the least size in bytes of one of their values."""

    bytes: int
    column: str
    first_row: int
    last_row: int

    @property
    def place(self) -> str:
        """Where it is, in words."""
        one = f"row {self.first_row}"
        rows = one if self.first_row == self.last_row else f"one of rows {self.first_row} to {self.last_row}"
        return f"{rows}, column {self.column},"


class PageSizes(NamedTuple):
    """Bytes of the longest page of each column in a row group, summed, and of a row, where values are long or repeated;
    the longest value known to exist; and bytes of all columns' dictionaries, kept while the other pages are decoded.
    """

    longest: int
    row: float
    cell: Cell | None = None
    dictionaries: int = 0


def page_sizes(path: str, metadata: Any) -> PageSizes:
    """Return the largest page sizes of all row groups. Raises BadInputError where pages contradict the footer: pyarrow
    would leave out rows, or read those of another column.
    """
    sizes, first_row = [], 1
    with reading(path), Path(path).open("rb", buffering=0) as file:
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            try:
                if group.num_rows:
                    sizes.append(_of_group(file, group, metadata.schema, first_row))
            except (IndexError, ValueError) as error:
                raise BadInputError(f"{path} is damaged: row group {number}, {error}", code="not-a-table") from error
            first_row += group.num_rows
    return PageSizes(
        max((size.longest for size in sizes), default=0),
        max((size.row for size in sizes), default=0),
        _longest(sizes),
        max((size.dictionaries for size in sizes), default=0),
    )


def _longest(sizes: Sequence[PageSizes]) -> Cell | None:
    return max((size.cell for size in sizes if size.cell), default=None)


def has_checksums(path: str, metadata: Any) -> bool:
    """Return whether the first page has a checksum."""
    if not (metadata.num_row_groups and metadata.num_columns):
        return False
    with reading(path), Path(path).open("rb", buffering=0) as file, suppress(IndexError, ValueError):
        header, _ = next(_pages(file, metadata.row_group(0).column(0)), ({}, 0))
        return _CHECKSUM in header
    return False


def _of_group(file: FileIO, group: Any, schema: Any, first_row: int) -> PageSizes:
    chunks = [group.column(number) for number in range(group.num_columns)]
    most_bytes = min(_MOST_PAGE_BYTES, _MOST_PAGES_BYTES // max(len(chunks), 1))
    sizes = [
        _of_chunk(file, chunk, _Rows(schema.column(number), group, first_row), most_bytes)
        for number, chunk in enumerate(chunks)
    ]
    row_bytes = (chunk.total_uncompressed_size / group.num_rows for chunk in chunks)
    rows = sum(map(max, (size.row for size in sizes), row_bytes))
    longest, dictionaries = sum(size.longest for size in sizes), sum(size.dictionaries for size in sizes)
    return PageSizes(longest, rows, _longest(sizes), dictionaries)


class _Rows:
    """The rows of a column's pages, in order; for lists, the rows of the row group."""

    def __init__(self, leaf: Any, group: Any, first_row: int) -> None:
        self.column = leaf.path
        self._of_lists = leaf.max_repetition_level > 0
        self._first, self._last = first_row, first_row + group.num_rows - 1

    def cell(self, values: int, decoded_bytes: int) -> Cell | None:
        """Return the least size of one value of the next page."""
        if not values:
            return None
        last = self._last if self._of_lists else self._first + values - 1
        found = Cell(decoded_bytes // values, self.column, self._first, last)
        self._first += 0 if self._of_lists else values
        return found


def _of_chunk(file: FileIO, chunk: Any, rows: _Rows, most_bytes: int) -> PageSizes:
    """Return a column's longest page, the average size of a value of its dictionary, and its longest value.

    Up to `most_bytes`, the column counts as one page. Raises ValueError that names the column.
    """
    longest, dictionary_bytes, value_bytes, cells = 0, 0, 0.0, []
    try:
        for header, values in _pages(file, chunk):
            page_bytes = stored_count(header, _DECODED_BYTES)
            longest = max(longest, page_bytes)
            cells.append(rows.cell(values, page_bytes))
            if stored_count(header, _TYPE) == _DICTIONARY_PAGE:
                dictionary_bytes = page_bytes
                value_bytes = dictionary_bytes / max(_values(header, _DICTIONARY), 1)
    except (IndexError, ValueError) as error:
        raise ValueError(f"column {rows.column}: {error}") from error
    if longest <= chunk.total_uncompressed_size <= most_bytes:
        return PageSizes(chunk.total_uncompressed_size, value_bytes)
    return PageSizes(longest, value_bytes, max((cell for cell in cells if cell), default=None), dictionary_bytes)


def _values(header: Struct, field: int) -> int:
    """Return the number of values from the part of a header about a kind of page. Raises ValueError."""
    about = header[field].value if field in header else None
    if not isinstance(about, dict):
        raise ValueError(f"field {field} of a page header is missing, or of another type")
    return stored_count(about, _VALUES)


def _pages(file: FileIO, chunk: Any) -> Iterator[tuple[Struct, int]]:
    """Yield the headers of a column's pages, and the numbers of their values. Raises ValueError and IndexError where
    the pages have other values in all, or lie elsewhere, than the footer says.
    """
    place = chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    end, values = place + chunk.total_compressed_size, 0
    while place < end or values < chunk.num_values:
        try:
            header, size = _header(file, place)
        except (IndexError, ValueError):
            if values == chunk.num_values:  # what fills up the space is no page
                return
            raise
        place += size + stored_count(header, _STORED_BYTES)
        kind = stored_count(header, _TYPE)
        values_of_page = _values(header, _DATA_HEADERS[kind]) if kind in _DATA_HEADERS else 0
        values += values_of_page
        if values > chunk.num_values or place > end + _UNCOUNTED_BYTES * chunk.has_dictionary_page:
            raise ValueError(f"its pages up to byte {place} have {values} values, not {chunk.num_values} up to {end}")
        yield header, values_of_page


def _header(file: FileIO, place: int) -> tuple[Struct, int]:
    """Return a header and its size. Raises IndexError for an invalid one."""
    for most_bytes in _HEADER_BYTES:
        file.seek(place)
        with suppress(IndexError):
            return read_sized_struct(file.read(most_bytes))
    raise IndexError(f"no page has its header at {place}")
