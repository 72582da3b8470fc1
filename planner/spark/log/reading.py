"""Reads the event logs at a path: every application in them, files passed over, and losses. A file mostly holds one
application, but may hold several.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from planner.compression.block_formats import BrokenDataError
from planner.compression.decoding import decode_stream
from planner.errors import BadInputError
from planner.spark.application.application import Application, Loss
from planner.spark.log.decoding import decode
from planner.spark.log.fields import Event, FieldError, Losses, RepeatedError, seconds, shorten, text
from planner.spark.log.parts import Part, PassedOver, parts_of
from planner.spark.log.rollover import LogFiles, logs
from planner.spark.log.tally import EVENTS_COUNTED, ApplicationTally

_START: Final = "SparkListenerApplicationStart"
_LOG_START: Final = "SparkListenerLogStart"
_PREAMBLE: Final = {
    "SparkListenerBlockManagerAdded", "SparkListenerEnvironmentUpdate", "SparkListenerExecutorAdded",
    "DBCEventLoggingListenerMetadata", "SparkListenerResourceProfileAdded",
}  # fmt: skip
"""Events counted between the start of a log and the start of its application; local mode adds its executor there."""
_MOST_PREAMBLE: Final = 1000
EVENTS_READ: Final = frozenset({_START, _LOG_START, *_PREAMBLE, *EVENTS_COUNTED})
"""Events that are parsed; others are only counted by name."""


class Collector:
    """Takes the events of one log in order. Events before an application's start belong to it."""

    def __init__(self) -> None:
        self._tallies = [ApplicationTally()]
        self._preamble: list[tuple[Event, str, int]] | None = None

    def add(self, event: Event, *, name: str, line: int) -> None:
        """Add an event of a line of a file."""
        word = event["Event"]
        if word == _LOG_START and self._current.started:
            self._flush()
            self._preamble = [(event, name, line)]
        elif word == _START and self._current.started:
            self._start(event, name, line)
        elif self._preamble is not None and _may_precede(word) and len(self._preamble) < _MOST_PREAMBLE:
            self._preamble.append((event, name, line))
        else:
            if self._preamble:
                self._flush()
            self._count(event, name, line)

    def finish(self) -> list[ApplicationTally]:
        """Return the applications, at least one."""
        self._flush()
        return self._tallies

    @property
    def current(self) -> ApplicationTally:
        """The application that the next event belongs to."""
        return self._current

    @property
    def _current(self) -> ApplicationTally:
        return self._tallies[-1]

    def _start(self, event: Event, name: str, line: int) -> None:
        """Begin another application, unless the start event is a repeat."""
        try:
            again = (text(event, "App ID"), seconds(event, "Timestamp")) == (
                self._current.app_id,
                self._current.started_at_s,
            )
        except FieldError:
            again = False
        if again:
            self._flush()
            self._note_repeated(name, line, _START)
            return
        before, self._preamble = self._preamble or [], None
        self._tallies.append(ApplicationTally())
        for earlier in before:
            self._count(*earlier)
        self._count(event, name, line)

    def _flush(self) -> None:
        """Add the events that looked like the beginning of another log to the current application."""
        before, self._preamble = self._preamble or [], None
        for earlier in before:
            self._count(*earlier)

    def _count(self, event: Event, name: str, line: int) -> None:
        tally = self._current
        if not tally.files or tally.files[-1] != name:
            tally.files.append(name)
        try:
            tally.add(event)
        except FieldError as error:
            tally.losses.add(f"{_short(event)} with a wrong field", where=f"{name}, line {line}", example=error)
        except RepeatedError:
            self._note_repeated(name, line, event["Event"])

    def _note_repeated(self, name: str, line: int, word: str) -> None:
        self._current.losses.add(f"{_short({'Event': word})} that is repeated", where=f"{name}, line {line}")


def _may_precede(word: str) -> bool:
    """Return whether an event may come before its application's start; those of plug-ins and newer versions may."""
    return word in _PREAMBLE or word not in EVENTS_COUNTED


