"""The job of a run, without its place, and what listens to the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from planner.api.clusters import Say, silent
from planner.schemas.door import Bytes, Count, Help, checked
from planner.schemas.plan import Request
from planner.schemas.request import options
from planner.sorting.sort_job import InputFormat

OnEvent = Callable[[dict[str, Any]], None]


def _plans(argument: str) -> Help:
    """Return the sentence of an argument that a plan has, too."""
    option = options()[argument][1]
    return Help(option.help, complete=option.complete if isinstance(option.complete, str) else "")


@checked
@dataclass(frozen=True, kw_only=True)
class Work:
    """Job of a run, without its place. `data` is required without `input`. `directory` and `threads` are for runs on
    this machine. `asked` are the words after `planner` that the user gave, which repeat the run: none for calls from
    Python.
    """

    data: Annotated[str | None, Help("How much to sort: 100TB.")]
    model: Annotated[
        str, Help("Cost model: a name that `planner models` lists, or a TOML file.", complete="models")
    ] = Request.model
    instance: Annotated[str | Sequence[str] | None, _plans("instance")] = None
    nodes: Annotated[int | None, _plans("nodes")] = None
    arch: Annotated[str | None, _plans("arch")] = None
    memory_bytes: Annotated[Bytes | None, Help("Memory for the sort: 2GB. Four fifths of what is free otherwise.")] = (
        None
    )
    skew: Annotated[bool, Help("Generate skewed keys; on a cluster.")] = False
    keep: Annotated[bool, Help("Leave the rented machines there in the end.")] = False
    wheelhouse: Annotated[Path | None, Help("Wheels for rented machines, made by `planner cluster wheelhouse`.")] = None
    input: Annotated[
        str | None,
        Help(
            "What to sort: s3://bucket/path; for emulated nodes also a file, a directory or a manifest here.",
            default="generated on the nodes",
        ),
    ] = None
    output: Annotated[
        str | None,
        Help(
            "Where it goes: s3://bucket/path; for emulated nodes also an empty directory here.",
            default="stays on the nodes",
        ),
    ] = None
    lend_credentials: Annotated[
        bool, Help("Hand the machines this environment's keys to the object store, by SSH.")
    ] = False
    detach: Annotated[bool, Help("Return as soon as the sort has begun; `planner cluster attach` has its result.")] = (
        False
    )
    form: InputFormat = field(default_factory=InputFormat)
    directory: Annotated[Path, Help("The disk to work on; everything written there is removed.", option="--dir")] = (
        Path()
    )
    threads: Annotated[Count | None, Help("Threads; all cores otherwise.")] = None
    asked: tuple[str, ...] = ()


@contextmanager
def _unwatched(name: str) -> Iterator[Any]:
    from planner.native import Progress

    del name
    yield Progress()


@contextmanager
def _ignored_events() -> Iterator[OnEvent]:
    yield lambda event: None


@dataclass(frozen=True, kw_only=True)
class Listeners:
    """Callbacks of a run: `say` gets messages, `watch` yields the progress of a named step on this machine, `events`
    gets the events of a sort on a cluster. `guard`, such as a signal handler, is held while machines are rented.
    """

    say: Say = silent
    watch: Callable[[str], AbstractContextManager[Any]] = _unwatched
    events: Callable[[], AbstractContextManager[OnEvent]] = _ignored_events
    guard: Callable[[], AbstractContextManager[None]] = nullcontext
