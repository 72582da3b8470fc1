"""The dataset of files that a cluster sorts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from planner.sorting.sort_job import InputFormat
from planner.units import count_text, format_bytes

if TYPE_CHECKING:
    from planner.distributed_sort.dataset.dataset import Dataset


def input_dataset(form: InputFormat, input: str, *, say: Callable[[str], None]) -> Dataset:
    """Return the text or tables below an object store prefix, or at a path that the nodes reach, and report the part
    that is planned for.

    Raises BadInputError, IoFailureError.
    """
    source = files_dataset(form, [input], say=say)
    say(f"note: {input} holds {_described(source, input)}")
    if form.unique:
        say("note: --unique leaves less than came: the output is checked for order and equal keys, not for loss")
    return source


def files_dataset(
    form: InputFormat,
    names: Sequence[str],
    *,
    say: Callable[[str], None] | None = None,
    fills: bool = False,
    columns: Collection[str] = (),
) -> Dataset:
    """Return the text or tables of these names: manifests, or files that every node reaches by these names. `fills`
    adds columns, as nulls, that some tables lack. `columns` are those from the folders of files that are named one by
    one.

    Raises BadInputError.
    """
    source = _dataset_of(form, names, fills=fills, columns=columns)
    joined = [copy for partition in source.partitions for copy in partition.copies if copy.parts]
    if joined and say is not None:
        say(f"note: {sum(len(copy.parts) for copy in joined)} small files are joined to {len(joined)} splits")
    compressed = [part for part in source.partitions if part.is_estimated and not part.copies[0].parts]
    if compressed and say is not None:
        size = format_bytes(sum(partition.records for partition in compressed))
        verb = "is" if len(compressed) == 1 else "are"
        say(
            f"note: {len(compressed)} of {len(source.partitions)} files {verb} compressed. Each is one split: one "
            f"node decompresses it before the sort. By their beginnings they hold about {size} of text"
        )
    return source


def _dataset_of(form: InputFormat, names: Sequence[str], *, fills: bool, columns: Collection[str]) -> Dataset:
    from planner.distributed_sort.dataset.dataset import TextFormat
    from planner.distributed_sort.dataset.table_dataset import tables_of
    from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
    from planner.sorting.text.text_job import csv_columns, line_keys, separator_byte

    if form.format == "parquet":
        return tables_of(names, form.keys, unique=form.unique, fills=fills, columns=columns)
    if form.format == "csv":
        return rows_of(names, csv_columns(form), unique=form.unique)
    text = TextFormat(
        keys=line_keys(form),
        separator=(separator_byte(form) or b"").decode("latin-1"),
        line_end="\0" if form.zero_terminated else "\n",
        unique=form.unique,
    )
    return lines_of(names, text)


def _described(source: Dataset, name: str) -> str:
    """Return a description of the dataset, including which of its sizes the plan uses."""
    from planner.distributed_sort.dataset.input_files import files_of, is_manifest
    from planner.distributed_sort.dataset.object_store import is_object

    count, planned = len(source.partitions), format_bytes(source.bytes)
    files = count_text(count, "object" if is_object(name) else "file")
    if is_object(name):
        files += ", none of which is divided while it is staged"
    if source.layout.table is None:
        return f"{planned} of {source.layout.counted_unit} in {files}"
    rows = f"{source.records} rows in {files}: {planned} as they are sorted, for which all is planned"
    if is_manifest(name):
        return rows
    return f"{rows}, and {format_bytes(sum(files_of(name).values()))} as they are stored"