def _short(event: Event) -> str:
    return str(event["Event"]).rpartition(".")[2].removeprefix("SparkListener")


_BEGIN: Final = b'{"Event":"'
"""Start of each line that Spark writes."""
_NAMED: Final = re.compile(_BEGIN + rb'([^"\\]+)"[,}]')
_READ: Final = frozenset(name.encode() for name in EVENTS_READ)
MOST_LINE_BYTES: Final = 64 << 20
"""Longest line taken as an event; the longest seen are query plans of some MB."""
MOST_VALUES: Final = 2_000_000
"""Most values in a line taken as an event: each takes up to 250 bytes, a hundred times its text."""


def events(chunks: Iterator[bytes], *, name: str, losses: Losses) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the events of one file with their line numbers, from 1; other lines are counted in `losses`."""
    last = 0
    try:
        for first, lines in _lines(chunks):
            for number, line in enumerate(lines, first):
                if not line or line.isspace():
                    continue
                last, event = number, _event(line)
                if isinstance(event, dict):
                    yield number, event
                else:
                    losses.add(event, where=f"{name}, line {number}", example=shorten(line[:1000].strip()))
    except BrokenDataError as error:
        losses.add("end of a file that cannot be decompressed", where=f"{name}, after line {last}", example=error)


def _lines(chunks: Iterator[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield lines with the number of the first; lines above MOST_LINE_BYTES are cut a little beyond it.

    A last line without a line end counts, even if the data then break off with BrokenDataError.
    """
    number, pending, size = 1, list[bytes](), 0
    try:
        for chunk in chunks:
            first, *others = BytesIO(chunk).readlines() or [b""]  # faster than split
            pending.append(first if size <= MOST_LINE_BYTES else b"")
            size += len(first)
            if first.endswith(b"\n"):
                rest = others.pop() if others and not chunk.endswith(b"\n") else b""
                yield number, [b"".join(pending), *others]
                number, pending, size = number + 1 + len(others), [rest], len(rest)
    except BrokenDataError:
        yield number, [b"".join(pending)]
        raise
    yield number, [b"".join(pending)]


def _event(line: bytes) -> dict[str, Any] | str:
    """Return the event of a line, or in words why it is not one."""
    if len(line) > MOST_LINE_BYTES:
        return f"line longer than {MOST_LINE_BYTES >> 20} MiB"
    if len(line) > MOST_VALUES and line.count(b",") > MOST_VALUES:
        return f"line with more than {MOST_VALUES:,} values"
    name = line[len(_BEGIN) : line.find(b'"', len(_BEGIN))] if line.startswith(_BEGIN) else b""
    if name not in _READ and (named := _NAMED.match(line)) and line.rstrip().endswith(b"}"):
        return {"Event": named[1].decode("utf-8", "replace")}
    try:
        event = decode(line, event=name)
    except (ValueError, RecursionError):
        return "line that is not JSON"
    if not isinstance(event, dict) or not isinstance(event.get("Event"), str):
        return "line that is no event"
    return event


