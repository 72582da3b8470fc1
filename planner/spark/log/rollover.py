"""Grouping of files into logs, in order: Spark's rolling files, Databricks' rollover, or each file alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from planner.spark.log.parts import COMPACT, ROLLING, Part, PassedOver

_DATED: Final = re.compile(r"eventlog(-\d{4}-\d\d-\d\d--\d\d-\d\d)?(\.\w+)?")
_LAST: Final = "~"
"""Sorts after every date: the file `eventlog` was written last."""


@dataclass(frozen=True, kw_only=True)
class LogFiles:
    """The files of one log in order; `damaged` ones hold no events, and `gaps` lists the missing ones."""

    parts: tuple[Part, ...]
    damaged: tuple[Part, ...] = ()
    gaps: tuple[str, ...] = ()


def is_rolling_name(base: str) -> bool:
    """Return whether a file's name marks it as one of several of a log."""
    return bool(ROLLING.fullmatch(base.removesuffix(COMPACT)) or _DATED.fullmatch(base))


def logs(parts: Sequence[Part]) -> tuple[list[LogFiles], list[PassedOver]]:
    """Return the logs that the files form, and files that only repeat others."""
    groups: dict[tuple[str, ...], list[tuple[int | str, Part]]] = {}
    for part in parts:
        group, place = _log_and_position(part)
        groups.setdefault(group, []).append((place, part))
    passed: list[PassedOver] = []
    joined = [_log_files(group, members, passed) for group, members in groups.items()]
    lost = [part for log in joined if not log.parts for part in log.damaged]
    passed += [PassedOver(name=part.name, reason=part.damage) for part in lost]
    return [log for log in joined if log.parts], passed


def _log_and_position(part: Part) -> tuple[tuple[str, ...], int | str]:
    """Return the log that a file belongs to, and its place in it."""
    head = _metadata(part)
    if head is not None:
        return ("context", head[0]), head[1]
    rolling = ROLLING.fullmatch(part.base.removesuffix(COMPACT))
    if rolling:
        return ("rolling", part.folder, rolling[2]), int(rolling[1])
    dated = _DATED.fullmatch(part.base)
    if dated:
        return ("dated", part.folder), dated[1] or _LAST
    return ("single", part.name), 0


def _metadata(part: Part) -> tuple[str, int] | None:
    """Return the context and number in the first line, as Databricks' listener writes them."""
    try:
        head = json.loads(part.head) if part.head else {}
    except (ValueError, RecursionError):
        return None
    context, number = head.get("SparkContext Id"), head.get("Rollover Number")
    return (str(context), number) if context is not None and type(number) is int else None


def _log_files(group: tuple[str, ...], members: list[tuple[int | str, Part]], passed: list[PassedOver]) -> LogFiles:
    numbered = all(isinstance(place, int) for place, _ in members)
    members.sort(key=lambda member: (member[0], bool(member[1].damage), _is_compact(member[1]), member[1].name))
    compacted = max(
        (i for i, (_, part) in enumerate(members) if group[0] == "rolling" and _is_compact(part) and not part.damage),
        default=-1,
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
    return LogFiles(
        parts=tuple(part for _, part in rest if not part.damage),
        damaged=tuple(part for _, part in rest if part.damage),
        gaps=tuple(gaps),
    )


def _is_compact(part: Part) -> bool:
    return part.base.endswith(COMPACT)


def _gaps(places: Sequence[int], *, first: int | None) -> Iterator[str]:
    expected = places[0] if first is None else first
    for place in places:
        if place == expected + 1:
            yield f"part {expected} of the log is missing"
        elif place > expected:
            yield f"parts {expected} to {place - 1} of the log are missing"
        expected = place + 1
