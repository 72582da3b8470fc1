"""Meanings of clouds' errors, and the one that counts when there are several."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

import pytest

from planner.clouds import cloud_errors
from planner.clouds.aws import client as aws
from planner.clouds.azure import client as azure
from planner.clouds.calls.codes import rule_of, rules_of
from planner.clouds.cloud_errors import (
    DuplicateError,
    NoCapacityError,
    NotFoundError,
    PassingError,
    PermissionDeniedError,
    QuotaExceededError,
    RefusedCallError,
    StillInUseError,
    worst_of,
)
from planner.clouds.gcp import client as gcp
from planner.errors import IoFailureError, PlannerError

DENIED, QUOTA, FULL = PermissionDeniedError("denied"), QuotaExceededError("quota"), NoCapacityError("full")
OTHER = IoFailureError("other")


@pytest.mark.parametrize(
    ("errors", "worst"),
    [([FULL, OTHER, QUOTA, DENIED], DENIED), ([OTHER, FULL, QUOTA], QUOTA), ([OTHER, FULL], FULL), ([OTHER], OTHER)],
)
def test_the_error_that_no_other_place_would_cure_counts_most(errors: list[PlannerError], worst: PlannerError) -> None:
    assert worst_of(errors) is worst


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("InsufficientInstanceCapacity", NoCapacityError),
        ("UnauthorizedOperation", PermissionDeniedError),
        ("VcpuLimitExceeded", QuotaExceededError),
        ("MaxSpotInstanceCountExceeded", QuotaExceededError),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", QuotaExceededError),  # dstackai/dstack issue 886
        ("UnfulfillableCapacity", NoCapacityError),
        ("DependencyViolation", StillInUseError),
        ("InvalidGroup.InUse", StillInUseError),
        ("InvalidVpcID.NotFound", NotFoundError),
        ("InvalidPermission.Duplicate", DuplicateError),
        ("InvalidParameterValue", RefusedCallError),
        ("BandwidthLimitExceeded", PassingError),
        ("EC2ThrottledException", PassingError),
        ("InternalServerException", PassingError),
        ("InsufficientCapacityOnHost", NoCapacityError),
        ("Server.InsufficientInstanceCapacity", NoCapacityError),
        ("Client.VolumeLimitExceeded", QuotaExceededError),
        ("InvalidInput", RefusedCallError),
        ("ConcurrentTagAccess", PassingError),
        ("VolumeTypeNotAvailableInZone", NoCapacityError),
        ("TagLimitExceeded", RefusedCallError),  # of one resource: no other region helps
        ("IncorrectInstanceState", StillInUseError),
        ("TagPolicyViolation", RefusedCallError),  # of the tags asked for, not of a permission
        ("NoSuchEntity", NotFoundError),  # IAM's, of the role that spot machines need
        ("ServiceQuotaExceededException", QuotaExceededError),
        ("InsufficientReservedInstancesCapacity", NoCapacityError),
        ("RequestTimeoutException", PassingError),
        ("AccountDisabled", PermissionDeniedError),
        ("RegionDisabledException", PermissionDeniedError),
        ("NeverSeen", RefusedCallError),
    ],
)
def test_codes_of_aws(code: str, meaning: type[PlannerError]) -> None:
    error = aws.meaning_of(code, "why", what="run_instances in us-east-1")
    assert type(error) is meaning and error.message.startswith(f"run_instances in us-east-1: why ({code})")


def test_an_image_that_is_not_shared_leaves_the_credentials_valid() -> None:
    """EC2 has one code for credentials that it does not know and for an image of others."""
    text = "Not authorized for images: [ami-0123456789abcdef0]"
    assert rule_of("aws", "AuthFailure", text).meaning == "permission"
    assert rule_of("aws", "AuthFailure", "AWS was not able to validate the access").meaning == "wrong credentials"
    assert "--image" in aws.meaning_of("AuthFailure", text, what="run_instances").message


def test_a_zone_that_is_closed_to_the_account_is_one_without_room() -> None:
    """EC2 reports it with the code for an invalid value: hashicorp/terraform issue 3434."""
    text = "Value (us-east-1e) for parameter availabilityZone is invalid. Subnets can be created in us-east-1a"
    assert type(aws.meaning_of("InvalidParameterValue", text, what="create_subnet")) is NoCapacityError


def test_a_region_that_is_closed_to_the_account_leaves_the_others() -> None:
    """UA-TECH-POWER/DDoS_terraform_aws issue 5; SUSE-Enceladus/img-proof pull request 212; Azure/azure-cli issue 32567.
    All of them were taken for refusals that hold in every region.
    """
    organisation = "Location ZONE:us-east1-b violates constraint constraints/gcp.resourceLocations on the resource x"
    refusals = [
        aws.meaning_of("PendingVerification", "Your request for this region is being validated", what="run_instances"),
        gcp.meaning_of("conditionNotMet", organisation, what="instances.bulkInsert"),
        azure.meaning_of("RequestDisallowedByAzure", "best available regions", status=403, what="creating network"),
    ]
    assert [type(refusal) for refusal in refusals] == [QuotaExceededError] * 3
    assert all("allow another region" in refusal.message for refusal in refusals)
    assert type(gcp.meaning_of("conditionNotMet", "constraints/compute.trustedImageProjects", what="x")) is (
        PermissionDeniedError
    )


@pytest.mark.parametrize(
    ("code", "meaning"),
    [
        ("rateLimitExceeded", PassingError),
        ("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", NoCapacityError),
        ("forbidden", PermissionDeniedError),
        ("QUOTA_EXCEEDED", QuotaExceededError),
        ("resourceInUseByAnotherResource", StillInUseError),
        ("notFound", NotFoundError),
        ("alreadyExists", DuplicateError),
        ("INVALID_USAGE", RefusedCallError),
        ("resourceNotReady", PassingError),
        ("conflict", RefusedCallError),
        ("insufficientCapacity", NoCapacityError),
        ("UNSUPPORTED_OPERATION", NoCapacityError),
        ("NEVER_SEEN", RefusedCallError),
    ],
)
def test_codes_of_compute_engine(code: str, meaning: type[PlannerError]) -> None:
    assert type(gcp.meaning_of(code, "why", what="instances.bulkInsert")) is meaning


def test_a_quota_of_calls_per_minute_passes() -> None:
    assert type(gcp.meaning_of("QUOTA_EXCEEDED", "Read requests per minute", what="x")) is PassingError


@pytest.mark.parametrize(
    ("code", "status", "meaning"),
    [
        ("TooManyRequests", 429, PassingError),
        ("Unheard", 503, PassingError),
        ("ZonalAllocationFailed", 409, NoCapacityError),
        ("AuthorizationFailed", 403, PermissionDeniedError),
        ("QuotaExceeded", 409, QuotaExceededError),
        ("PublicIPCountLimitReached", 400, QuotaExceededError),  # openshift/openshift-azure issue 2252
        ("StaticPublicIPCountLimitReached", 400, QuotaExceededError),
        ("ResourceGroupNotFound", 404, NotFoundError),
        ("NicInUse", 400, StillInUseError),
        ("InvalidParameter", 400, RefusedCallError),
        ("PropertyChangeNotAllowed", 409, RefusedCallError),
        ("OperationNotAllowed", 409, RefusedCallError),
        ("Unheard", 409, RefusedCallError),
        ("Unheard", 501, RefusedCallError),
        ("AnotherOperationInProgress", 409, PassingError),
        ("RetryableError", 409, PassingError),
        ("LocationNotAvailableForResourceType", 400, NoCapacityError),
        ("MissingSubscriptionRegistration", 409, PermissionDeniedError),
        ("SubscriptionDisabled", 0, PermissionDeniedError),
        ("RequestDisallowedByPolicy", 403, PermissionDeniedError),
    ],
)
def test_codes_of_azure(code: str, status: int, meaning: type[PlannerError]) -> None:
    assert type(azure.meaning_of(code, "why", status=status, what="creating machine node-0")) is meaning


def test_a_throttled_call_passes_even_if_its_message_names_a_quota() -> None:
    assert type(azure.meaning_of("TooManyRequests", "quota of reads", status=429, what="listing size")) is PassingError


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
def test_a_code_has_one_meaning_and_every_source_is_used(cloud: str) -> None:
    codes = Counter(code for rule in rules_of(cloud) if not rule.message for code in rule.codes)
    assert [code for code, count in codes.items() if count > 1] == []
    assert all(rule_of(cloud, code, "").meaning == rule.meaning
               for rule in rules_of(cloud) if not rule.message for code in rule.codes)  # fmt: skip
    document = tomllib.loads((Path(cloud_errors.__file__).parent / "codes" / f"{cloud}.toml").read_text("utf-8"))
    assert document["sources"].keys() == {rule.source for rule in rules_of(cloud)}
