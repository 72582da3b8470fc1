"""A first look at an input: its beginning, and the formats that first bytes show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from planner.compression.windows import ZSTD_MAGIC, ZSTD_SKIPPABLE
from planner.errors import BadInputError

LOOK_BYTES: Final = 1 << 18
"""Bytes looked at: wide tables have headings of more than 64 KiB."""
MAGIC_BYTES: Final = 6
SUFFIXES: Final = {".gz": "gz", ".zst": "zst", ".bz2": "bz2", ".xz": "xz", ".lz4": "lz4", ".sz": "sz"}
_BZIP2: Final = {b"BZh%d" % level + block: "bz2" for level in range(1, 10) for block in (b"1A", b"\x17r")}
"""First bytes of bzip2: after the level comes the start of a block or, without blocks, of the end."""
_MAGIC: Final = {
    b"\x1f\x8b": "gz",
    ZSTD_MAGIC: "zst",
    b"\xfd7zXZ\x00": "xz",
    b"\x04\x22\x4d\x18": "lz4",
    b"\xff\x06\x00\x00sN": "sz",
    **_BZIP2,
    **dict.fromkeys(ZSTD_SKIPPABLE, "zst"),
}
_NOT_READ: Final = {
    b"PK\x03\x04": "ZIP",
    b"PAR1\x15": "Parquet",
    b"ARROW1": "Arrow",
    b"Obj\x01": "Avro",
    b"SEQ\x06": "a SequenceFile",
    b"\x89HDF\r\n": "HDF5",
    b"\x1f\x9d\x90": "compressed by compress (.Z)",
    b"\x02\x21\x4c\x18": "LZ4 in its old frames",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"Rar!\x1a\x07": "RAR",
    b"LZIP\x01": "lzip",
    b"\x5d\x00\x00": "LZMA without the frame of xz",
    b"\x82SNAPP": "Snappy as snappy-java frames it",
    b"\xd0\xcf\x11\xe0\xa1\xb1": "an old Office file",
}
"""Formats that are not text, by first bytes that no text has."""
_NO_ROWS: Final = {
    rb".{257}ustar": "an archive of tar: unpack it, and name its files",
    rb"SQLite format 3\0": "a database of SQLite: write its table as CSV first",
    rb".{8}DUCK": "a database of DuckDB: write its table as Parquet first",
    rb"\x93NUMPY": "an array of NumPy: write it without its header, or as Parquet, first",
    rb"%PDF-": "a PDF, which has no rows: name another file",
    rb"\xff{4}.{3}\0\x10\0{3}": "an Arrow stream: write it as Parquet first",
}
"""Files whose lines are no rows, by patterns of their beginning."""
_MAKE_UTF_8: Final = "make it UTF-8 first, as iconv does"
_NO_TEXT: Final = {
    rb"ORC[^ -~]": "ORC: write it as Parquet first",
    rb"FEA1": "Feather of version 1: write it as Parquet first",
    rb"\x80[\x02-\x05]": "a pickle of Python: write it as Parquet first",
    rb"CDF[\x01\x02\x05]": "NetCDF: write it as CSV or Parquet first",
    rb"PK\x05\x06": "an empty ZIP, which has no rows: name another file",
    rb"\x89PNG|\xff\xd8\xff|GIF8|RIFF.{4}WEBP|BM.{4}\0{4}|II\*\0|MM\0\*": "a picture: name another file",
    rb"\x7fELF|MZ.\0|\xca\xfe\xba\xbe|\0asm": "a program: name another file",
    rb"<stata_dta>|.{84}SAS FILE|\$FL2|MATLAB 5": "of a program for statistics: write it as CSV first",
    rb"\xff\xfe\0\0|\0\0\xfe\xff|([\t\r\n -~]\0{3}){4}|(\0{3}[\t\r\n -~]){4}": f"UTF-32: {_MAKE_UTF_8}",
    rb"\xff\xfe|\xfe\xff|([\t\r\n -~]\0){8}|(\0[\t\r\n -~]){8}": f"UTF-16: {_MAKE_UTF_8}",
}
"""What bytes may be that no text has, by patterns of the beginning that texts may have, too."""
_WHAT_TO_SAY: Final = (
    "--format records (of 100 bytes; `planner sort` also takes --record-size N), or for text --format lines or csv",
)
_CONTROL: Final = frozenset(range(32)) - frozenset(b"\t\n\r\f\v\a\b\x1b")
"""Control bytes that no text has, which excludes tabs, line and page ends, bells, and terminal colours."""


def suffix_compression(name: str) -> str | None:
    """Return the compression that a file's name ends with; None for none."""
    return next((form for suffix, form in SUFFIXES.items() if name.endswith(suffix)), None)


