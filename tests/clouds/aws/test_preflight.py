"""Quotas of EC2, counted by groups of instance families, and what types are not sold for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from emulated_cloud import volumes
from emulated_ec2 import choice, order

from planner.clouds.aws.account_settings import public_access_finding
from planner.clouds.aws.preflight import (
    _Checks,
    purchase_obstacle,
    quota_code,
    quota_vcpus,
    spot_role_finding,
    used_vcpus,
)
from planner.clouds.cloud_errors import NotFoundError, PermissionDeniedError, RefusedCallError


@pytest.mark.parametrize(
    ("instance_type", "code"),
    [
        ("i4i.large", "L-1216C47A"),
        ("g5.xlarge", "L-DB2E81BA"),
        ("gr6.4xlarge", "L-DB2E81BA"),
        ("p5.48xlarge", "L-417A185B"),
        ("x2idn.16xlarge", "L-7295265B"),
    ],
)
def test_families_count_towards_their_own_quota(instance_type: str, code: str) -> None:
    assert quota_code(instance_type) == code


class Region:
    """Three running machines: two of 4 vCPUs, one of them a spot instance, and one whose family has another quota."""

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
    """Two bare-metal machines, for which EC2 states no CPU options."""

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
    """No claim is made for families whose code is not at hand."""
    names = ("i4i.large", "g5.xlarge", "p5.48xlarge", "x2idn.16xlarge")
    assert [quota_code(name, spot=True) for name in names] == ["L-34B43A08", "L-3819A6DF", "L-7212CCBC", None]


@pytest.mark.parametrize(
    ("answer", "ok"),
    [
        ({"InternetGatewayBlockMode": "off"}, True),
        ({"InternetGatewayBlockMode": "block-ingress"}, False),
        ({"InternetGatewayBlockMode": "a mode of 2027"}, None),
        ({}, None),
    ],
)
def test_a_mode_of_public_access_that_nobody_knows_is_neither_open_nor_blocked(
    answer: dict[str, str], ok: bool | None
) -> None:
    class Settings(Region):
        def call(self, operation: str, **asked: Any) -> dict[str, Any]:
            assert operation == "describe_vpc_block_public_access_options"
            return {"VpcBlockPublicAccessOptions": answer}

    assert public_access_finding(Settings(), order("r1")).ok is ok
    assert public_access_finding(Settings(), order("r1", is_private=True)).ok is True


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
    missing = spot_role_finding(Identities(NotFoundError("no", cloud_code="NoSuchEntity")))
    assert missing.ok is None and "aws iam create-service-linked-role" in missing.text
    denied = spot_role_finding(Identities(PermissionDeniedError("no")))
    assert denied.ok is None and denied.text.startswith("not known")


@pytest.mark.parametrize(
    ("sold", "pricing", "count", "text"),
    [
        (["on-demand", "spot"], "spot", 26, ""),
        (["on-demand"], "on-demand", 0, ""),
        (["on-demand"], "spot", 0, "not sold as spot instances, only as on-demand"),
        (["capacity-block"], "on-demand", 0, "not sold on demand, only as capacity-block"),
        (["capacity-block"], "spot", 0, "not sold on demand, only as capacity-block"),
        (["on-demand"], "on-demand", 27, "28 volumes on each machine, its root included; EC2 attaches 27"),
    ],
)
def test_what_a_type_is_not_sold_for_is_known_beforehand(sold: list[str], pricing: str, count: int, text: str) -> None:
    """Of hpc7g there are no spot instances, of p5e only blocks of capacity (skypilot#4657)."""
    shape = {"SupportedUsageClasses": sold, "EbsInfo": {"MaximumEbsAttachments": 27}}
    wanted = choice(pricing=pricing, volumes=volumes("gp3", count=count) if count else None)
    assert purchase_obstacle(shape, wanted) == text


def test_what_a_description_leaves_open_is_no_obstacle() -> None:
    assert purchase_obstacle({}, choice(pricing="spot", volumes=volumes("gp3", count=30))) == ""


class Offering:
    """A region that offers i4i.large in these zones, with everything else unknown."""

    region = "us-east-1"

    def __init__(self, *zones: str) -> None:
        self.zones = zones

    def items(self, operation: str, key: str, **request: Any) -> Iterator[dict[str, Any]]:
        if operation == "describe_instance_type_offerings":
            yield from ({"Location": zone} for zone in self.zones)
        elif operation == "describe_subnets":
            yield {"AvailabilityZone": self.zones[-1], "AvailableIpAddressCount": 99}
        elif operation == "describe_instance_types":
            architectures = {"SupportedArchitectures": ["x86_64"]}
            groups = {"SupportedStrategies": ["cluster"]}
            yield {"VCpuInfo": {"DefaultVCpus": 2}, "ProcessorInfo": architectures, "PlacementGroupInfo": groups}
        elif operation == "describe_images":
            yield {"CreationDate": "2026"}

    def call(self, operation: str, *, repeatable: bool = True, fresh: bool = False, **request: Any) -> dict[str, Any]:
        raise RefusedCallError(operation, cloud_code="Unknown")


@pytest.mark.parametrize(
    ("zones", "subnet", "tried", "text"),
    [
        (("us-east-1-bos-1a", "us-east-1b", "us-east-1a"), "", ["us-east-1a", "us-east-1b"], ""),
        (("us-east-1-bos-1a",), "", [], "need --subnet: us-east-1-bos-1a"),
        (("us-east-1a", "us-east-1-bos-1a"), "subnet-1", ["us-east-1-bos-1a"], "a Local Zone has other prices"),
    ],
)
def test_local_zones_are_tried_only_where_a_subnet_names_one(
    zones: tuple[str, ...], subnet: str, tried: list[str], text: str
) -> None:
    """Their machines cost more than the region's, at which the run is planned and limited (skypilot#5919)."""
    checks = _Checks(order=order("local", subnet=subnet), connect=lambda _name, _region: Offering(*zones))
    checks.add_zones(choice(), "us-east-1")
    assert [place.zone for place in checks.log.places] == tried
    assert text in " ".join(finding.text for finding in checks.log.findings)
