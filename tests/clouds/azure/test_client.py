"""The client: conversion of the SDK's answers, and repeated calls."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest
from azure.mgmt.network.models import VirtualNetwork
from servers import Answer, ReceivedRequest, served

from planner.clouds.azure.client import Access, LiveArm, _as_dict
from planner.clouds.calls.azure import client_arguments
from planner.clouds.calls.retry import RetryPolicy


def test_an_answer_that_the_sdk_did_not_read_has_the_same_fields() -> None:
    network = VirtualNetwork({"location": "eastus", "properties": {"flowTimeoutInMinutes": 4}})
    answer = {"location": "eastus", "properties": {"flowTimeoutInMinutes": 4}}
    assert _as_dict(network) == _as_dict(answer) == answer


def test_a_call_that_azure_puts_off_is_repeated_when_azure_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    later = Answer({"error": {"code": "TooManyRequests", "message": "later"}}, 429, {"Retry-After": "7"})
    answers = [later, Answer({"name": "run-1", "location": "eastus"})]
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)

    def answer(_: ReceivedRequest) -> Answer:
        return answers.pop(0)

    token = SimpleNamespace(get_token=lambda *_, **__: SimpleNamespace(token="t", expires_on=2**33))
    with served(answer) as azure:
        arm = LiveArm(policy=RetryPolicy(first_pause_s=0.1))
        arm.access = Access(subscription="s", credentials=token, arguments=client_arguments(azure.url))
        assert arm.get("resource-group", "run-1")["location"] == "eastus"
    assert pauses == [7]
