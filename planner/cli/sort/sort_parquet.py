"""`planner sort --format parquet`: Parquet files by their columns."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from planner.cli.shell.console import show_json, talk
from planner.cli.shell.progress import watched
from planner.cli.sort.sort_keys import tell_disorder
from planner.errors import BadInputError
from planner.units import format_bytes, format_duration

if TYPE_CHECKING:
    from planner.cli.sort.key_options import KeyOptions


def sort_parquet_files(
    sources: Sequence[Path],
    output: Path,
    options: KeyOptions,
    *,
    memory_bytes: int | None,
    threads: int | None,
    temp_dirs: Sequence[Path],
    json: bool,
) -> None:
    """Sort and say what was done. Raises BadInputError for options that Parquet has no use for."""
    from planner.native import core
    from planner.sorting.tables.arrow_library import arrow
    from planner.sorting.tables.parquet import ParquetJob, sort_parquet

    _refuse_options_of_text(options)
    if any(str(path) == "-" for path in [*sources, output]):
        raise BadInputError("--format parquet: Parquet is read from its end, so inputs and output are files")
    # Every byte of memory is touched once, and in pages of 2 MB that took longer: see measurements.md.
    os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")  # read when pyarrow is loaded
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's, which begin by spinning and have nothing to do
    if threads:
        arrow().set_cpu_count(threads)
    job = ParquetJob(
        inputs=tuple(str(path) for path in sources),
        output=str(output),
        keys=tuple(options.key or ()),
        merge=options.merge,
        unique=options.unique,
        most_rows=options.limit,
        memory_bytes=memory_bytes or core.default_memory_bytes(),
        temp_dirs=tuple(str(path) for path in temp_dirs) or (str(output.parent),),
    )
    began = time.monotonic()
    with watched(["sort", "write"]) as progress:
        report = sort_parquet(job, progress)
    seconds = time.monotonic() - began
    if json:
        show_json(asdict(report) | {"seconds": seconds})
        return
    how = f"{report.runs} runs merged, {format_bytes(report.spilled_bytes)} spilled" if report.runs else "in memory"
    talk(f"{report.rows} rows in {format_duration(seconds)}, {how}")


def check_parquet(source: Path, options: KeyOptions, *, json: bool) -> None:
    """End with 1 and the first row that is out of order. Raises BadInputError."""
    from planner.sorting.tables.parquet import find_disorder

    _refuse_options_of_text(options)
    with watched(["read"]) as progress:
        disorder = find_disorder(str(source), options.key or (), unique=options.unique, progress=progress)
    number, values = disorder or (None, [])
    tell_disorder(source, number, ", ".join(map(str, values)), json=json)


def _refuse_options_of_text(options: KeyOptions) -> None:
    """Raise BadInputError for options that Parquet has no use for."""
    options.form.require_no_text_options()
    if options.compress:
        raise BadInputError("--format parquet: --compress is for text; leave it out")
