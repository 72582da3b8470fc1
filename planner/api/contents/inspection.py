"""The one look into the files of a sort, a check or a plan before their rows are read."""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

from planner.api.contents.csv_dialect import detect_dialect, heading_of
from planner.api.contents.file_kinds import OF_JSON, FileKind, format_by_name, kind_of, suffix_of
from planner.api.files import mode_of
from planner.compression.looks import Look, require_as_named
from planner.compression.windows import HEADER_BYTES
from planner.errors import BadInputError, PlannerError
from planner.sorting.sort_job import CLUSTER_FORMATS, TABLES, ClusterFormat, Format
from planner.sorting.tables.arrow_library import arrow

_FILES_AT_ONCE: Final = 32
_MOST_KEPT_BYTES: Final = 1 << 26
"""Beginnings of all files that are kept in memory."""
_LEAST_KEPT_BYTES: Final = 1 << 12
_OBJECT_BYTES: Final = 1 << 16
"""Size of the first request for an object; of lines only their compression matters."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """What files hold: a look at each, their format, None if nothing shows it, and of CSV its dialect."""

    looks: tuple[Look, ...]
    format: Format | None
    separator: str | None = None
    no_header: bool | None = None
    quote: str | None = None

    @property
    def cluster_format(self) -> ClusterFormat | None:
        """The format, for those who take no others."""
        return cast("ClusterFormat | None", self.format)

    @property
    def shown(self) -> dict[str, Any]:
        """The options of a sort that the files show."""
        return {name: getattr(self, name) for name in ("looks", "format", "separator", "no_header", "quote")}


def inspect(
    files: Sequence[Path | str],
    asked: Mapping[str, Any],
    *,
    say: Callable[[str], None] | None,
    takes: Collection[Format] = CLUSTER_FORMATS,
) -> Input:
    """Return what files hold, or objects by their addresses: as the options `asked` say, or else as they show, of the
    formats that their reader `takes`. Keys do not say what a file is, but JSON lines are a table only with keys.

    Raises BadInputError for files of several or unknown kinds, for tables without a key, and for keys of JSON;
    IoFailureError for an object.
    """
    given = {name: asked.get(name) for name in ("separator", "no_header", "quote")}
    keys = [asked["key"]] if isinstance(asked.get("key"), str) else list(asked.get("key") or ())
    format = said_format(asked)
    if format is None:
        looks, kinds = _looks_at(files, takes=takes)
        kind = _common(kinds)
        if kind and kind.format == "lines" and keys and suffix_of(looks[0]) in OF_JSON:
            kind = replace(kind, format="jsonl")
        format = _shown_format(looks, kind, keys, takes=takes, say=say)
        given["separator"] = given["separator"] or (kind.separator if kind else None)
    else:
        looks = _looks_at(files, said=format)[0]
        for look in looks:
            require_as_named(look)
    if format == "csv":
        given = detect_dialect(looks, given, keys, say=say)
    return Input(looks=tuple(looks), format=format, **given)


def said_format(asked: Mapping[str, Any]) -> Format | None:
    """Return the format that options say, or imply."""
    if asked.get("record_size") is not None:
        return "records"
    is_lines = asked.get("lines") or (asked.get("zero_terminated") and not asked.get("format"))
    return "lines" if is_lines else asked.get("format")


def _shown_format(
    looks: Sequence[Look],
    kind: FileKind | None,
    keys: Sequence[str],
    *,
    takes: Collection[Format],
    say: Callable[[str], None] | None,
) -> Format | None:
    if kind is None:
        is_file = looks and all(stat.S_ISREG(mode_of(Path(look.name))) for look in looks)
        is_json = keys and "jsonl" in takes and is_file and suffix_of(looks[0]) in OF_JSON
        return ("jsonl" if is_json else format_by_name(looks[0]) if keys else "lines") if is_file else None
    if kind.format not in takes:  # JSON lines with keys
        raise BadInputError(
            f"{looks[0].name} is {kind.text}, whose members are no keys here: leave --key out to take whole lines",
            ["or sort it into Parquet first: planner sort IN.jsonl OUT.parquet --key NAME"],
            code="unsupported-key",
        )
    if kind.format != "records" and say is not None:
        say(f"{looks[0].name}: taken for {kind.text}; --format says otherwise")
    if kind.format in ("csv", *TABLES) and not keys:
        otherwise = "; or --format lines" if kind.format == "csv" else ""
        names = _columns_of(looks[0], kind.format)
        raise BadInputError(
            f"{looks[0].name} is {kind.text}: say which columns are its keys, --key NAME{otherwise}",
            [f"its columns are {', '.join(names[:20])}; several keys are several --key"] if names else [],
            code="missing-key",
        )
    return kind.format


def _columns_of(look: Look, format: Format) -> list[str]:
    """Return the names of a file's columns, as far as they are known before it is sorted."""
    if format == "csv":
        return heading_of(look)
    if format == "parquet" and "://" not in look.name:
        with suppress(PlannerError, OSError, ValueError):  # what is wrong with the file is said when it is sorted
            return list(arrow("pyarrow.parquet").read_schema(look.name).names)
    return []


def common_kind(files: Sequence[Path | str]) -> FileKind | None:
    """Return the common kind of files; None if no file shows one. Raises BadInputError if they differ."""
    return _common(_looks_at(files)[1])


def _common(kinds: Mapping[str, FileKind]) -> FileKind | None:
    if len({(kind.format, kind.separator) for kind in kinds.values()}) > 1:
        lines = [f"{name}: {kind.text}" for name, kind in kinds.items()]
        raise BadInputError(
            "the files are of different kinds; name those of one kind, or say --format", lines, code="mixed-kinds"
        )
    return next(iter(kinds.values()), None)


def _looks_at(
    files: Sequence[Path | str], *, said: Format | None = None, takes: Collection[Format] = CLUSTER_FORMATS
) -> tuple[list[Look], dict[str, FileKind]]:
    """Return looks at files, and the kinds of those that show one; none where it is said."""
    most_bytes = max(_MOST_KEPT_BYTES // max(len(files), 1), _LEAST_KEPT_BYTES)

    def look_and_kind(file: Path | str) -> tuple[Look, FileKind | None]:
        look = _look_at(str(file), said=said)
        return _kept(look, most_bytes), None if said else kind_of(look, takes)

    if len(files) == 1:  # threads may not fit into the address space
        found = [look_and_kind(files[0])]
    else:
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            found = list(pool.map(look_and_kind, files))
    return [look for look, _ in found], {look.name: kind for look, kind in found if kind}


def _look_at(file: str, *, said: Format | None) -> Look:
    from planner.compression.text_codecs import look_at, look_into

    if "://" in file:
        from planner.distributed_sort.dataset.input_files import beginning_of, size_of

        size = size_of(file)
        pieces = beginning_of(file, size, piece_bytes=HEADER_BYTES if said == "lines" else _OBJECT_BYTES)
        return look_into(file, islice(pieces, 1) if said == "lines" else pieces, size=size)
    try:
        return look_at(file)
    except PermissionError:
        if said:  # the sort reports it better
            return Look(name=file)
        raise


def _kept(look: Look, most_bytes: int) -> Look:
    """Return a look of which no more is kept in memory."""
    if len(look.head) <= most_bytes:
        return replace(look, stored=look.stored[:most_bytes])
    return replace(look, stored=look.stored[:most_bytes], head=look.head[:most_bytes], is_whole=False)
