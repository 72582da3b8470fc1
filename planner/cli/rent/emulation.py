"""Options that describe an emulated cluster, shared by every command that makes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from planner.cli.shell.option_values import amount
from planner.units import parse_duration

if TYPE_CHECKING:
    from planner.clusters.emulated.shaping import Shaping

Nodes = Annotated[int, Option(help="How many nodes, besides the head.")]
Rate = Annotated[
    str | None, Option(help="Cap on each node's link, both ways: 400Mbit, or a list with one rate per node.")
]
Distribution = Annotated[
    str | None, Option(help="Draw caps from a cloud's measured bandwidths, A to H of the study by Uta and Obaseki.")
]
RateFactor = Annotated[float, Option(help="Multiply the drawn caps: 0.1.")]
BurstRate = Annotated[str | None, Option(help="With --bucket: the cap while tokens are left; --rate refills them.")]
BucketSize = Annotated[str | None, Option("--bucket", help="Size of each link's token bucket, full at first: 200MB.")]
Redraw = Annotated[str | None, Option(help="Draw new caps this often during the run: 10s.")]
Seed = Annotated[int | None, Option(help="Seed of the draws; without it they differ each time.")]


def shaping_of(given: Mapping[str, Any]) -> Shaping:
    """Return the shaping given by a command's arguments, named as above. Raises BadInputError."""
    from planner.clusters.emulated.shaping import parse_shaping

    return parse_shaping(
        rate=given["rate"],
        distribution=given["distribution"],
        rate_factor=given["rate_factor"],
        bucket=given["bucket"],
        burst_rate=given["burst_rate"],
        redraw=None if given["redraw"] is None else amount("--redraw", parse_duration, given["redraw"]),
        seed=given["seed"],
    )
