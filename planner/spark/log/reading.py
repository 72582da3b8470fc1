"""Reading the event logs at a path: every application in them, what was passed over, and what was lost."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from planner.compression.decoding import decode_stream
from planner.errors import BadInputError
from planner.spark.application.application import Application
from planner.spark.application.loss import Loss
from planner.spark.log.collecting import Collector
from planner.spark.log.lines import events
from planner.spark.log.parts import Part, PassedOver, parts_of
from planner.spark.log.rollover import LogFiles, logs


@dataclass(frozen=True, kw_only=True)
class EventLogs:
    """What was read from a path: `applications` in the order of their files, and files that were `passed_over`."""

    path: str
    applications: tuple[Application, ...]
    passed_over: tuple[PassedOver, ...]

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What could not be read, of all applications."""
        return tuple(loss for application in self.applications for loss in application.losses)

    def only(self, app_id: str | None = None) -> Application:
        """Return the one application, or the one of this id. Raises BadInputError that names those there are."""
        fitting = [a for a in self.applications if app_id is None or a.app_id == app_id]
        if len(fitting) == 1:
            return fitting[0]
        names = [f"{a.app_id or 'unknown'} in {', '.join(a.files[:1])}" for a in fitting or self.applications]
        if not fitting:
            raise BadInputError(f"{self.path} holds no application {app_id}", names[:20])
        raise BadInputError(f"{self.path} holds {len(names)} applications, give the file of one, or its id", names[:20])

    def runs(self, app: str | None = None) -> tuple[Application, ...]:
        """Return the runs of one job: all applications, or those of this id or name, where they bear one name.

        Raises BadInputError that names those there are.
        """
        fitting = [a for a in self.applications if app in (None, a.app_id, a.name) and a.name]
        if (
            len(fitting) > 1
            and len({a.name for a in fitting}) == 1
            and len({a.app_id for a in fitting}) == len(fitting)
        ):
            return tuple(fitting)
        return (self.only(app),)


def read(path: str | os.PathLike[str]) -> EventLogs:
    """Read the Spark event logs at a path: a file, a directory or an archive, in any of Spark's compressions.

    What cannot be read is counted in the `losses` of its application, with file and line. Raises BadInputError, with
    what is there, when nothing at the path is an event log; IoFailureError when it cannot be read.
    """
    root = Path(path).expanduser()
    parts, others = parts_of(root)
    joined, repeated = logs(parts)
    passed = (*others, *repeated)
    applications = [application for log in joined for application in _applications(log)]
    if not applications:
        raise BadInputError(
            f"{root} holds no Spark event log; Spark writes them where spark.eventLog.dir says",
            [f"{other.name}: {other.reason}" for other in passed[:20]],
        )
    return EventLogs(path=str(root), applications=tuple(applications), passed_over=passed)


def _applications(log: LogFiles) -> list[Application]:
    collector = Collector()
    for gap in log.gaps:
        collector.current.losses.add(gap, where=log.parts[0].name)
    for part in log.parts:
        _collect(part, collector)
    tallies = collector.finish()
    return [tally.application() for tally in tallies if tally.events or len(tallies) == 1]


def _collect(part: Part, collector: Collector) -> None:
    with part.open() as stream:
        for number, event in events(decode_stream(stream), name=part.name, losses=collector.current.losses):
            collector.add(event, name=part.name, line=number)
