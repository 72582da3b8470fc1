"""The subjects of `planner scale`: a family, or any list of shapes."""

from __future__ import annotations

import pytest
from refusals import refused, require
from typer.testing import CliRunner

from planner.catalog import load_catalog
from planner.cli.app import build
from planner.cli.plan.scale import sizes_of
from planner.errors import InfeasibleError


def test_a_family_a_type_and_a_pattern_are_compared() -> None:
    aws = [load_catalog("aws")]
    assert sizes_of(aws, "i4i.4xlarge,i3en.2?large, i4i.8xlarge") == {
        "i4i.4xlarge": 16,
        "i3en.2xlarge": 8,
        "i4i.8xlarge": 32,
    }
    whole = sizes_of(aws, "i4i")
    assert whole["i4i.32xlarge"] == 128 and set(sizes_of(aws, "i4i,i4i.4xlarge")) == set(whole)


def test_of_a_family_disks_that_are_added_are_no_sizes_but_can_be_asked_for() -> None:
    gcp = [load_catalog("gcp")]
    assert not any("+" in name for name in sizes_of(gcp, "n2"))
    assert sizes_of(gcp, "n2-standard-32+4x375GB") == {"n2-standard-32+4x375GB": 32}


def test_what_names_nothing_is_refused_with_what_is_near() -> None:
    with refused("unknown-type", "'i4i.4xlage'", "i4i.4xlarge"):
        sizes_of([load_catalog("aws")], "m5,i4i.4xlage")


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_family_that_cannot_do_the_job_is_refused(form: tuple[str, ...]) -> None:
    done = CliRunner().invoke(build(only="scale"), ["scale", "m5", "--data", "1TB", *form])
    error = done.exception
    assert done.stdout.startswith("{") == bool(form)
    advice = "`planner plan --data 1TB --model daytona` names types that can"
    require(error, "infeasible", "m5", advice)
    assert isinstance(error, InfeasibleError)
    reason = "m5.24xlarge, m5.metal, m5.16xlarge and 6 more: no local disks (the model keeps its data on them)"
    assert error.details == (reason,)


def test_types_that_cannot_do_the_job_stand_in_the_table_beside_those_that_can() -> None:
    done = CliRunner().invoke(build(only="scale"), ["scale", "m5.large,i4i.large", "--data", "100GB"])
    assert done.exit_code == 0 and "no local disks" in done.stdout
