"""A sort as Python and the commands request it, and its result."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from planner.api.contents.datasets import arrow_dataset, ray_dataset
from planner.api.files import mode_of, require_directories, require_new, require_readable
from planner.api.input_format import InputFormat
from planner.errors import BadInputError

if TYPE_CHECKING:
    from pyarrow.dataset import Dataset as ArrowDataset
    from ray.data import Dataset as RayDataset

    from planner.sorting.records.keyed import TextReport
    from planner.sorting.records.local import SortReport, Spill
    from planner.sorting.tables.parquet import ParquetReport

StrPath = str | os.PathLike[str]
Compress = Literal["gz", "zst", "none"]
Say = Callable[[str], None]
OnEvent = Callable[[dict[str, Any]], None]

_URI: Final = re.compile(r"^(s3[an]?|gs|az|abfss?|wasbs?):/+")
USUAL_RECORD: Final = (100, 0, None)


@dataclass(frozen=True, kw_only=True)
class SortResult:
    """Number of written `counted` (records, lines or rows), and the report of the engine that sorted them.

    `seconds` is None for a sort on a cluster, whose report is a JSON object.
    """

    counted: str
    count: int
    seconds: float | None
    report: SortReport | TextReport | ParquetReport | dict[str, Any]
    tables: tuple[str, ...] = ()
    """The Parquet files of the result, in order; of a copy that this machine reaches, if there is one."""

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON-able values."""
        from planner.sorting.records.local import SortReport

        if isinstance(self.report, dict):
            return self.report
        if isinstance(self.report, SortReport):
            return self.report.to_dict()
        values = asdict(self.report)
        if "lines" in values:
            del values["lines"]
            return {self.counted: self.count, "seconds": self.seconds, **values}
        return values | {"seconds": self.seconds}

    def to_pyarrow(self) -> ArrowDataset:
        """Return the sorted rows as a `pyarrow.dataset.Dataset`. Raises BadInputError if they are not Parquet, or are
        on the disks of other nodes.
        """
        return arrow_dataset(self.tables)

    def to_ray(self) -> RayDataset:
        """Return the sorted rows as a `ray.data.Dataset` that keeps their order. Raises BadInputError as above."""
        return ray_dataset(self.tables)


@dataclass(frozen=True, kw_only=True)
class Disorder:
    """The first line, row or record out of order: its number, from 1, and its text, or a record's keys, 0x..."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class SortJob:
    """Options for sorting or checking files."""

    form: InputFormat
    lines: bool = False
    merge: bool = False
    limit: int | None = None
    compress: Compress | None = None
    record: tuple[int, int, int | None] = USUAL_RECORD
    """Record size, key offset and key bytes; for lines, the last two."""
    stable: bool = False
    spill: Spill = "auto"
    memory_bytes: int | None = None
    threads: int | None = None
    temp_dirs: tuple[str, ...] = ()
    quote: str | None = None
    """Quote around CSV values, `none` for nothing; a double quote by default."""
    union_by_name: bool = False
    folders: tuple[Mapping[str, str | None], ...] = ()
    """Columns from the folders of each input."""
    replaces: bool = False
    """True if the output may replace a file, also one that appears meanwhile."""

    @property
    def is_text_or_table(self) -> bool:
        """True if any option is given that only text or tables have."""
        return bool(self.form.is_text_or_table or self.merge or self.limit or self.compress)

    @property
    def record_bytes(self) -> int:
        """Size of a record; 0 for text. Raises BadInputError."""
        if self.form.format != "records":
            return 0
        if self.record[0] < 1:
            raise BadInputError(f"--record-size {self.record[0]}: a record has at least one byte")
        return self.record[0]

    @property
    def span(self) -> tuple[int, int | None] | None:
        """Key offset and bytes (None: to the line's end, or 10); None if keys are given by name."""
        return self.record[1:] if (self.lines or self.record_bytes) and not self.form.key else None

    def require_one_output(self, *, others: bool) -> None:
        """Raise BadInputError for options of plain records in a sort by keys."""
        span = (0, None) if self.span else self.record[1:]
        if (self.record[0] != USUAL_RECORD[0] and not self.record_bytes) or span != (0, None) or others:
            raise BadInputError(
                "a sort by --key writes one file, and takes no --more-output, --key-offset or --key-size",
                ["leave these out; for text and tables also --record-size"],
            )


def require_inputs(
    sources: Sequence[Path], outputs: Sequence[Path], job: SortJob, *, force: bool, is_text: bool = False
) -> None:
    """Raise BadInputError for files that cannot be read or must not be replaced.

    `planner sort *.dat` without an output must not replace the last input. Sorts of records never replace an input, as
    the sort core requires; sorts of text do with --force. Text may also be standard input and output.
    """
    require_readable(path for path in sources if not (is_text and str(path) == "-"))
    require_directories("--temp-dir", map(Path, job.temp_dirs))
    if is_text:
        outputs = [path for path in outputs if str(path) != "-"]
    if any(str(path) == "-" for path in outputs):
        raise BadInputError("OUTPUT -: the result is a file, which appears whole or not at all; name it")
    several = "; with several inputs the last name is the output's, which might be an oversight"
    inputs = [] if is_text else sources
    new = (path for path in outputs if not any(mode_of(path) and path.samefile(source) for source in inputs))
    require_new(new, force=force, hint=several if len(sources) > 1 else "")


def require_output_apart(
    inputs: Iterable[str],
    outputs: Iterable[Path],
    *,
    folders: Collection[str] = (),
    earlier: Collection[str] = (),
    hint: str = "remove it first, or name another output",
) -> None:
    """Raise BadInputError for an input that is an existing output, directly in one of the `folders` of output, or of an
    `earlier` result: a repeated sort would have its rows twice, or lose them.
    """
    existing = [path.stat() for path in outputs if stat.S_ISREG(mode_of(path))]
    for name in inputs:
        status = Path(name).stat() if existing and mode_of(Path(name)) else None  # an address has none
        is_output = status is not None and any(os.path.samestat(status, output) for output in existing)
        if is_output or name in earlier or os.path.dirname(name) in folders:  # noqa: PTH120  # also of a URI
            raise BadInputError(f"{name}: the output is among the inputs", [hint])


def files_among(sources: Sequence[Path]) -> list[Path]:
    """Return the sources that are neither directories nor prefixes of an object store."""
    return [path for path in sources if not path.is_dir() and "://" not in name_of(path)]


def name_of(source: Path) -> str:
    """Return a path as this program writes it, or an object store address if the path is one that has lost a slash.
    Raises BadInputError as `planner_uri` does.
    """
    address = _URI.sub(r"\1://", str(source))
    if "://" not in address:
        return address
    from planner.distributed_sort.dataset.object_store import planner_uri

    return planner_uri(address)
