"""Arguments of sorts and measurements, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, Required, TypedDict

from planner.api.progress import Step, TimedStep


class ComparisonArguments(TypedDict, total=False):
    """Contents of files, and their order, as `find_disorder` takes them."""

    format: Literal["records", "lines", "csv", "parquet", "jsonl", "arrow", "orc"] | None
    key: str | Sequence[str] | None
    key_offset: int
    key_size: int | None
    lines: bool
    no_header: bool | None
    quote: str | None
    record_size: int | None
    separator: str | None
    stable: bool
    unique: bool
    zero_terminated: bool


class SortArguments(ComparisonArguments, total=False):
    """Options of `planner sort`, as `sort` takes them."""

    compress: Literal["gz", "zst", "none"] | None
    consume_input: bool
    copies: int
    directory: str | PathLike[str] | None
    file_bytes: int | None
    force: bool
    limit: int | None
    memory_bytes: int | None
    merge: bool
    more_outputs: Sequence[str | PathLike[str]]
    output_format: Literal["csv", "tsv", "jsonl", "arrow", "parquet"] | None
    ray: str | None
    resume: bool
    spill: Literal["auto", "lz4", "plain"]
    temp_dirs: Sequence[str | PathLike[str]]
    threads: int | None
    to: str | None
    uniform: bool
    union_by_name: bool
    wait_s: float


class DiskArguments(TypedDict, total=False):
    """What `measure("disk")` takes."""

    directories: Required[Sequence[str | PathLike[str]]]
    file_bytes: int | None
    layout: Literal["jbod", "raid0", "both"]
    machine_type: str | None
    mode: Literal["mixed", "read", "write", "all"]
    on_progress: Callable[[TimedStep], None] | None
    queue_depth: int | None
    repeats: int
    seconds: float


class SmallIoArguments(TypedDict, total=False):
    """What `measure("small-io")` takes."""

    directory: Required[str | PathLike[str]]
    file_bytes: int | None
    machine_type: str | None
    mode: Literal["mixed", "read", "write", "all"]
    on_progress: Callable[[TimedStep], None] | None
    repeats: int
    seconds: float


class NetArguments(TypedDict, total=False):
    """What `measure("net")` takes."""

    agents: Required[Sequence[str]]
    connections: int
    doubling: bool
    machine_type: str | None
    on_run: Callable[[int], None] | None
    repeats: int
    seconds: float
    token: Required[str]
    warm_up_s: float


class SortTestArguments(TypedDict, total=False):
    """What `measure("sort")` takes."""

    data_bytes: int
    machine_type: str | None
    on_progress: Callable[[Step], None] | None
    repeats: int
    threads: int | None
