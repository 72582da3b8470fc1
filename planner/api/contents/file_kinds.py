"""Kind of a file by its name and first bytes: records, lines, CSV or Parquet, perhaps compressed."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.compression.looks import SUFFIXES, Look, require_rows, require_text, require_text_within, unknown
from planner.errors import BadInputError
from planner.sorting.sort_job import CLUSTER_FORMATS, Format

_PARQUET: Final = b"PAR1"
_MANIFEST: Final = b'"planner-manifest-'
_LONGEST_LINE_BYTES: Final = 1 << 16
"""The first line of unknown bytes ends here if they are text."""
_JSON_LINE: Final = re.compile(rb"(\xef\xbb\xbf)?\s*[\[{][ \t]*\r?\n")
"""First line of a JSON value that takes several lines."""
_NAMED: Final = {".csv": "CSV", ".tsv": "CSV with tabs"}
OF_JSON: Final = (".json", ".jsonl", ".ndjson")
OF_TEXT: Final = (".csv", ".tsv", ".txt", ".log", ".json", ".jsonl")
_IN_WORDS: Final = {
    "records": "records of 100 bytes", "lines": "lines of text", "parquet": "Parquet", "jsonl": "JSON lines",
    "arrow": "Arrow", "orc": "ORC",
}  # fmt: skip
_TABLES: Final[dict[bytes, Format]] = {rb"ARROW1\0\0|\xff{4}.{3}\0\x10\0{3}": "arrow", rb"ORC[^ -~]": "orc"}
"""Tables that are no text, by patterns of their beginning."""


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


def kind_of(look: Look, takes: Collection[Format] = CLUSTER_FORMATS) -> FileKind | None:
    """Return the kind of a file, of those that its reader `takes`; None if it is empty, or was not looked into, as a
    pipe.

    Raises BadInputError for unsupported content, such as a list of files.
    """
    from planner.sorting.records.generate import is_generated

    name, head = look.name, look.head[:_LONGEST_LINE_BYTES]
    if not look.stored:
        return None
    if is_generated(look.stored[:_LONGEST_LINE_BYTES]):
        return FileKind(format="records")
    if look.stored.startswith(_PARQUET):
        return FileKind(format="parquet")
    table = next((format for pattern, format in _TABLES.items() if re.match(pattern, look.stored, re.DOTALL)), None)
    if table and table in takes:
        return FileKind(format=table)
    if _MANIFEST in look.stored[:200]:
        raise BadInputError(
            f"{name} lists the partitions of a dataset",
            ["give --ray ADDRESS, name the files of the partitions, or say --format lines to take it as text"],
            code="is-manifest",
        )
    require_text(look.stored, name=name)
    if look.codec:
        require_text_within(head, name=name)
    format = _format_of(head, name, suffix_of(look))
    if look.codec and format == "records" and Path(name).suffix not in SUFFIXES:  # sorted as they are
        raise BadInputError(f"{name} is compressed, and no text: decompress it, or say --format", code="not-text")
    tabs = "\\t" if format == "csv" and suffix_of(look) == ".tsv" else None
    return FileKind(format=format, compression=look.codec, separator=tabs)


def suffix_of(look: Look) -> str:
    """Return the end of a file's name in small letters, without that of its compression."""
    path = Path(look.name)
    return Path(path.stem if look.codec and path.suffix in SUFFIXES else path.name).suffix.lower()


def format_by_name(look: Look) -> Format:
    """Return the format of text by its name."""
    return "csv" if suffix_of(look) in _NAMED else "lines"


def _format_of(start: bytes, name: str, suffix: str) -> Format:
    """Return the format of what begins with `start`. Nothing is guessed by a size.

    Raises BadInputError for what is neither text, by name or lines, nor records that `planner generate` wrote.
    """
    from planner.sorting.records.generate import is_generated

    if is_generated(start):
        return "records"
    require_rows(start, name=name)
    if ".json" in map(str.lower, Path(name).suffixes) and _JSON_LINE.match(start):
        raise BadInputError(
            f"{name} is one JSON value on several lines: write one a line, or say --format lines",
            code="multi-line-json",
        )
    if start and b"\n" not in start and suffix not in OF_TEXT:
        raise unknown(name, "has no line's end in its first 64 KiB")
    return "csv" if suffix in _NAMED else "lines"
