"""From a request to rates, risks and power, by hand: the request's values replace the catalog's."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from approvals import Approve
from refusals import refused

from planner import recommend
from planner.api.recommend import recommend as recommend_all
from planner.catalog.bandwidth_distributions import distribution
from planner.cost_model.run_overheads import shipped
from planner.cost_model.workload import JobContext
from planner.errors import BadInputError
from planner.planning.request.job_context import Staging, job_context, region_notes, staging_of
from planner.schemas.plan import Request

Make = Callable[..., Any]
NODE = {"a": {"read": 4e9, "write": 2e9}}


@pytest.fixture
def context_of(make_job: Make) -> Callable[..., JobContext]:
    return lambda **asked: make_job(NODE, **asked)[0]


def test_what_the_job_computes_adds_to_partitioning(context_of: Callable[..., JobContext]) -> None:
    """2.5 GB/s and 0.5 GB/s per vCPU, one after the other: 1 / (1/2.5 + 1/0.5) GB/s; sorting is unchanged."""
    plain = context_of().rates.cpu_bytes_per_s_per_vcpu
    assert plain == {"partition": 2.5e9, "sort": 1.2e9}
    computing = context_of(compute_bytes_per_s_per_vcpu=5e8).rates.cpu_bytes_per_s_per_vcpu
    assert computing == {"partition": pytest.approx(1e9 / 2.4), "sort": 1.2e9}
    assumed = context_of(assume={"partition": 1e9, "sort": 3e8}).rates
    assert assumed.cpu_bytes_per_s_per_vcpu == {"partition": 1e9, "sort": 3e8}


def test_volumes_follow_the_ratios(context_of: Callable[..., JobContext]) -> None:
    """10 TB in, half of that out of the map, three times that out of the reduce."""
    job = context_of(map_ratio=0.5, reduce_ratio=3.0).job
    assert (job.map_in, job.map_out, job.reduce_out) == (10e12, 5e12, 15e12)


def test_a_software_of_ones_own_has_its_rates_and_scatter(context_of: Callable[..., JobContext]) -> None:
    context = context_of(model="framework")
    software = context.model.software
    assert software is not None
    assert context.overheads.shared_sigma == software.shared_sigma != shipped().shared_sigma
    assert context.rates.cpu_evidence == software.evidence
    assert np.isnan(context.rates.measured_sort_per_vcpu).all()
    papers = context_of(model="framework", paper=True)
    assert papers.overheads.shared_sigma == 0
    assert papers.rates.cpu_evidence == "measured"
    assert papers.rates.one_stream_bytes_per_s == np.inf
    assert context_of().rates.cpu_evidence == "measured"
    assert context_of().overheads.shared_sigma == shipped().shared_sigma


@pytest.mark.parametrize(
    ("asked", "per_node_hour"),
    [
        ({}, 0.04),
        ({"interruptions_per_node_hour": 0.5}, 0.5),
        ({"paper": True}, None),
        ({"pricing": "on-demand"}, None),
    ],
)
def test_spot_nodes_are_taken_back_as_often_as_asked_or_else_known(
    make_job: Make, asked: dict[str, Any], per_node_hour: float | None
) -> None:
    """A replacement takes 120 s to boot, 60 to install and 120 to screen."""
    head = '[spot]\ninterruptions_per_node_hour = 0.04\nevidence = "spec"\nsource = "made"'
    context, region, request = make_job(NODE, head=head)
    risk = job_context(
        replace(request, **{"pricing": "spot", **asked}),
        model=context.model,
        catalog=context.catalog,
        overheads=shipped(),
        volumes=region.volumes,
    ).risk
    assert (risk and risk.per_node_s) == (per_node_hour and pytest.approx(per_node_hour / 3600))
    if risk:
        assert (risk.replacement_s, risk.recovery) == (300, "reload")
        assert risk.evidence == ("assumed" if asked else "spec")


def test_spot_nodes_are_taken_back_by_the_band_of_their_type() -> None:
    """AWS stated 5 to 10% a month of c7gd.large in 2025, over 20% of c7gd.4xlarge."""
    asked: dict[str, Any] = {"data": "1TB", "model": "indy", "cloud": "aws", "pricing": "spot", "nodes": 40}

    def hourly(name: str, **more: Any) -> float:
        best = recommend(**asked, instances=[name], **more).best
        assert best is not None and best.interruptions is not None
        return best.interruptions.per_node_hour

    assert hourly("c7gd.large") == pytest.approx(-math.log(1 - 0.075) / 720)
    assert hourly("c7gd.4xlarge") == pytest.approx(-math.log(1 - 0.2) / 720)
    assert hourly("c8gd.8xlarge") == pytest.approx(-math.log(1 - 0.2) / 720)  # at a weighting of its bandwidth
    assert hourly("c7gd.large", interruptions_per_node_hour=0.01) == pytest.approx(0.01)


def test_without_a_known_rate_of_interruptions_one_is_assumed_with_its_range(make_job: Make) -> None:
    context, region, request = make_job(NODE)
    spot = replace(request, pricing="spot")
    planned = [
        job_context(
            replace(spot, interruptions_per_node_hour=asked, unknown=unknown),
            model=context.model,
            catalog=context.catalog,
            overheads=shipped(),
            volumes=region.volumes,
        ).risk
        for asked, unknown in ((None, "exclude"), (0.05, "exclude"), (None, None))
    ]
    assert planned[0] is None
    assert planned[1] is not None and planned[2] is not None
    assert planned[1].evidence == planned[2].evidence == "assumed"
    assert [rate * 3600 for rate in planned[2].alternatives_s] == pytest.approx([0.0002, 0.0012, 0.0068])


def test_assumed_power_is_that_of_all_or_of_the_types_named(make_job: Make) -> None:
    context, _, _ = make_job({"a": {"power_w": 100}, "b": {"power_w": ""}}, assume={"power": 250.0})
    assert context.power_w.tolist() == [250, 250]
    own, _, _ = make_job({"a": {"power_w": 100}, "b": {"power_w": ""}}, assume={"power:b*": 250.0})
    assert own.power_w.tolist() == [100, 250]
    stated, _, _ = make_job({"a": {"power_w": 100}, "b": {"power_w": ""}})
    assert stated.power_w.tolist() == pytest.approx([100, np.nan], nan_ok=True)


def test_an_assumed_price_is_all_in(make_job: Make) -> None:
    volume = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 1e8,
              "price_usd_per_mibps_month": 0.04, "read_bytes_per_s_max": 5e8, "write_bytes_per_s_max": 5e8,
              "price_evidence": "spec", "limit_evidence": "spec"}  # fmt: skip
    files, types = {"volumes": [volume]}, {"a": NODE["a"] | {"volumes_max": 1}}
    listed, _, _ = make_job(types, files=files, model="cloudsort")
    assert listed.volumes.usd_per_byte_hour[0] == pytest.approx(0.1 / 2**30 / 720)
    assert listed.volumes.fixed_usd_per_hour[0] == pytest.approx(400e6 / 2**20 * 0.04 / 720)
    assumed, _, _ = make_job(types, files=files, model="cloudsort", assume={"price": 2.0})
    assert (assumed.volumes.usd_per_byte_hour[0], assumed.volumes.fixed_usd_per_hour[0]) == (0, 0)
    assert assumed.volumes.read[0] == listed.volumes.read[0] == 5e8


def test_a_named_distribution_replaces_the_network(context_of: Callable[..., JobContext]) -> None:
    drawn = distribution("A")
    network = context_of(network_distribution="A").rates.network
    assert network.flat.tolist() == [drawn.median_bytes_per_s]
    assert not network.slowest_of_n.any()  # each node draws its own
    assumed = context_of(assume={"network": 1e8}).rates.network
    assert (assumed.flat.tolist(), assumed.slowest_of_n.tolist()) == ([1e8], [True])
    assert context_of(network="unlimited").rates.network.flat[0] >= 1e15
    assert context_of(network="ideal").rates.network.stated.tolist() == [False]
    assert context_of().rates.network.stated.tolist() == [True]


def test_what_ifs_multiply_rates(context_of: Callable[..., JobContext]) -> None:
    context, plain = context_of(scale={"local": 2.0, "cpu": 0.5, "network": 3.0}), context_of()
    assert [rate[0] for rate in context.device_rates("local")[:2]] == [8e9, 4e9]
    assert context.link_rates(5)[0] == pytest.approx(3e9)
    slow, usual = (of.works(plain.model.phases[0])["cpu"].node_seconds[0] for of in (context, plain))
    assert slow == pytest.approx(2 * usual)


def test_doubt_and_variation_are_not_the_papers(context_of: Callable[..., JobContext]) -> None:
    assert context_of().doubts.slowdowns
    papers = context_of(paper=True)
    assert not papers.doubts.slowdowns
    assert papers.staging.zones == 1


@pytest.mark.parametrize("engine", ["ideal", "ray"])
def test_a_rate_of_sorting_that_is_assumed_replaces_what_was_measured(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1 MB/s per vCPU was measured, 100 MB/s are assumed: 10 TB on 64 nodes of 16 vCPUs take 97.7 s of processors."""
    monkeypatch.setenv("PLANNER_MEASUREMENTS", str(tmp_path))
    columns = "instance_type,quantity,bytes_per_s,disks,nodes,placement_group,aggregate,zone,as_of,instances,repeats"
    row = "i4i.4xlarge,sort,1e6,,,,median,here,2026-11-01,1,5"
    (tmp_path / "aws.csv").write_text(f"{columns},method,source\n{row},bench,a.json\n")
    asked: dict[str, Any] = {"data": "10TB", "model": "indy", "instances": ["i4i.4xlarge"], "nodes": 64}
    best = recommend(**asked, engine=engine, assume={"sort": 1e8}).best
    assert best is not None
    sort_s = best.phases[-1].resources["cpu"].equation_s
    assert sort_s == pytest.approx(1e13 / 64 / 16 / 1e8, rel=0.01) if engine == "ideal" else sort_s < 1000


