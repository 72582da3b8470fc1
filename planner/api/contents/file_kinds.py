"""Kind of a file by its name and first bytes: records, lines, CSV or Parquet, perhaps compressed; and the sort options
it implies.
"""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.api.contents.text_advice import is_text
from planner.api.files import mode_of
from planner.api.input_format import Format
from planner.errors import BadInputError, reading
from planner.units import count_text

_PARQUET: Final = b"PAR1"
_MANIFEST: Final = b'"planner-manifest-'
_RECORD_BYTES: Final = 100
_BEGINNING_BYTES: Final = 1 << 16
_END_OF_PRINTABLE: Final = b"\r\n"
"""Line ending of the sort benchmark's printable records, which are also text."""
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_ROWS: Final = {
    "is an archive of tar: unpack it, and name its files": rb".{257}ustar",
    "is a database of SQLite: write its table as CSV first": rb"SQLite format 3\0",
    "is a database of DuckDB: write its table as Parquet first": rb".{8}DUCK",
    "is an array of NumPy: write it without its header, or as Parquet, first": rb"\x93NUMPY",
    "is an Arrow stream: write it as Parquet first": rb"\xff{4}.{3}\0\x10\0{3}",
}
"""Files whose lines or pieces of 100 bytes are no rows, by patterns of their beginning."""
_JSON_LINE: Final = re.compile(rb"(\xef\xbb\xbf)?\s*[\[{][ \t]*\r?\n")
"""First line of a JSON value that takes several lines."""
_NAMED: Final = {".csv": "CSV", ".tsv": "CSV with tabs"}
_OF_TEXT: Final = (".csv", ".tsv", ".txt", ".log", ".json", ".jsonl")
_OF_TABLES: Final = (".parquet", ".arrow", ".feather", ".orc", ".avro", ".xlsx")
_NOT_WRITTEN: Final = (".z", ".br", ".lz", ".lzma", ".lzo", ".snappy", ".zip", ".7z", ".rar", ".tar", ".tgz")
"""Names of compressions and archives that no sort writes."""
_IN_WORDS: Final = {"records": "records of 100 bytes", "lines": "lines of text", "parquet": "Parquet"}
_SAID: Final = ("format", "lines", "zero_terminated")
"""Options that specify the content of files, or apply only to text."""


@dataclass(frozen=True, kw_only=True)
class FileKind:
    """The `format` of a file, its `compression` ('' for none), its column separator, and a description."""

    format: Format
    compression: str = ""
    separator: str | None = None

    @property
    def text(self) -> str:
        """Description for users: `CSV`, `lines of text, compressed (gz)`."""
        words = _NAMED[".tsv" if self.separator else ".csv"] if self.format == "csv" else _IN_WORDS[self.format]
        return f"{words}, compressed ({self.compression})" if self.compression else words


def kind_of(path: Path) -> FileKind | None:
    """Return the kind of a file; None if it is empty or not a regular file, as a pipe can be read only once.

    Raises BadInputError for unsupported content, such as Arrow or a list of files.
    """
    from planner.compression.text_codecs import SUFFIXES, compression_of, require_text

    if not stat.S_ISREG(mode_of(path)):
        return None
    with reading(path), path.open("rb") as file:
        start = file.read(_BEGINNING_BYTES)
    if not start:
        return None
    if start.startswith(_PARQUET):
        return FileKind(format="parquet")
    if _MANIFEST in start[:200]:
        raise BadInputError(
            f"{path} lists the partitions of a dataset",
            ["give --ray ADDRESS, name the files of the partitions, or say --format lines to take it as text"],
        )
    require_text(start, name=str(path))
    _require_rows(start, path)
    if start.startswith(_UTF_16) and path.suffix.lower() in _OF_TEXT:
        raise BadInputError(f"{path} is UTF-16: make it UTF-8 first, as iconv does")
    compression = compression_of(start)
    name = Path(path.stem if compression and path.suffix in SUFFIXES else path.name)
    if name.suffix.lower() in _NAMED and (compression or is_text(path)):
        tabs = "\\t" if name.suffix.lower() == ".tsv" else None
        return FileKind(format="csv", compression=compression, separator=tabs)
    if compression:
        return FileKind(format=_compressed_format(path), compression=compression)
    are_records = path.stat().st_size % _RECORD_BYTES == 0 and start[:_RECORD_BYTES].endswith(_END_OF_PRINTABLE)
    return FileKind(format="lines" if b"\n" in start and is_text(path) and not are_records else "records")


