"""Listings whose page says that it follows itself end with an error, on every cloud that hands out tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from types import SimpleNamespace
from typing import Any

import pytest
from emulated_cloud import QUICK
from servers import Answer, ReceivedRequest, served

from planner.clouds.aws.client import LiveService
from planner.clouds.azure.client import Access, LiveArm
from planner.clouds.calls.azure import client_arguments
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


PAGES = {"": (["one", "two"], "second"), "second": (["three"], "third"), "third": (["four"], "")}


class PagedAws(LiveService):
    """EC2 with three pages."""

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        names, following = PAGES[request.get("NextToken", "")]
        return {"Volumes": [{"name": name} for name in names], "NextToken": following}


class PagedGcp(LiveCompute):
    """Compute Engine with three pages."""

    def _call(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        names, following = PAGES[request["page_token"]]
        return {"items": [{"name": name} for name in names], "nextPageToken": following}


def azure_page(received: ReceivedRequest, url: str) -> Answer:
    names, following = PAGES[received.query.get("page", "")]
    link = {"nextLink": f"{url}/subscriptions/s/resourcegroups?page={following}"} if following else {}
    return Answer({"value": [{"name": name, "location": "eastus"} for name in names], **link})


def test_every_page_of_a_listing_counts() -> None:
    expected = ["one", "two", "three", "four"]
    aws = PagedAws("ec2", "us-east-1", policy=QUICK).items("describe_volumes", "Volumes")
    assert [item["name"] for item in aws] == expected
    assert [item["name"] for item in PagedGcp(policy=QUICK).items("networks.list")] == expected
    url = ""
    with served(lambda received: azure_page(received, url)) as azure:
        url, arm = azure.url, LiveArm(policy=QUICK)
        token = SimpleNamespace(get_token=lambda *_, **__: SimpleNamespace(token="t", expires_on=2**33))
        arm.access = Access(subscription="s", credentials=token, arguments=client_arguments(azure.url))
        assert [item["name"] for item in arm.items("resource-group")] == expected


def listings() -> dict[str, Iterator[dict[str, Any]]]:
    return {
        "aws": SameAws("ec2", "us-east-1", policy=QUICK).items("describe_spot_price_history", "SpotPriceHistory"),
        "gcp": SameGcp(policy=QUICK).items("zones.list"),
    }


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_a_listing_without_end_is_an_error(cloud: str) -> None:
    with pytest.raises(IoFailureError, match="came twice"):
        list(islice(listings()[cloud], 100))
