"""Access of rented machines to an object store: by one of two ways, each stated explicitly, and never by another."""

from __future__ import annotations

import json

import pytest
from emulated_cloud import EmulatedCloud
from emulated_ec2 import EmulatedEc2

from planner.clusters.runs.store_credentials import access_to
from planner.errors import BadInputError

KEYS = {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "t", "AWS_REGION": "r"}
IN = ["s3://b/in"]
IDENTITIES = {
    "aws": "sorter",
    "gcp": "sorter@project.iam.gserviceaccount.com",
    "azure": "/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/sorter",
}


def test_keys_go_along_only_when_they_are_lent() -> None:
    environ = {**KEYS, "HOME": "/root"}
    lent = access_to(IN, cloud="aws", identity=None, is_lent=True, environ=environ)
    assert lent.environment == KEYS and lent.identity == "" and "secret" not in repr(lent)
    own = access_to(IN, cloud="aws", identity="sorter", is_lent=False, environ=environ)
    assert own.environment == {"AWS_REGION": "r"} and own.identity == "sorter"
    assert access_to([], cloud="aws", identity=None, is_lent=False, environ=environ).environment == {}


@pytest.mark.parametrize(
    ("uris", "cloud", "identity", "is_lent", "message"),
    [
        (IN, "aws", None, False, "one of --node-identity NAME and --lend-credentials"),
        (IN, "aws", "sorter", True, "one of --node-identity NAME and --lend-credentials"),
        (["gs://b/in"], "aws", "sorter", False, "reach only their own cloud's object store\n  name s3://"),
        (["gs://b/in"], "gcp", None, True, "GOOGLE_SERVICE_ACCOUNT_KEY not set"),
        ([], "aws", "sorter", False, "go with --input or --output"),
    ],
)
def test_what_would_not_work_is_refused(
    uris: list[str], cloud: str, identity: str | None, is_lent: bool, message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        access_to(uris, cloud=cloud, identity=identity, is_lent=is_lent, environ=KEYS)


def test_machines_are_launched_with_the_identity_that_was_named(cloud: EmulatedCloud) -> None:
    """The emulators check every request; without the option no machine has an identity."""
    identity = IDENTITIES[cloud.cloud]
    without = cloud.planner(*cloud.up, "--dry-run", "--json")
    assert without.code == 0 and identity not in without.text, without.text
    words = (*cloud.up, "--node-identity", identity)
    planned = cloud.planner(*words, "--dry-run", "--json")
    assert planned.code == 0, planned.text
    launching = [
        request for request in json.loads(planned.text)["requests"] if identity in json.dumps(request["parameters"])
    ]
    assert launching, "the identity is in the request that launches"
    if isinstance(cloud, EmulatedEc2):
        cloud.offer_profile(identity)
    assert cloud.planner(*words).code == 0
    assert cloud.planner("cluster", "down", cloud.runs()[0]).code == 0
    assert cloud.left() == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "indy", "--cloud", "aws"), "say how much to sort"),
        (("--model", "indy", "--cloud", "aws", "--input", "s3://b/in"), "NAME and --lend-credentials"),
        (("--model", "object-store", "--cloud", "aws", "--data", "1GB"), "give --input and --output"),
    ],
)
def test_runs_that_cannot_be(ec2: EmulatedEc2, words: tuple[str, ...], message: str) -> None:
    ended = ec2.planner("run", *words, "--ssh-from", "203.0.113.7/32", "--yes")
    assert ended.code == 2 and message in ended.text, ended.text
    assert ec2.proxy.seen == [] and ec2.runs() == []
