"""Sorts on this machine: records, text and Parquet."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.api.progress import OnProgress, reported
from planner.api.sort_job import Disorder, Say, SortJob, SortResult
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.sorting.records.keys import Key
    from planner.sorting.text.text_files import TextJob


def sort_records(
    job: SortJob, sources: Sequence[Path], outputs: Sequence[Path], on_progress: OnProgress | None
) -> SortResult:
    from planner.sorting.records.local import sort_file
    from planner.sorting.records.memory import memory_for_sorting

    record_size, key_offset, key_size = job.record
    with (
        reported(["read", "distribute", "write"], on_progress) as progress,
        memory_for_sorting(job.memory_bytes) as memory_bytes,
    ):
        report = sort_file(
            sources,
            outputs,
            memory_bytes=memory_bytes,
            threads=job.threads,
            record_size=record_size,
            key_offset=key_offset,
            key_size=key_size,
            lines=job.lines,
            stable=job.stable,
            spill=job.spill,
            temp_dirs=job.temp_dirs,
            replaces=job.replaces,
            progress=progress,
        )
    counted = "lines" if job.lines else "records"
    return SortResult(counted=counted, count=report.records, seconds=report.seconds, report=report)


def sort_text(
    job: SortJob, sources: Sequence[Path], output: Path, *, say: Say | None, on_progress: OnProgress | None
) -> SortResult:
    """Sort text, or records by their keys; `-` is standard input or output."""
    from planner.api.contents.text_advice import notes_on_columns
    from planner.native import run_interruptible
    from planner.sorting.records.memory import memory_for_sorting
    from planner.sorting.text.text_files import sort_text_files

    to_stdout = str(output) == "-"
    text_job = text_job_of(
        job,
        sources,
        output="" if to_stdout else str(output),
        merge=job.merge,
        most_lines=job.limit,
        compress=job.compress,
        temp_dirs=job.temp_dirs or (str(output.parent),),
        threads=job.threads or 0,
        spill=job.spill,
        replaces=job.replaces,
    )
    began = time.monotonic()
    with reported(["read", "write"], on_progress) as progress, memory_for_sorting(job.memory_bytes) as memory_bytes:
        limited = replace(text_job, memory_bytes=memory_bytes or 0)
        report = run_interruptible(lambda shown: sort_text_files(limited, shown), progress)
    seconds = time.monotonic() - began
    counted = "rows" if text_job.csv else "records" if job.record_bytes else "lines"
    if say and not text_job.csv and text_job.order.separator and not to_stdout:
        separator = text_job.order.separator
        for note in chain.from_iterable(notes_on_columns(source, separator) for source in sources):
            say(f"note: {note}")
    return SortResult(counted=counted, count=report.lines, seconds=seconds, report=report)


def disorder_of_text(job: SortJob, sources: Sequence[Path]) -> Disorder | None:
    from planner.native import run_interruptible
    from planner.sorting.text.text_files import check_text_file

    text_job = text_job_of(job, sources)
    found = run_interruptible(lambda progress: check_text_file(text_job, progress))
    if found is None:
        return None
    number, text = found
    if not job.record_bytes:
        return Disorder(number=number, text=text.decode(errors="backslashreplace"))
    keys = (text[key.first_byte : key.last_field_bytes] for key in _record_keys(job))
    return Disorder(number=number, text=", ".join(f"0x{key.hex()}" for key in keys))


def text_job_of(job: SortJob, sources: Sequence[Path], **limits: Any) -> TextJob:
    from planner.sorting.records.keyed import TextOrder
    from planner.sorting.text.text_files import TextJob

    form, inputs = job.form, tuple(str(source) for source in sources)
    if job.record_bytes:
        order = TextOrder(_record_keys(job), stable=True, unique=form.unique, record_bytes=job.record_bytes)
        return TextJob(inputs=inputs, order=order, **limits)
    if form.format == "csv":
        if job.lines:
            raise BadInputError("--format csv: rows are no lines; leave out --lines")
        order = TextOrder(stable=True, unique=form.unique)
        return TextJob(inputs=inputs, order=order, csv=form.csv_columns(quote=job.quote), **limits)
    if form.format == "records" or form.no_header:
        raise BadInputError("--key, --no-header and their kin sort text: give --format csv, or lines")
    if form.separator and not form.key:
        raise BadInputError("--separator: whole lines are sorted, which have no fields; say --key, or leave it out")
    if not (job.lines or form.is_text_or_table or job.merge or job.limit):
        raise BadInputError(f"{sources[0]}: say what it holds: --format lines, csv or records")
    by_place = _keys_by_place(job.span)
    order = TextOrder(
        keys=form.line_keys() or by_place,
        separator=form.separator_byte(),
        line_end=b"\0" if form.zero_terminated else b"\n",
        stable=job.stable or bool(by_place),
        unique=form.unique,
    )
    return TextJob(inputs=inputs, order=order, **limits)


def _record_keys(job: SortJob) -> tuple[Key, ...]:
    from planner.sorting.records.local import DEFAULT_KEY_BYTES
    from planner.sorting.records.record_keys import bytes_key, parse_record_key

    form, record_bytes = job.form, job.record_bytes
    if form.separator or form.zero_terminated or form.no_header:
        raise BadInputError("--separator, -z and --no-header are for text, not for records")
    if form.key:
        return tuple(parse_record_key(text, record_bytes=record_bytes) for text in form.key)
    offset, size = job.span or (0, None)
    size = DEFAULT_KEY_BYTES if size is None else size
    return (bytes_key(offset=offset, size=size, record_bytes=record_bytes),)


def _keys_by_place(span: tuple[int, int | None] | None) -> tuple[Key, ...]:
    """Return the key from --key-offset and --key-size; none for whole lines."""
    from planner.sorting.records.keys import UNLIMITED, Key

    if span is None or span == (0, None):
        return ()
    begin, size = span
    return (Key(first_byte=begin) if size is None else Key(UNLIMITED, begin, 0, begin + size),)


def sort_parquet(job: SortJob, sources: Sequence[Path], output: Path, on_progress: OnProgress | None) -> SortResult:
    from planner.native import core
    from planner.sorting.tables.arrow_library import arrow
    from planner.sorting.tables.parquet import ParquetJob, sort_parquet

    if job.spill != "auto":
        raise BadInputError("--spill is for text and records: Parquet is spilled as pyarrow writes it")
    _require_parquet(job, [*sources, output])
    # Every byte of memory is touched once. Pages of 2 MB take longer: 5.68 s of processor time, not 5.14, for 255 MB of
    # Parquet.
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")  # read when pyarrow is loaded
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads, which spin at the start with nothing to do
    if job.threads:
        arrow().set_cpu_count(job.threads)
    parquet_job = ParquetJob(
        inputs=tuple(str(path) for path in sources),
        output=str(output),
        keys=tuple(job.form.key or ()),
        merge=job.merge,
        unique=job.form.unique,
        most_rows=job.limit,
        memory_bytes=job.memory_bytes or core.default_memory_bytes(within_address_space=False),
        temp_dirs=job.temp_dirs or (str(output.parent),),
        replaces=job.replaces,
        fills=job.union_by_name,
        folders=job.folders,
    )
    began = time.monotonic()
    with reported(["sort", "write"], on_progress) as progress:
        report = sort_parquet(parquet_job, progress)
    seconds = time.monotonic() - began
    return SortResult(counted="rows", count=report.rows, seconds=seconds, report=report, tables=(str(output),))


def disorder_of_rows(job: SortJob, sources: Sequence[Path], on_progress: OnProgress | None) -> Disorder | None:
    from planner.sorting.tables import parquet

    job.form.require_no_text_options()
    with reported(["read"], on_progress) as progress:
        found = parquet.find_disorder(
            [str(path) for path in sources], job.form.key or (), unique=job.form.unique, progress=progress
        )
    return found and Disorder(number=found[0], text=", ".join(map(str, found[1])))


def _require_parquet(job: SortJob, files: Sequence[Path]) -> None:
    """Raise BadInputError for options that do not apply to Parquet."""
    job.form.require_no_text_options()
    if job.compress:
        raise BadInputError("--format parquet: --compress is for text; leave it out")
    if any(str(path) == "-" for path in files):
        raise BadInputError("--format parquet: Parquet is read from its end, so inputs and output are files")
