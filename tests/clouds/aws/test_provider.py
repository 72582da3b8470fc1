"""The account-wide questions of AWS's provider."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from planner.clouds.aws.provider import AwsProvider
from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.cloud_errors import PermissionDeniedError


class ClosedElsewhere:
    """An account whose organisation closes all regions but one (nccgroup/ScoutSuite issue 685)."""

    def __init__(self, region: str) -> None:
        self.region = region

    def call(self, operation: str, **request: Any) -> dict[str, Any]:
        if self.region != "eu-central-1":
            raise PermissionDeniedError(f"{operation} in {self.region}: explicit deny in a service control policy")
        return {"Arn": "arn:aws:iam::123456789012:user/me", "Account": "123456789012"}

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        self.call(operation)
        yield {"RegionName": "eu-central-1"}


def test_what_holds_for_the_account_is_asked_in_its_own_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep for forgotten machines could not begin there."""
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    provider = AwsProvider(policy=RetryPolicy(), connect=lambda _, region: ClosedElsewhere(region))
    assert provider.regions() == ("eu-central-1",)
    assert (provider.identity(), provider.account()) == ("123456789012:user/me", "123456789012")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(PermissionDeniedError, match="us-east-1"):
        provider.regions()
