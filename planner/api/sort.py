"""Sorts from Python: `planner.sort(...)`, on this machine or on a Ray cluster, and `planner.find_disorder(...)`."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api.contents.csv_dialect import detect_dialect
from planner.api.contents.datasets import files_of_dataset, is_of
from planner.api.contents.file_kinds import recognised, require_fitting_name
from planner.api.contents.listed_files import all_files, listed_files
from planner.api.files import STANDARD_OUTPUT, mode_of, output_file, require_readable
from planner.api.input_format import Format, InputFormat
from planner.api.progress import OnProgress
from planner.api.sort_consuming import require_begun, resume_sort, sort_consuming
from planner.api.sort_here import disorder_of_rows, disorder_of_text, sort_parquet, sort_records, sort_text
from planner.api.sort_job import (
    USUAL_RECORD,
    Compress,
    Disorder,
    OnEvent,
    Say,
    SortJob,
    SortResult,
    StrPath,
    require_inputs,
    require_output_apart,
)
from planner.api.sort_on_ray import manifest_and_place, sort_on_ray
from planner.errors import BadInputError
from planner.schemas.door import Bytes, Count, Offset, checked
from planner.sorting.tables.folder_columns import Folders
from planner.units import count_text

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset as ArrowDataset
    from ray.data import Dataset as RayDataset

    from planner.sorting.records.local import Spill


@checked
def sort(
    inputs: StrPath | Sequence[StrPath] | ArrowDataset | RayDataset,
    output: StrPath,
    *,
    more_outputs: Sequence[StrPath] = (),
    format: Format | None = None,
    key: str | Sequence[str] | None = None,
    separator: str | None = None,
    quote: str | None = None,
    no_header: bool | None = None,
    unique: bool = False,
    union_by_name: bool = False,
    zero_terminated: bool = False,
    lines: bool = False,
    merge: bool = False,
    limit: Count | None = None,
    compress: Compress | None = None,
    record_size: Count | None = None,
    key_offset: Offset = 0,
    key_size: Count | None = None,
    stable: bool = False,
    spill: Spill = "auto",
    memory_bytes: Bytes | None = None,
    threads: Count | None = None,
    temp_dirs: Sequence[StrPath] = (),
    consume_input: bool = False,
    resume: bool = False,
    force: bool = False,
    ray: str | None = None,
    copies: Count = 1,
    to: str | None = None,
    file_bytes: Bytes | None = None,
    directory: StrPath | None = None,
    uniform: bool = False,
    staging: StrPath | None = None,
    say: Say | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent | None = None,
) -> SortResult:
    """Sort files into one as `planner sort` does: records by their first bytes, or as `format` and `key` specify.

    With `ray` the cluster at that address sorts (`"auto"`: the one of this machine). `output` is then a manifest, or
    the object store prefix for the partitions. Nodes whose disks are not configured use `directory`. A pyarrow Dataset
    stands for its Parquet files; a Ray Dataset is first written to a new folder in `staging`. With `consume_input` the
    inputs' space is freed as they are read, and they are deleted at the end; after a failure `resume` finishes the
    sort, and needs neither inputs nor options; it begins none. `say` receives notes, `on_event` the events of a
    cluster. Raises BadInputError for conflicting options and for an existing output, unless `force` replaces it;
    IoFailureError; InterruptedRunError.

    >>> import planner, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = pathlib.Path(folder, "names.csv")
    ...     _ = names.write_text("name,age\\nEve,9\\nAda,36\\n")
    ...     planner.sort(names, names.with_name("sorted.csv"), format="csv", key="age:num:desc").count
    2
    """
    rows = inputs if is_of(inputs, "ray.data") else None
    is_dataset = rows is not None or is_of(inputs, "pyarrow")
    outputs = [output_file(name) for name in (output, *more_outputs)]
    others = {"ray": ray is not None, "more_output": bool(more_outputs), "dataset": is_dataset}
    _require_consuming_alone(others, outputs[0], consume_input=consume_input, resume=resume)
    sources, folders = _of_dataset(inputs, format, outputs) if is_dataset else (_paths(inputs), ())
    format = "parquet" if is_dataset else format
    if ray is None:
        places = {"to": to is not None, "dir": directory is not None, "file-size": file_bytes is not None}
        _require_no_cluster_options(copies=copies != 1, uniform=uniform, **places)
        if rows is not None or staging is not None:
            raise BadInputError("a Ray Dataset and its staging are for a cluster: say ray='auto', or name files")
        if not is_dataset:
            sources, folders = _listed(sources, outputs, is_begun=resume, say=say)
        given = {"format": format, "separator": separator, "lines": lines, "zero_terminated": zero_terminated}
        given |= {"no_header": no_header, "quote": quote}
        if not resume:
            found = _kind(sources, given, key=key, record_size=record_size, say=say)
            format, separator, lines, no_header, quote = found
    elif quote:
        raise BadInputError("--quote is for one machine: a cluster sorts CSV with double quotes; leave it out")
    _require_csv(format, quote)
    job = SortJob(
        form=_form(format, key, separator, no_header=bool(no_header), unique=unique, zero_terminated=zero_terminated),
        lines=lines or format == "lines",
        merge=merge,
        limit=limit,
        compress=compress,
        record=(USUAL_RECORD[0] if record_size is None else record_size, key_offset, key_size),
        stable=stable,
        quote=quote,
        union_by_name=union_by_name,
        folders=folders,
        spill=spill,
        memory_bytes=memory_bytes,
        threads=threads,
        temp_dirs=tuple(str(path) for path in temp_dirs),
        replaces=force,
    )
    if format != "parquet" and (union_by_name or folders):
        _without_columns_of_folders(union_by_name=union_by_name, say=say)
    if ray is None and not resume:
        require_fitting_name(outputs[0], is_parquet=format == "parquet")
    if resume:
        return resume_sort(job, sources, outputs[0], force=force, on_progress=on_progress)
    if consume_input:
        return sort_consuming(job, sources, outputs[0], force=force, on_progress=on_progress)
    if ray is not None:
        outputs[0], to = manifest_and_place(outputs[0], to, say=say)
        cluster = {"copies": copies, "uniform": uniform, "output": to or outputs[0].stem, "sums_input": True}
        cluster |= {"directory": os.fspath(directory or ""), "partition_bytes": file_bytes}
        return sort_on_ray(
            job, sources, outputs, cluster, address=ray, force=force, say=say, on_event=on_event, rows=rows,
            staging=staging,
        )  # fmt: skip
    result = Path("-") if str(output) in STANDARD_OUTPUT else outputs[0]
    if not (job.is_text_or_table or _needs_pipes(sources, result, by_name=bool(job.record_bytes))):
        require_inputs(sources, outputs, job, force=force)
        return sort_records(job, sources, outputs, on_progress)
    job.require_one_output(others=bool(more_outputs))
    require_inputs(sources, [result], job, force=force, is_text=True)
    if format == "parquet":
        return sort_parquet(job, sources, result, on_progress)
    return sort_text(job, sources, result, say=say, on_progress=on_progress)


@checked
def find_disorder(
    source: StrPath | Sequence[StrPath],
    *,
    format: Format | None = None,
    key: str | Sequence[str] | None = None,
    separator: str | None = None,
    quote: str | None = None,
    no_header: bool | None = None,
    unique: bool = False,
    zero_terminated: bool = False,
    lines: bool = False,
    record_size: Count | None = None,
    key_offset: Offset = 0,
    key_size: Count | None = None,
    stable: bool = False,
    say: Say | None = None,
    on_progress: OnProgress | None = None,
) -> Disorder | None:
    """Return the first line, row or record out of order in a file, or several in turn, as `planner sort --check` does.

    With `unique`, equal keys are also out of order. Raises BadInputError for conflicting options.
    """
    given = {"format": format, "separator": separator, "lines": lines, "zero_terminated": zero_terminated}
    given |= {"no_header": no_header, "quote": quote}
    sources = all_files(_paths(source))
    found = _kind(sources, given, key=key, record_size=record_size, say=say)
    format, separator, lines, no_header, quote = found
    _require_csv(format, quote)
    form = _form(format, key, separator, no_header=bool(no_header), unique=unique, zero_terminated=zero_terminated)
    layout = (USUAL_RECORD[0] if record_size is None else record_size, key_offset, key_size)
    job = SortJob(form=form, lines=lines or format == "lines", record=layout, stable=stable, quote=quote)
    job.require_one_output(others=False)
    require_readable(path for path in sources if str(path) != "-")
    if format == "parquet":
        return disorder_of_rows(job, sources, on_progress)
    return disorder_of_text(job, sources)


def _kind(
    sources: Sequence[Path],
    given: dict[str, Any],
    *,
    key: str | Sequence[str] | None,
    record_size: int | None,
    say: Say | None,
) -> tuple[Format | None, str | None, bool, bool | None, str | None]:
    """Return the format, separator, whether there are lines and no header, and the quote: as given, or detected.

    Raises BadInputError for a record size without records.
    """
    if record_size is not None and (given["lines"] or given["format"] not in (None, "records")):
        raise BadInputError(f"--record-size {record_size}: {given['format'] or 'lines'} has no records; leave it out")
    if given["lines"] and given["format"] in ("records", "parquet"):
        raise BadInputError(f"--format {given['format']} is not of lines; leave out --lines")
    if record_size is not None:
        return "records", given["separator"], False, given["no_header"], given["quote"]
    found, keys = dict(given), [key] if isinstance(key, str) else key or ()
    found |= recognised(sources, found | {"key": keys}, say=say)
    if found["format"] == "csv":
        found |= detect_dialect(sources, found, keys, say=say)
    return found["format"], found["separator"], found["lines"], found["no_header"], found["quote"]


def _require_csv(format: Format | None, quote: str | None) -> None:
    if quote and format != "csv":
        raise BadInputError(f"--quote {quote} is for --format csv; leave it out")


def _require_no_cluster_options(**given: bool) -> None:
    if name := next((name for name, is_given in given.items() if is_given), None):
        raise BadInputError(f"--{name} is for a cluster: say --ray ADDRESS, or leave it out")


def _listed(
    sources: Sequence[Path], outputs: Sequence[Path], *, is_begun: bool, say: Say | None
) -> tuple[list[Path], tuple[Folders, ...]]:
    """Return the files of the inputs, and the columns from their folders. Raises BadInputError."""
    if is_begun and not all(map(mode_of, sources)):
        return list(sources), ()
    listed = listed_files([path for path in sources if str(path) != "-"])
    require_output_apart(
        (str(path) for path in set(listed).difference(sources)),
        outputs,
        hint="remove it first, or name it as an input, too, if its rows count",
    )
    if len(listed) < len(sources):  # standard input, or a file named twice
        return list(sources), ()
    if say and len(listed) > len(sources):
        say(f"note: {', '.join(map(str, sources))}: {count_text(len(listed), 'file')}")
    return list(listed), tuple(listed.values()) if any(listed.values()) else ()


def _without_columns_of_folders(*, union_by_name: bool, say: Say | None) -> None:
    if union_by_name:
        raise BadInputError("--union-by-name is for --format parquet: headers of CSV must be equal; leave it out")
    if say:
        say("note: folders name columns, as year=2026 does; text is sorted without them, and Parquet gets them")


def _require_consuming_alone(others: dict[str, bool], output: Path, *, consume_input: bool, resume: bool) -> None:
    name = next((name for name, is_given in others.items() if is_given), None)
    if name and (consume_input or resume):
        option = "--resume" if resume else "--consume-input"
        raise BadInputError(f"{option} does not go with --{name.replace('_', '-')}: leave out one of them")
    if resume:
        require_begun(output)


def _form(format: Format | None, key: str | Sequence[str] | None, separator: str | None, **flags: bool) -> InputFormat:
    keys = [key] if isinstance(key, str) else key
    return InputFormat(format=format, key=keys, separator=separator, **flags)


def _of_dataset(inputs: Any, format: Format | None, outputs: Sequence[Path]) -> tuple[list[Path], tuple[Folders, ...]]:
    """Return the files of a pyarrow Dataset, none yet for Ray, and the columns from their folders. Raises
    BadInputError.
    """
    if format not in (None, "parquet"):
        raise BadInputError(f"--format {format}: a Dataset is sorted as Parquet; leave it out")
    found = files_of_dataset(inputs) if is_of(inputs, "pyarrow") else {}
    require_output_apart(map(str, found), outputs)
    return list(found), tuple(found.values()) if any(found.values()) else ()


def _paths(names: Any) -> list[Path]:
    return [Path(names)] if isinstance(names, str | os.PathLike) else [Path(name) for name in names]


def _needs_pipes(sources: Sequence[Path], output: Path, *, by_name: bool) -> bool:
    """Return whether an input is compressed or not a file of its stated size, or the output is not a file or to be
    compressed.

    With `by_name` only a file with the suffix of a compression can be compressed.
    """
    from planner.compression.text_codecs import SUFFIXES, has_its_size, is_compressed

    mode = mode_of(output)
    pipes = any(str(path) == "-" for path in [*sources, output]) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    files = [path for path in sources if stat.S_ISREG(mode_of(path))]
    looked_into = [path for path in sources if not by_name or path.suffix in SUFFIXES or path not in files]
    compressed = output.suffix in SUFFIXES or any(is_compressed(path) for path in looked_into)
    return pipes or compressed or not all(map(has_its_size, files))
