"""Sorts from Python: `planner.sort(...)`, on this machine or on a Ray cluster, and `planner.find_disorder(...)`."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from planner.api.files import (
    STANDARD_OUTPUT,
    mode_of,
    output_file,
    path_of,
    require_inputs,
    require_output_apart,
    require_readable,
)
from planner.api.progress import OnProgress
from planner.api.sort_result import Disorder, SortResult
from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.schemas.door import arguments_of, require_together, taking
from planner.sorting.sort_job import Comparison, SortJob
from planner.units import count_text

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset as ArrowDataset
    from ray.data import Dataset as RayDataset

    from planner.api.arguments.sort_arguments import ComparisonArguments, SortArguments
    from planner.sorting.tables.folder_columns import Folders

Say = Callable[[str], None]
OnEvent = Callable[[dict[str, Any]], None]


@taking(SortJob)
def sort(
    inputs: StrPath | Sequence[StrPath] | ArrowDataset | RayDataset,
    output: StrPath,
    *,
    staging: StrPath | None = None,
    say: Say | None = None,
    on_progress: OnProgress | None = None,
    on_event: OnEvent | None = None,
    **asked: Unpack[SortArguments],
) -> SortResult:
    """Sort files into one as `planner sort` does: records by their first bytes, or as `format` and `key` specify.

    With `ray` the cluster at that address sorts (`"auto"`: the one of this machine). `output` is then a manifest, or
    the object store prefix for the partitions. A pyarrow Dataset stands for its Parquet files; a Ray Dataset is first
    written to a new folder in `staging`. After a failure of a sort with `consume_input`, `resume` finishes it, and
    needs neither inputs nor options; it begins none. `say` receives notes, `on_event` the events of a cluster. Raises
    BadInputError for conflicting options and for an existing output, unless `force` replaces it; IoFailureError;
    InterruptedRunError.

    >>> import planner, tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     names = pathlib.Path(folder, "names.csv")
    ...     _ = names.write_text("name,age\\nEve,9\\nAda,36\\n")
    ...     planner.sort(names, names.with_name("sorted.csv"), format="csv", key="age:num:desc").count
    2
    """
    from planner.api.contents.datasets import is_of
    from planner.api.contents.inspection import said_format
    from planner.api.contents.listed_files import is_pattern
    from planner.sorting.consuming.work_folder import require_whole

    job = SortJob(**asked)
    hint = "--file-size 256MB writes tables as a folder of files"
    first = path_of(output) if job.file_bytes else output_file(output, hint=hint)
    outputs = [first, *map(output_file, job.more_outputs)]
    rows = inputs if is_of(inputs, "ray.data") else None
    is_dataset = rows is not None or is_of(inputs, "pyarrow")
    if job.resume and not is_dataset:
        return _resumed(job, inputs, outputs, say=say, on_progress=on_progress)
    if job.ray is None and (rows is not None or staging is not None):
        raise BadInputError(
            "a Ray Dataset and its staging are for a cluster: say ray='auto', or name files", code="needs-cluster"
        )
    if format := said_format(vars(job)):
        require_together(arguments_of(SortJob), vars(job) | {"format": format})
    if is_dataset:
        job = _of_dataset(inputs, job, outputs)
    else:
        job = replace(job, inputs=tuple(map(str, _paths(inputs))))
        named = [Path(name) for name in job.inputs if name != "-"]
        missing = [path for path in named if not mode_of(path)]
        if job.ray is None:
            require_readable(path for path in missing if not is_pattern(path))
        require_whole(named, outputs)
        job = job if job.ray else _found(_listed(job, outputs, say=say), say=say)
    require_together(arguments_of(SortJob), vars(job) | {"format": job.format or ""})
    if job.ray is not None:
        from planner.api.sort_on_ray import sort_on_ray

        return sort_on_ray(job, outputs, say=say, on_event=on_event, rows=rows, staging=staging)
    return _sort_here(job, outputs, say=say, on_progress=on_progress)


def _sort_here(job: SortJob, outputs: Sequence[Path], *, say: Say | None, on_progress: OnProgress | None) -> SortResult:
    from planner.api import sort_here
    from planner.api.contents.csv_dialect import compared_as_text
    from planner.api.contents.output_format import converted_to, require_fitting_name
    from planner.api.sort_consuming import sort_consuming

    to_stdout = str(outputs[0]) in STANDARD_OUTPUT
    job = replace(job, output="-" if to_stdout else str(outputs[0]))
    require_readable(Path(name) for name in job.inputs if name != "-")
    if format := converted_to(job):
        if job.file_bytes and os.path.lexists(job.output):
            raise BadInputError(
                f"{job.output} exists, and no folder is replaced: name a new one, or remove it first", code="exists"
            )
        require_inputs(job, [Path(job.output)], is_text=True)
        return sort_here.sort_tables(job, format, say=say, on_progress=on_progress)
    if job.folders and job.format != "parquet" and say:
        say("note: folders name columns, as year=2026 does; text is sorted without them, and Parquet gets them")
    require_fitting_name(outputs[0], is_parquet=job.format == "parquet")
    if job.format == "csv" and job.looks and say:
        how: Any = {name: getattr(job, name) for name in ("separator", "quote", "no_header")}
        for note in compared_as_text(job.looks[0], job.keys, **how):
            say(note)
    if job.consume_input:
        return sort_consuming(job, on_progress=on_progress)
    if _is_of_plain_records(job):
        require_inputs(job, outputs)
        return sort_here.sort_records(job, outputs, on_progress)
    if job.more_outputs:
        raise BadInputError(
            "a sort by keys, or of pipes or what is compressed, writes one file: leave out --more-output",
            code="one-output",
        )
    require_inputs(job, [Path(job.output)], is_text=True)
    if job.format == "parquet":
        return sort_here.sort_tables(job, "parquet", say=say, on_progress=on_progress)
    return sort_here.sort_text(job, say=say, on_progress=on_progress)


def _resumed(
    job: SortJob, inputs: Any, outputs: Sequence[Path], *, say: Say | None, on_progress: OnProgress | None
) -> SortResult:
    from planner.api.sort_consuming import require_begun, resume_sort

    require_begun(outputs[0])
    sources = _paths(inputs)
    job = replace(job, inputs=tuple(map(str, sources)), output=str(outputs[0]))
    job = replace(job, format="lines" if job.lines else job.format)
    if all(map(mode_of, sources)):
        job = _listed(job, outputs, say=say)
    return resume_sort(job, on_progress=on_progress)


@taking(Comparison)
def find_disorder(
    source: StrPath | Sequence[StrPath],
    *,
    say: Say | None = None,
    on_progress: OnProgress | None = None,
    **asked: Unpack[ComparisonArguments],
) -> Disorder | None:
    """Return the first line, row or record out of order in a file, or several in turn, as `planner sort --check` does.

    With `unique`, equal keys are also out of order. Raises BadInputError for conflicting options.
    """
    from planner.api.contents.listed_files import all_files

    sources = all_files(_paths(source))
    job = _found(SortJob(inputs=tuple(map(str, sources)), **asked), say=say)
    require_together(arguments_of(Comparison), vars(job) | {"format": job.format or ""})
    require_readable(path for path in sources if str(path) != "-")
    return disorder_of(job, on_progress)


def disorder_of(job: SortJob, on_progress: OnProgress | None) -> Disorder | None:
    """Return the first line, row or record out of order in files that were looked into."""
    from planner.api import sort_here
    from planner.sorting.sort_job import TABLES

    if job.format in TABLES:
        return sort_here.disorder_of_rows(job, on_progress)
    return sort_here.disorder_of_text(job)


def _found(job: SortJob, *, say: Say | None) -> SortJob:
    """Return a sort with a look at its files, and their format and that of their CSV: as given, or as they show. Raises
    BadInputError.
    """
    from planner.api.contents.inspection import inspect
    from planner.sorting.sort_job import EVERY_FORMAT

    return replace(job, **inspect(job.inputs, vars(job) | {"key": job.keys}, say=say, takes=EVERY_FORMAT).shown)


def _listed(job: SortJob, outputs: Sequence[Path], *, say: Say | None) -> SortJob:
    """Return a sort of the files in its inputs, and the columns from their folders. Raises BadInputError."""
    from planner.api.contents.listed_files import listed_files

    sources = list(map(Path, job.inputs))
    listed = listed_files([path for path in sources if str(path) != "-"])
    require_output_apart(
        (str(path) for path in set(listed).difference(sources)),
        outputs,
        hint="remove it first, or name it as an input, too, if its rows count",
    )
    if len(listed) < len(sources):  # standard input, or a file named twice
        return job
    if say and len(listed) > len(sources):
        say(f"note: {', '.join(job.inputs)}: {count_text(len(listed), 'file')}")
    return _of_files(job, listed)


def _of_dataset(inputs: Any, job: SortJob, outputs: Sequence[Path]) -> SortJob:
    """Return a sort of the files of a pyarrow Dataset, of none yet for Ray. Raises BadInputError."""
    from planner.api.contents.datasets import files_of_dataset, is_of

    if job.consume_input or job.resume:
        name = "resume" if job.resume else "consume_input"
        raise BadInputError(
            f"`{name}` does not go with a Dataset: leave it out, or name files", field=name, code="contradiction"
        )
    if job.format not in (None, "parquet"):
        raise BadInputError(
            f"--format {job.format}: a Dataset is sorted as Parquet; leave it out", code="contradiction"
        )
    found = files_of_dataset(inputs) if is_of(inputs, "pyarrow") else {}
    require_output_apart(map(str, found), outputs)
    return _of_files(replace(job, format="parquet"), found)


def _of_files(job: SortJob, files: dict[Path, Folders]) -> SortJob:
    folders = tuple(files.values()) if any(files.values()) else ()
    return replace(job, inputs=tuple(map(str, files)), folders=folders)


def _paths(names: Any) -> list[Path]:
    return [path_of(name) for name in ([names] if isinstance(names, str | os.PathLike) else names)]


def _is_of_plain_records(job: SortJob) -> bool:
    """Return whether records are sorted by their bytes from files to files; text, and what pipes and compression hold,
    is sorted by keys. Of records only a file with the suffix of a compression can be compressed.
    """
    from planner.compression.looks import SUFFIXES, has_magic_bytes

    mode, output = mode_of(Path(job.output)), Path(job.output)
    if not job.record_bytes or job.keys or job.unique or job.merge or job.limit or job.compress:
        return False
    if job.output == "-" or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or output.suffix in SUFFIXES:
        return False
    names = (look.name for look in job.looks if has_magic_bytes(look.stored))
    return all(look.is_plain for look in job.looks) and not any(Path(name).suffix in SUFFIXES for name in names)
