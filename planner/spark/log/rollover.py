"""Grouping of files into logs, in order: Spark's rolling files, Databricks' rollover, or each file alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.spark.log.parts import Part, PassedOver

_ROLLING: Final = re.compile(r"events_(\d+)_(.+?)((?:\.\w+)?)")
_COMPACT: Final = ".compact"
_DATED: Final = re.compile(r"eventlog(-\d{4}-\d\d-\d\d--\d\d-\d\d)?(\.\w+)?")
_LAST: Final = "~"
"""Sorts after every date: the file `eventlog` is the one written last."""


@dataclass(frozen=True, kw_only=True)
class LogFiles:
    """The files of one log in their order; `gaps` says which are missing."""

    parts: tuple[Part, ...]
    gaps: tuple[str, ...] = ()


def is_rolling_name(base: str) -> bool:
    """Return whether the name of a file says that it is one of several of a log."""
    return bool(_ROLLING.fullmatch(base.removesuffix(_COMPACT)) or _DATED.fullmatch(base))


def logs(parts: Sequence[Part]) -> tuple[list[LogFiles], list[PassedOver]]:
    """Return the logs that the files make up, and files that only repeat others."""
    groups: dict[tuple[str, ...], list[tuple[int | str, Part]]] = {}
    for part in parts:
        group, place = _place(part)
        groups.setdefault(group, []).append((place, part))
    passed: list[PassedOver] = []
    joined = [_log_files(group, members, passed) for group, members in groups.items()]
    return joined, passed


def _place(part: Part) -> tuple[tuple[str, ...], int | str]:
    """Return which log a file belongs to, and its place in it."""
    head = _metadata(part)
    if head is not None:
        return ("context", head[0]), head[1]
    rolling = _ROLLING.fullmatch(part.base.removesuffix(_COMPACT))
    if rolling:
        return ("rolling", part.folder, rolling[2]), int(rolling[1])
    dated = _DATED.fullmatch(part.base)
    if dated:
        return ("dated", part.folder), dated[1] or _LAST
    return ("single", part.name), 0


def _metadata(part: Part) -> tuple[str, int] | None:
    """Return the context and the number that Databricks' listener wrote into the first line."""
    try:
        head = json.loads(part.head) if part.head else {}
    except ValueError:
        return None
    context, number = head.get("SparkContext Id"), head.get("Rollover Number")
    return (str(context), number) if context is not None and type(number) is int else None


def _log_files(group: tuple[str, ...], members: list[tuple[int | str, Part]], passed: list[PassedOver]) -> LogFiles:
    numbered = all(isinstance(place, int) for place, _ in members)
    members.sort(key=lambda member: (member[0], member[1].base.endswith(_COMPACT), member[1].name))
    compacted = max(
        (i for i, (_, part) in enumerate(members) if group[0] == "rolling" and part.base.endswith(_COMPACT)), default=-1
    )
    passed += [
        PassedOver(name=part.name, reason="its events are in the compacted file")
        for _, part in members[: max(compacted, 0)]
    ]
    rest: list[tuple[int | str, Part]] = []
    for place, part in members[max(compacted, 0) :]:
        if rest and rest[-1][0] == place:
            passed.append(PassedOver(name=part.name, reason=f"the same part of the log as {rest[-1][1].name}"))
        else:
            rest.append((place, part))
    first = None if group[0] == "single" else 1 if group[0] == "rolling" else 0
    places = [place for place, _ in rest if isinstance(place, int)]
    gaps = _gaps(places, first=None if compacted >= 0 else first) if numbered else ()
    return LogFiles(parts=tuple(part for _, part in rest), gaps=tuple(gaps))


def _gaps(places: Sequence[int], *, first: int | None) -> Iterator[str]:
    expected = places[0] if first is None else first
    for place in places:
        if place == expected + 1:
            yield f"part {expected} of the log is missing"
        elif place > expected:
            yield f"parts {expected} to {place - 1} of the log are missing"
        expected = place + 1