@pytest.mark.parametrize(
    ("address", "cloud"),
    [("s3://b/in", "aws"), ("S3A://b", "aws"), ("gs://b/x", "gcp"), ("abfss://c@a/x", "azure"), ("oci://b", "oci")],
)
def test_the_scheme_names_the_cloud(address: str, cloud: str) -> None:
    request = Request(data_bytes=1, model="indy", input=address, zones=3)
    assert staging_of(request) == Staging(source=cloud, sink="", zones=3)


@pytest.mark.parametrize("address", ["bucket/path", "s3://", "s3:///", "ftp://host/path"])
def test_what_is_no_address_of_an_object_store_is_refused(address: str) -> None:
    with refused("not-an-address", field="--output"):
        staging_of(Request(data_bytes=1, model="indy", output=address))


def test_no_region_has_seventeen_zones() -> None:
    with pytest.raises(BadInputError, match="--zones 17: a region has 1 to 16 zones"):
        staging_of(Request(data_bytes=1, model="indy", zones=17))


def test_a_bucket_of_which_nobody_says_the_region_is_named(approve: Approve) -> None:
    asked = Request(
        data_bytes=1e12, model="object-store", input="s3://in/x", output="s3://out/y", output_region="us-east-1"
    )
    (note,) = region_notes(asked)
    approve(note)
    assert "--input-region" in note
    assert not list(region_notes(replace(asked, input_region="us-east-1")))


