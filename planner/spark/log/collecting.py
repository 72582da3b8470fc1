"""Collects the events of one log's files into applications: mostly one, but files may hold several."""

from __future__ import annotations

from typing import Final

from planner.spark.log.fields import Event, FieldError, RepeatedError, seconds, text
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
