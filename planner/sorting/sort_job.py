"""The one value of a sort: what it reads, how it compares, what it writes, and its limits.

Each field with a sentence declares an argument of `planner.sort`, and an option of `planner sort`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from planner.compression.looks import Look
from planner.config.paths import StrPath
from planner.errors import BadInputError
from planner.schemas.door import (
    Between,
    Bytes,
    Count,
    Help,
    Offset,
    Seconds,
    With,
    Without,
    arguments_of,
    require_together,
)

ClusterFormat = Literal["records", "lines", "csv", "parquet"]
Format = Literal["records", "lines", "csv", "parquet", "jsonl", "arrow", "orc"]
TableFormat = Literal["csv", "tsv", "jsonl", "arrow", "parquet"]
Spill = Literal["auto", "lz4", "plain"]
"""Format of temporary files: as suits the data, packed, or as it is."""
Compress = Literal["gz", "zst", "none"]
USUAL_RECORD_BYTES = 100

EVERY_FORMAT: Final[tuple[Format, ...]] = get_args(Format)
CLUSTER_FORMATS: Final[tuple[Format, ...]] = get_args(ClusterFormat)
TABLES: Final[tuple[Format, ...]] = ("parquet", "jsonl", "arrow", "orc")
"""Formats that the sort of tables reads itself."""
_TABLES: Final = tuple(f"format={name}" for name in TABLES)
_NO_TEXT: Final = ("format=records", *_TABLES)

FoundFormat = Annotated[Format | None, Help("What the files hold; found out otherwise.")]
FoundSeparator = Annotated[
    str | None, Help("The byte between fields; blanks of lines, and of CSV found out, otherwise."), Without(*_NO_TEXT)
]
FoundHeader = Annotated[
    bool | None, Help("The first row of CSV is data, or a heading; found out otherwise."), With("format=csv")
]
RecordSize = Annotated[
    Count | None, Help("Bytes of a record: 100 otherwise."), Without("lines", "ray"), With("format=records")
]
KeyOffset = Annotated[
    Offset, Help("Where the key begins."), Without("key", "ray"), With("format=records", "format=lines")
]
KeySize = Annotated[
    Count | None,
    Help("Bytes of the key: 10 of a record, to the end of a line unless given."),
    Without("key", "ray"),
    With("format=records", "format=lines"),
]
Threads = Annotated[Count | None, Help("Threads; all cores otherwise."), Without("ray")]


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """Format of the input, found out unless given, and its keys: all that `run` takes of it."""

    format: Annotated[ClusterFormat | None, Help("What the files hold; found out otherwise.")] = None
    key: Annotated[
        str | Sequence[str] | None,
        Help(
            "A key of lines as GNU sort's -k has it: 2,2n. Of columns: NAME[:int|num|float|date|fold|natural][:desc]"
            "[:first], and date=%d/%m/%Y. Of records: OFFSET:SIZE[:KIND][:desc], KIND as of columns, or u64le, "
            "i32be, f64le and their kin."
        ),
    ] = None
    separator: FoundSeparator = None
    no_header: FoundHeader = None
    unique: Annotated[bool, Help("Keep the first of lines with equal keys.")] = False
    zero_terminated: Annotated[
        bool, Help("Lines end with NUL, not with a newline.", option="-z"), Without(*_NO_TEXT, "format=csv")
    ] = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, the first that decides first."""
        return (self.key,) if isinstance(self.key, str) else tuple(self.key or ())

    @property
    def is_text_or_table(self) -> bool:
        """True if any option is given that only text or tables have."""
        text = self.separator or self.unique or self.zero_terminated or self.no_header
        return bool(self.keys or text or self.format not in (None, "records", "lines"))

    def require(self, *, input: str | None) -> None:
        """Raise BadInputError for ignored or invalid options when `run` sorts `input` on a cluster."""
        given = [name for name, of in arguments_of(InputFormat).items() if of.is_given(getattr(self, name))]
        if given and input is None:
            text = f"`{given[0]}`: generated data is records; name data of yours: `input=s3://bucket/prefix`"
            raise BadInputError(text, field=given[0], code="contradiction")
        if self.format not in (None, "records"):
            self.require_sortable_on_cluster()
        elif wrong := next((name for name in given if name != "format"), ""):
            raise BadInputError(
                f"`{wrong}` does not apply to records of 100 bytes, which are sorted by their first 10",
                ["say --format lines, csv or parquet, or leave it out"],
                field=wrong,
                code="not-applicable",
            )

    def require_sortable_on_cluster(self) -> None:
        """Raise BadInputError for options that contradict each other, and for formats of one machine."""
        if self.format in ("jsonl", "arrow", "orc"):
            raise BadInputError(
                f"--format {self.format}: a cluster sorts records, lines, CSV and Parquet",
                ["sort it into Parquet on one machine first"],
                field="format",
                code="not-applicable",
            )
        require_together(arguments_of(InputFormat), vars(self) | {"format": self.format or "lines"})