def test_a_rate_assumed_of_all_types_counts_those_it_raises_and_one_of_a_type_changes_no_other(
    make_catalog: Callable[..., str],
) -> None:
    types = {f"a.{n}": {"read": 9e9, "write": 9e9, "network_baseline_bytes_per_s": n * 10**8} for n in (1, 2, 4)}
    path = make_catalog(types)

    def rates(**assume: str) -> tuple[dict[str, float], list[str]]:
        given = {name.replace("__", ":").replace("_x", "."): rate for name, rate in assume.items()}
        plan = recommend_all("1TB", model="indy", catalogs=[path], engine="ideal", nodes=3, assume=given).plan
        seconds = {c.instance_type: c.time_s.equation for c in plan.candidates}
        return seconds, [text for text in plan.warnings if text.startswith("assume ")]

    plain, no_note = rates()
    changed, (note,) = rates(network="200MB/s")
    assert not no_note and "raises 1 type and lowers 1" in note
    assert changed["a.1"] < plain["a.1"] and changed["a.4"] > plain["a.4"]
    one, none = rates(network__a_x1="200MB/s")
    assert not none and one["a.1"] < plain["a.1"]
    assert {name: one[name] for name in ("a.2", "a.4")} == {name: plain[name] for name in ("a.2", "a.4")}
