"""Checks of sorted CSV and Parquet: the order of the rows by their keys, and whether they are those that went in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from planner.api.progress import OnProgress, reported
from planner.api.sort import find_disorder
from planner.api.sort_job import Disorder
from planner.api.validate import checksum_number, read_lines
from planner.errors import BadInputError, ValidationFailedError


@dataclass(frozen=True, kw_only=True)
class RowsValidation:
    """What a file of rows holds: how many, the first out of order, and a checksum that their order does not change."""

    rows: int
    disorder: Disorder | None
    checksum: str
    expected: int | None

    def require(self) -> None:
        """Raise ValidationFailedError, which says why, unless the rows are in order and those that went in."""
        if self.disorder is not None:
            raise ValidationFailedError(f"row {self.disorder.number} is out of order: {self.disorder.text}")
        if self.expected not in (None, int(self.checksum, 16)):
            message = f"checksum {self.checksum}, expected {self.expected:x}: not the data that went in"
            raise ValidationFailedError(message)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        first = None if self.disorder is None else asdict(self.disorder)
        return {"rows": self.rows, "sorted": first is None, "first_unsorted": first, "checksum": self.checksum}


def validate_rows(
    file: Path,
    *,
    format: Literal["csv", "parquet"],
    key: Sequence[str],
    separator: str | None = None,
    no_header: bool = False,
    checksum: str | None = None,
    input: Sequence[Path] = (),
    on_progress: OnProgress | None = None,
) -> RowsValidation:
    """Read a file of rows twice: for their order by `key`, and for their checksum.

    `input` is what went in. Raises BadInputError for a key that is no column, and for compressed CSV.
    """
    if checksum is not None and input:
        raise BadInputError("--checksum and --input both say what went in: give one")
    expected = None if checksum is None else checksum_number(checksum)
    of_text = {"separator": separator, "no_header": no_header}
    disorder = find_disorder(file, format=format, key=list(key), on_progress=on_progress, **of_text)  # type: ignore[arg-type]
    count, found = _content([file], format=format, no_header=no_header, on_progress=on_progress)
    if input:
        _, expected = _content(input, format=format, no_header=no_header, on_progress=on_progress)
    return RowsValidation(rows=count, disorder=disorder, checksum=f"{found:x}", expected=expected)


def _content(files: Sequence[Path], *, format: str, no_header: bool, on_progress: OnProgress | None) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes; a heading counts once in the sum, and is no row."""
    if format == "parquet":
        return _of_parquet(files, on_progress)
    if len(files) > 1 and not no_header:
        raise BadInputError("--input: several files of CSV have several headings; name one file")
    report = read_lines(files, on_progress=on_progress)
    return report.records - (0 if no_header else min(report.records, 1)), int(report.checksum, 16)


def _of_parquet(files: Sequence[Path], on_progress: OnProgress | None) -> tuple[int, int]:
    from planner.sorting.tables.parquet_rows import decoded_bytes, read_footer, rows_of
    from planner.sorting.tables.table_hash import rows_checksum

    sources = [read_footer(str(path)) for path in files]
    count = checksum = 0
    with reported(["validate"], on_progress) as progress:
        progress.begin_phase(0, bytes_total=decoded_bytes(sources))
        for source in sources:
            for table in rows_of(source, progress):
                count += table.num_rows
                checksum += rows_checksum(table)
    return count, checksum
