"""Sorts on this machine: records, text and Parquet."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from planner.api.progress import OnProgress, reported
from planner.api.sort_result import Disorder, SortResult
from planner.errors import BadInputError
from planner.sorting.sort_job import SortJob, TableFormat


def sort_records(job: SortJob, outputs: Sequence[Path], on_progress: OnProgress | None) -> SortResult:
    from planner.api.contents.text_advice import records_expected
    from planner.sorting.records.local import sort_file
    from planner.sorting.records.memory import memory_for_sorting

    advice = "--lines sorts its lines, --format csv --key 2 its rows by the second column"
    with (
        records_expected(job.looks, advice=advice),
        reported(["read", "distribute", "write"], on_progress) as progress,
        memory_for_sorting(job.memory_bytes) as memory_bytes,
    ):
        report = sort_file(job.inputs, outputs, replace(job, memory_bytes=memory_bytes), progress=progress)
    return SortResult(counted="records", count=report.records, seconds=report.seconds, report=report)


def sort_text(job: SortJob, *, say: Callable[[str], None] | None, on_progress: OnProgress | None) -> SortResult:
    """Sort text, or records by their keys; `-` is standard input or output."""
    from planner.api.contents.text_advice import notes_on_columns
    from planner.native import run_interruptible
    from planner.sorting.records.memory import memory_for_sorting
    from planner.sorting.text.text_files import sort_text_files
    from planner.sorting.text.text_job import text_job

    text = text_job(_beside_output(job))
    began = time.monotonic()
    with reported(["read", "write"], on_progress) as progress, memory_for_sorting(job.memory_bytes) as memory_bytes:
        limited = replace(text, memory_bytes=memory_bytes, output="" if job.output == "-" else job.output)
        report = run_interruptible(lambda shown: sort_text_files(limited, shown), progress)
    seconds = time.monotonic() - began
    separator = text.order.separator
    if say and not text.csv and separator and limited.output:
        for note in chain.from_iterable(notes_on_columns(look, separator) for look in job.looks):
            say(f"note: {note}")
    return SortResult(counted=text.counted, count=report.lines, seconds=seconds, report=report)


def _beside_output(job: SortJob) -> SortJob:
    """Return a sort with its temporary files on the disk of the output unless others are given."""
    return replace(job, temp_dirs=job.temp_dirs or (str(Path(job.output).parent),))


def disorder_of_text(job: SortJob) -> Disorder | None:
    from planner.native import run_interruptible
    from planner.sorting.text.text_files import check_text_file
    from planner.sorting.text.text_job import text_job

    text = text_job(job)
    found = run_interruptible(lambda progress: check_text_file(text, progress))
    if found is None:
        return None
    number, content = found
    if not job.record_bytes:
        return Disorder(number=number, text=content.decode(errors="backslashreplace"))
    keys = (content[key.first_byte : key.last_field_bytes] for key in text.order.keys)
    return Disorder(number=number, text=", ".join(f"0x{key.hex()}" for key in keys))


def sort_tables(
    job: SortJob, format: TableFormat, *, say: Callable[[str], None] | None, on_progress: OnProgress | None
) -> SortResult:
    """Sort tables into a format."""
    # Every byte of memory is touched once. Pages of 2 MB take longer: 5.68 s of processor time, not 5.14, for 255 MB of
    # Parquet.
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")  # read when pyarrow is loaded
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads, which spin at the start with nothing to do
    from planner.sorting.tables.parquet import sort_tables

    if "-" in job.inputs and job.format not in ("csv", "jsonl"):
        raise BadInputError(
            f"--format {job.format}: its end is read first, so the inputs are files", code="needs-files"
        )
    began = time.monotonic()
    with reported(["sort", "write"], on_progress) as progress:
        report = sort_tables(_beside_output(job), progress, format=format, say=say)
    seconds = time.monotonic() - began
    is_named = format == "parquet" and job.output != "-" and not job.file_bytes
    tables = (job.output,) if is_named else ()
    return SortResult(counted="rows", count=report.rows, seconds=seconds, report=report, tables=tables)


def disorder_of_rows(job: SortJob, on_progress: OnProgress | None) -> Disorder | None:
    from planner.sorting.tables import parquet

    with reported(["read"], on_progress) as progress:
        found = parquet.find_disorder(job, progress)
    return found and Disorder(number=found[0], text=", ".join(map(str, found[1])))
