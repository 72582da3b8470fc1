"""Evidence is ordered, rates are known or not, and only existing rates can be assumed or scaled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from refusals import refused

from planner.cost_model.rates import Device, Network, check_rates, evidence_codes, evidence_name, weakest
from planner.cost_model.workload import JobContext


def test_the_weakest_word_decides_and_unknown_is_weaker_than_any() -> None:
    assert weakest("measured", "recalled", "spec") == "recalled"
    assert weakest("assumed", "unknown") == "unknown"


def test_codes_read_back_as_words() -> None:
    codes = evidence_codes(np.array(["spec", "", "derived", "assumed"])).tolist()
    assert [evidence_name(code) for code in codes] == ["spec", "unknown", "derived", "assumed"]


def test_a_device_is_known_by_its_simultaneous_rate_or_by_both_exclusive_ones() -> None:
    nan = np.nan
    device = Device(
        read=np.array([1.0, nan, 1.0]),
        write=np.array([nan, nan, 2.0]),
        simultaneous=np.array([nan, 5.0, nan]),
        evidence=np.zeros(3, np.int8),
    )
    assert device.known.tolist() == [False, True, True]


def test_names_that_are_none_are_refused_with_the_nearest() -> None:
    with refused("unknown-word", "local_raed", "local_read"):
        check_rates(assume={"local_raed": 1.0}, scale={}, compute_bytes_per_s_per_vcpu=None)
    for word, meant in (("disk", "local_read or local_write"), ("bandwidth", "network")):
        with refused("unknown-word", f"Did you mean {meant}?"):
            check_rates(assume={word: 1.0}, scale={}, compute_bytes_per_s_per_vcpu=None)
    for word, meant in (("bandwidth", "mean network"), ("disk", "mean local?"), ("nodes", "--nodes 10 sets")):
        with refused("unknown-word", meant):
            check_rates(assume={}, scale={word: 2.0}, compute_bytes_per_s_per_vcpu=None)
    with refused("out-of-range", "cpu=0", "0.001"):
        check_rates(assume={}, scale={"cpu": 0.0}, compute_bytes_per_s_per_vcpu=None)


Make = Callable[..., JobContext]
NODE = {"read": 4e9, "write": 2e9}


def point(nodes: int | str, rate: float, *, group: str = "no", aggregate: str = "mean") -> dict[str, Any]:
    return {"instance_type": "a", "nodes": nodes, "placement_group": group, "bytes_per_s": rate, "aggregate": aggregate,
            "method": "made"}  # fmt: skip


def network(make_context: Make, *points: dict[str, Any], **node: Any) -> Network:
    return make_context({"a": NODE | node}, files={"networks": list(points)}).rates.network


def test_points_inside_a_placement_group_count_where_the_type_can_have_one(make_context: Make) -> None:
    """Inside a group 900 and 800 MB/s: the lower is the flat rate; without groups it is the 500 MB/s outside."""
    points = (point(2, 9e8, group="yes"), point(8, 8e8, group="yes"), point(2, 5e8))
    near, far = (network(make_context, *points, placement_group=group) for group in ("yes", "no"))
    assert (near.flat[0], far.flat[0]) == (8e8, 5e8)
    assert near.at(np.array([0]), np.array([2.0, 8.0]))[0].tolist() == pytest.approx([9e8, 8e8])
    assert not near.stated[0]
    assert near.ideal().at(np.array([0]), np.array([8.0]))[0, 0] == 9e8
    only_inside = network(make_context, point(2, 9e8, group="yes"), placement_group="no")
    assert only_inside.flat[0] == 9e8


def test_what_a_network_rate_rests_on(make_context: Make) -> None:
    """Within its points a rate is measured, beyond them extrapolated; one of an unstated size is extrapolated."""
    sized = network(make_context, point(2, 9e8), point(8, 8e8, aggregate="slowest_of_n"))
    assert [sized.evidence_at(0, nodes) for nodes in (2, 8, 9)] == ["measured", "measured", "extrapolated"]
    assert sized.slowest_of_n[0]
    assert sized.curve_of(0) is not None
    unsized = network(make_context, point("", 9e8))
    assert unsized.evidence_at(0, 2) == "extrapolated"
    assert unsized.curve_of(0) is None
    assert not unsized.slowest_of_n[0]
    stated = make_context({"a": NODE}).rates.network
    assert stated.stated[0]
    curve = stated.curve_of(0)
    assert curve is not None
    assert (curve.nodes.tolist(), curve.bytes_per_s.tolist()) == ([2], [1])
    unknown = make_context({"a": NODE | {"network_baseline_bytes_per_s": ""}}).rates.network
    assert unknown.evidence_at(0, 2) == "unknown"


def test_the_slowest_variant_of_a_network_card_counts(make_context: Make) -> None:
    buckets = [
        {
            "instance_type": "a",
            "variant": name,
            "burst_bytes_per_s": burst,
            "bucket_bytes": tokens,
            "baseline_bytes_per_s": 1e8,
        }
        for name, burst, tokens in (("x", 4e9, 1e11), ("y", 2e9, 3e11))
    ]
    rates = make_context({"a": NODE}, files={"token_buckets": buckets}).rates.network
    assert (rates.burst[0], rates.bucket_bytes[0]) == (2e9, 3e11)


@pytest.mark.parametrize(
    ("both", "assume", "read", "write"),
    [
        (None, {"local_read": 7e9}, 7e9, 2e9),
        (None, {"local_write": 7e9}, 4e9, 7e9),
        (1e9, {"local_read": 7e9}, 7e9, 1e9),
        (1e9, {"local_write": 7e9}, 1e9, 7e9),
    ],
)
def test_an_assumed_direction_leaves_the_other(
    make_context: Make, both: float | None, assume: dict[str, float], read: float, write: float
) -> None:
    """The measurement of both ways at once stands for the direction that is not assumed."""
    local = make_context({"a": NODE | {"both": both}}, assume=assume).rates.local
    assert (local.read[0], local.write[0]) == (read, write)
    assert np.isnan(local.simultaneous[0])
    assert evidence_name(int(local.evidence[0])) == "assumed"


VOLUME = {"volume_type": "v", "price_usd_per_gib_month": 0.1, "size_bytes_max": 1e15, "free_bytes_per_s": 2.5e8,
          "read_bytes_per_s_max": 2.5e8, "write_bytes_per_s_max": 2.5e8, "price_evidence": "spec",
          "limit_evidence": "spec"}  # fmt: skip


def test_volumes_are_no_faster_than_those_that_are_bought_but_in_the_papers(make_context: Make) -> None:
    """Two volumes of 250 MB/s fill a link of 500 MB/s."""
    files, assume = {"volumes": [VOLUME]}, {"volume_read": 3e8, "volume_write": 9e8}
    asked = {"model": "cloudsort", "files": files, "assume": assume}
    volumes = make_context({"a": NODE}, **asked).rates.volumes
    assert (volumes.read[0], volumes.write[0]) == (3e8, 5e8)
    literal = make_context({"a": NODE}, paper=True, **asked).rates.volumes
    assert (literal.read[0], literal.write[0]) == (3e8, 9e8)


def test_a_network_is_as_sure_as_its_least_sure_point(make_context: Make) -> None:
    for words in (("measured", "recalled"), ("recalled", "measured")):
        points = [point(nodes, 9e8) | {"evidence": word} for nodes, word in zip((2, 8), words, strict=True)]
        assert network(make_context, *points).evidence_at(0, 2) == "recalled"
