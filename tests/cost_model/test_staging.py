"""The address of the data says which cloud's object store holds it."""

from __future__ import annotations

import pytest

from planner.cost_model.staging import Staging, staging_of
from planner.errors import BadInputError
from planner.schemas.plan import Request


@pytest.mark.parametrize(
    ("address", "cloud"),
    [("s3://b/in", "aws"), ("S3A://b", "aws"), ("gs://b/x", "gcp"), ("abfss://c@a/x", "azure"), ("oci://b", "oci")],
)
def test_the_scheme_names_the_cloud(address: str, cloud: str) -> None:
    request = Request(data_bytes=1, model="indy", input=address, zones=3)
    assert staging_of(request) == Staging(source=cloud, sink="", zones=3)


@pytest.mark.parametrize("address", ["bucket/path", "s3://", "s3:///", "ftp://host/path"])
def test_what_is_no_address_of_an_object_store_is_refused(address: str) -> None:
    with pytest.raises(BadInputError, match=r"--output .*: not the address of an object store"):
        staging_of(Request(data_bytes=1, model="indy", output=address))


def test_no_region_has_seventeen_zones() -> None:
    with pytest.raises(BadInputError, match="--zones 17: a region has 1 to 16 zones"):
        staging_of(Request(data_bytes=1, model="indy", zones=17))
