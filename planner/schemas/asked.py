"""What is asked for as people say it in Python and on the command line: sizes and durations as texts, two names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.errors import BadInputError
from planner.schemas.plan import NetworkView, NodeLimit, Objective, OwnPrice
from planner.units import parse_duration, parse_size


class Asked(TypedDict, total=False):
    """What `recommend` takes beside data and model: the fields of `Request`, with their defaults and meanings.

    `deadline` (of the whole run) and `sort_deadline` are texts with a unit, or seconds. Rates to `assume` are texts
    with units, or bytes/s.
    """

    catalogs: Sequence[str]
    regions: Sequence[str]
    instances: Sequence[str]
    exclude: Sequence[str]
    arch: str | None
    previous_generations: bool
    max_vcpus: int | None
    nodes: int | None
    max_nodes: int
    head_room: float | None
    deadline: str | float | None
    sort_deadline: str | float | None
    confidence: float | None
    budget_usd: float | None
    objective: Objective
    evidence: str
    pricing: str
    interruptions_per_node_hour: float | None
    assume: Mapping[str, str | float] | None
    network_distribution: str | None
    network: NetworkView
    own_prices: Sequence[OwnPrice]
    node_limits: Sequence[NodeLimit]
    input: str | None
    output: str | None
    zones: int
    map_ratio: float
    reduce_ratio: float
    compute_bytes_per_s_per_vcpu: float | None
    engine: str
    paper: bool
    top: int
    most_data: bool


def is_plain(assumed: str) -> bool:
    """Whether what `--assume` is given under this name is a plain number: dollars or watts; the rest are rates."""
    return assumed == "price" or assumed.partition(":")[0] == "power"


def the_size(data: str | int | None, *, most_data: bool) -> int:
    """Return the bytes to sort; 1, which stands for nothing, where the most data is asked for.

    Raises BadInputError where neither is said, or both are.
    """
    if data is None and not most_data:
        raise BadInputError("say how much to sort: --data 100TB; or ask: --most-data --sort-deadline 60s")
    if data is not None and most_data:
        raise BadInputError("--data and --most-data contradict each other: give one")
    if data is None:
        return 1
    return parse_size(data) if isinstance(data, str) else data


def in_seconds(duration: str | float | None) -> float | None:
    """Return the seconds of a text with a unit, or of a number of seconds. Raises BadInputError for other texts."""
    return parse_duration(duration) if isinstance(duration, str) else duration
