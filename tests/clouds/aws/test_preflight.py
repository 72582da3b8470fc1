"""Quotas of EC2, counted by groups of instance families."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from planner.clouds.aws.preflight import quota_code, quota_vcpus, spot_role_finding, used_vcpus
from planner.clouds.cloud_errors import PermissionDeniedError, RefusedCallError


@pytest.mark.parametrize(
    ("instance_type", "code"),
    [
        ("i4i.large", "L-1216C47A"),
        ("g5.xlarge", "L-DB2E81BA"),
        ("p5.48xlarge", "L-417A185B"),
        ("x2idn.16xlarge", "L-7295265B"),
    ],
)
def test_families_count_towards_their_own_quota(instance_type: str, code: str) -> None:
    assert quota_code(instance_type) == code


class Region:
    """Three machines that run: two of 4 vCPUs, one of them a spot instance, and one whose family has another quota."""

    region = "us-east-1"

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        cpu = {"CpuOptions": {"CoreCount": 2, "ThreadsPerCore": 2}}
        yield {
            "Instances": [
                {"InstanceType": "i4i.xlarge", **cpu},
                {"InstanceType": "i4i.xlarge", "InstanceLifecycle": "spot", **cpu},
                {"InstanceType": "p5.48xlarge", **cpu},
            ]
        }

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        raise NotImplementedError


def test_spot_instances_count_towards_a_quota_of_their_own() -> None:
    assert used_vcpus(Region(), "i4i.large") == 4
    assert used_vcpus(Region(), "i4i.large", spot=True) == 4


class OnBareMetal(Region):
    """One machine, of which EC2 states no CPU options, as of bare metal."""

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        if operation == "describe_instance_types":
            yield {"VCpuInfo": {"DefaultVCpus": 128}}
        else:
            yield {"Instances": [{"InstanceType": "i4i.metal"}] * 2}


def test_a_machine_without_cpu_options_counts_as_its_type() -> None:
    assert used_vcpus(OnBareMetal(), "i4i.large") == 2 * 128, "and not nothing"


def test_a_quota_whose_value_is_not_stated_is_unknown() -> None:
    class Quotas(Region):
        def call(self, operation: str, **_: Any) -> dict[str, Any]:
            return {"Quota": {"QuotaCode": "L-1216C47A"}}

    assert quota_vcpus(Quotas(), "i4i.large") is None


def test_spot_families_have_quotas_of_their_own() -> None:
    """Of those whose code is not at hand nothing is claimed."""
    names = ("i4i.large", "g5.xlarge", "p5.48xlarge", "x2idn.16xlarge")
    assert [quota_code(name, spot=True) for name in names] == ["L-34B43A08", "L-3819A6DF", "L-7212CCBC", None]


def test_the_role_without_which_nobody_gets_spot_instances() -> None:
    class Identities(Region):
        def __init__(self, error: Exception | None) -> None:
            self.error = error

        def call(self, operation: str, **asked: Any) -> dict[str, Any]:
            assert (operation, asked) == ("get_role", {"RoleName": "AWSServiceRoleForEC2Spot"})
            if self.error:
                raise self.error
            return {"Role": {}}

    assert spot_role_finding(Identities(None)).ok is True
    missing = spot_role_finding(Identities(RefusedCallError("no", code="NoSuchEntity")))
    assert missing.ok is None and "aws iam create-service-linked-role" in missing.text
    denied = spot_role_finding(Identities(PermissionDeniedError("no")))
    assert denied.ok is None and denied.text.startswith("not known")