def _compressed_format(path: Path) -> Format:
    """Return the format of a compressed file from its beginning: text has no NUL.

    Raises BadInputError for unsupported content, and for compressed records in a file whose name does not show the
    compression, as these would be sorted as they are.
    """
    from planner.compression.text_codecs import SUFFIXES, NoTextError, open_source
    from planner.errors import PlannerError
    from planner.native import Progress

    try:
        start = next(iter(open_source(str(path), Progress()).head()), b"")
    except NoTextError:
        raise
    except (PlannerError, OSError):  # the sort reports it better
        return "lines"
    _require_rows(start, path)
    if b"\0" not in start[:_BEGINNING_BYTES]:
        return "lines"
    if path.suffix not in SUFFIXES:
        raise BadInputError(f"{path} is compressed, and no text: decompress it, or say --format")
    return "records"


def _require_rows(start: bytes, path: Path) -> None:
    for what, pattern in _NO_ROWS.items():
        if re.match(pattern, start, re.DOTALL):
            raise BadInputError(f"{path} {what}")
    if ".json" in map(str.lower, path.suffixes) and _JSON_LINE.match(start):
        raise BadInputError(f"{path} is one JSON value on several lines: write one a line, or say --format lines")


def require_fitting_name(output: Path, *, is_parquet: bool) -> None:
    """Raise BadInputError for an output whose name implies another format: the sort keeps the input's format."""
    from planner.compression.text_codecs import SUFFIXES

    if output.suffix.lower() in _NOT_WRITTEN:
        raise BadInputError(f"{output}: no sort writes {output.suffix}; text may be {', '.join(SUFFIXES)}")
    if output.suffix.lower() in ({*_OF_TEXT, *SUFFIXES} if is_parquet else _OF_TABLES):
        holds = "Parquet" if is_parquet else "what its input does"
        raise BadInputError(f"{output} would hold {holds}: a sort does not convert; name it otherwise")


def common_kind(paths: Sequence[Path]) -> FileKind | None:
    """Return the common kind of files; None if no file shows one. Raises BadInputError if they differ."""
    kinds = {path: kind for path in paths if (kind := kind_of(path)) is not None}
    if len({(kind.format, kind.separator) for kind in kinds.values()}) > 1:
        lines = [f"{path}: {kind.text}" for path, kind in kinds.items()]
        raise BadInputError("the files are of different kinds; name those of one kind, or say --format", lines)
    return next(iter(kinds.values()), None)


def recognised(
    files: Sequence[Path], options: Mapping[str, Any], *, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return the options that the kind of some files implies, in addition to those given; none if these specify it.

    Raises BadInputError for files of several kinds, and for tables without a key.
    """
    of_columns = _are_of_columns(options.get("key") or ())
    of_lines = bool(options.get("separator")) and not (options.get("key") and of_columns)
    if of_lines or any(options.get(name) for name in _SAID):
        return {}
    kind = common_kind([path for path in files if str(path) != "-"])
    if kind is None or (kind.format in ("records", "lines") and options.get("key")):
        return {}
    if kind.format == "csv" and not of_columns:
        _require_columns(files[0], options["key"])
        if say is not None and not options.get("separator"):
            say(f"{files[0]}: --key {options['key'][0]} is a key of lines; for one of columns say --format csv")
        return {}
    if kind.format != "records" and say is not None:
        say(f"{files[0]}: taken for {kind.text}; --format says otherwise")
    if kind.format in ("csv", "parquet") and not options.get("key"):
        raise BadInputError(f"{files[0]} is {kind.text}: say which columns are its keys, --key NAME; or --format lines")
    return options_of(kind, separator=options.get("separator"))


def _require_columns(path: Path, keys: Sequence[str]) -> None:
    """Raise BadInputError for a plain number beyond the columns of CSV and, as a key of lines, beyond the fields: all
    its keys would be empty.
    """
    from planner.api.contents.csv_dialect import column_counts

    largest = max((int(key) for key in keys if re.fullmatch(r"\d{1,9}", key)), default=0)
    columns, fields = column_counts(path)
    if columns and largest > max(columns, fields):
        row = f"the first row of {path} has {count_text(columns, 'column')}"
        raise BadInputError(f"--key {largest}: there is no column {largest}", [row])


def options_of(kind: FileKind, *, separator: str | None) -> dict[str, Any]:
    """Return the options for a kind of file, with the given `separator`."""
    if kind.format == "lines":
        return {"lines": True}
    return {"format": kind.format, "separator": separator or kind.separator}


def _are_of_columns(keys: Sequence[str]) -> bool:
    """Return whether keys are columns, `time:desc` or `3:num`; `2,2n` and `2` are of lines, `0:10` is of records."""
    return all(re.match(r"\D|\d+:[a-z]", key) for key in keys)
