"""`planner sort` of what is no fixed-size record: which files it may touch, and who sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.cli.files import require_directories, require_new, require_readable
from planner.cli.sort_keys import KeyOptions, check_text, sort_by_keys
from planner.cli.sort_parquet import sort_parquet_files
from planner.errors import BadInputError


def sort_text_or_tables(
    sources: Sequence[Path],
    output: Path,
    keys: KeyOptions,
    layout: dict[str, Any],
    *,
    others: bool,
    force: bool,
    json: bool,
    limits: dict[str, Any],
) -> bool:
    """Sort or check text by keys, CSV or Parquet. Returns False for records, and for lines that are no compressed text.

    `layout` is that of records and lines; `others` says whether several outputs are given.
    """
    lines = layout["lines"]
    span = (layout["key_offset"], layout["key_size"]) if lines and not keys.key else None
    is_text = keys.are_given or keys.check or (lines and keys.concerns_compression(sources, output))
    if not is_text:
        return False
    _refuse_other_options(layout, others=others, has_span=span is not None)
    if keys.check:
        require_readable(path for path in [*sources, output] if str(path) != "-")
        check_text([*sources, output], keys, lines=lines, span=span, stable=limits["stable"], json=json)
        return True
    require_inputs(sources, [output], temp_dirs=limits["temp_dirs"], force=force, is_text=True)
    if keys.format == "parquet":
        shared = {name: limits[name] for name in ("memory_bytes", "temp_dirs")}
        sort_parquet_files(sources, output, keys, json=json, **shared)
    else:
        sort_by_keys(sources, output, keys, lines=lines, span=span, json=json, **limits)
    return True


def require_inputs(
    sources: Sequence[Path], outputs: Sequence[Path], *, temp_dirs: Sequence[Path], force: bool, is_text: bool = False
) -> None:
    """Raise BadInputError for files that cannot be read or must not be replaced.

    `planner sort *.dat` without an output must not replace the last of the data. What is an input is never replaced by
    records, as the sort core says; by text it is with --force. Text may be standard input and output, too.
    """
    require_readable(path for path in sources if not (is_text and str(path) == "-"))
    require_directories("--temp-dir", temp_dirs)
    if is_text:
        outputs = [path for path in outputs if str(path) != "-"]
    if any(str(path) == "-" for path in outputs):
        raise BadInputError("OUTPUT -: the result is a file, which appears whole or not at all; name it")
    several = "; with several inputs the last name is the output's, which might be an oversight"
    inputs = [] if is_text else sources
    new = (path for path in outputs if not any(path.exists() and path.samefile(source) for source in inputs))
    require_new(new, force=force, hint=several if len(sources) > 1 else "")


def refuse_formats(keys: KeyOptions, *, lines: bool) -> None:
    """Raise BadInputError for what a cluster does not sort, and for what only CSV has."""
    if keys.format == "csv" and lines:
        raise BadInputError("--format csv: rows are no lines; leave out --lines")
    if keys.no_header and keys.format != "csv":
        raise BadInputError("--no-header is for --format csv")
    if keys.format == "parquet" or keys.check or keys.compress:
        raise BadInputError(
            "with --ray there are records, lines and CSV: leave out --format parquet, --check, --compress"
        )


def _refuse_other_options(layout: dict[str, Any], *, others: bool, has_span: bool) -> None:
    span = (0, None) if has_span else (layout["key_offset"], layout["key_size"])
    if layout["record_size"] != 100 or span != (0, None) or others:
        raise BadInputError(
            "--key and its kin sort text or tables into one file: leave out --record-size, --key-offset, --key-size"
            " and --more-output"
        )
