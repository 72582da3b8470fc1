"""Arguments of `recommend`, as scripts/write_request_arguments.py writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

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
    prefixes: str | int | None
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
