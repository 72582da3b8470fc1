"""Options that describe an emulated cluster, the same for every command that makes one."""

from __future__ import annotations

from typing import Annotated

from typer import Option

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
