"""The arguments of `recommend` for type checkers, written by `scripts/write_request_arguments.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.schemas.request_forms import NetworkView, NodeLimit, Objective, OwnPrice


class RequestArguments(TypedDict, total=False):
    """What `recommend` takes beside the data: the options of `plan` under their names, and fields of `Request`.

    Sizes, durations and rates are texts with units, or bytes, seconds and bytes/s. What may be given several times is a
    text with commas or a sequence; what has a name and an amount is a mapping or a text such as `network=1.5`.
    """

    arch: str | None
    assume: Mapping[str, str | float] | str | None
    budget: str | float | None
    budget_usd: str | float | None
    capacity: Mapping[str, int] | str
    catalog: str | Sequence[str]
    catalogs: str | Sequence[str]
    cloud: str | Sequence[str]
    compute: str | float | None
    compute_bytes_per_s_per_vcpu: str | float | None
    confidence: str | float | None
    deadline: str | float | None
    deadline_s: str | float | None
    discount: Mapping[str, str | float] | str | float
    engine: str
    evidence: str
    exclude: str | Sequence[str]
    head_room: str | float | None
    input: str | None
    instance: str | Sequence[str]
    instances: str | Sequence[str]
    interruptions: float | None
    interruptions_per_node_hour: float | None
    map_ratio: str | float
    max_nodes: str | int
    max_vcpus: str | int | None
    model: str
    most_data: bool
    network: NetworkView
    network_distribution: str | None
    node_limits: Sequence[NodeLimit]
    nodes: str | int | None
    objective: Objective
    output: str | None
    own_price: Mapping[str, float] | str
    own_prices: Sequence[OwnPrice]
    paper: bool
    previous_generations: bool
    pricing: str
    reduce_ratio: str | float
    region: str | Sequence[str]
    regions: str | Sequence[str]
    scale: Mapping[str, float] | str
    sort_deadline: str | float | None
    sort_deadline_s: str | float | None
    top: str | int
    what_if: Mapping[str, float] | str
    zones: str | int
