"""Checks of sorted data: `planner.validate(...)` for records and lines as valsort does it, `validate_rows` for whatever
a sort reads, by its keys. They check the order, and that the data is that of the input.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, NoReturn, Unpack

from planner.api.contents.inspection import Input, inspect
from planner.api.contents.listed_files import all_files, listed_files
from planner.api.files import output_file, require_new, require_readable
from planner.api.progress import OnProgress, reported
from planner.api.sort import disorder_of
from planner.api.sort_here import disorder_of_rows
from planner.api.sort_result import Disorder
from planner.config.paths import StrPath
from planner.errors import BadInputError, ValidationFailedError
from planner.schemas.door import Help, Without, arguments_of, checked, require_together, taking
from planner.sorting.sort_job import (
    EVERY_FORMAT,
    TABLES,
    USUAL_RECORD_BYTES,
    Comparison,
    KeyOffset,
    KeySize,
    RecordSize,
    SortJob,
    Threads,
)

if TYPE_CHECKING:
    from planner.api.arguments.sort_arguments import ComparisonArguments
    from planner.compression.looks import Look
    from planner.sorting.records.validate import ValidationReport

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
    looked: tuple[Input, Input] | None = None,
    on_progress: OnProgress | None = None,
) -> Validation:
    """Read the parts of one output, in order, and return whether it is sorted and matches the input.

    `checksum` (hex) or `input` (files) gives the input. Without `lines` and `record_size` the files show what they
    hold; `looked` is what `inspect_both` found in them. Raises BadInputError for conflicting options, and where nothing
    shows it; unsorted data is an answer, not an error.

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
    if summaries:
        return Validation(report=validate_summaries(paths), expected=expected)
    require_readable(path for path in (*paths, *inputs) if "://" not in str(path))
    asked = {"lines": lines, "record_size": record_size}
    found, of_input = looked or inspect_both(paths, inputs, asked, say=None)
    if found.format is None:
        raise BadInputError(f"{paths[0]}: say what it holds: --lines, or --record-size 100", code="unknown-format")
    layout = {"key_offset": key_offset, "key_size": key_size, "threads": threads}
    layout["record_size"] = USUAL_RECORD_BYTES if record_size is None else record_size
    shared: dict[str, Any] = {"lines": found.format == "lines", "layout": layout, "on_progress": on_progress}
    report = _read(found.looks, summary=summary, **shared)
    if inputs:
        expected = int(_read(of_input.looks, **shared).checksum, 16)
    return Validation(report=report, expected=expected)


def _files(names: StrPath | Sequence[StrPath]) -> list[Path]:
    return all_files(_paths(names))


def _paths(names: StrPath | Sequence[StrPath]) -> list[Path]:
    return [Path(name) for name in ([names] if isinstance(names, str | os.PathLike) else names)]


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
    looks: Sequence[Look],
    *,
    lines: bool,
    layout: dict[str, Any],
    on_progress: OnProgress | None,
    summary: StrPath | None = None,
) -> ValidationReport:
    """Read records or lines as `layout` specifies, writing a summary if requested."""
    from planner.api.contents.text_advice import records_expected
    from planner.sorting.records.validate import validate_files, validate_line_files

    of_records = layout | {"key_size": 10 if layout["key_size"] is None else layout["key_size"]}
    of_lines = {name: value for name, value in layout.items() if name != "record_size"}
    with reported(["validate"], on_progress) as progress, _plain_files(looks, by_name=not lines) as plain:
        if lines:
            return validate_line_files(plain, **of_lines, progress=progress)
        with records_expected(looks, advice="add --lines"):
            return validate_files(plain, **of_records, summary=summary, progress=progress)


@contextmanager
def _plain_files(looks: Sequence[Look], *, by_name: bool) -> Iterator[list[Path]]:
    """Yield files with their stated size: copies of those without, as in /proc, of pipes, and of what is compressed,
    unpacked. With `by_name` the name must indicate compression, too.
    """
    from planner.compression.looks import SUFFIXES
    from planner.compression.text_codecs import open_source
    from planner.native import Progress

    with ExitStack() as copies:
        plain = [Path(look.name) for look in looks]
        for number, look in enumerate(looks):
            is_packed = look.codec and (not by_name or plain[number].suffix in SUFFIXES)
            if plain[number].exists() and (is_packed or not look.is_plain):
                copy = copies.enter_context(tempfile.NamedTemporaryFile())
                source = open_source(look.name, Progress(), by_name=by_name, look=look)
                source.read_in_chunks()
                copy.writelines(source.chunks or ())
                copy.flush()
                plain[number] = Path(copy.name)
        yield plain


