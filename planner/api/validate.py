"""Checks of sorted data: `planner.validate(...)` for records and lines, `validate_rows` for CSV and Parquet. They check
the order by keys, and that the data is that of the input.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from planner.api.contents.file_kinds import recognised, require_as_named
from planner.api.contents.listed_files import all_files, listed_files
from planner.api.files import output_file, require_new
from planner.api.progress import OnProgress, reported
from planner.api.sort import find_disorder
from planner.api.sort_result import Disorder
from planner.errors import BadInputError, ValidationFailedError
from planner.schemas.door import Help, Without, checked
from planner.sorting.sort_job import (
    USUAL_RECORD_BYTES,
    Format,
    FoundHeader,
    FoundSeparator,
    InputFormat,
    KeyOffset,
    KeySize,
    RecordSize,
    StrPath,
    Threads,
)

if TYPE_CHECKING:
    from planner.sorting.records.validate import ValidationReport
    from planner.sorting.tables.folder_columns import Folders
    from planner.sorting.text.text_job import CsvColumns

Checksum = Annotated[str | None, Help("The checksum expected, in hex; else exit code 5."), Without("input")]
WentIn = Annotated[
    Sequence[StrPath], Help("The data that went in: read for its checksum, instead of --checksum.", takes=list[Path])
]
_OF_A_COPY: Final = ("records", "sorted", "duplicates", "checksum")


@dataclass(frozen=True, kw_only=True)
class Validation:
    """Content of files, and the checksum of the input if it is known."""

    report: ValidationReport
    expected: int | None

    @property
    def passed(self) -> bool:
        """True if the data is in order and, if the input is known, is that of the input."""
        return self.report.is_sorted and self.same_checksum

    @property
    def same_checksum(self) -> bool:
        """True if the checksum is that of the input, if it is known."""
        return self.expected in (None, int(self.report.checksum, 16))

    def require(self) -> None:
        """Raise ValidationFailedError with the reason unless the data has `passed`."""
        self.report.require_sorted()
        if not self.passed:
            message = f"checksum {self.report.checksum}, expected {self.expected:x}: not the data that went in"
            raise ValidationFailedError(message, code="not-sorted")


@dataclass(frozen=True, kw_only=True)
class DatasetValidation:
    """Content of each copy of a dataset on a cluster, in records, lines or rows as in `counted`, and its problems."""

    counted: str
    copies: tuple[dict[str, Any], ...]
    expected: int | None

    def problems(self) -> list[str]:
        """Return why copies are not in order, not whole, or not the input's data; none if all are."""
        problems = [problem for copy in self.copies for problem in copy["problems"]]
        copies = list(enumerate(self.copies, start=1))
        problems += [f"copy {number} is not in order" for number, copy in copies if not copy["sorted"]]
        if self.expected is not None:
            problems += [
                f"copy {number} has the checksum {copy['checksum']}, expected {self.expected:x}"
                for number, copy in copies
                if int(copy["checksum"], 16) != self.expected
            ]
        return problems

    def require(self) -> None:
        """Raise ValidationFailedError with the list of problems, if there are any."""
        if problems := self.problems():
            raise ValidationFailedError("the dataset is not what it should be", problems, code="wrong-content")


@checked
def validate(
    files: StrPath | Sequence[StrPath],
    *,
    summaries: Annotated[
        bool,
        Help("The files are summaries that --summary kept."),
        Without("lines", "summary", "input", "record_size", "key_offset", "key_size", "threads"),
    ] = False,
    summary: Annotated[
        StrPath | None, Help("Keep what was found, to be combined with other parts later."), Without("lines")
    ] = None,
    checksum: Checksum = None,
    input: WentIn = (),
    record_size: RecordSize = None,
    key_offset: KeyOffset = 0,
    key_size: KeySize = None,
    lines: Annotated[bool, Help("The files are newline-terminated text.")] = False,
    threads: Threads = None,
    on_progress: OnProgress | None = None,
) -> Validation:
    """Read the parts of one output, in order, and return whether it is sorted and matches the input.

    `checksum` (hex) or `input` (files) gives the input. Without `lines` and `record_size` the files show what they
    hold. Raises BadInputError for conflicting options, and where nothing shows it; unsorted data is an answer, not an
    error.

    >>> import planner, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     written = planner.generate(file.name, records=1000)
    ...     planner.validate(file.name).passed
    False
    """
    from planner.sorting.records.validate import validate_summaries

    if summary is not None:
        require_new([output_file(summary)], force=True)
    expected = None if checksum is None else checksum_number(checksum)
    paths, inputs = _files(files), _files(input)
    if not (lines or summaries or record_size):
        lines = _are_lines([*paths, *inputs])
    layout = {"key_offset": key_offset, "key_size": key_size, "threads": threads}
    layout["record_size"] = USUAL_RECORD_BYTES if record_size is None else record_size
    shared: dict[str, Any] = {"lines": lines, "layout": layout, "on_progress": on_progress}
    report = validate_summaries(paths) if summaries else _read(paths, summary=summary, **shared)
    if inputs:
        expected = int(_read(inputs, **shared).checksum, 16)
    return Validation(report=report, expected=expected)