class NoTextError(BadInputError):
    """An input is in a format that is neither text nor compressed text."""

    code = "not-text"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What one opening of an input showed. Nothing, for what can be read only once, such as a pipe."""

    name: str
    stored: bytes = b""
    """The first bytes."""
    head: bytes = b""
    """The first bytes decompressed; of damaged data, those before the damage."""
    is_whole: bool = False
    """True if the head is all there is."""
    is_plain: bool = False
    """True for a file of its stated size, which may be read again."""
    size_bytes: int = 0
    version: Any = None
    """Of a plain file of this machine, before it was read."""

    @property
    def codec(self) -> str:
        """Compression by the first bytes, '' for none."""
        return compression_of(self.stored)


def compression_of(beginning: bytes) -> str:
    """Return the compression of data from their beginning: gz, zst, bz2, xz, lz4 or sz; '' for none.

    `MAGIC_BYTES` bytes are enough.
    """
    return next((form for magic, form in _MAGIC.items() if beginning.startswith(magic)), "")


def has_magic_bytes(beginning: bytes) -> bool:
    """Return whether data begin like a compressed or a non-text format; `MAGIC_BYTES` bytes are enough."""
    return beginning.startswith((*_MAGIC, *_NOT_READ))


def require_as_named(look: Look) -> None:
    """Raise BadInputError for a file whose name says that it is compressed, but which is neither that nor text: its
    beginning is damaged, and no decoder would notice that.
    """
    is_named = look.name.endswith(tuple(SUFFIXES)) and look.stored
    if is_named and not (has_magic_bytes(look.stored) or is_text(look.stored)):
        raise BadInputError(
            f"{look.name} is not compressed as its name says, and no text",
            ["its beginning is damaged, or its name is wrong"],
            code="broken-compression",
        )


def is_text(beginning: bytes) -> bool:
    """Return whether the beginning of a file is text."""
    return bool(beginning) and not _CONTROL & set(beginning)


def require_text(beginning: bytes, *, name: str) -> None:
    """Raise BadInputError for input that is neither text nor in a compressed format of this module."""
    if name.endswith(".snappy") and beginning.startswith(b"\0"):
        raise NoTextError(f"{name} is Snappy as Hadoop frames it: `hadoop fs -text` makes text of it")
    for magic, what in _NOT_READ.items():
        if beginning.startswith(magic):
            advice = "say --format parquet" if what == "Parquet" else "turn it into text or Parquet first"
            raise NoTextError(f"{name} is {what}, which is no text: {advice}")


def require_text_within(head: bytes, *, name: str) -> None:
    """Raise NoTextError for decompressed data that are compressed again, or no text."""
    if head.startswith(b"PAR1"):
        raise NoTextError(f"{name} is Parquet that was compressed once more: decompress it first")
    if compression_of(head):
        raise NoTextError(f"{name} was compressed twice: decompress it once", code="twice-compressed")
    require_text(head, name=f"{name}, decompressed,")


def require_rows(head: bytes, *, name: str) -> None:
    """Raise BadInputError for formats without rows of text, which are named where they are known."""
    known = _NO_ROWS if not head or is_text(head) else _NO_ROWS | _NO_TEXT
    if what := next((what for pattern, what in known.items() if re.match(pattern, head, re.DOTALL)), None):
        raise BadInputError(f"{name} is {what}", code="not-utf-8" if what.startswith("UTF") else "not-rows")
    if head and not is_text(head):
        raise unknown(name, "has bytes that no text has")


def unknown(name: str, why: str) -> BadInputError:
    """Return the error for a file that does not show what it holds."""
    return BadInputError(f"{name} {why}: say what it holds", list(_WHAT_TO_SAY), code="unknown-format")
