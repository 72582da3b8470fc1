"""The directory of a run on this machine, with a journal that outlives the process that writes it.

Every line of the journal is on the disk before the call that it announces. The journal only helps; the cloud's own list
of resources with the run's tag decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from planner.config.atomic_file import hold_lock
from planner.config.paths import user_directory
from planner.errors import BadInputError, IoFailureError, nearest

if TYPE_CHECKING:
    from planner.clouds.order import Order
    from planner.clouds.protocol import Resource

JOURNAL: Final = "journal.jsonl"
_ALPHABET: Final = "bcdfghjkmnpqrstvwxz23456789"


def new_run_id(now: datetime) -> str:
    """Return a unique run name: the minute of its start and six random characters."""
    return f"r{now:%Y%m%d-%H%M}-{''.join(secrets.choice(_ALPHABET) for _ in range(6))}"


def runs_directory() -> Path:
    """Return the folder of runs: $PLANNER_RUNS, or one in the user's data directory."""
    return user_directory("runs")


def origin() -> str:
    """Return an id that distinguishes the runs kept here from those of other machines and of this one's other users."""
    ids = [path.read_text(encoding="ascii") for path in (Path("/etc/machine-id"),) if path.exists()]
    here = [*ids, platform.node(), str(runs_directory().resolve())]
    return hashlib.sha256("\n".join(here).encode()).hexdigest()[:8]


def known_runs() -> tuple[str, ...]:
    """Return the ids of all runs that have a directory, oldest first."""
    return tuple(sorted(path.parent.name for path in runs_directory().glob(f"*/{JOURNAL}")))


@dataclass(frozen=True, kw_only=True)
class Event:
    """A line of the journal: time, kind, and details."""

    at: datetime
    what: str
    details: dict[str, Any]


