"""Listings whose page says that it follows itself end with an error, on every cloud that hands out tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from emulated_cloud import QUICK

from planner.clouds.aws.client import LiveService
from planner.clouds.gcp.client import LiveCompute
from planner.errors import IoFailureError


class SameAws(LiveService):
    """EC2 that gives one token for ever, as its spot price history did (aws-sdk-java-v2#927)."""

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        return {"SpotPriceHistory": [{"SpotPrice": "0.1"}], "NextToken": "again"}


class SameGcp(LiveCompute):
    """Compute Engine that gives one token for ever."""

    def _call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        return {"items": [{"name": "one"}], "nextPageToken": "again"}


def listings() -> dict[str, Iterator[dict[str, Any]]]:
    return {
        "aws": SameAws("ec2", "us-east-1", policy=QUICK).items("describe_spot_price_history", "SpotPriceHistory"),
        "gcp": SameGcp(policy=QUICK).items("zones.list"),
    }


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_listing_without_end_is_an_error(cloud: str) -> None:
    with pytest.raises(IoFailureError, match="came twice"):
        list(islice(listings()[cloud], 100))