def _files(names: StrPath | Sequence[StrPath]) -> list[Path]:
    return all_files(_paths(names))


def _paths(names: StrPath | Sequence[StrPath]) -> list[Path]:
    return [Path(name) for name in ([names] if isinstance(names, str | os.PathLike) else names)]


def _are_lines(files: Sequence[Path]) -> bool:
    """Return whether files hold lines, and not generated records. Raises BadInputError for others, and for pipes."""
    found = recognised(files, {}, say=None)
    if not found:
        raise BadInputError(f"{files[0]}: say what it holds: --lines, or --format records", code="unknown-format")
    return "lines" in found


@checked
def validate_on_ray(
    manifest: StrPath,
    *,
    address: Annotated[str, Help("Read the copies of a manifest on the Ray cluster at this address.", option="--ray")],
    checksum: Checksum = None,
) -> DatasetValidation:
    """Have every copy of the dataset in a manifest read back on the nodes of the Ray cluster at this address.

    `checksum` (hex) is that of the input. Raises BadInputError for an invalid manifest.
    """
    from json import loads

    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset.dataset import read_manifest

    expected = None if checksum is None else checksum_number(checksum)
    dataset = read_manifest(Path(manifest))
    order = {"do": "validate", "dataset": loads(dataset.to_json())}
    with ray_session(address=address, command=lambda *words: list(words), environment=os.environ) as session:
        read = session.do(order, lambda _: None)["copies"]
    copies = ({name: copy["validation"][name] for name in _OF_A_COPY} | {"problems": copy["problems"]} for copy in read)
    return DatasetValidation(counted=dataset.layout.counted_unit, copies=tuple(copies), expected=expected)


def checksum_number(checksum: str) -> int:
    """Return a hex checksum as a number. Raises BadInputError."""
    try:
        return int(checksum, 16)
    except ValueError:
        raise BadInputError(
            f"--checksum {checksum}: write it in hex, as `planner validate` prints it", code="malformed"
        ) from None


def _read(
    files: list[Path],
    *,
    lines: bool,
    layout: dict[str, Any],
    on_progress: OnProgress | None,
    summary: StrPath | None = None,
) -> ValidationReport:
    """Read records or lines as `layout` specifies, writing a summary if requested."""
    from planner.sorting.records.validate import validate_files, validate_line_files

    of_records = layout | {"key_size": 10 if layout["key_size"] is None else layout["key_size"]}
    of_lines = {name: value for name, value in layout.items() if name != "record_size"}
    with reported(["validate"], on_progress) as progress, _plain_files(files) as plain:
        if lines:
            _require_plain(plain)
            return validate_line_files(plain, **of_lines, progress=progress)
        return validate_files(plain, **of_records, summary=summary, progress=progress)


@contextmanager
def _plain_files(files: list[Path]) -> Iterator[list[Path]]:
    """Yield files with their stated size: copies of those without, as in /proc, and of pipes."""
    from planner.compression.text_codecs import has_its_size

    with ExitStack() as copies:
        plain = list(files)
        for number, path in enumerate(files):
            if path.exists() and not has_its_size(path):
                copy = copies.enter_context(tempfile.NamedTemporaryFile())
                with path.open("rb") as source:
                    shutil.copyfileobj(source, copy)
                copy.flush()
                plain[number] = Path(copy.name)
        yield plain


def _require_plain(files: list[Path]) -> None:
    """Raise BadInputError for compressed text, whose bytes have no order."""
    from planner.compression.text_codecs import MAGIC_BYTES, compression_of

    for path in filter(Path.is_file, files):
        with path.open("rb") as file:
            form = compression_of(file.read(MAGIC_BYTES))
        if form:
            raise BadInputError(
                f"{path} is compressed ({form}): decompress it, and name the text; or `planner sort --check`",
                code="compressed",
            )
        require_as_named(path)


