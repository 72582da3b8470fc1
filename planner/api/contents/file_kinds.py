"""Kind of a file by its name and first bytes: records, lines, CSV or Parquet, perhaps compressed; and the sort options
it implies.
"""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.api.contents.text_advice import is_text
from planner.api.files import mode_of
from planner.errors import BadInputError, reading
from planner.sorting.sort_job import Format

_PARQUET: Final = b"PAR1"
_MANIFEST: Final = b'"planner-manifest-'
_BEGINNING_BYTES: Final = 1 << 16
_UTF_16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NO_ROWS: Final = {
    "is an archive of tar: unpack it, and name its files": rb".{257}ustar",
    "is a database of SQLite: write its table as CSV first": rb"SQLite format 3\0",
    "is a database of DuckDB: write its table as Parquet first": rb".{8}DUCK",
    "is an array of NumPy: write it without its header, or as Parquet, first": rb"\x93NUMPY",
    "is a PDF, which has no rows: name another file": rb"%PDF-",
    "is an Arrow stream: write it as Parquet first": rb"\xff{4}.{3}\0\x10\0{3}",
}
"""Files whose lines are no rows, by patterns of their beginning."""
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
_WHAT_TO_SAY: Final = (
    "--format records (of 100 bytes; `planner sort` also takes --record-size N), or for text --format lines or csv",
)
_FILES_AT_ONCE: Final = 32


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


def kind_of(path: Path | str) -> FileKind | None:
    """Return the kind of a file, or of an object by its address; None if it is empty or not a regular file, as a pipe
    can be read only once.

    Raises BadInputError for unsupported content, such as Arrow or a list of files; IoFailureError for an object.
    """
    from planner.compression.text_codecs import SUFFIXES, compression_of, require_text
    from planner.sorting.records.generate import is_generated

    start, path_name = _beginning(path), Path(path)
    if not start:
        return None
    if is_generated(start):
        return FileKind(format="records")
    if start.startswith(_PARQUET):
        return FileKind(format="parquet")
    if _MANIFEST in start[:200]:
        raise BadInputError(
            f"{path} lists the partitions of a dataset",
            ["give --ray ADDRESS, name the files of the partitions, or say --format lines to take it as text"],
            code="is-manifest",
        )
    require_text(start, name=str(path))
    if start.startswith(_UTF_16):
        raise BadInputError(f"{path} is UTF-16: make it UTF-8 first, as iconv does", code="not-utf-8")
    compression = compression_of(start)
    name = Path(path_name.stem if compression and path_name.suffix in SUFFIXES else path_name.name)
    format = _format_of(_decompressed(path) if compression else start, path, name.suffix.lower())
    if compression and format == "records" and name == Path(path_name.name):  # sorted as they are
        raise BadInputError(f"{path} is compressed, and no text: decompress it, or say --format", code="not-text")
    tabs = "\\t" if format == "csv" and name.suffix.lower() == ".tsv" else None
    return FileKind(format=format, compression=compression, separator=tabs)


def require_as_named(path: Path | str) -> None:
    """Raise BadInputError for a file whose name says that it is compressed, but which is neither that nor text: its
    beginning is damaged, and no decoder would notice that.
    """
    from planner.compression.text_codecs import SUFFIXES, has_magic_bytes

    if Path(path).suffix in SUFFIXES and (start := _beginning(path)) and not (has_magic_bytes(start) or is_text(start)):
        raise BadInputError(
            f"{path} is not compressed as its name says, and no text: its beginning is damaged, or its name is wrong",
            code="broken-compression",
        )


def _beginning(path: Path | str) -> bytes:
    if "://" in str(path):
        from planner.distributed_sort.dataset.input_files import beginning_of, size_of

        return next(beginning_of(str(path), min(size_of(str(path)), _BEGINNING_BYTES)), b"")
    if not stat.S_ISREG(mode_of(Path(path))):
        return b""
    with reading(path), open(path, "rb") as file:  # noqa: PTH123  # also by its name
        return file.read(_BEGINNING_BYTES)


