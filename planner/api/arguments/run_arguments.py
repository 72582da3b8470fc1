"""Arguments of `up` and `run`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict


class RentalArguments(TypedDict, total=False):
    """How to rent machines, as `up` and `run` take it."""

    image: str | None
    jump: str | None
    max_cost: float | None
    max_cost_per_month: float | None
    max_hours: str | None
    no_public_address: bool
    node_identity: str | None
    or_next: int
    pricing: Literal["on-demand", "spot"]
    region: str | Sequence[str] | None
    reservation: str | None
    ssh_from: str | None
    staging: bool
    subnet: str | None
    tag: Mapping[str, str] | Sequence[str] | None


class LinkArguments(TypedDict, total=False):
    """Caps of the links of emulated nodes, as `run` takes them."""

    bucket: str | None
    burst_rate: str | None
    distribution: str | None
    rate: str | None
    rate_factor: float
    redraw: str | float | None
    seed: int | None


class EffortArguments(TypedDict, total=False):
    """How rented machines are measured before a sort, as `run` takes it."""

    screen_seconds: str
    screen_size: str | None


class RunArguments(RentalArguments, LinkArguments, EffortArguments, total=False):
    """Options of `planner run`, as `run` takes them."""

    arch: str | None
    detach: bool
    directory: str | PathLike[str]
    format: Literal["records", "lines", "csv", "parquet"] | None
    input: str | None
    instance: str | Sequence[str] | None
    keep: bool
    key: str | Sequence[str] | None
    lend_credentials: bool
    memory_bytes: int | None
    model: str
    no_header: bool | None
    nodes: int | None
    output: str | None
    separator: str | None
    skew: bool
    threads: int | None
    unique: bool
    wheelhouse: str | PathLike[str] | None
    zero_terminated: bool
