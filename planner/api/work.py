"""The job of a run: what to sort and how, whatever it runs on."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from planner.api.input_format import InputFormat


@dataclass(frozen=True, kw_only=True)
class Work:
    """What to run, beside where. `input` and `output` are prefixes in an object store, or paths; `is_lent` hands the
    store's keys to the nodes. `data` is needed where there is no `input`. `is_detached` leaves the run as soon as its
    sort has begun. `directory` and `threads` are for runs on this machine.
    """

    data: str | None
    model: str
    instances: tuple[str, ...] = ()
    nodes: int | None = None
    arch: str | None = None
    memory_bytes: int | None = None
    skew: bool = False
    keep: bool = False
    wheelhouse: Path | None = None
    input: str | None = None
    output: str | None = None
    is_lent: bool = False
    is_detached: bool = False
    form: InputFormat = field(default_factory=InputFormat)
    directory: Path = Path()
    threads: int | None = None