@dataclass(frozen=True)
class RunDirectory:
    """The directory of one run. It is a Journal for providers.

    It remembers the lines that this process has read or noted: a take-down knows them where the disk is full or the
    directory gone. A line that could not be written is written with the next one.
    """

    path: Path
    _lines: dict[str, None] = field(default_factory=dict, compare=False, repr=False)
    _unwritten: list[str] = field(default_factory=list, compare=False, repr=False)

    @classmethod
    def create(cls, order: Order) -> Self:
        """Make the directory of a new run and write its order. Raises IoFailureError when the disk refuses."""
        made = cls(runs_directory() / order.run)
        try:
            made.path.mkdir(parents=True, mode=0o700)
        except OSError as error:
            raise IoFailureError(
                f"{made.path}: {error.strerror}; nothing was created in the cloud", code="io"
            ) from error
        made.note("order", **order.to_dict())
        return made

    @classmethod
    def open(cls, run: str) -> Self:
        """Return the directory of an existing run. Raises BadInputError when there is none."""
        from planner.clouds.order import RUN_NAME

        directory = cls(runs_directory() / run)
        if not RUN_NAME.fullmatch(run) or not (directory.path / JOURNAL).exists():
            raise BadInputError(
                f"no run {run}.{nearest(run, known_runs())}",
                [
                    f"`planner cluster status` lists those in {runs_directory()}",
                    "`planner cluster sweep` finds those that other machines started",
                ],
                code="no-such-run",
            )
        return directory

    @property
    def key(self) -> Path:
        """The run's private SSH key, readable by its owner alone and removed with the cluster."""
        return self.path / "key" / "id_ed25519"

    def note(self, what: str, **details: Any) -> None:
        """Append a line and wait until it is on the disk. Raises IoFailureError when the disk refuses."""
        line = json.dumps({"at": datetime.now(UTC).isoformat(), "what": what, **details})
        self._lines[line] = None
        self._unwritten.append(line)
        waiting = list(self._unwritten)
        try:
            with (self.path / JOURNAL).open("ab+") as journal:
                journal.seek(-1 if journal.tell() else 0, os.SEEK_END)
                is_torn = journal.read(1) not in (b"", b"\n")
                journal.write(b"\n" * is_torn + "".join(f"{line}\n" for line in waiting).encode())
                journal.flush()
                os.fsync(journal.fileno())
        except OSError as error:
            raise IoFailureError(f"{self.path / JOURNAL}: {error.strerror}", code="io") from error
        del self._unwritten[: len(waiting)]

    def intend(self, resource_kind: str, *, name: str, region: str) -> None:
        """See Journal."""
        self.note("intent", kind=resource_kind, name=name, region=region)

    def made(self, resource: Resource) -> None:
        """See Journal."""
        self.note("made", kind=resource.kind, id=resource.id, region=resource.region, name=resource.name)

    def creation_refused(self, resource_kind: str, *, name: str) -> None:
        """See Journal."""
        self.note("not made", kind=resource_kind, name=name)

    def ordered(self) -> tuple[Resource, ...]:
        """See Journal."""
        from planner.clouds.protocol import Resource

        made, run = dict[tuple[str, str], Resource](), self.path.name
        for event in self.events():
            if event.what == "made":
                resource = Resource(**event.details, run=run)
                made[resource.key] = resource
            elif event.what == "gone":
                made = {key: resource for key, resource in made.items() if resource.id not in event.details["ids"]}
        return tuple(made.values())

    def record_gone(self, resources: Iterable[Resource]) -> None:
        """Record that resources are proven gone."""
        if ids := [resource.id for resource in resources]:
            self.note("gone", ids=ids)

    def events(self) -> tuple[Event, ...]:
        """Return the journal, without a line cut off by a crash or a full disk: its call was never made. Raises OSError
        where it cannot be read, and this process knows no line of it.
        """
        return tuple(event for line in self._known_lines() if (event := _event(line)))

    def _known_lines(self) -> Iterable[str]:
        """Return the lines on the disk, then those that are known here alone."""
        try:
            lines = (self.path / JOURNAL).read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            if not self._lines:
                raise
            return tuple(self._lines)
        known = dict.fromkeys((*filter(None, lines), *self._lines))
        self._lines.update(known)
        return known

    def order(self) -> Order:
        """Return the order. Raises BadInputError when the run ended before it was written, or cannot be read."""
        from planner.clouds.order import Order

        orders = [event for event in self.events() if event.what == "order"]
        if not orders:
            raise BadInputError(
                f"{self.path}: the journal has no order",
                ["if it was cut, `planner cluster sweep` ends by its tags what the run created"],
                code="damaged-journal",
            )
        try:
            return Order.from_dict(orders[-1].details)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInputError(
                f"{self.path}: its order cannot be read ({error})",
                [
                    "another version of the planner wrote it",
                    "end the run with that version, or by `planner cluster sweep`",
                ],
                code="damaged-journal",
            ) from error

    def regions(self) -> tuple[str, ...]:
        """Return the regions in which the run may have created resources: of a damaged journal, all that it may use."""
        named = [event.details["region"] for event in self.events() if event.what == "intent"]
        if not named or not all(map(_event, self._known_lines())):
            named += [region for choice in self.order().choices for region in choice.regions]
        return tuple(dict.fromkeys(named))

    def unsure(self) -> bool:
        """Return whether a create call without a recorded outcome may have been made."""
        of_a_kind = ("intent", "made", "not made")
        last = {event.details["kind"]: event.what for event in self.events() if event.what in of_a_kind}
        return "intent" in last.values()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the run against this machine's other processes. Raises BadInputError when one is working on it."""
        with ExitStack() as stack:
            try:
                stack.enter_context(hold_lock(self.path / "lock", wait=False))
            except BlockingIOError as error:
                raise BadInputError(
                    f"run {self.path.name}: another process is at work on it; interrupt that first (it then cleans up)",
                    code="locked",
                ) from error
            yield

    def forget_key(self) -> None:
        """Remove the private key."""
        shutil.rmtree(self.key.parent, ignore_errors=True)


def _event(line: str) -> Event | None:
    with suppress(ValueError, KeyError, TypeError, AttributeError):  # cut off, or not a line of this journal
        document = json.loads(line)
        return Event(at=datetime.fromisoformat(document.pop("at")), what=document.pop("what"), details=document)
    return None
