"""The dataset of files that a cluster sorts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.errors import BadInputError
from planner.sorting.sort_job import ClusterFormat, InputFormat
from planner.units import count_text, format_bytes

if TYPE_CHECKING:
    from planner.compression.looks import Look
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
    if form.format != "parquet":  # which is known by its footers
        form, looks = _looked_into(form, names, say=say)
    else:
        looks = {}
    source = _dataset_of(form, names, looks, fills=fills, columns=columns, say=say)
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


def _looked_into(
    form: InputFormat, names: Sequence[str], *, say: Callable[[str], None] | None
) -> tuple[InputFormat, Mapping[str, Sequence[Look]]]:
    """Return the form with the format and the dialect that the files of these names show, unless it has them, and looks
    at the files of each name. Raises BadInputError.
    """
    from planner.api.contents.inspection import inspect
    from planner.distributed_sort.dataset.input_files import files_of, is_manifest

    listed = {name: files_of(name) for name in names if not is_manifest(name)}
    if not listed:
        return replace(form, format=form.format or _format_of_manifest(form, names[0])), {}
    found = inspect([file for files in listed.values() for file in files], vars(form) | {"key": form.keys}, say=say)
    if found.format == "records" and form.format is None:
        raise _of_records(form, found.looks[0].name)
    if found.format == "csv" and found.quote not in (None, '"'):
        raise BadInputError(
            f"{found.looks[0].name}: a cluster takes CSV with double quotes around values, and no others",
            ["sort it on one machine, without --ray"],
            code="bad-quote",
        )
    looks = iter(found.looks)
    form = replace(form, format=found.cluster_format, separator=found.separator, no_header=found.no_header)
    return form, {name: [next(looks) for _ in files] for name, files in listed.items()}


def _format_of_manifest(form: InputFormat, name: str) -> ClusterFormat:
    from planner.distributed_sort.dataset.dataset import read_manifest

    layout = read_manifest(Path(name)).layout
    if layout.text is None and layout.table is None and form.keys:
        raise _of_records(form, name)
    return "parquet" if layout.table else "csv" if layout.text and layout.text.csv else "lines"


def _of_records(form: InputFormat, name: str) -> BadInputError:
    return BadInputError(
        f"--key {', '.join(form.keys)}: {name} is records; with --ray their manifest says the key",
        code="unsupported-key",
    )


def _dataset_of(
    form: InputFormat,
    names: Sequence[str],
    looks: Mapping[str, Sequence[Look]],
    *,
    fills: bool,
    columns: Collection[str],
    say: Callable[[str], None] | None,
) -> Dataset:
    from planner.distributed_sort.dataset.dataset import TextFormat
    from planner.distributed_sort.dataset.table_dataset import tables_of
    from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of
    from planner.sorting.text.text_job import csv_columns, line_keys, separator_byte

    if form.format == "parquet":
        return tables_of(names, form.keys, unique=form.unique, fills=fills, columns=columns, say=say)
    if form.format == "csv":
        return rows_of(names, csv_columns(form), unique=form.unique, looks=looks)
    text = TextFormat(
        keys=line_keys(form),
        separator=(separator_byte(form) or b"").decode("latin-1"),
        line_end="\0" if form.zero_terminated else "\n",
        unique=form.unique,
    )
    return lines_of(names, text, looks=looks)


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
