"""Files of text as a dataset: each a partition, of CSV without its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.distributed_sort.dataset import Copy, CsvFormat, Dataset, Layout, Partition, TextFormat, read_manifest
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.compression import is_compressed, open_source
from planner.sorting.csv_keys import FirstRow, read_first_row
from planner.sorting.text_files import CommonRows, CsvColumns, common_rows


def lines_of(sources: Sequence[Path], text: TextFormat) -> Dataset:
    """Return the lines of manifests, and of files that every node reaches by their path. Raises BadInputError."""
    partitions = [
        partition
        for source in sources
        for partition in (_of_manifest(read_manifest(source)) if _is_manifest(source) else (_of_file(source, begin=0),))
    ]
    return Dataset(partitions=tuple(partitions), layout=Layout.of_text(text))


def rows_of(sources: Sequence[Path], columns: CsvColumns, *, unique: bool) -> Dataset:
    """Return the rows of files of CSV, and of manifests that a sort of CSV wrote. Raises BadInputError for files whose
    headers are not equal, and for keys that are no columns.
    """
    rows, partitions = dict[str, FirstRow](), list[Partition]()
    for source in sources:
        if _is_manifest(source):
            dataset = read_manifest(source)
            rows[str(source)] = _row_of_manifest(dataset, columns, name=str(source))
            partitions += dataset.partitions
        else:
            head = open_source(str(source), Progress()).head()
            rows[str(source)] = row = read_first_row(head, name=str(source), delimiter=columns.delimiter)
            partitions.append(_of_file(source, begin=columns.skipped_bytes(row)))
    text = _format_of(common_rows(columns, rows), unique=unique)
    return Dataset(partitions=tuple(partitions), layout=Layout.of_text(text))


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


def _is_manifest(source: Path) -> bool:
    with source.open("rb") as file:
        return b'"planner-manifest-' in file.read(200)


def _of_file(source: Path, *, begin: int) -> Partition:
    if is_compressed(source):
        raise BadInputError(f"{source} is compressed, and cannot be cut into slices: decompress it first")
    return Partition(records=source.stat().st_size - begin, copies=(Copy(uri=str(source.resolve()), offset=begin),))


def _of_manifest(dataset: Dataset) -> tuple[Partition, ...]:
    size = dataset.layout.record_size
    return tuple(replace(part, records=part.records * size, recipe=None) for part in dataset.partitions)
