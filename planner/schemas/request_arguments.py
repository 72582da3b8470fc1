"""Arguments of `recommend`, `up` and `run`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

from planner.schemas.request_forms import NetworkView, NodeLimit, Objective, OwnPrice


class RequestArguments(TypedDict, total=False):
    """Options of `plan`, as `recommend` takes them."""

    arch: str | None
    assume: Mapping[str, str | float] | str | Sequence[str] | None
    budget: str | float | None
    budget_usd: str | float | None
    capacity: Mapping[str, int] | str | Sequence[str]
    catalog: str | Sequence[str] | None
    catalogs: str | Sequence[str] | None
    cloud: str | Sequence[str] | None
    compression: str | None
    compute: str | float | None
    compute_bytes_per_s_per_vcpu: str | float | None
    confidence: str | float | None
    deadline: str | float | None
    deadline_s: str | float | None
    discount: Mapping[str, str | float] | str | Sequence[str] | float
    engine: str
    evidence: str
    exclude: str | Sequence[str] | None
    files: str | int | None
    format: str | None
    head_room: str | float | None
    input: str | None
    input_region: str | None
    instance: str | Sequence[str] | None
    instances: str | Sequence[str] | None
    interruptions: str | float | None
    interruptions_per_node_hour: str | float | None
    map_ratio: str | float
    max_nodes: str | int
    max_vcpus: str | int | None
    min_memory: str | float | None
    min_memory_bytes: str | float | None
    model: str
    most_data: bool
    network: NetworkView
    network_distribution: str | None
    node_limits: Sequence[NodeLimit]
    nodes: str | int | None
    objective: Objective
    output: str | None
    output_region: str | None
    own_price: Mapping[str, float | str] | str | Sequence[str]
    own_prices: Sequence[OwnPrice]
    paper: bool
    previous_generations: bool
    pricing: str | Sequence[str] | None
    reduce_ratio: str | float
    region: str | Sequence[str] | None
    regions: str | Sequence[str] | None
    scale: Mapping[str, float] | str | Sequence[str]
    sort_deadline: str | float | None
    sort_deadline_s: str | float | None
    top: str | int
    unknown: str | None
    what_if: Mapping[str, float] | str | Sequence[str]
    zones: str | int


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
    key: Sequence[str] | None
    lend_credentials: bool
    memory_bytes: int | None
    model: str
    no_header: bool
    nodes: int | None
    output: str | None
    separator: str | None
    skew: bool
    threads: int | None
    unique: bool
    wheelhouse: str | PathLike[str] | None
    zero_terminated: bool