@dataclass(frozen=True, kw_only=True)
class RowsValidation:
    """Content of files of rows or lines: how many, the first out of order, and a checksum independent of their order.

    `unordered` rows come before their predecessor, and `duplicates` have its keys; None if not counted, as for text.
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


@taking(Comparison)
def validate_rows(
    files: StrPath | Sequence[StrPath],
    *,
    checksum: Checksum = None,
    input: WentIn = (),
    looked: tuple[Input, Input] | None = None,
    say: Callable[[str], None] | None = None,
    on_progress: OnProgress | None = None,
    **asked: Unpack[ComparisonArguments],
) -> RowsValidation:
    """Read files twice, one after the other: for the order that a sort with these options gives, and their checksum.

    `input` is the input's files, perhaps tables of another kind that were converted. What is not given is detected as
    `sort` does, and passed to `say`; `looked` is what `inspect_both` found. Raises BadInputError for a key that is not
    a column, and for tables whose columns have other types in the two kinds.
    """
    expected = None if checksum is None else checksum_number(checksum)
    names, went_in = _paths(files), _paths(input)
    _require_files(names)
    shown = looked or inspect_both(all_files(names), all_files(went_in), asked, say=say)
    job, of_input = (_job(each, asked, of) for each, of in zip((names, went_in), shown, strict=True))
    require_together(arguments_of(Comparison), vars(job) | {"format": job.format or ""})
    as_tables = bool(went_in) and job.format != of_input.format
    disorder = (disorder_of_rows if as_tables else disorder_of)(job, on_progress)
    found = _content(job, on_progress, as_tables=as_tables, key=job.keys)
    if went_in:
        before = _content(of_input, on_progress, as_tables=as_tables)
        expected = before.checksum
        if as_tables and expected != found.checksum and before.types != found.types:
            _refuse_types(job, of_input, found.types, before.types)
    unordered = 0 if disorder is None else found.unordered
    return RowsValidation(
        rows=found.rows,
        disorder=disorder,
        unordered=unordered,
        duplicates=found.duplicates,
        checksum=f"{found.checksum:x}",
        expected=expected,
    )


def _require_files(paths: Sequence[Path]) -> None:
    """Raise BadInputError for pipes: files are read once for the order, and again for the content."""
    for path in paths:
        if path.exists() and stat.S_ISFIFO(path.stat().st_mode):
            text = f"{path} is a pipe, and is read twice: save it to a file, or check the order alone, sort --check"
            raise BadInputError(text, code="pipe")


def inspect_both(
    files: Sequence[Path], went_in: Sequence[Path], asked: Mapping[str, Any], *, say: Callable[[str], None] | None
) -> tuple[Input, Input]:
    """Return what files hold, and what the input held: one kind, or tables of two. Raises BadInputError as `inspect`
    does.
    """
    try:
        found = inspect([*files, *went_in], asked, say=say, takes=EVERY_FORMAT)
    except BadInputError as error:
        if error.code != "mixed-kinds" or not asked.get("key"):
            raise
        both = tuple(inspect(each, asked, say=say, takes=EVERY_FORMAT) for each in (files, went_in))
        if any(each.format not in ("csv", *TABLES) for each in both):
            raise
        return both[0], both[1]
    size = len(files)
    return replace(found, looks=found.looks[:size]), replace(found, looks=found.looks[size:])


def _job(names: Sequence[Path], asked: ComparisonArguments, shown: Input) -> SortJob:
    listed = listed_files(names)
    folders = tuple(listed.values()) if any(listed.values()) and shown.format in TABLES else ()
    job = SortJob(inputs=tuple(look.name for look in shown.looks), **asked)
    return replace(job, folders=folders, **shown.shown)


class _Content(NamedTuple):
    """Rows of files, the sum of their hashes, how many come before their predecessor or have its keys, and the types of
    a table's columns.
    """

    rows: int
    checksum: int
    unordered: int | None = None
    duplicates: int | None = None
    types: Mapping[str, str] = {}


def _content(
    job: SortJob, on_progress: OnProgress | None, *, as_tables: bool = False, key: Sequence[str] = ()
) -> _Content:
    if as_tables or job.format in TABLES:
        return _of_tables(job, on_progress, key=key)
    if job.format == "csv" or job.zero_terminated:
        return _of_text(job, on_progress)
    layout = {"key_offset": 0, "key_size": None, "threads": None, "record_size": job.record_bytes}
    report = _read(job.looks, lines=not job.record_bytes, layout=layout, on_progress=on_progress)
    return _Content(report.records, int(report.checksum, 16))


def _refuse_types(job: SortJob, of_input: SortJob, types: Mapping[str, str], before: Mapping[str, str]) -> NoReturn:
    """Raise BadInputError for values that cannot be compared, because files of text do not say their types."""
    differing = {name: (types.get(name, "missing"), before.get(name, "missing")) for name in {**before, **types}}
    lines = [
        f"column {name}: {one}, and {other} in the input" for name, (one, other) in differing.items() if one != other
    ]
    text = f"{job.inputs[0]} and {of_input.inputs[0]} cannot be compared: types of columns differ"
    raise BadInputError(text, lines, code="schema-mismatch")


def _of_text(job: SortJob, on_progress: OnProgress | None) -> _Content:
    """Return the content of rows or lines; a heading's hash is in the sum."""
    from planner.native import run_interruptible
    from planner.sorting.text.text_files import summarize_rows
    from planner.sorting.text.text_job import text_job

    text = text_job(job)
    with reported(["validate"], on_progress) as progress:
        return _Content(*run_interruptible(lambda shown: summarize_rows(text, shown), progress))


def _of_tables(job: SortJob, on_progress: OnProgress | None, *, key: Sequence[str] = ()) -> _Content:
    from planner.sorting.tables.parquet_rows import decoded_bytes, keys_of, rows_of
    from planner.sorting.tables.table_files import table_inputs
    from planner.sorting.tables.table_hash import rows_checksum
    from planner.sorting.tables.table_runs import behind_last, count_disorder

    count = checksum = unordered = duplicates = 0
    with reported(["validate"], on_progress) as progress, table_inputs(job, progress, fills=True) as sources:
        keys = keys_of(key, sources) if key and sources else []
        types = {field.name: str(field.type) for field in sources[0].schema} if sources else {}
        progress.begin_phase(0, bytes_total=decoded_bytes(sources))
        for table, joined in behind_last(table for source in sources for table in rows_of(source, progress)):
            count += table.num_rows
            checksum += rows_checksum(table)
            if keys:
                fallen, equal = count_disorder(joined, keys)
                unordered, duplicates = unordered + fallen, duplicates + equal
    return _Content(count, checksum, unordered, duplicates, types)