def _format_of(start: bytes, path: Path | str, suffix: str) -> Format:
    """Return the format of what begins with `start`. Nothing is guessed by a size.

    Raises BadInputError for what is neither text, by name or lines, nor records that `planner generate` wrote.
    """
    from planner.sorting.records.generate import is_generated

    _require_rows(start, path)
    if is_generated(start):
        return "records"
    if not start or (is_text(start) and (b"\n" in start or suffix in _OF_TEXT)):
        return "csv" if suffix in _NAMED else "lines"
    what = "has no line's end in its first 64 KiB" if is_text(start) else "has bytes that no text has"
    raise BadInputError(f"{path} {what}: say what it holds", list(_WHAT_TO_SAY), code="unknown-format")


def _decompressed(path: Path | str) -> bytes:
    """Return the beginning of a compressed file; nothing if it cannot be read, which the sort reports better. Raises
    NoTextError for unsupported content.
    """
    from planner.compression.text_codecs import NoTextError, open_source
    from planner.errors import PlannerError
    from planner.native import Progress

    try:
        if "://" in str(path):
            from planner.distributed_sort.dataset.input_files import size_of
            from planner.distributed_sort.dataset.text_dataset import text_of

            return next(text_of(str(path), size_of(str(path))), b"")[:_BEGINNING_BYTES]
        return next(iter(open_source(str(path), Progress()).head()), b"")[:_BEGINNING_BYTES]
    except NoTextError:
        raise
    except (PlannerError, OSError):
        return b""


def _require_rows(start: bytes, path: Path | str) -> None:
    for what, pattern in _NO_ROWS.items():
        if re.match(pattern, start, re.DOTALL):
            raise BadInputError(f"{path} {what}", code="not-rows")
    if ".json" in map(str.lower, Path(path).suffixes) and _JSON_LINE.match(start):
        raise BadInputError(
            f"{path} is one JSON value on several lines: write one a line, or say --format lines",
            code="multi-line-json",
        )


def require_fitting_name(output: Path, *, is_parquet: bool) -> None:
    """Raise BadInputError for an output whose name implies another format: the sort keeps the input's format."""
    from planner.compression.text_codecs import SUFFIXES

    if output.suffix.lower() in _NOT_WRITTEN:
        raise BadInputError(
            f"{output}: no sort writes {output.suffix}; text may be {', '.join(SUFFIXES)}", code="wrong-suffix"
        )
    if output.suffix.lower() in ({*_OF_TEXT, *SUFFIXES} if is_parquet else _OF_TABLES):
        holds = "Parquet" if is_parquet else "what its input does"
        raise BadInputError(
            f"{output} would hold {holds}: a sort does not convert; name it otherwise", code="no-conversion"
        )


def common_kind(paths: Sequence[Path | str]) -> FileKind | None:
    """Return the common kind of files; None if no file shows one. Raises BadInputError if they differ."""
    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        kinds = {path: kind for path, kind in zip(paths, pool.map(kind_of, paths), strict=True) if kind is not None}
    if len({(kind.format, kind.separator) for kind in kinds.values()}) > 1:
        lines = [f"{path}: {kind.text}" for path, kind in kinds.items()]
        raise BadInputError(
            "the files are of different kinds; name those of one kind, or say --format", lines, code="mixed-kinds"
        )
    return next(iter(kinds.values()), None)


def recognised(
    files: Sequence[Path | str], options: Mapping[str, Any], *, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return the options that the kind of some files implies, in addition to those given; none if these specify it, and
    for a pipe. Keys do not specify it.

    Raises BadInputError for files of several or unknown kinds, and for tables without a key.
    """
    if any(options.get(name) for name in _SAID):
        return {}
    kind = common_kind([path for path in files if str(path) != "-"])
    if kind is None:
        return {"lines": True} if all(stat.S_ISREG(mode_of(Path(path))) for path in files) else {}
    if kind.format != "records" and say is not None:
        say(f"{files[0]}: taken for {kind.text}; --format says otherwise")
    if kind.format in ("csv", "parquet") and not options.get("key"):
        raise BadInputError(
            f"{files[0]} is {kind.text}: say which columns are its keys, --key NAME; or --format lines",
            code="missing-key",
        )
    return options_of(kind, separator=options.get("separator"))


def options_of(kind: FileKind, *, separator: str | None) -> dict[str, Any]:
    """Return the options for a kind of file, with the given `separator`."""
    if kind.format == "lines":
        return {"lines": True}
    return {"format": kind.format, "separator": separator or kind.separator}
