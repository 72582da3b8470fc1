"""Test data from Python: `planner.generate(...)`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

from planner.api.files import output_file
from planner.api.progress import OnProgress, reported
from planner.errors import BadInputError
from planner.schemas.door import Between, Help, Offset, With, Without, checked
from planner.sorting.sort_job import Threads
from planner.units import format_exact_size

if TYPE_CHECKING:
    from planner.sorting.records.generate import GenerateLinesReport, GenerateReport

_RECORD_BYTES = 100
_Size = Annotated[int, Between(0, unit="bytes")]


@checked
def generate(
    path: str | os.PathLike[str],
    *,
    records: Annotated[Offset | None, Help("How many records of 100 bytes: 10,000,000 or 1e7.")] = None,
    size_bytes: Annotated[_Size | None, Help("How much instead: 1GB."), Without("records")] = None,
    start: Annotated[
        int, Between(0, 2**128 - 1), Help("Number of the first record, up to 2^128; of lines, the seed.")
    ] = 0,
    ascii: Annotated[bool, Help("Printable records.")] = False,
    skew: Annotated[bool, Help("Skewed keys.")] = False,
    lines: Annotated[
        bool,
        Help("Log lines of mixed length instead; needs --size."),
        With("size_bytes"),
        Without("records", "ascii", "skew"),
    ] = False,
    threads: Threads = None,
    replaces: bool = True,
    on_progress: OnProgress | None = None,
) -> GenerateReport | GenerateLinesReport:
    """Write test records as sortbenchmark.org's gensort does, or log lines, with `start` as their seed.

    An existing file is replaced once everything is written, unless `replaces` is False. Raises BadInputError unless the
    amount is given exactly once.

    >>> import planner, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     planner.generate(file.name, records=1000).bytes_written
    100000
    """
    from planner.sorting.records.generate import generate_file, generate_lines_file

    if str(path) == "-":
        text = "-: generated data goes to a file, which appears once it is whole, not to standard output"
        raise BadInputError(text, ["name a file; one called - is ./-"], code="no-pipe")
    path = output_file(path)
    if not lines:
        count = record_count(records, size_bytes)
        with reported(["generate"], on_progress) as progress:
            return generate_file(
                path,
                records=count,
                start=start,
                ascii=ascii,
                skew=skew,
                threads=threads,
                replaces=replaces,
                progress=progress,
            )
    with reported(["generate"], on_progress) as progress:
        return generate_lines_file(
            path, size_bytes=size_bytes or 0, seed=start, threads=threads, replaces=replaces, progress=progress
        )


def record_count(records: int | None, size_bytes: int | None) -> int:
    """Return the number of records. Raises BadInputError unless exactly one of the two is given, and whole."""
    if (records is None) == (size_bytes is None):
        raise BadInputError("say how many records: --records N or --size SIZE, one of the two", code="missing-argument")
    if size_bytes is None:
        return records or 0
    if size_bytes % _RECORD_BYTES:
        more = format_exact_size(-(-size_bytes // _RECORD_BYTES) * _RECORD_BYTES)
        raise BadInputError(
            f"--size {format_exact_size(size_bytes)}: not a whole number of 100-byte records; write {more}",
            code="partial-records",
        )
    return size_bytes // _RECORD_BYTES
