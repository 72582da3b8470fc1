"""Staging around the job, by hand: 10 TB on nodes whose disks read 4 GB/s and write 2 GB/s, with a NIC of 1 GB/s."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from approvals import Approve

from planner.cost_model.prices import charges, known_usd
from planner.cost_model.staging import (
    least_seconds,
    loading_node_seconds,
    moved_bytes,
    staging_node_seconds,
    staging_notes,
    staging_seconds,
)
from planner.cost_model.workload import JobContext

Make = Callable[..., JobContext]
DISKS = {"a": {"read": 4e9, "write": 2e9, "memory_bytes": 10**6}}
STORE = {
    "object_store": "store", "price_usd_per_gib_month": 0.02, "write_usd_per_request": 5e-6,
    "read_usd_per_request": 4e-7, "egress_usd_per_gib": 0.01, "bytes_per_s_per_vcpu": 25e6, "rate_evidence": "measured",
}  # fmt: skip
FILES = {"object_stores": [STORE], "transfers": [{"transfer": "internet", "price_usd_per_gib": 0.09}]}


def seconds(context: JobContext) -> dict[str, float]:
    return {name: float(step[0]) for name, step in staging_node_seconds(context).items()}


@pytest.mark.parametrize(
    ("places", "steps"),
    [
        ({}, {"generate": 5000, "validate": 1250}),  # 5 TB of output are read at 4 GB/s
        ({"input": "s3://b/i"}, {"stage in": 25_000, "validate": 1250}),  # the store: 16 x 25 MB/s
        ({"output": "s3://b/o"}, {"generate": 5000, "stage out": 12_500, "validate": 1250}),
        ({"input": "gs://b/i", "output": "gs://b/o"}, {"stage in": 10_000, "stage out": 5000, "validate": 1250}),
    ],
    ids=str,
)
def test_a_step_lasts_as_long_as_its_slowest_part(
    make_context: Make, places: dict[str, str], steps: dict[str, float]
) -> None:
    """To and from another cloud the NIC's rate stands for the unknown one."""
    context = make_context(DISKS, files=FILES, reduce_ratio=0.5, **places)
    assert seconds(context) == pytest.approx(steps)
    loading = {name: float(step[0]) for name, step in loading_node_seconds(context).items()}
    assert loading == pytest.approx({name: steps[name] for name in ("stage in", "generate") if name in steps})


@pytest.mark.parametrize(("factor", "stage_in_s"), [(1.0, 25_000), (0.5, 25_000), (0.25, 40_000)])
def test_staging_is_no_faster_than_the_link_as_varied(make_context: Make, factor: float, stage_in_s: float) -> None:
    """The store gives 400 MB/s; a quarter of the NIC is 250 MB/s, at which 10 TB take 40,000 node-seconds."""
    context = make_context(DISKS, files=FILES, scale={"network": factor}, input="s3://b/i")
    assert seconds(context)["stage in"] == pytest.approx(stage_in_s)


def test_requests_hold_up_staging_on_any_number_of_nodes(make_context: Make, approve: Approve) -> None:
    """10 TB are 596,046 reads of 16 MiB, which take 1,192 s at 500 a second; 100,000 writes of 100 MB take 500 s at 200
    a second. Without that limit 25,000 node-seconds take 250 s on 100 nodes.
    """
    store = {**STORE, "reads_per_s": 500, "writes_per_s": 200, "request_evidence": "spec"}
    files = {"object_stores": [store]}
    context = make_context(DISKS, files=files, input="s3://b/i", output="s3://b/o", prefixes=1)
    least = {name: float(seconds_[0]) for name, seconds_ in least_seconds(context).items()}
    assert least == pytest.approx({"stage in": 1e13 / 2**24 / 500, "stage out": 500})
    few, many = staging_seconds(context, np.array([10.0, 100.0]))["stage in"][0]
    assert (few, many) == pytest.approx((2500, 1e13 / 2**24 / 500))
    assert "requests bind (500 reads" in staging_notes(context, 100)["stage in"]
    approve(staging_notes(context, 10)["stage in"])


