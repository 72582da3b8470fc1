"""A dataset on a cluster: its partitions in order, their places, and ways to restore a lost one."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from planner.config.atomic_file import replace_file
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, IoFailureError
from planner.sorting.records.keys import Key

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextOrder
    from planner.sorting.tables.parquet_output import ParquetStyle
    from planner.sorting.tables.table_keys import ColumnKey

_LEAST_STEP_BYTES: Final = 64_000
_MOST_STEP_BYTES: Final = 4_000_000
_MOST_POINTS: Final = 100_000


@dataclass(frozen=True, kw_only=True)
class QuoteGrid:
    """Byte number `step_bytes` x (`first` + i) of a partition lies within quotes if `within[i]` is 1."""

    step_bytes: int
    within: bytes
    first: int = 0

    def point_before(self, byte: int) -> tuple[int, bool]:
        """Return the last point of the grid that is not behind a byte, and whether it is within quotes."""
        number = byte // self.step_bytes
        return number * self.step_bytes, bool(self.within[number - self.first])

    def for_slice(self, first: int, count: int) -> QuoteGrid:
        """Return the part for some bytes and for the one before them, which is small enough to send to a task."""
        begin = max(0, first - 1) // self.step_bytes
        end = (first + count) // self.step_bytes + 1
        return replace(self, within=self.within[begin - self.first : end - self.first], first=begin)


def step_bytes_of(data_bytes: int) -> int:
    """Return the distance between points of the grid: a slice is read from the point before it."""
    return min(max(data_bytes // _MOST_POINTS, _LEAST_STEP_BYTES), _MOST_STEP_BYTES)


def grid_of(flips: Sequence[bytes], step_bytes: int) -> QuoteGrid:
    """Return the grid of a partition from its steps: 1 for each with an odd number of quotes."""
    odd = np.frombuffer(b"".join(flips), np.uint8)
    behind = np.bitwise_xor.accumulate(odd) if len(odd) else odd
    return QuoteGrid(step_bytes=step_bytes, within=b"\0" + behind.tobytes())


@dataclass(frozen=True, kw_only=True)
class TableFormat:
    """Tables of one `schema` (Arrow's serialization of it, as base64) and their sort keys.

    Keys are `COLUMN[:asc|desc][:first|last]`; `unique` keeps one of the rows with equal keys. The other fields are as
    in `ParquetStyle`.
    """

    schema: str
    keys: tuple[str, ...]
    unique: bool = False
    compression: str = "snappy"
    dictionaries: tuple[str, ...] | None = None
    group_rows: int = 1 << 20
    has_decimal_integers: bool = False

    @staticmethod
    def of(fields: Mapping[str, Any]) -> TableFormat:
        """Return the format in a manifest. Raises TypeError for anything else."""
        leaves = fields.get("dictionaries")
        dictionaries = None if leaves is None else tuple(leaves)
        return TableFormat(**{**fields, "keys": tuple(fields["keys"]), "dictionaries": dictionaries})

    def arrow_schema(self) -> Any:
        """Return pyarrow's schema."""
        return _parse_schema(self.schema)

    def column_keys(self) -> list[ColumnKey]:
        """Return the keys by the columns' places. Raises BadInputError for a missing column."""
        from planner.sorting.tables.table_keys import parse_table_keys

        return parse_table_keys(self.keys, self.arrow_schema())

    def style(self) -> ParquetStyle:
        """Return the style in which files are written."""
        from planner.sorting.tables.parquet_output import ParquetStyle

        return ParquetStyle(
            compression=self.compression,
            dictionaries=self.dictionaries,
            group_rows=self.group_rows,
            has_decimal_integers=self.has_decimal_integers,
            details={"write_page_index": True},
        )


def serialize_schema(schema: Any) -> str:
    """Return a schema as stored in a manifest."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode()


@lru_cache(maxsize=8)
def _parse_schema(schema: str) -> Any:
    from planner.sorting.tables.arrow_library import arrow

    return arrow("pyarrow.ipc").read_schema(arrow().py_buffer(base64.b64decode(schema)))


FORMAT: Final = "planner-manifest-1"


QUOTE: Final = '"'


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """CSV rows: the byte between columns, the number of columns, the line ending, and the first row of every file.

    `header` is the first row with its end, as Latin-1, '' where files have none. It is not part of a partition.
    """

    delimiter: str
    columns: int
    ends_with_crlf: bool = False
    header: str = ""

    def for_core(self) -> tuple[bytes, bytes, int, bool]:
        """Return the same in the form of the sort core, with the quote."""
        return self.delimiter.encode("latin-1"), QUOTE.encode(), self.columns, self.ends_with_crlf


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Lines and their sort keys: keys in the form of the sort core, or the whole line without keys.

    `separator` is one byte, as Latin-1, '' for blanks; `unique` keeps one of the lines with equal keys. With `csv`,
    lines are rows and keys are columns.
    """

    keys: tuple[Key, ...] = ()
    separator: str = ""
    line_end: str = "\n"
    unique: bool = False
    csv: CsvFormat | None = None

    @property
    def longest_end_bytes(self) -> int:
        """Most bytes added to a last line without an end."""
        return 2 if self.csv is not None and self.csv.ends_with_crlf else 1

    def order(self) -> TextOrder:
        """Return the order of the lines."""
        from planner.sorting.records.keyed import TextOrder

        return TextOrder(
            keys=self.keys,
            separator=self.separator.encode("latin-1") or None,
            line_end=self.line_end.encode(),
            unique=self.unique,
            csv=None if self.csv is None else self.csv.for_core(),
        )


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Fixed records: `record_size` bytes each, with a key of `key_size` bytes from `key_offset` on.

    Where the data is `text`, a record is a byte: counts of records are counts of bytes. Where it is a `table`, a record
    is a row, and `record_size` its mean size in memory.
    """

    record_size: int = 100
    key_offset: int = 0
    key_size: int = 10
    text: TextFormat | None = None
    table: TableFormat | None = None

    @staticmethod
    def of_text(text: TextFormat) -> Layout:
        """Return the layout of text."""
        return Layout(record_size=1, key_offset=0, key_size=0, text=text)

    @staticmethod
    def of_table(table: TableFormat, *, row_bytes: int) -> Layout:
        """Return the layout of tables."""
        return Layout(record_size=max(1, row_bytes), key_offset=0, key_size=0, table=table)

    def document(self) -> dict[str, Any]:
        """Return the layout as stored in a manifest."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def unit(self) -> str:
        """Name of the counted unit."""
        if self.table is not None:
            return "rows"
        return "records" if self.text is None else "bytes"

    @property
    def counted_unit(self) -> str:
        """Name of the unit that a summary of the data counts."""
        return "rows" if self.form in ("csv", "parquet") else self.form

    @property
    def form(self) -> str:
        """Content of the files, as `--format` names it."""
        if self.table is not None:
            return "parquet"
        if self.text is None:
            return "records"
        return "lines" if self.text.csv is None else "csv"

    @property
    def stored_size(self) -> int:
        """Bytes of the unit that blocks and intermediate files count: rows of tables vary in size, so these count
        bytes.
        """
        return 1 if self.table is not None else self.record_size

    @property
    def is_unique(self) -> bool:
        """True if one record is kept of those with equal keys."""
        form = self.text or self.table
        return form is not None and form.unique

    @property
    def longest_end_records(self) -> int:
        """Most records added at the end of a partition: a last line's end."""
        return 0 if self.text is None else self.text.longest_end_bytes

    def core(self) -> dict[str, Any]:
        """Return the layout by the sort core's names, all values integers."""
        return {"record_bytes": self.record_size, "key_offset": self.key_offset, "key_bytes": self.key_size}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Parameters of the sort benchmark's generator for a partition: the numbers of its records, skewed or not."""

    start: int
    skew: bool = False


@dataclass(frozen=True, kw_only=True)
class FileVersion:
    """The version of a file or an object. `modified` is the time of modification, which a copy may keep, or an object's
    ETag, version and time.

    `status`, the time in ns of the last change of a file's inode ("ctime"), cannot be set by a program. It is '' for
    objects, and where nodes have files of their own by one name. `pieces` is a CRC-32 of some of a file's content.
    """

    size_bytes: int
    modified: str
    e_tag: str = ""
    status: str = ""
    inode: int = 0
    pieces: int = 0

    def difference(self, now: FileVersion) -> str:
        """Return what changed since, '' if nothing did. A file system without inodes of its own may renumber them."""
        if now.size_bytes != self.size_bytes:
            return f"{now.size_bytes} bytes instead of {self.size_bytes}"
        if now.modified != self.modified:
            return f"its size is the same, but not its {'ETag' if self.e_tag else 'time of modification'}"
        if self.status and now.status and now.status != self.status:
            return "its size and time of modification are the same, but it was written or replaced (its ctime changed)"
        return "" if now.pieces == self.pieces else "its size and times are the same, but not its content"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A small file that a copy joins with others: its content from byte `offset` on, and its number of `records`,
    estimated where it has a `compression`.
    """

    uri: str
    records: int
    offset: int = 0
    compression: str = ""
    version: FileVersion | None = None


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A file with a partition's records, which begin `offset` bytes into it: a path on the disks of `node`, or, where
    that is '', a URI that all reach. For a file with `compression` (gz, zst), the offset is in its plain text. A
    `joined` one has `parts` instead of one file. A sort adds the `version`, which no manifest has.
    """

    uri: str
    node: str = ""
    offset: int = 0
    compression: str = ""
    parts: tuple[Part, ...] = ()
    version: FileVersion | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the copy."""
        return tuple(part.uri for part in self.parts) or (self.uri,)

    def document(self) -> dict[str, Any]:
        """Return the copy as stored in a manifest."""
        bare = replace(self, version=None, parts=tuple(replace(part, version=None) for part in self.parts))
        optional = ("compression", "parts", "version")
        return {name: value for name, value in asdict(bare).items() if value or name not in optional}


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Consecutive records of a dataset. Keys are in hex, and '' like the checksum where they are unknown.

    A sort of CSV adds `quotes`, which no manifest has. Tables have `groups`: the rows of each row group. The size of
    compressed text `is_estimated` until it is decompressed.
    """

    records: int
    copies: tuple[Copy, ...]
    recipe: Recipe | None = None
    first_key: str = ""
    last_key: str = ""
    checksum: str = ""
    quotes: QuoteGrid | None = None
    groups: tuple[int, ...] = ()
    is_estimated: bool = False

    @property
    def uri(self) -> str:
        """Place of the first copy."""
        return self.copies[0].uri

    def document(self) -> dict[str, Any]:
        """Return the partition as stored in a manifest."""
        optional = {name: value for name in ("groups", "is_estimated") if (value := getattr(self, name))}
        absent = {"quotes", "groups", "is_estimated"}
        always = {name: value for name, value in asdict(self).items() if name not in absent}
        return always | {"copies": [copy.document() for copy in self.copies]} | optional

    def for_slice(self, first: int, records: int) -> Partition:
        """Return the partition with only the data that a task needs to read some of its records."""
        if self.quotes is None:
            return replace(self, groups=()) if self.groups else self
        return replace(self, quotes=self.quotes.for_slice(first, records))

    def readable_from(self, nodes: Collection[str]) -> Partition:
        """Return the partition with the copies that one of `nodes` can read: their own, and the shared ones."""
        return replace(self, copies=tuple(copy for copy in self.copies if not copy.node or copy.node in nodes))

    def without_nodes(self, lost: frozenset[str]) -> Partition:
        """Return the partition with the copies that survive the loss of nodes."""
        return replace(self, copies=tuple(copy for copy in self.copies if copy.node not in lost))


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Partitions in order; sorted if a sort wrote them: then the names of its files end with its `job`."""

    partitions: tuple[Partition, ...]
    layout: Layout = Layout()
    job: str = ""

    @property
    def records(self) -> int:
        """Records of all partitions."""
        return sum(partition.records for partition in self.partitions)

    @property
    def bytes(self) -> int:
        """Bytes of one copy."""
        return self.records * self.layout.record_size

    def digest(self) -> str:
        """Return a hash of the manifest, which identifies the dataset."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the manifest."""
        whole = {"format": FORMAT, "records": self.records, "layout": self.layout.document()}
        whole |= {"job": self.job} if self.job else {}
        return json.dumps(whole | {"partitions": [partition.document() for partition in self.partitions]}, indent=1)


def read_manifest(path: Path) -> Dataset:
    """Return the dataset of a manifest. Raises BadInputError when the file cannot be read or is not a manifest."""
    what, text = f"manifest {path} is not one that `planner sort` writes", read_user_file(path, most_values=math.inf)
    try:
        return dataset_of(json.loads(text))
    except json.JSONDecodeError as error:
        raise BadInputError(f"{what}: it is not JSON", code="not-json") from error
    except KeyError as error:
        raise BadInputError(f"{what}: it lacks {error}", code="missing-field") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{what}: {error}", code="malformed") from error


def dataset_of(document: Mapping[str, Any]) -> Dataset:
    """Return the dataset of a parsed manifest. Raises ValueError, TypeError or KeyError for anything else."""
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r} instead of {FORMAT!r}")
    partitions = tuple(_partition(partition) for partition in document["partitions"])
    return Dataset(partitions=partitions, layout=_layout(document["layout"]), job=document.get("job", ""))


def write_manifest(dataset: Dataset, path: Path) -> None:
    """Write a manifest atomically. Raises IoFailureError."""
    try:
        replace_file(path, dataset.to_json() + "\n")
    except OSError as error:
        raise IoFailureError(f"manifest {path}: {error.strerror}; nothing was written", code="io") from error


def _layout(fields: Mapping[str, Any]) -> Layout:
    if table := fields.get("table"):
        return Layout(**{**fields, "table": TableFormat.of(table)})
    if not (text := fields.get("text")):
        return Layout(**fields)
    csv = CsvFormat(**text["csv"]) if text.get("csv") else None
    keys = tuple(Key(*key) for key in text["keys"])
    return Layout(**{**fields, "text": TextFormat(**{**text, "keys": keys, "csv": csv})})


def _partition(fields: Mapping[str, Any]) -> Partition:
    copies = tuple(
        Copy(**{**copy, "parts": tuple(Part(**part) for part in copy.get("parts", ()))}) for copy in fields["copies"]
    )
    recipe = None if fields["recipe"] is None else Recipe(**fields["recipe"])
    groups = tuple(fields.get("groups", ()))
    return Partition(**{**fields, "copies": copies, "recipe": recipe, "groups": groups})