@dataclass(frozen=True, kw_only=True)
class RowsValidation:
    """Content of a file of rows: how many, the first out of order, and a checksum that is independent of their order.

    `unordered` rows come before their predecessor, and `duplicates` have its keys; None if not counted, as for CSV.
    """

    rows: int
    disorder: Disorder | None
    unordered: int | None
    duplicates: int | None
    checksum: str
    expected: int | None

    @property
    def same_checksum(self) -> bool:
        """True if the checksum is that of the input, if it is known."""
        return self.expected in (None, int(self.checksum, 16))

    def require(self) -> None:
        """Raise ValidationFailedError with the reason unless the rows are in order and those of the input."""
        if self.disorder is not None:
            raise ValidationFailedError(
                f"row {self.disorder.number} is out of order: {self.disorder.text}", code="out-of-order"
            )
        if not self.same_checksum:
            message = f"checksum {self.checksum}, expected {self.expected:x}: not the data that went in"
            raise ValidationFailedError(message, code="wrong-content")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able values."""
        first = None if self.disorder is None else asdict(self.disorder)
        counts = {"unordered": self.unordered, "duplicates": self.duplicates}
        order = {"sorted": first is None, "first_unsorted": first}
        return {"rows": self.rows} | order | counts | {"checksum": self.checksum}


@checked
def validate_rows(
    files: StrPath | Sequence[StrPath],
    *,
    format: Annotated[
        Literal["csv", "parquet"], Help("What the files hold; found out otherwise.", takes=Format | None)
    ],
    key: Annotated[
        Sequence[str], Help("Of CSV and Parquet, a column: NAME[:int|num|float|fold|natural][:desc][:first].")
    ],
    separator: FoundSeparator = None,
    no_header: FoundHeader = None,
    checksum: Checksum = None,
    input: WentIn = (),
    say: Callable[[str], None] | None = None,
    on_progress: OnProgress | None = None,
) -> RowsValidation:
    """Read files of rows twice: for their order by `key`, one after the other, and for their checksum.

    `input` is the input's files. A `separator` or `no_header` of CSV that is None is detected as `sort` does, and
    passed to `say`. Raises BadInputError for a key that is not a column.
    """
    from planner.api.contents.csv_dialect import detect_dialect
    from planner.sorting.text.text_job import csv_columns

    expected = None if checksum is None else checksum_number(checksum)
    paths = _files(files)
    of_text: dict[str, Any] = {"separator": separator, "no_header": no_header, "quote": None}
    if format == "csv":
        of_text = detect_dialect(paths, of_text, key, say=say)
    disorder = find_disorder(paths, format=format, key=list(key), on_progress=on_progress, **of_text)
    unordered, duplicates = (None if disorder else 0), None
    if format == "parquet":
        count, found, unordered, duplicates = _of_parquet(listed_files(_paths(files)), on_progress, key=key)
        if input:
            expected = _of_parquet(listed_files(_paths(input)), on_progress)[1]
    else:
        form = InputFormat(format="csv", key=key, separator=of_text["separator"], no_header=of_text["no_header"])
        columns = csv_columns(form, quote=of_text["quote"])
        count, found = _of_csv(paths, columns, on_progress)
        if input:
            _, expected = _of_csv(_files(input), columns, on_progress)
    counts = {"unordered": unordered, "duplicates": duplicates}
    return RowsValidation(rows=count, disorder=disorder, checksum=f"{found:x}", expected=expected, **counts)


def _of_csv(files: Sequence[Path], columns: CsvColumns, on_progress: OnProgress | None) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes and the heading's."""
    from planner.native import run_interruptible
    from planner.sorting.records.keyed import TextOrder
    from planner.sorting.text.text_files import summarize_rows
    from planner.sorting.text.text_job import TextJob

    job = TextJob(inputs=tuple(map(str, files)), csv=columns, order=TextOrder(stable=True))
    with reported(["validate"], on_progress) as progress:
        return run_interruptible(lambda shown: summarize_rows(job, shown), progress)


def _of_parquet(
    files: Mapping[Path, Folders], on_progress: OnProgress | None, *, key: Sequence[str] = ()
) -> tuple[int, int, int, int]:
    """Return the row count, the sum of row hashes, and how many come before their predecessor or have its keys."""
    from planner.sorting.tables.arrow_library import arrow
    from planner.sorting.tables.parquet_rows import decoded_bytes, keys_of, read_footers, rows_of
    from planner.sorting.tables.table_hash import rows_checksum
    from planner.sorting.tables.table_runs import count_disorder

    sources = read_footers([str(path) for path in files], fills=True, folders=list(files.values()))
    keys = keys_of(key, sources) if key else []
    count = checksum = unordered = duplicates = 0
    last = None
    with reported(["validate"], on_progress) as progress:
        progress.begin_phase(0, bytes_total=decoded_bytes(sources))
        for source in sources:
            for table in rows_of(source, progress):
                count += table.num_rows
                checksum += rows_checksum(table)
                if keys and table.num_rows:
                    fallen, equal = count_disorder(
                        table if last is None else arrow().concat_tables([last, table]), keys
                    )
                    unordered, duplicates = unordered + fallen, duplicates + equal
                    last = table.slice(table.num_rows - 1)
    return count, checksum, unordered, duplicates