@pytest.mark.parametrize(
    ("places", "own", "other"),
    [
        ({"input": "s3://b/i", "output": "gs://b/o"}, "stage in", "stage out"),
        ({"input": "gs://b/i", "output": "s3://b/o"}, "stage out", "stage in"),
    ],
)
def test_only_the_clouds_own_store_binds_a_step(
    make_context: Make, places: dict[str, str], own: str, other: str, approve: Approve
) -> None:
    """A store that gives 16 x 25 MB/s binds before a NIC of 1 GB/s, and before its requests, which take at least
    1,192 s and 500 s; nothing is known about another cloud's store.
    """
    store = {**STORE, "reads_per_s": 500, "writes_per_s": 200, "request_evidence": "spec"}
    context = make_context(DISKS, files=FILES | {"object_stores": [store]}, **places)
    notes = staging_notes(context, 10)
    approve(notes[own])
    assert "object store" not in notes[other]
    assert least_seconds(context).keys() == {own}


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ({}, {}),
        ({"input": "s3://b/i"}, {"stage in": 1e13}),
        ({"output": "gs://b/o"}, {"stage out": 5e12}),
        ({"input": "gs://b/i", "output": "s3://b/o"}, {"stage in": 1e13, "stage out": 5e12}),
    ],
    ids=str,
)
def test_what_staging_moves(make_context: Make, places: dict[str, str], moved: dict[str, float]) -> None:
    context = make_context(DISKS, files=FILES, reduce_ratio=0.5, **places)
    assert {name: float(amount[0]) for name, amount in moved_bytes(context).items()} == moved


GIB = 2**30
READS, WRITES = 596_047, 50_000
"""10 TB in parts of 16 MiB are 596,046.4, rounded up; 5 TB are in parts of 100 MB."""


@pytest.mark.parametrize(
    ("places", "usd"),
    [
        ({}, {}),
        ({"input": "s3://b/i"}, {"stage in: requests": READS * 4e-7, "stage in: traffic": 1e13 / GIB * 0.01}),
        ({"output": "s3://b/o"}, {"stage out: requests": WRITES * 5e-6}),
        ({"output": "gs://b/o"}, {"stage out: egress": 5e12 / GIB * 0.09 + WRITES * 5e-6}),
        ({"input": "gs://b/i"}, {"stage in: egress": 1023 * 0.12 + (1e13 / GIB - 1024) * 0.11 + READS * 4e-7}),
    ],
    ids=str,
)
def test_what_staging_is_charged_for(make_context: Make, places: dict[str, str], usd: dict[str, float]) -> None:
    context = make_context(DISKS, files=FILES, reduce_ratio=0.5, **places)
    assert {charge.name: float(charge.usd[0]) for charge in charges(context)} == pytest.approx(usd)
    assert known_usd(context)[0] == pytest.approx(sum(usd.values()))


def test_data_that_is_where_the_model_works_is_not_moved(make_context: Make) -> None:
    places: dict[str, Any] = {"model": "object-store", "input": "s3://b/i", "output": "s3://b/o"}
    context = make_context(DISKS, files=FILES, **places)
    assert {name: float(amount[0]) for name, amount in moved_bytes(context).items()} == {"stage in": 0, "stage out": 0}
    assert seconds(context) == pytest.approx({"stage in": 0, "stage out": 0, "validate": 25_000})
    assert [charge.name for charge in charges(context)] == ["object store: traffic"]


def test_the_papers_know_no_steps(make_context: Make) -> None:
    context = make_context(DISKS, files=FILES, paper=True)
    assert not any(seconds(context).values())


def test_requests_say_how_large_they_are(make_context: Make) -> None:
    context = make_context(DISKS, files=FILES, input="s3://b/i")
    size_mb = context.overheads.staging_request_bytes["read"] / 1e6
    (requests,) = (charge for charge in charges(context) if charge.name == "stage in: requests")
    assert requests.basis == f"read requests of {size_mb:.3g} MB to store"
