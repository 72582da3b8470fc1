"""Conversion of the SDK's answers by the client."""

from __future__ import annotations

from azure.mgmt.network.models import VirtualNetwork

from planner.clouds.azure.client import _as_dict


def test_an_answer_that_the_sdk_did_not_read_has_the_same_fields() -> None:
    network = VirtualNetwork({"location": "eastus", "properties": {"flowTimeoutInMinutes": 4}})
    answer = {"location": "eastus", "properties": {"flowTimeoutInMinutes": 4}}
    assert _as_dict(network) == _as_dict(answer) == answer
