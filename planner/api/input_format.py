"""Input format (text, tables or records) and sort keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from planner.errors import BadInputError
from planner.units import count_text, format_bytes

if TYPE_CHECKING:
    from planner.distributed_sort.dataset.dataset import Dataset, TextFormat
    from planner.sorting.records.keys import Key
    from planner.sorting.text.text_files import CsvColumns

Format = Literal["records", "lines", "csv", "parquet"]


@dataclass(frozen=True, kw_only=True)
class InputFormat:
    """Format of the input, found out unless given, and its keys."""

    format: Format | None = None
    key: Sequence[str] | None = None
    separator: str | None = None
    no_header: bool = False
    unique: bool = False
    zero_terminated: bool = False

    @property
    def has_keys(self) -> bool:
        """True if the input is text or tables."""
        return self.format not in (None, "records")

    @property
    def is_table(self) -> bool:
        """True if the input is tables, which need another library on the machines."""
        return self.format == "parquet"

    @property
    def is_text_or_table(self) -> bool:
        """True if any option is given that only text or tables have."""
        text = self.separator or self.unique or self.zero_terminated or self.no_header
        return bool(self.key or text or self.format in ("csv", "parquet"))

    @property
    def is_of_records(self) -> bool:
        """True if the keys are those of records, or only options of records are given."""
        from planner.sorting.records.record_keys import is_record_key

        if self.format is None and self.key:
            return all(map(is_record_key, self.key))
        text_only = self.separator or self.zero_terminated or self.no_header
        return self.format == "records" or (self.format is None and not text_only)

    def require(self, *, input: str | None) -> None:
        """Raise BadInputError for ignored or invalid options when `input` is sorted on a cluster."""
        given = [field.name for field in fields(InputFormat) if getattr(self, field.name) != field.default]
        if not given:
            return
        if input is None:
            raise BadInputError(
                f"{_option(given[0])}: generated data is records; name data of yours: --input s3://bucket/prefix"
            )
        if self.has_keys:
            self.require_sortable_on_cluster(lines=self.format == "lines")
        elif given != ["format"]:
            wrong = next(name for name in given if name != "format")
            raise BadInputError(
                f"{_option(wrong)} does not apply to records of 100 bytes, which are sorted by their first 10",
                ["say --format lines, csv or parquet, or leave it out"],
            )

    def require_sortable_on_cluster(self, *, lines: bool) -> None:
        """Raise BadInputError for formats that a cluster does not sort, and for options that only CSV has."""
        if self.format == "csv" and lines:
            raise BadInputError("--format csv: rows are no lines; leave out --lines")
        if self.key and self.is_of_records:
            raise BadInputError(f"--key {self.key[0]} is a key of records: with --ray their manifest says the key")
        if self.no_header and self.format != "csv":
            raise BadInputError("--no-header is for --format csv")
        if self.format == "parquet":
            self.require_no_text_options()

    def require_no_text_options(self) -> None:
        """Raise BadInputError for options that do not apply to Parquet."""
        text_only = {"--separator": self.separator, "--no-header": self.no_header, "-z": self.zero_terminated}
        if given := [name for name, value in text_only.items() if value]:
            raise BadInputError(f"--format parquet: {given[0]} is for text; leave it out")

    def dataset(self, input: str, *, say: Callable[[str], None]) -> Dataset:
        """Return the text or tables below an object store prefix, or at a path that the nodes reach, and report the
        part that is planned for.

        Raises BadInputError, IoFailureError.
        """
        source = self.dataset_of([input], say=say)
        say(f"note: {input} holds {_described(source, input)}")
        if self.unique:
            say("note: --unique leaves less than came: the output is checked for order and equal keys, not for loss")
        return source

    def dataset_of(
        self,
        names: Sequence[str],
        *,
        say: Callable[[str], None] | None = None,
        fills: bool = False,
        columns: Collection[str] = (),
    ) -> Dataset:
        """Return the text or tables of these names: manifests, or files that every node reaches by these names. `fills`
        adds columns, as nulls, that some tables lack. `columns` are those from the folders of files that are named one
        by one.

        Raises BadInputError.
        """
        source = self._dataset_of(names, fills=fills, columns=columns)
        joined = [copy for partition in source.partitions for copy in partition.copies if copy.parts]
        if joined and say is not None:
            say(f"note: {sum(len(copy.parts) for copy in joined)} small files are joined to {len(joined)} splits")
        compressed = [part for part in source.partitions if part.is_estimated and not part.copies[0].parts]
        if compressed and say is not None:
            size = format_bytes(sum(partition.records for partition in compressed))
            verb = "is" if len(compressed) == 1 else "are"
            say(
                f"note: {len(compressed)} of {len(source.partitions)} files {verb} compressed. Each is one split: one "
                f"node decompresses it before the sort. By their beginnings they hold about {size} of text"
            )
        return source

    def _dataset_of(self, names: Sequence[str], *, fills: bool, columns: Collection[str]) -> Dataset:
        from planner.distributed_sort.dataset.table_dataset import tables_of
        from planner.distributed_sort.dataset.text_dataset import lines_of, rows_of

        if self.format == "parquet":
            return tables_of(names, self.key or (), unique=self.unique, fills=fills, columns=columns)
        if self.format == "csv":
            return rows_of(names, self.csv_columns(), unique=self.unique)
        return lines_of(names, self._text_format())

    def _text_format(self) -> TextFormat:
        from planner.distributed_sort.dataset.dataset import TextFormat

        return TextFormat(
            keys=self.line_keys(),
            separator=(self.separator_byte() or b"").decode("latin-1"),
            line_end="\0" if self.zero_terminated else "\n",
            unique=self.unique,
        )

    def csv_columns(self, *, quote: str | None = None) -> CsvColumns:
        """Return the columns that CSV is sorted by, with values in a `quote`, or none. Raises BadInputError."""
        from planner.sorting.text.csv_keys import NO_QUOTE, QUOTE
        from planner.sorting.text.text_files import CsvColumns

        if self.zero_terminated:
            raise BadInputError("--format csv: rows end with a newline; leave out -z")
        if not self.key:
            raise BadInputError("--format csv: say which columns to sort by: --key NAME, or --key 3")
        delimiter = b"," if self.separator is None else _one_byte(_unescaped(self.separator))
        if delimiter in b'"\r\n\0':
            raise BadInputError(f"--separator {self.separator!r} cannot separate columns")
        enclosing = NO_QUOTE if quote == "none" else _one_byte(quote, "--quote") if quote else QUOTE
        if enclosing == delimiter or enclosing in b"\r\n":
            raise BadInputError(f"--quote {quote!r} cannot enclose values of columns that {delimiter!r} separates")
        return CsvColumns(keys=tuple(self.key), delimiter=delimiter, quote=enclosing, header=not self.no_header)

    def line_keys(self) -> tuple[Key, ...]:
        """Return the keys of lines. Raises BadInputError for an invalid key."""
        from planner.sorting.records.keys import BadKeyError, check_compatible, parse_key

        try:
            keys = tuple(parse_key(text) for text in self.key or ())
            for key in keys:
                check_compatible(key)
        except BadKeyError as error:
            hint = "a key is the numbers of its first and last column, as 2,2 or 3,3n: give --key once for each key"
            csv = "; with --format csv it is the name of a column" if self.format is None else ""
            raise BadInputError(f"--key: {error}{csv}; {hint}") from error
        return keys

    def separator_byte(self) -> bytes | None:
        """Return the byte between fields, None for blanks. Raises BadInputError for more than one byte."""
        return None if self.separator is None else _one_byte(_unescaped(self.separator))


def _unescaped(separator: str) -> str:
    """Return a separator with `\\t` and `\\0` replaced by a tab and NUL."""
    return {"\\t": "\t", "\\0": "\0"}.get(separator, separator)


def _one_byte(text: str, option: str = "--separator") -> bytes:
    if len(text.encode()) != 1:
        raise BadInputError(f"{option} is one byte, not {text!r}")
    return text.encode()


def _option(field: str) -> str:
    return {"zero_terminated": "-z"}.get(field, f"--{field.replace('_', '-')}")


def _described(source: Dataset, name: str) -> str:
    """Return a description of the dataset, including which of its sizes the plan uses."""
    from planner.distributed_sort.dataset.input_files import files_of, is_manifest
    from planner.distributed_sort.dataset.object_store import is_object

    count, planned = len(source.partitions), format_bytes(source.bytes)
    files = count_text(count, "object" if is_object(name) else "file")
    if is_object(name):
        files += ", none of which is divided while it is staged"
    if source.layout.table is None:
        return f"{planned} of {source.layout.counted_unit} in {files}"
    rows = f"{source.records} rows in {files}: {planned} as they are sorted, for which all is planned"
    if is_manifest(name):
        return rows
    return f"{rows}, and {format_bytes(sum(files_of(name).values()))} as they are stored"
