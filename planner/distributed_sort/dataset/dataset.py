"""A dataset on a cluster: its partitions in order, where each lies, and how to have a lost one again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.config.atomic_file import replace_file
from planner.config.given_files import read_given
from planner.distributed_sort.content.table_format import TableFormat
from planner.distributed_sort.dataset.quote_grid import QuoteGrid
from planner.errors import BadInputError, IoFailureError
from planner.sorting.records.keys import Key

if TYPE_CHECKING:
    from planner.sorting.records.keyed import TextOrder

FORMAT: Final = "planner-manifest-1"


QUOTE: Final = '"'


@dataclass(frozen=True, kw_only=True)
class CsvFormat:
    """Rows of CSV: the byte between columns, how many there are, how rows end, and the first row of every file.

    `header` is the first row with its end, as Latin-1, '' where files have none. It is no part of a partition.
    """

    delimiter: str
    columns: int
    ends_with_crlf: bool = False
    header: str = ""

    def for_core(self) -> tuple[bytes, bytes, int, bool]:
        """Return the same as the sort core has it, with the quote."""
        return self.delimiter.encode("latin-1"), QUOTE.encode(), self.columns, self.ends_with_crlf


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """Lines, and what they are sorted by: keys as the sort core takes them, the whole line where there are none.

    `separator` is one byte, as Latin-1, '' for blanks; of lines with equal keys `unique` keeps one. Of `csv` lines are
    rows and keys are columns.
    """

    keys: tuple[Key, ...] = ()
    separator: str = ""
    line_end: str = "\n"
    unique: bool = False
    csv: CsvFormat | None = None

    @property
    def longest_end_bytes(self) -> int:
        """Bytes that a last line without an end gets at most."""
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
    """Fixed records: `record_size` bytes each, the key being `key_size` bytes from `key_offset` on.

    Where the data is `text`, a record is a byte: what counts records counts bytes. Where it is a `table`, a record is a
    row, and `record_size` what it takes in memory in the mean.
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
        """Return the layout as a manifest has it."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def unit(self) -> str:
        """What is counted, in words."""
        if self.table is not None:
            return "rows"
        return "records" if self.text is None else "bytes"

    @property
    def counted_unit(self) -> str:
        """What a summary of the data counts, in words."""
        return "rows" if self.form in ("csv", "parquet") else self.form

    @property
    def form(self) -> str:
        """What files hold, as `--format` names it."""
        if self.table is not None:
            return "parquet"
        if self.text is None:
            return "records"
        return "lines" if self.text.csv is None else "csv"

    @property
    def stored_size(self) -> int:
        """Bytes of what blocks and intermediate files count: rows of tables have no one size, so they count bytes."""
        return 1 if self.table is not None else self.record_size

    @property
    def is_unique(self) -> bool:
        """Whether one record is left of those with equal keys."""
        form = self.text or self.table
        return form is not None and form.unique

    @property
    def longest_end_records(self) -> int:
        """What the end of a partition may get beside what it has: a last line's end."""
        return 0 if self.text is None else self.text.longest_end_bytes

    def core(self) -> dict[str, Any]:
        """Return the layout as the sort core names it, all values integers."""
        return {"record_bytes": self.record_size, "key_offset": self.key_offset, "key_bytes": self.key_size}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How the sort benchmark's generator makes a partition: the numbers of its records, skewed or not."""

    start: int
    skew: bool = False


@dataclass(frozen=True, kw_only=True)
class Part:
    """A small file that a copy joins with others: all that it has from byte `offset` on, and how many `records` that
    are, estimated where it has a `compression`.
    """

    uri: str
    records: int
    offset: int = 0
    compression: str = ""


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A file with a partition's records, which begin `offset` bytes into it: a path on the disks of `node`, or, where
    that is '', a URI that all reach. Of a file with `compression` (gz, zst) the offset is that in its plain text. One
    that is `joined` has `parts` instead of one file.
    """

    uri: str
    node: str = ""
    offset: int = 0
    compression: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it is."""
        return tuple(part.uri for part in self.parts) or (self.uri,)

    def document(self) -> dict[str, Any]:
        """Return the copy as a manifest has it."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("compression", "parts")}


@dataclass(frozen=True, kw_only=True)
class Partition:
    """Consecutive records of a dataset. Keys are in hex, and '' like the checksum where nobody has looked.

    A sort of CSV adds `quotes`, which no manifest has. Tables have `groups`: the rows of each row group. How many bytes
    compressed text has `is_estimated` until it is decompressed.
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
        """Where the first copy lies."""
        return self.copies[0].uri

    def document(self) -> dict[str, Any]:
        """Return the partition as a manifest has it."""
        optional = {name: value for name in ("groups", "is_estimated") if (value := getattr(self, name))}
        absent = {"quotes", "groups", "is_estimated"}
        always = {name: value for name, value in asdict(self).items() if name not in absent}
        return always | {"copies": [copy.document() for copy in self.copies]} | optional

    def for_slice(self, first: int, records: int) -> Partition:
        """Return the partition without what a task does not need that reads some of its records."""
        if self.quotes is None:
            return replace(self, groups=()) if self.groups else self
        return replace(self, quotes=self.quotes.for_slice(first, records))

    def readable_from(self, nodes: Collection[str]) -> Partition:
        """Return the partition with the copies that one of `nodes` can read: theirs, and those that all can read."""
        return replace(self, copies=tuple(copy for copy in self.copies if not copy.node or copy.node in nodes))

    def without_nodes(self, lost: frozenset[str]) -> Partition:
        """Return the partition with the copies that survive the loss of nodes."""
        return replace(self, copies=tuple(copy for copy in self.copies if copy.node not in lost))


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Partitions in order; sorted, when a sort wrote them: then the names of its files end with its `job`."""

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
        """Return what tells one dataset from another: a hash of the manifest."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the manifest."""
        whole = {"format": FORMAT, "records": self.records, "layout": self.layout.document()}
        whole |= {"job": self.job} if self.job else {}
        return json.dumps(whole | {"partitions": [partition.document() for partition in self.partitions]}, indent=1)


def read_manifest(path: Path) -> Dataset:
    """Return the dataset of a manifest. Raises BadInputError when it cannot be read or is none."""
    what, text = f"manifest {path} is not one that `planner sort` writes", read_given(path)
    try:
        return dataset_of(json.loads(text))
    except json.JSONDecodeError as error:
        raise BadInputError(f"{what}: it is not JSON") from error
    except KeyError as error:
        raise BadInputError(f"{what}: it lacks {error}") from error
    except (ValueError, TypeError) as error:
        raise BadInputError(f"{what}: {error}") from error


def dataset_of(document: Mapping[str, Any]) -> Dataset:
    """Return the dataset of a parsed manifest. Raises ValueError, TypeError or KeyError for anything else."""
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']!r} instead of {FORMAT!r}")
    partitions = tuple(_partition(partition) for partition in document["partitions"])
    return Dataset(partitions=partitions, layout=_layout(document["layout"]), job=document.get("job", ""))


def write_manifest(dataset: Dataset, path: Path) -> None:
    """Write a manifest, whole or not at all. Raises IoFailureError."""
    try:
        replace_file(path, dataset.to_json() + "\n")
    except OSError as error:
        raise IoFailureError(f"manifest {path}: {error.strerror}; nothing was written") from error


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
