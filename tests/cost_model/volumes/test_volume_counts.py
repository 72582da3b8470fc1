"""Rate against number of volumes: Figure 10 of SoCC 2015 by hand, up to the link, at the price of the rate."""

from __future__ import annotations

import pytest

from planner import recommend
from planner.catalog import load_catalog
from planner.cost_model.volumes.volume_counts import VolumeCount, volume_counts


def of(catalog: str, instance_type: str, volume: str, rated: str) -> list[VolumeCount]:
    steps = volume_counts(load_catalog(catalog), instance_type)
    return [step for step in steps if (step.volume_type, step.rated) == (volume, rated)]


def test_one_volume_of_2014_does_not_fill_the_link_and_two_do() -> None:
    """A gp2 volume does 160 MB/s, i2.4xlarge's link 250 MB/s; 250 MB/s are 250e6 / (3 x 262,144) GiB at $0.10/720 h."""
    first, full = of("aws-2014", "i2.4xlarge", "gp2", "at its most")
    assert (first.count, first.read_bytes_per_s, full.count, full.write_bytes_per_s) == (1, 160e6, 2, 250e6)
    assert full.link_bytes_per_s == 250e6
    assert full.usd_per_hour == pytest.approx(250e6 / 262_144 / 3 * 0.10 / 720)


def test_what_was_measured_stands_beside_what_is_stated() -> None:
    (measured,) = of("aws-2014", "i2.4xlarge", "gp2", "measured")
    assert (measured.count, measured.read_bytes_per_s, measured.write_bytes_per_s) == (3, 243e6, 226e6)
    assert measured.evidence == "measured"


def test_rates_included_and_bought_and_as_many_as_can_be_attached() -> None:
    """gp3, each month: a volume has 125 MiB/s and 3,000 operations of 256 KiB/s; more cost $0.04 and $0.005; a GiB has
    500 operations and costs $0.08.
    """
    bought = of("aws", "c8gb.8xlarge", "gp3", "at its most")
    rate_each = 6.25e9 / 6
    operations = rate_each / 2**18
    monthly_each = (rate_each / 2**20 - 125) * 0.04 + (operations - 3000) * 0.005 + operations / 500 * 0.08
    assert (bought[-1].count, bought[-1].read_bytes_per_s) == (6, 6.25e9)
    assert bought[-1].usd_per_hour == pytest.approx(6 * monthly_each / 720)
    included = of("aws", "c8gb.8xlarge", "gp3", "included")
    assert [step.read_bytes_per_s for step in included] == [step.count * 131_072_000 for step in included]
    assert [step.count for step in included] == [
        1,
        2,
        3,
        4,
        6,
        8,
        12,
        16,
        24,
        31,
    ]  # as many as can be attached beside the root
    assert included[-1].usd_per_hour == pytest.approx(31 * 0.08 / 720)


def test_unknown_links_have_no_steps() -> None:
    assert volume_counts(load_catalog("tritonsort-2011"), "dl380g6") == []


def test_the_frame_has_the_candidates_on_volumes_and_no_others() -> None:
    asked = {"data": "1TB", "catalogs": ("aws-2014",), "instances": ("r3.4xlarge", "i2.4xlarge"), "max_nodes": 400}
    on_volumes = recommend(model="cloudsort", assume={"network": "1GB/s"}, **asked)
    names = {candidate.instance_type for candidate in on_volumes.candidates}
    assert set(on_volumes.volumes().instance_type) == names
    assert names
    assert recommend(model="indy", assume={"network": "1GB/s"}, **asked).volumes().empty


def test_numbers_double_and_half_double_as_far_as_the_link_goes() -> None:
    """1, 2, 3, 4, 6, 8 ... to 127, of 262,144,000 B/s each within 37.5 GB/s: 143 would fill it, 128 with the root
    can be attached.
    """
    counts = [step.count for step in of("aws", "c8gb.48xlarge", "gp2", "at its most")]
    assert counts == sorted([2**n for n in range(7)] + [3 * 2**n for n in range(6)] + [127])


def test_a_volume_that_nothing_is_included_with_has_steps_at_its_most_alone() -> None:
    """Only gp3 of AWS's volumes includes a rate in its price."""
    ways = {(step.volume_type, step.rated) for step in volume_counts(load_catalog("aws"), "c8gb.48xlarge")}
    assert {volume for volume, rated in ways if rated == "included"} == {"gp3"}
    assert {volume for volume, rated in ways if rated == "at its most"} == {"gp2", "gp3", "io1", "io2", "sc1", "st1"}


def test_volumes_that_the_family_cannot_have_are_not_counted() -> None:
    assert {step.volume_type for step in volume_counts(load_catalog("gcp"), "e2-standard-32")} == {
        "pd-ssd",
        "pd-balanced",
    }