@dataclass(frozen=True, kw_only=True)
class EventLogs:
    """Result of reading a path: `applications` in the order of their files, and the files `passed_over`."""

    path: str
    applications: tuple[Application, ...]
    passed_over: tuple[PassedOver, ...]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Losses of all applications."""
        return tuple(loss for application in self.applications for loss in application.losses)

    def only(self, app_id: str | None = None) -> Application:
        """Return the only application, or the one of this id, `id/attempt` if it had several attempts. Raises
        BadInputError naming those there are.
        """
        fitting = [a for a in self.applications if app_id in (None, a.app_id, a.attempt_id)]
        if len(fitting) == 1:
            return fitting[0]
        names = [f"{a.attempt_id or 'unknown'} in {', '.join(a.files[:1])}" for a in fitting or self.applications]
        if not fitting:
            raise BadInputError(f"{self.path} holds no application {app_id}", names[:20], code="no-such-application")
        raise BadInputError(
            f"{self.path} holds {len(names)} applications, give the file of one, or its id",
            names[:20],
            code="several-applications",
        )

    def runs(self, app: str | None = None) -> tuple[Application, ...]:
        """Return the runs of one job: all applications, or those of this id or name, if they share one name.

        Raises BadInputError naming those there are.
        """
        fitting = [a for a in self.applications if app in (None, a.app_id, a.attempt_id, a.name) and a.name]
        if (
            len(fitting) > 1
            and len({a.name for a in fitting}) == 1
            and len({a.app_id for a in fitting}) == len(fitting)
        ):
            return tuple(fitting)
        return (self.only(app),)


def read(path: str | os.PathLike[str]) -> EventLogs:
    """Read the Spark event logs at a path: a file, a directory or an archive, in any of Spark's compressions.

    Unreadable parts are counted in the `losses` of their application, with file and line. Raises BadInputError, listing
    what is there, if nothing at the path is an event log; IoFailureError if it cannot be read.
    """
    root = Path(path).expanduser()
    return _event_logs(str(root), *parts_of(root))


def read_files(paths: Sequence[Path]) -> EventLogs:
    """Read the event logs in files of one folder: those of one log, or one file. Raises as `read` does; of several
    files, those without events are passed over.
    """
    parts, others = list[Part](), list[PassedOver]()
    for path in paths:
        try:
            found, passed = parts_of(path)
        except BadInputError as error:
            if len(paths) == 1:
                raise
            found, passed = [], [PassedOver(name=str(path), reason=error.message)]
        parts, others = [*parts, *found], [*others, *passed]
    return _event_logs(str(paths[0].parent if len(paths) > 1 else paths[0]), parts, others)


def _event_logs(place: str, parts: Sequence[Part], others: Sequence[PassedOver]) -> EventLogs:
    joined, repeated = logs(parts)
    applications, copies = _without_copies([application for log in joined for application in _applications(log)])
    passed = (*others, *repeated, *copies)
    if not applications or not any(application.events for application in applications):
        raise BadInputError(
            f"{place} holds no Spark event log; Spark writes them where spark.eventLog.dir says",
            [f"{other.name}: {other.reason}" for other in passed[:20]]
            + [f"{loss}; each event is a line" for application in applications for loss in application.losses][:20],
            code="no-log",
        )
    return EventLogs(path=place, applications=tuple(applications), passed_over=passed)


def _without_copies(applications: Sequence[Application]) -> tuple[list[Application], list[PassedOver]]:
    """Return each run once, and the files of the duplicates: an unfinished file may stay next to the complete one, and
    a log may be copied.
    """
    best: dict[object, Application] = {}
    for place, application in enumerate(applications):
        known = application.app_id and application.started_at_s is not None
        run = (application.app_id, application.attempt, application.started_at_s) if known else place
        before = best.get(run)
        if before is None or (application.ended, application.events) > (before.ended, before.events):
            best[run] = application
    kept = [application for application in applications if any(application is one for one in best.values())]
    return kept, [
        PassedOver(name=file, reason=f"another file has the same run of {application.app_id}")
        for application in applications
        if not any(application is one for one in kept)
        for file in application.files
    ]


def _applications(log: LogFiles) -> list[Application]:
    collector = Collector()
    for gap in log.gaps:
        collector.current.losses.add(gap, where=log.parts[0].name)
    for part in log.damaged:
        collector.current.losses.add("part of the log that cannot be read", where=part.name, example=part.damage)
    for part in log.parts:
        _collect(part, collector)
    tallies = collector.finish()
    return [tally.application() for tally in tallies if tally.events or len(tallies) == 1]


def _collect(part: Part, collector: Collector) -> None:
    with part.open() as stream:
        for number, event in events(decode_stream(stream), name=part.name, losses=collector.current.losses):
            collector.add(event, name=part.name, line=number)
