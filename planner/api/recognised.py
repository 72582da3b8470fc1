"""What files are taken for where the caller does not say: found out, and said."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.api.file_kinds import common_kind
from planner.errors import BadInputError

if TYPE_CHECKING:
    from planner.api.file_kinds import FileKind

_SAID: Final = ("format", "lines", "zero_terminated")
"""Options that say what files hold, or that are of text."""


def recognised(
    files: Sequence[Path], options: Mapping[str, Any], *, say: Callable[[str], None] | None
) -> dict[str, Any]:
    """Return the options that the kind of some files stands for, beside those given; none where these say it.

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
        return {}
    if kind.format != "records" and say is not None:
        say(f"{files[0]}: taken for {kind.text}; --format says otherwise")
    if kind.format in ("csv", "parquet") and not options.get("key"):
        raise BadInputError(f"{files[0]} is {kind.text}: say which columns are its keys, --key NAME; or --format lines")
    return options_of(kind, separator=options.get("separator"))


def options_of(kind: FileKind, *, separator: str | None) -> dict[str, Any]:
    """Return the options that say of what kind files are, with the `separator` that is given."""
    if kind.format == "lines":
        return {"lines": True}
    return {"format": kind.format, "separator": separator or kind.separator}


def _are_of_columns(keys: Sequence[str]) -> bool:
    """Whether keys are columns, `time:desc` or `3:num`; `2,2n` and `2` are of lines, and `0:10` is of records."""
    return all(re.match(r"\D|\d+:[a-z]", key) for key in keys)
