"""What a cloud says of links that burst, and for how long those did that were measured."""

from __future__ import annotations

import pytest

import planner
from planner.api.request_inputs import inputs_of
from planner.cost_model.stated_bursts import likely_bucket_s, stated_burst_bytes_per_s
from planner.cost_model.workload import JobContext
from planner.simulation.simulate import simulation_context


def context_of(instance: str, *, cloud: str = "aws") -> JobContext:
    """Return a job on ten nodes of a type."""
    answer = planner.recommend("1TB", instance=instance, nodes=10, model="indy", engine="ideal", catalogs=(cloud,))
    request, given = inputs_of(answer.plan.request)
    assert answer.best is not None
    return simulation_context(
        request, answer.best, models=given.models, catalogs=given.catalogs, overheads=given.overheads
    )


def test_ec2_states_a_burst_of_small_types_alone() -> None:
    assert stated_burst_bytes_per_s(context_of("i4i.4xlarge"), 10) == 3.125e9
    assert stated_burst_bytes_per_s(context_of("i4i.8xlarge"), 10) is None


def test_buckets_hold_as_many_seconds_of_the_baseline_as_on_the_measured_types() -> None:
    """c5.4xlarge, 1,339.6 GB at 627 MB/s: 2,137 s; c5.2xlarge 3,015, c5.large 3,325, c5.xlarge 3,541 s."""
    assert likely_bucket_s(context_of("i4i.4xlarge")) == pytest.approx([2137, 3015, 3325, 3541], rel=1e-3)


def test_where_nothing_was_measured_nothing_is_known() -> None:
    azure = context_of("Standard_L8as_v3", cloud="azure")
    assert likely_bucket_s(azure) == []
    assert stated_burst_bytes_per_s(azure, 10) is None
