"""Formats of tables beside CSV and Parquet that files are recognised as, and those that a sort converts to."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from planner.api.files import mode_of
from planner.errors import BadInputError, reading
from planner.sorting.sort_job import Format, SortJob, TableFormat

IN_WORDS: Final = {"jsonl": "JSON lines", "arrow": "Arrow", "orc": "ORC"}
TABLES: Final = ("parquet", *IN_WORDS)
"""Formats that the sort of tables reads itself."""
_BEGINNINGS: Final[dict[bytes, Format]] = {b"ARROW1\0\0": "arrow", b"\xff\xff\xff\xff": "arrow", b"ORC": "orc"}
_KEPT: Final[dict[str, tuple[TableFormat, ...]]] = {"csv": ("csv", "tsv"), "parquet": ("parquet",), "orc": ()}
"""Names of outputs whose rows are written as they were read."""
_JSON_NAMES: Final = (".jsonl", ".ndjson", ".json")
_NAMES: Final[dict[str, TableFormat]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    **dict.fromkeys(_JSON_NAMES, "jsonl"),
}


def common_table(files: Sequence[Path], keys: Sequence[str]) -> Format | None:
    """Return the format of files that are all Arrow, all ORC, or all JSON lines to be sorted by a member; None for any
    others, and for pipes.
    """
    formats = {_table_of(path) for path in files}
    found = formats.pop() if len(formats) == 1 else None
    return None if found == "jsonl" and not keys else found


def _table_of(path: Path) -> Format | None:
    if not stat.S_ISREG(mode_of(path)):
        return None
    with reading(path), path.open("rb") as file:
        beginning = file.read(8)
    if path.suffix.lower() in _JSON_NAMES or _plain(path.name).suffix.lower() in _JSON_NAMES:
        return "jsonl"
    return next((format for magic, format in _BEGINNINGS.items() if beginning.startswith(magic)), None)


def _plain(name: str) -> Path:
    """Return a file's name without the suffix of its compression."""
    from planner.compression.text_codecs import SUFFIXES

    path = Path(name)
    return Path(path.stem) if path.suffix.lower() in SUFFIXES else path


def converted_to(job: SortJob) -> TableFormat | None:
    """Return the format that the sort of tables writes; None where the rows of a sort stay as they are. Raises
    BadInputError for a format that no sort writes from its input.
    """
    named = _NAMES.get(_plain(Path(job.output).name).suffix.lower())
    wanted = job.output_format or named
    if job.format in ("jsonl", "arrow"):
        wanted = wanted or ("jsonl" if job.format == "jsonl" else "arrow")
    elif job.format == "orc" and wanted is None:
        raise BadInputError(
            f"{job.output}: no sort writes ORC: say --output-format parquet, or name it so", code="no-conversion"
        )
    elif job.format == "parquet" and wanted in (None, "parquet"):
        return "parquet" if job.output == "-" or job.file_bytes else None
    elif wanted is None or wanted in _KEPT.get(job.format or "lines", tuple(_NAMES.values())):
        _require_kept(job)
        return None
    if job.consume_input:
        raise BadInputError(
            "--consume-input keeps the format of its inputs: leave it out, or name the output as they are",
            code="no-conversion",
        )
    if not job.keys:
        raise BadInputError("say which columns to sort by: --key NAME", field="key", code="missing-key")
    return wanted


def _require_kept(job: SortJob) -> None:
    """Raise BadInputError for an output format or a size of files that is asked for in vain."""
    if job.file_bytes:
        raise BadInputError(
            "--file-size: only tables are written as several files: leave it out, or say --output-format parquet",
            field="file_bytes",
            code="one-output",
        )
    if job.output_format not in (None, job.format):
        raise BadInputError(
            f"--output-format {job.output_format}: the rows stay {job.format or 'as they are'}; leave it out",
            field="output_format",
            code="no-conversion",
        )
