"""Formats and compression: stored bytes are moved, unpacked bytes are sorted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve
from refusals import refused

import planner
from planner.cost_model.engine import IDEAL
from planner.errors import BadInputError
from planner.planning.request.stored_data import coding_s_per_byte, stored_data, stored_notes
from planner.schemas.plan import Candidate, Request

STORES: dict[str, Any] = {"input": "s3://b/in", "output": "s3://b/out"}


def best_of(**asked: Any) -> Candidate:
    best = planner.recommend(**({"data": "1TB", "instance": "i4i.4xlarge", "nodes": 8} | asked)).best
    assert best is not None
    return best


def test_a_ratio_that_is_stated_says_how_much_is_sorted(approve: Approve) -> None:
    asked = Request(data_bytes=10**12, format="lines", compression="zstd=3")
    assert stored_data(asked).sorted_bytes == 3 * 10**12
    approve(list(stored_notes(asked, IDEAL)))


def test_a_ratio_that_nobody_states_is_assumed_with_a_range_that_shows_in_the_95th_percentile(approve: Approve) -> None:
    stated, assumed = (
        best_of(model="indy", format="lines", compression=codec, **STORES) for codec in ("zstd=2.877", "zstd")
    )
    assert assumed.time_s.p95 > 1.3 * stated.time_s.p95
    (note,) = stored_notes(Request(data_bytes=10**12, format="lines", compression="zstd"), IDEAL)
    approve(note)


def test_stored_bytes_are_moved_and_unpacked_ones_sorted() -> None:
    plain, packed = (best_of(model="indy", compression=codec, format="lines", **STORES) for codec in ("none", "zstd=2"))
    assert packed.phases[0].resources["network"].bytes_per_node == pytest.approx(
        2 * plain.phases[0].resources["network"].bytes_per_node
    )
    requests = [
        next(line.usd or 0.0 for line in best.bill if line.name == "stage in: requests") for best in (plain, packed)
    ]
    assert requests[0] == pytest.approx(requests[1])


def test_few_files_that_are_not_divided_keep_most_nodes_waiting() -> None:
    few, many = (best_of(model="indy", format="lines", files=files, **STORES) for files in (2, 500))
    assert few.overheads_s["stage in"] == pytest.approx(4 * many.overheads_s["stage in"])
    assert any("files bind: 2 of them" in line.note for line in few.bill)


def test_decoding_takes_processors_and_is_said_to_be_assumed(approve: Approve) -> None:
    records, tables = (best_of(model="indy", format=form, compression="none", **STORES) for form in (None, "parquet"))
    assert tables.phases[0].resources["cpu"].equation_s > records.phases[0].resources["cpu"].equation_s
    approve(stored_notes(_parquet(), IDEAL))
    with refused("rate-unknown", "parquet", field="--unknown"):
        coding_s_per_byte(_parquet(unknown="exclude"), IDEAL)


def test_an_engine_that_was_measured_with_a_format_needs_no_assumption(approve: Approve) -> None:
    measured = replace(IDEAL, decode_s_per_byte={"parquet": 2e-9}, encode_s_per_byte={"parquet": 3e-9})
    assert coding_s_per_byte(_parquet(unknown="exclude"), measured) == (2e-9, 3e-9)
    (note,) = stored_notes(_parquet(), measured)
    approve(note)
    packed = Request(data_bytes=10**12, format="parquet", compression="zstd=2")
    assert coding_s_per_byte(packed, measured) == pytest.approx((2e-9 + 1 / 940e6, 3e-9 + 1 / 330e6))
    said = Request(data_bytes=10**12, format="parquet", compression="none", compute_bytes_per_s_per_vcpu=1e8)
    assert coding_s_per_byte(said, measured) == (1e-8, 0.0)


def _parquet(**asked: Any) -> Request:
    return Request(data_bytes=10**12, format="parquet", compression="none", **asked)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"format": "parkett"}, "--format parkett: use one of"),
        ({"compression": "zst=x"}, "write unpacked over stored bytes"),
        ({"compression": "rar"}, "--compression rar: use one of"),
        ({"compression": "zstd", "unknown": "exclude"}, "say --compression zstd=RATIO"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        stored_data(Request(data_bytes=10**12, **wrong))


def test_traffic_between_regions_is_charged_and_the_difference_said(approve: Approve) -> None:
    asked: dict[str, Any] = {"model": "indy", "region": "us-east-1", "input": "s3://b/in"}
    plan = planner.recommend("1TB", instance="i4i.4xlarge", nodes=8, input_region="eu-west-1", **asked).plan
    assert plan.best is not None
    usd = {line.name: line.usd for line in plan.best.bill}["input: traffic between regions"]
    assert usd == pytest.approx(1e12 / 2**30 * 0.02)
    approve(plan.warnings)
    there = planner.recommend("1TB", instance="n2-standard-8+2x375GB", nodes=8, input="gs://b/in",
                              input_region="europe-west4", model="indy").plan  # fmt: skip
    assert there.request.catalogs == ("gcp",) and there.request.regions == ("europe-west4",)


def test_between_stores_local_disks_and_the_store_are_ranked_together() -> None:
    plan = planner.recommend("1TB", instance="i4i.*", **STORES).plan
    assert {"indy", "daytona", "object-store"} == {candidate.model for candidate in plan.candidates}
    assert planner.recommend("1TB", instance="i4i.*", input="s3://b/in").plan.request.model == "daytona"
    assert planner.recommend("1TB", instance="i4i.*", model="indy", **STORES).plan.request.model == "indy"


@pytest.mark.parametrize(
    "said", [{"format": "csv"}, {"compression": "zstd"}, {"files": 5}, {"input_region": "eu-west-1"}]
)
def test_what_is_said_of_files_needs_an_input(said: dict[str, Any]) -> None:
    with refused("missing-companion", field=next(iter(said))):
        planner.recommend("1TB", **said)
    with refused("missing-companion", field="output_region"):
        planner.recommend("1TB", output_region="eu-west-1")


def test_the_papers_know_of_records_alone(approve: Approve) -> None:
    plan = planner.recommend("1TB", instance="i4i.4xlarge", model="indy", paper=True, compression="zstd", **STORES).plan
    approve(plan.warnings)


def test_a_plan_of_a_format_is_run_in_that_format() -> None:
    from planner.api.run import _work_of

    answer = planner.recommend("1TB", instance="i4i.4xlarge", model="indy", format="lines", **STORES)
    assert _work_of(answer, {}).form.format == "lines"
