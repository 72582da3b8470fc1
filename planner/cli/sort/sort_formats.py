"""`planner sort` of what is no fixed-size record: which files it may touch, and who sorts them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.api.files import STANDARD_OUTPUT, mode_of, require_directories, require_new, require_readable
from planner.cli.sort.key_options import KeyOptions
from planner.cli.sort.sort_keys import check_text, concerns_compression, sort_by_keys
from planner.cli.sort.sort_parquet import check_parquet, sort_parquet_files
from planner.errors import BadInputError


def sort_text_or_tables(
    sources: Sequence[Path],
    output: Path,
    keys: KeyOptions,
    layout: dict[str, Any],
    *,
    others: bool,
    force: bool,
    explain: bool,
    json: bool,
    limits: dict[str, Any],
) -> bool:
    """Sort or check by keys, or what is compressed or no file. Returns False for what is left: plain records and lines.

    `layout` is that of records and lines; `others` says whether several outputs are given.
    """
    lines = layout["lines"]
    output = Path("-") if str(output) in STANDARD_OUTPUT and not keys.check else output
    record_bytes = 0 if lines or not _are_records(keys, layout) else layout["record_size"]
    has_span = (lines or record_bytes > 0) and not keys.key
    span = (layout["key_offset"], layout["key_size"]) if has_span else None
    is_plain = not (keys.key or keys.are_given or keys.check)
    if is_plain and not ((lines or record_bytes) and concerns_compression(sources, output, by_name=not lines)):
        return False
    _refuse_other_options(layout, others=others, has_span=has_span, has_size=record_bytes > 0)
    shared: dict[str, Any] = {"lines": lines, "span": span, "record_bytes": record_bytes, "json": json}
    if keys.check:
        require_readable(path for path in [*sources, output] if str(path) != "-")
        _check([*sources, output], keys, stable=limits["stable"], **shared)
        return True
    require_inputs(sources, [output], temp_dirs=limits["temp_dirs"], force=force, is_text=True)
    if keys.format == "parquet":
        if limits["spill"] != "auto":
            raise BadInputError("--spill is for text and records: Parquet is spilled as pyarrow writes it")
        of_parquet = {name: limits[name] for name in ("memory_bytes", "threads", "temp_dirs")}
        sort_parquet_files(sources, output, keys, json=json, **of_parquet)
    else:
        sort_by_keys(sources, output, keys, explain=explain, **shared, **limits)
    return True


def _check(sources: Sequence[Path], keys: KeyOptions, *, json: bool, **shared: Any) -> None:
    if len(sources) > 1:
        raise BadInputError(f"--check takes one INPUT and no OUTPUT, not also {sources[1]}")
    if keys.format == "parquet":
        check_parquet(sources[0], keys, json=json)
    else:
        check_text(sources, keys, json=json, **shared)


def _are_records(keys: KeyOptions, layout: dict[str, Any]) -> bool:
    """Whether it is said, or nothing else is: --unique, --merge and --limit alone mean lines of text."""
    if not keys.form.is_of_records:
        return False
    if layout["record_size"] < 1:
        raise BadInputError(f"--record-size {layout['record_size']}: a record has at least one byte")
    sizes = (layout["record_size"], layout["key_offset"], layout["key_size"])
    says_so = keys.format == "records" or keys.key or sizes != (100, 0, None)
    return bool(says_so) or not (keys.unique or keys.merge or keys.limit)


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
    new = (path for path in outputs if not any(mode_of(path) and path.samefile(source) for source in inputs))
    require_new(new, force=force, hint=several if len(sources) > 1 else "")


def refuse_formats(keys: KeyOptions, *, lines: bool) -> None:
    """Raise BadInputError for what a cluster does not sort, and for what only CSV has."""
    keys.form.require_sortable_on_cluster(lines=lines)
    if keys.check or keys.compress:
        raise BadInputError("--check and --compress are for one machine: leave them out, or leave out --ray")


def _refuse_other_options(layout: dict[str, Any], *, others: bool, has_span: bool, has_size: bool) -> None:
    span = (0, None) if has_span else (layout["key_offset"], layout["key_size"])
    if (layout["record_size"] != 100 and not has_size) or span != (0, None) or others:
        raise BadInputError(
            "--key and its kin sort into one file: leave out --more-output, --key-offset and --key-size; of text and"
            " tables also --record-size"
        )
