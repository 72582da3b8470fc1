"""Plans to export: real ones, and ones with any content that a plan may hold."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

import planner
from planner.schemas.plan import Candidate, Machine, Plan, VolumeSet

TYPES = {
    "aws": ("i8g.8xlarge", "m5.24xlarge", "i7ie.metal-24xl", "x2gd.large"),
    "gcp": ("n2-standard-8", "c4a-highmem-72-lssd", "e2-highcpu-2"),
    "azure": ("Standard_L8as_v4", "Standard_E96bds_v5"),
}


@cache
def planned(cloud: str) -> Plan:
    """Return a plan of the shipped catalog."""
    return replace(planner.recommend("10TB", cloud=cloud).plan, rejected=(), frontier=())


@st.composite
def plans(draw: st.DrawFn, clouds: tuple[str, ...] = ("aws", "gcp", "azure")) -> Plan:
    """A plan with any number of nodes, machine, volumes, price and choices."""
    plan = planned(draw(st.sampled_from(clouds)))
    best = draw(clusters(plan))
    others = tuple(draw(st.lists(clusters(plan), max_size=12)))
    data = draw(st.integers(1, 10**18))
    engine = draw(st.sampled_from(("ray", "spark", "ideal")))
    request = replace(plan.request, data_bytes=data, engine=engine, model=best.model, format=draw(FORMATS))
    return replace(plan, request=request, best=best, candidates=(best, *others))


FORMATS = st.sampled_from((None, "records", "lines", "csv", "parquet"))


@st.composite
def clusters(draw: st.DrawFn, plan: Plan) -> Candidate:
    assert plan.best is not None
    machine_type = draw(st.sampled_from(TYPES[plan.best.cloud]))
    volumes = draw(st.none() | st.builds(_volumes, st.integers(1, 20), st.floats(1e9, 1e13)))
    machine = Machine(
        vcpus=draw(st.none() | st.sampled_from((1.0, 2.0, 6.0, 96.0, 192.0))),
        memory_bytes=draw(st.none() | st.floats(1e9, 4e12)),
        network_bytes_per_s=draw(st.none() | st.floats(1e8, 5e10)),
        network_peak_bytes_per_s=None,
        local_disks=draw(st.none() | st.integers(0, 24)),
        local_disk_bytes=draw(st.none() | st.floats(1e10, 1e13)),
        local_disk_kind="nvme",
    )
    expected = draw(st.floats(0.001, 1e7))
    return replace(
        plan.best,
        instance_type=machine_type,
        cloud_type=machine_type,
        nodes=draw(st.integers(1, 5000)),
        pricing=draw(st.sampled_from(("on-demand", "spot"))),
        machine=machine,
        volumes=volumes,
        spares=draw(st.integers(0, 40)),
        placement_group=draw(st.booleans()),
        bandwidth_weighting=draw(st.sampled_from(("", "vpc-1", "ebs-1"))) if plan.best.cloud == "aws" else "",
        model=draw(st.sampled_from(("indy", "daytona", "object-store"))),
        time_s=replace(plan.best.time_s, expected=expected, p95=expected * draw(st.floats(1, 5))),
    )


def _volumes(count: int, size: float) -> VolumeSet:
    return VolumeSet(volume_type="gp3", count=count, bytes_each=size, bytes_per_s_each=1e9)
