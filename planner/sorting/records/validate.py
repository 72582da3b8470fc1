"""Validation in the manner of valsort: records, order, duplicate keys, and the 128-bit sum of the records' CRC-32."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from planner.config.atomic_file import replace_file
from planner.config.paths import StrPath
from planner.errors import BadInputError, IoFailureError, ValidationFailedError
from planner.native import Progress, core, core_errors, run_interruptible

LARGEST_SUMMARY_BYTES = 1 << 26
"""Size limit: a summary holds two records and 84 bytes, so anything larger is not a summary."""


@dataclass(frozen=True)
class ValidationReport:
    """Result for one or more parts read in order, seams included; `records` are lines if lines were validated.

    `first_unordered` counts from 0; `duplicates` are records with their predecessor's key; `checksum` is in lower-case
    hex, as valsort prints it, and does not depend on the order.
    """

    records: int
    bytes: int
    unordered: int
    first_unordered: int | None
    duplicates: int
    checksum: str

    @property
    def is_sorted(self) -> bool:
        """True when no record is smaller than its predecessor."""
        return self.unordered == 0

    @property
    def first_number(self) -> int | None:
        """The first record out of order, counted from 1 as in `planner sort --check`."""
        return None if self.first_unordered is None else self.first_unordered + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, and `sorted`, as JSON-able values."""
        return asdict(self) | {"sorted": self.is_sorted}

    def require_sorted(self) -> None:
        """Raise ValidationFailedError, naming the first place, unless the records are in order."""
        if not self.is_sorted:
            raise ValidationFailedError(
                f"{self.unordered} of {self.records} records are out of order; "
                f"the first is record {self.first_number}, counted from 1",
                code="not-sorted",
            )


def validate_files(
    paths: Sequence[StrPath],
    *,
    record_size: int = 100,
    key_offset: int = 0,
    key_size: int = 10,
    threads: int | None = None,
    summary: StrPath | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Validate files as consecutive parts of one output; store the result in the file `summary` if it is given.

    Raises BadInputError for half a record or an impossible format, IoFailureError for a file that cannot be read,
    InterruptedRunError when cancelled.
    """
    validate = partial(
        core.validate_file, record_bytes=record_size, key_offset=key_offset, key_bytes=key_size, threads=threads or 0
    )
    whole = _validated(validate, paths, progress)
    if summary is not None:
        try:
            replace_file(Path(summary), whole.serialize())
        except OSError as error:
            raise IoFailureError(f"cannot write the summary {summary}: {error.strerror}", code="io") from error
    return _report_of_records(whole)


def validate_line_files(
    paths: Sequence[StrPath],
    *,
    key_offset: int = 0,
    key_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ValidationReport:
    """Validate text files as consecutive parts of one output, by lines or a byte range of them.

    A last line without a newline counts as if it had one. Raises BadInputError for an impossible key, IoFailureError
    for a file that cannot be read, InterruptedRunError when cancelled.
    """
    if key_offset < 0 or (key_size is not None and key_size < 1):
        raise BadInputError(f"no key of a line begins at {key_offset} and has {key_size} bytes", code="beyond-record")

    validate = partial(core.validate_lines_file, key_offset=key_offset, key_bytes=key_size, threads=threads or 0)
    whole = _validated(validate, paths, progress)
    return _report(whole, records=whole.lines, size_bytes=whole.bytes)


def validate_summaries(paths: Sequence[StrPath]) -> ValidationReport:
    """Join the summaries that `validate_files` stored, in order, checking across the seams.

    Raises BadInputError for a file that is not a summary or has another record format, IoFailureError for one that
    cannot be read.
    """
    with core_errors():
        return _report_of_records(_summarize_all(_read_summary, _names(paths)))


def _names(paths: Sequence[StrPath]) -> list[str]:
    if not paths:
        raise BadInputError("nothing to validate: name at least one file", code="missing-argument")
    return [os.fspath(path) for path in paths]


def _validated(validate: Callable[..., Any], paths: Sequence[StrPath], progress: Progress | None) -> Any:
    """Return the core's summary of files that it validates one by one."""
    names = _names(paths)

    def work(watched: Progress) -> Any:
        watched.begin_phase(0, bytes_total=sum(Path(name).stat().st_size for name in names))
        return _summarize_all(partial(validate, progress=watched), names)

    return run_interruptible(work, progress)


def _summarize_all(summarize: Callable[[str], Any], names: Sequence[str]) -> Any:
    whole = summarize(names[0])
    for name in names[1:]:
        whole.append(summarize(name))
    return whole


def _read_summary(name: str) -> core.Summary:
    with Path(name).open("rb") as file:
        return core.Summary.parse(file.read(LARGEST_SUMMARY_BYTES), path=name)


def _report_of_records(whole: core.Summary) -> ValidationReport:
    return _report(whole, records=whole.records, size_bytes=whole.records * whole.record_bytes)


def _report(whole: core.Summary | core.LineSummary, *, records: int, size_bytes: int) -> ValidationReport:
    return ValidationReport(
        records=records,
        bytes=size_bytes,
        unordered=whole.unordered,
        first_unordered=whole.first_unordered,
        duplicates=whole.duplicates,
        checksum=f"{whole.checksum:x}",
    )
