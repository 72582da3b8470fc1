"""What is asked for as people say it in Python and on the command line: sizes and durations as texts, two names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from planner.errors import BadInputError
from planner.schemas.plan import NetworkView, NodeLimit, Objective, OwnPrice
from planner.units import parse_duration, parse_rate, parse_share, parse_size


class Asked(TypedDict, total=False):
    """What `recommend` takes beside data and model: the options of `plan` under their names, then the fields of
    `Request` whose names differ.

    Sizes, durations and rates are texts with units, or bytes, seconds and bytes/s. What may be given several times is a
    text with commas or a sequence; what has a name and an amount is a mapping or a text such as `network=1.5`.
    """

    most_data: bool
    map_ratio: str | float
    reduce_ratio: str | float
    compute: str | float | None
    profile: str | None
    option: Mapping[str, str] | str | None
    cloud: str | Sequence[str]
    catalog: str | Sequence[str]
    region: str | Sequence[str]
    input: str | None
    output: str | None
    zones: str | int
    instance: str | Sequence[str]
    exclude: str | Sequence[str]
    arch: str | None
    previous_generations: bool
    deadline: str | float | None
    sort_deadline: str | float | None
    confidence: str | float | None
    budget: str | float | None
    nodes: str | int | None
    max_nodes: str | int
    max_vcpus: str | int | None
    capacity: Mapping[str, int] | str
    head_room: str | float | None
    objective: Objective
    pricing: str
    interruptions: float | None
    discount: Mapping[str, str | float] | str | float
    own_price: Mapping[str, float] | str
    engine: str
    evidence: str
    assume: Mapping[str, str | float] | str | None
    what_if: Mapping[str, float] | str
    network: NetworkView
    network_distribution: str | None
    paper: bool
    top: str | int
    catalogs: str | Sequence[str]
    regions: str | Sequence[str]
    instances: str | Sequence[str]
    budget_usd: float | None
    scale: Mapping[str, float] | str
    interruptions_per_node_hour: float | None
    compute_bytes_per_s_per_vcpu: float | None
    own_prices: Sequence[OwnPrice]
    node_limits: Sequence[NodeLimit]


def is_plain(assumed: str) -> bool:
    """Whether what `--assume` is given under this name is a plain number: dollars or watts; the rest are rates."""
    return assumed == "price" or assumed.partition(":")[0] == "power"


def the_size(data: str | float | None, *, most_data: bool) -> int:
    """Return the bytes to sort; 1, which stands for nothing, where the most data is asked for.

    Raises BadInputError where neither is said, or both are.
    """
    if data is None and not most_data:
        raise BadInputError("say how much to sort: --data 100TB; or ask `plan`: --most-data --sort-deadline 60s")
    if data is not None and most_data:
        raise BadInputError("--data and --most-data contradict each other: give one")
    if data is None:
        return 1
    return parse_size(data if isinstance(data, str) else f"{data}B")


def in_seconds(duration: str | float) -> float:
    """Return the seconds of a text with a unit, or of a number of seconds. Raises BadInputError for what is none."""
    return parse_duration(duration if isinstance(duration, str) else f"{duration}s")


def in_rate(rate: str | float) -> float:
    """Return the bytes/s of a text with a unit, or of a number. Raises BadInputError for what is none."""
    return parse_rate(rate if isinstance(rate, str) else f"{rate}B/s")


def in_share(share: str | float) -> float:
    """Return the share of one of `95%`, `0.95` or a number. Raises BadInputError for what is none."""
    return parse_share(share) if isinstance(share, str) else float(share)