@dataclass(frozen=True, kw_only=True)
class Comparison(InputFormat):
    """What files hold, and the order that they have or get: the arguments of `find_disorder`."""

    format: FoundFormat = None  # type: ignore[assignment]  # one machine reads more
    quote: Annotated[
        str | None,
        Help("What encloses values of CSV, or none; found out otherwise."),
        Without("ray"),
        With("format=csv"),
    ] = None
    lines: Annotated[bool, Help("Sort newline-terminated text by its lines."), Without(*_NO_TEXT, "format=csv")] = False
    record_size: RecordSize = None
    key_offset: KeyOffset = 0
    key_size: KeySize = None
    stable: Annotated[bool, Help("Keep the order of equal keys."), Without("ray")] = False

    @property
    def is_lines(self) -> bool:
        """True if the files are given as lines."""
        return self.lines or self.format == "lines"

    @property
    def record_bytes(self) -> int:
        """Size of a record; 0 for text and tables."""
        return (self.record_size or USUAL_RECORD_BYTES) if self.format == "records" else 0


@dataclass(frozen=True, kw_only=True)
class SortJob(Comparison):
    """A sort: the arguments of `sort`, and the files that it reads and writes. `-` is standard input, and no output
    standard output.
    """

    inputs: tuple[str, ...] = ()
    folders: tuple[Mapping[str, str | None], ...] = ()
    """Columns from the folders of each input."""
    looks: tuple[Look, ...] = ()
    """What the first look at each input showed; none where there was none."""
    output: str = ""
    more_outputs: Annotated[
        Sequence[StrPath],
        Help(
            "Where the result goes on, perhaps on another disk: each file has an equal share.",
            option="--more-output",
            takes=list[str],
        ),
        Without("ray", "key"),
        With("format=records"),
    ] = ()
    union_by_name: Annotated[
        bool, Help("Columns that not all Parquet files have are null where they are missing."), With(*_TABLES)
    ] = False
    merge: Annotated[bool, Help("The inputs are sorted already: merge them."), Without("ray")] = False
    limit: Annotated[Count | None, Help("Number of lines to write, the first in order."), Without("ray")] = None
    compress: Annotated[
        Compress | None, Help("How text is written; as OUTPUT's name ends otherwise."), Without("ray", "format=parquet")
    ] = None
    memory_bytes: Annotated[Bytes | None, Help("Memory in all: 2GB. Four fifths of what is free otherwise.")] = None
    threads: Threads = None
    temp_dirs: Annotated[
        Sequence[StrPath],
        Help("Disks for temporary files; otherwise the disk of the output.", option="--temp-dir"),
        Without("ray"),
    ] = ()
    spill: Annotated[
        Spill,
        Help("How temporary files are written: packed with LZ4, plain, or packed while processors wait for disks."),
        Without("ray", *_TABLES),
    ] = "auto"
    consume_input: Annotated[
        bool,
        Help("Free the inputs' space while they are sorted: they are gone in the end."),
        Without("ray", "more_outputs", "limit", "merge", "compress", "temp_dirs", "spill"),
    ] = False
    resume: Annotated[
        bool,
        Help("Finish a sort with --consume-input that was interrupted."),
        Without("ray", "more_outputs", "limit", "merge", "compress", "temp_dirs", "spill"),
    ] = False
    ray: Annotated[
        str | None,
        Help(
            "Sort on the Ray cluster at this address: INPUT and OUTPUT are manifests of partitions. "
            "INPUT may be text, CSV or Parquet: files, directories, or s3://bucket/prefix; OUTPUT s3://bucket/prefix."
        ),
    ] = None
    copies: Annotated[
        int, Between(1, 2), Help("With --ray: nodes that keep each output partition."), With("ray")
    ] = 1  # fmt: skip
    to: Annotated[
        str | None,
        Help("With --ray: where partitions go, s3://bucket/prefix; a folder on the nodes' disks otherwise."),
        With("ray"),
    ] = None
    file_bytes: Annotated[
        Bytes | None,
        Help(
            "About what each file of the output holds, 256MB. OUTPUT is then a folder of tables; "
            "with --ray, if nodes have the memory to sort it.",
            option="--file-size",
        ),
        Without("more_outputs", "consume_input", "resume"),
    ] = None
    directory: Annotated[
        StrPath | None,
        Help(
            "With --ray: the folder of each node's disks; several as in PATH, /mnt/a:/mnt/b. "
            "Without it each node's PLANNER_NODE_DIRECTORY.",
            option="--dir",
            takes=str,
        ),
        With("ray"),
    ] = None
    uniform: Annotated[
        bool, Help("With --ray: trust keys to be evenly spread, as Indy may; nothing is sampled."), With("ray")
    ] = False
    wait_s: Annotated[
        Seconds, Help("With --ray: how long to wait for CPUs that other jobs use."), With("ray")
    ] = 3600.0  # fmt: skip
    output_format: Annotated[
        TableFormat | None,
        Help("What OUTPUT holds; as its name ends otherwise, or else as INPUT."),
        Without("ray", "more_outputs", "consume_input", "resume"),
    ] = None
    force: Annotated[bool, Help("Replace files that exist.")] = False

    @property
    def compression(self) -> str | None:
        """Compression of the output, None for none."""
        from planner.compression.looks import suffix_compression

        if self.compress is not None:
            return None if self.compress == "none" else self.compress
        return suffix_compression(self.output)
