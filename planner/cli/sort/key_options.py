"""Options for records, lines, rows and their keys, shared by every command that takes data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from typer import Option

from planner.api import input_format
from planner.api.input_format import InputFormat

RecordSize = Annotated[int | None, Option(min=1, help="Bytes of a record: 100 otherwise.")]
KeyOffset = Annotated[int, Option(min=0, help="Where the key begins.")]
KeySize = Annotated[
    int | None, Option(min=1, help="Bytes of the key: 10 of a record, to the end of a line unless given.")
]  # fmt: skip
Threads = Annotated[int | None, Option(help="Threads; all cores otherwise.", min=1)]
_KEY_HELP: Final = (
    "A key of lines as GNU sort's -k has it: 2,2n. Of columns: NAME[:int|num|float|fold|natural][:desc][:first]."
    " Of records: OFFSET:SIZE[:KIND][:desc], KIND as of columns or u64le, i32be, f64le and their kin."
)
Keys = Annotated[list[str] | None, Option(help=_KEY_HELP)]
Separator = Annotated[str | None, Option(help="The byte between fields; blanks, or of CSV a comma, otherwise.")]
NoHeader = Annotated[bool, Option("--no-header", help="The first row of CSV is data.")]
FoundFormat = Annotated[input_format.Format | None, Option(help="What the files hold; found out otherwise.")]
FoundSeparator = Annotated[
    str | None, Option(help="The byte between fields; blanks of lines, and of CSV found out, otherwise.")
]
FoundHeader = Annotated[
    bool | None,
    Option(
        "--no-header/--header",
        help="The first row of CSV is data, or a heading; found out otherwise.",
        show_default=False,
    ),
]
_Unique = Annotated[bool, Option("--unique", help="Keep the first of lines with equal keys.")]
_ZeroTerminated = Annotated[bool, Option("-z", help="Lines end with NUL, not with a newline.")]


@dataclass(frozen=True, kw_only=True)
class InputFormatOptions(InputFormat):
    """Contents of `--input`, as options of commands that run on a cluster."""

    format: FoundFormat = None
    key: Keys = None
    separator: Separator = None
    no_header: NoHeader = False
    unique: _Unique = False
    zero_terminated: _ZeroTerminated = False


@dataclass(frozen=True, kw_only=True)
class KeyOptions:
    """Keys of `planner sort`. Without any of these it sorts records by their first bytes."""

    key: Keys = None
    separator: FoundSeparator = None
    quote: Annotated[str | None, Option(help="What encloses values of CSV, or none; found out otherwise.")] = None
    format: FoundFormat = None
    no_header: FoundHeader = None
    unique: _Unique = False
    union_by_name: Annotated[
        bool, Option("--union-by-name", help="Columns that not all Parquet files have are null where they are missing.")
    ] = False
    merge: Annotated[bool, Option("--merge", help="The inputs are sorted already: merge them.")] = False
    check: Annotated[
        bool, Option("--check", is_eager=True, help="Only check whether INPUT is sorted; ends with 1 if not.")
    ] = False
    limit: Annotated[int | None, Option(min=1, help="Number of lines to write, the first in order.")] = None
    zero_terminated: _ZeroTerminated = False
    compress: Annotated[
        Literal["gz", "zst", "none"] | None, Option(help="How text is written; as OUTPUT's name ends otherwise.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RayOptions:
    """Location of the cluster, and the handling of the output."""

    ray: Annotated[
        str | None,
        Option(
            help="Sort on the Ray cluster at this address: INPUT and OUTPUT are manifests of partitions. "
            "INPUT may be text, CSV or Parquet: files, directories, or s3://bucket/prefix; OUTPUT s3://bucket/prefix."
        ),
    ] = None
    copies: Annotated[int, Option(min=1, max=2, help="With --ray: nodes that keep each output partition.")] = 1
    to: Annotated[
        str | None,
        Option(help="With --ray: where partitions go, s3://bucket/prefix; a folder on the nodes' disks otherwise."),
    ] = None
    file_size: Annotated[
        str | None,
        Option(
            help="With --ray: about what each file of the output holds, 256MB, if nodes have the memory to sort it."
        ),
    ] = None
    directory: Annotated[
        str | None,
        Option(
            "--dir",
            help="With --ray: the folder of each node's disks; several as in PATH, /mnt/a:/mnt/b. "
            "Without it each node's PLANNER_NODE_DIRECTORY.",
        ),
    ] = None
    uniform: Annotated[
        bool, Option("--uniform", help="With --ray: trust keys to be evenly spread, as Indy may; nothing is sampled.")
    ] = False
