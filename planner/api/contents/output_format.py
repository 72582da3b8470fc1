"""Format of a sort's output: as its name or an option says, or as the input."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from planner.api.contents.file_kinds import OF_JSON, OF_TEXT
from planner.compression.looks import SUFFIXES
from planner.errors import BadInputError
from planner.sorting.sort_job import SortJob, TableFormat

_KEPT: Final[dict[str, tuple[TableFormat, ...]]] = {"csv": ("csv", "tsv"), "parquet": ("parquet",), "orc": ()}
"""Names of outputs whose rows are written as they were read."""
_NAMES: Final[dict[str, TableFormat]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    **dict.fromkeys(OF_JSON, "jsonl"),
}
_OF_TABS: Final = (".tsv", ".tab")
_OF_TABLES: Final = (".parquet", ".arrow", ".feather")
_NO_TABLES: Final = (".avro", ".orc", ".xls", ".xlsx")
"""Names of tables that no sort writes."""
_NOT_WRITTEN: Final = (".z", ".br", ".lz", ".lzma", ".lzo", ".snappy", ".zip", ".7z", ".rar", ".tar", ".tgz")
"""Names of compressions and archives that no sort writes."""


def _plain(name: str) -> Path:
    """Return a file's name without the suffix of its compression."""
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
    elif not _has_other_separator(job, wanted) and (
        wanted is None or wanted in _KEPT.get(job.format or "lines", tuple(_NAMES.values()))
    ):
        _require_kept(job)
        return None
    if job.consume_input:
        raise BadInputError(
            "--consume-input keeps the format of its inputs: leave it out, or name the output as they are",
            code="no-conversion",
        )
    if wanted == "parquet" and job.compression:
        raise BadInputError(
            f"{job.output}: Parquet is compressed within; leave out --compress and the suffix of a compression",
            code="not-applicable",
        )
    if not job.keys:
        raise BadInputError("say which columns to sort by: --key NAME", field="key", code="missing-key")
    return wanted


def _has_other_separator(job: SortJob, wanted: TableFormat | None) -> bool:
    """Return whether the output is called TSV and its input has no tabs, or CSV and its input is called TSV."""
    if job.format != "csv" or wanted not in ("csv", "tsv"):
        return False
    has_tabs = (job.separator or ",").replace("\\t", "\t") == "\t"
    names = [_plain(Path(name).name).suffix.lower() for name in job.inputs]
    return has_tabs and all(name in _OF_TABS for name in names) if wanted == "csv" else not has_tabs


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


def require_fitting_name(output: Path, *, is_parquet: bool) -> None:
    """Raise BadInputError for an output whose name implies another format: the sort keeps the input's format."""
    if output.suffix.lower() in _NOT_WRITTEN:
        raise BadInputError(
            f"{output}: no sort writes {output.suffix}; text may be {', '.join(SUFFIXES)}", code="wrong-suffix"
        )
    if output.suffix.lower() in _NO_TABLES:
        raise BadInputError(
            f"{output}: no sort writes {output.suffix}; tables may be {', '.join(_NAMES)}", code="wrong-suffix"
        )
    if output.suffix.lower() in ({*OF_TEXT, *SUFFIXES} if is_parquet else _OF_TABLES):
        holds = "Parquet" if is_parquet else "what its input does"
        raise BadInputError(
            f"{output} would hold {holds}: a sort does not convert; name it otherwise", code="no-conversion"
        )
