"""Text and CSV files as datasets. Compressed ones get estimated sizes, from the beginning of some files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from planner.compression.looks import MAGIC_BYTES, Look, compression_of
from planner.compression.text_codecs import decompress_text, growing
from planner.distributed_sort.dataset.dataset import (
    Copy,
    CsvFormat,
    Dataset,
    Layout,
    Partition,
    TextFormat,
    read_manifest,
)
from planner.distributed_sort.dataset.input_files import beginning_of, files_of, is_manifest, size_of
from planner.distributed_sort.dataset.joined_files import join_small
from planner.errors import BadInputError
from planner.sorting.text.csv_keys import FirstRow, read_first_row
from planner.sorting.text.text_files import CommonRows, common_rows
from planner.sorting.text.text_job import CsvColumns

_FILES_AT_ONCE: Final = 32
"""Files examined at a time: each request to a store takes tens of milliseconds, whatever its size."""


_Looks = Mapping[str, Sequence[Look]]
"""Looks at the files of each source."""
_NONE: Final[_Looks] = {}


def lines_of(sources: Sequence[str], text: TextFormat, *, looks: _Looks = _NONE) -> Dataset:
    """Return the lines of manifests, of files, and of all files in directories and below prefixes of object stores,
    which every node reaches by these names. `looks` at their files save others. Raises BadInputError, IoFailureError.
    """
    partitions = list[Partition]()
    for source in sources:
        if source not in looks and is_manifest(source):
            partitions += _of_manifest(read_manifest(Path(source)))
        else:
            files = _files_of(source, looks)
            partitions += [Partition(records=size, copies=(Copy(uri=name),)) for name, size in files.items()]
    return Dataset(partitions=tuple(join_small(estimate_sizes(partitions, looks))), layout=Layout.of_text(text))


def rows_of(sources: Sequence[str], columns: CsvColumns, *, unique: bool, looks: _Looks = _NONE) -> Dataset:
    """Return the rows of CSV files, named as those of lines, and of manifests written by sorts of CSV.

    Raises BadInputError for files with different headers, and for keys that are no columns; IoFailureError.
    """
    rows, partitions = dict[str, FirstRow](), list[Partition]()
    for source in sources:
        if source not in looks and is_manifest(source):
            dataset = read_manifest(Path(source))
            rows[source] = _row_of_manifest(dataset, columns, name=source)
            partitions += dataset.partitions
            continue
        sizes = _files_of(source, looks)
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            first_rows = pool.map(partial(_first_row, columns, _by_name(looks)), sizes.items())
            rows |= zip(sizes, first_rows, strict=True)
        for name, size in sizes.items():
            begin = columns.skipped_bytes(rows[name])
            partitions.append(Partition(records=size - begin, copies=(Copy(uri=name, offset=begin),)))
    text = _format_of(common_rows(columns, rows), unique=unique)
    return Dataset(partitions=tuple(join_small(estimate_sizes(partitions, looks))), layout=Layout.of_text(text))


def _files_of(source: str, looks: _Looks) -> dict[str, int]:
    return {look.name: look.size_bytes for look in looks[source]} if source in looks else files_of(source)


def _by_name(looks: _Looks) -> dict[str, Look]:
    return {look.name: look for of_source in looks.values() for look in of_source}


def _first_row(columns: CsvColumns, looks: Mapping[str, Look], file: tuple[str, int]) -> FirstRow:
    name, size = file
    seen = [looks[name].head] if name in looks else []
    rest = iter(()) if name in looks and looks[name].is_whole else growing(text_of(name, size), [])
    return read_first_row(chain(seen, rest), name=name, delimiter=columns.delimiter)


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
        raise BadInputError(f"{name}: this manifest is not of CSV; name the files", code="not-csv")
    if csv.delimiter.encode("latin-1") != columns.delimiter:
        raise BadInputError(
            f"{name}: columns are separated by {csv.delimiter!r}: say --separator", code="other-separator"
        )
    if bool(csv.header) != columns.header:
        raise BadInputError(
            f"{name}: its files have {'a' if csv.header else 'no'} header; mind --no-header", code="other-header"
        )
    if csv.header:
        return read_first_row([csv.header.encode("latin-1")], name=name, delimiter=columns.delimiter)
    return FirstRow(b"\r\n" if csv.ends_with_crlf else b"\n", ("",) * csv.columns)


def _of_manifest(dataset: Dataset) -> tuple[Partition, ...]:
    size = dataset.layout.record_size
    return tuple(replace(part, records=part.records * size, recipe=None) for part in dataset.partitions)


_MOST_TRIED: Final = 8
"""Most files whose beginning is decompressed; the others are assumed to be like these."""
_TRIED_BYTES: Final = 1 << 20
"""Compressed bytes read from the beginning of each."""


def estimate_sizes(partitions: Sequence[Partition], looks: _Looks = _NONE) -> list[Partition]:
    """Return the partitions of text files, with compressed ones marked and their sizes estimated. Other partitions,
    such as those of manifests, are unchanged. Raises BadInputError where a beginning is damaged.
    """
    of_looks = partial(_compression, _by_name(looks))
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        forms = {number: form for number, form in enumerate(pool.map(of_looks, partitions)) if form}
    tried = sorted({list(forms)[turn * len(forms) // _MOST_TRIED] for turn in range(_MOST_TRIED)}) if forms else []
    ratios = {number: decompressed_per_byte(partitions[number].uri, forms[number]) for number in tried}
    mean = sum(ratios.values()) / max(1, len(ratios))
    return [
        _with_estimate(partition, forms[number], ratios.get(number, mean)) if number in forms else partition
        for number, partition in enumerate(partitions)
    ]


def decompressed_per_byte(name: str, form: str) -> float:
    """Return the bytes of text per compressed byte at the beginning of a file. Raises BadInputError."""
    taken = plain = 0

    def pieces() -> Iterator[bytes]:
        nonlocal taken
        for piece in beginning_of(name, size_of(name)):
            taken += len(piece)
            yield piece

    for chunk in _name_file_in_errors(name, decompress_text(pieces(), form)):
        plain += len(chunk)
        if taken >= _TRIED_BYTES:
            break
    return plain / max(1, taken)


def text_of(name: str, size: int) -> Iterator[bytes]:
    """Yield a file from its beginning, decompressed if it is compressed. Raises BadInputError where it is damaged,
    IoFailureError.
    """
    pieces = beginning_of(name, size)
    form = _form(name, size)
    return _name_file_in_errors(name, decompress_text(pieces, form)) if form else pieces


def _compression(looks: Mapping[str, Look], partition: Partition) -> str:
    """Return the compression of a partition's one file, if any node reaches it."""
    if partition.recipe is not None or len(partition.copies) != 1 or partition.copies[0].node:
        return ""
    if partition.uri in looks:
        return looks[partition.uri].codec
    return _form(partition.uri, partition.records + partition.copies[0].offset)


def _form(name: str, size: int) -> str:
    return compression_of(next(beginning_of(name, min(size, MAGIC_BYTES)), b""))


def _with_estimate(partition: Partition, form: str, ratio: float) -> Partition:
    (copy,) = partition.copies
    records = max(1, round(ratio * (partition.records + copy.offset)) - copy.offset)
    return replace(partition, records=records, copies=(replace(copy, compression=form),), is_estimated=True)


def _name_file_in_errors(name: str, chunks: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from chunks
    except BadInputError as error:
        raise error.reworded(f"{name}: {error.message}") from error
