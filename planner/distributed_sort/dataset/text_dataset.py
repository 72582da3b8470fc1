"""Files of text as a dataset: each a partition, of CSV without its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.distributed_sort.dataset.compressed_sizes import estimate_sizes, text_of
from planner.distributed_sort.dataset.dataset import (
    Copy,
    CsvFormat,
    Dataset,
    Layout,
    Partition,
    TextFormat,
    read_manifest,
)
from planner.distributed_sort.dataset.input_files import files_of, is_manifest
from planner.errors import BadInputError
from planner.sorting.text.csv_keys import FirstRow, read_first_row
from planner.sorting.text.text_files import CommonRows, CsvColumns, common_rows


def lines_of(sources: Sequence[str], text: TextFormat) -> Dataset:
    """Return the lines of manifests, of files, and of all files in directories and below prefixes of object stores,
    which every node reaches by these names. Raises BadInputError, IoFailureError.
    """
    partitions = list[Partition]()
    for source in sources:
        if is_manifest(source):
            partitions += _of_manifest(read_manifest(Path(source)))
        else:
            partitions += [Partition(records=size, copies=(Copy(uri=name),)) for name, size in files_of(source).items()]
    return Dataset(partitions=tuple(estimate_sizes(partitions)), layout=Layout.of_text(text))


def rows_of(sources: Sequence[str], columns: CsvColumns, *, unique: bool) -> Dataset:
    """Return the rows of files of CSV, named as those of lines, and of manifests that a sort of CSV wrote.

    Raises BadInputError for files whose headers are not equal, and for keys that are no columns; IoFailureError.
    """
    rows, partitions = dict[str, FirstRow](), list[Partition]()
    for source in sources:
        if is_manifest(source):
            dataset = read_manifest(Path(source))
            rows[source] = _row_of_manifest(dataset, columns, name=source)
            partitions += dataset.partitions
            continue
        for name, size in files_of(source).items():
            rows[name] = row = read_first_row(text_of(name, size), name=name, delimiter=columns.delimiter)
            begin = columns.skipped_bytes(row)
            partitions.append(Partition(records=size - begin, copies=(Copy(uri=name, offset=begin),)))
    text = _format_of(common_rows(columns, rows), unique=unique)
    return Dataset(partitions=tuple(estimate_sizes(partitions)), layout=Layout.of_text(text))


def _format_of(common: CommonRows, *, unique: bool) -> TextFormat:
    delimiter, _, columns, ends_with_crlf = common.format
    csv = CsvFormat(
        delimiter=delimiter.decode("latin-1"),
        columns=columns,
        ends_with_crlf=ends_with_crlf,
        header=common.prologue.decode("latin-1"),
    )
    return TextFormat(keys=common.keys, unique=unique, csv=csv)


def _row_of_manifest(dataset: Dataset, columns: CsvColumns, *, name: str) -> FirstRow:
    """Return the header of a sorted dataset, or a row of as many empty values."""
    csv = None if dataset.layout.text is None else dataset.layout.text.csv
    if csv is None:
        raise BadInputError(f"{name}: this manifest is not of CSV; name the files")
    if csv.delimiter.encode("latin-1") != columns.delimiter:
        raise BadInputError(f"{name}: columns are separated by {csv.delimiter!r}: say --separator")
    if bool(csv.header) != columns.header:
        raise BadInputError(f"{name}: its files have {'a' if csv.header else 'no'} header; mind --no-header")
    if csv.header:
        return read_first_row([csv.header.encode("latin-1")], name=name, delimiter=columns.delimiter)
    return FirstRow(b"\r\n" if csv.ends_with_crlf else b"\n", ("",) * csv.columns)


def _of_manifest(dataset: Dataset) -> tuple[Partition, ...]:
    size = dataset.layout.record_size
    return tuple(replace(part, records=part.records * size, recipe=None) for part in dataset.partitions)
