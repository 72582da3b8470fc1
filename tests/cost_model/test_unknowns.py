"""One rule for unknown values, and its table in the documentation."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from planner.api.recommend import recommend
from planner.cost_model.unknowns import KINDS, Policy, assumptions, interruptions_per_node_hour, packings
from planner.errors import BadInputError
from planner.schemas.request import CODECS

PAGE = Path(__file__).parents[2] / "docs" / "equations.md"


def test_the_page_lists_every_kind_and_what_is_done_by_default() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \| .* \| (exclude|assume) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {name: default for name, default, _ in rows} == {name: kind.by_default for name, kind in KINDS.items()}
    assert {name for name, _, assumed in rows if assumed.startswith("nothing")} == {
        name for name, kind in KINDS.items() if not kind.assumed
    }


@pytest.mark.parametrize("name", KINDS)
def test_the_option_decides_of_every_kind(name: str) -> None:
    assert not Policy.of("exclude").assumes(name)
    assert Policy.of("assume").assumes(name) == bool(KINDS[name].assumed)
    assert Policy.of(None).assumes(name) == (KINDS[name].by_default == "assume")


def test_another_word_is_refused() -> None:
    with pytest.raises(BadInputError, match="--unknown guess: use exclude or assume"):
        Policy.of("guess")


def test_every_assumption_has_its_evidence_and_source() -> None:
    assert all(table["evidence"] == "assumed" and table["source"] for table in assumptions().values())
    assumed = interruptions_per_node_hour()
    assert assumed.low < assumed.middle < assumed.high
    assert {"none", *packings()} == set(CODECS)


def test_an_unknown_rate_takes_part_where_it_is_to_be_assumed(make_catalog: Callable[..., str]) -> None:
    known = {"read": 2e9, "write": 2e9, "vcpu": 16}
    cloud = make_catalog({"known": known, "unknown": {"vcpu": 8, "local_disks": 4, "local_disk_bytes": 4e12}})
    strict, assumed = (recommend("1TB", model="indy", catalogs=[cloud], unknown=word) for word in (None, "assume"))
    assert {candidate.instance_type for candidate in strict.candidates} == {"known"}
    assert {candidate.instance_type for candidate in assumed.candidates} == {"known", "unknown"}
    filled = next(candidate for candidate in assumed.candidates if candidate.instance_type == "unknown")
    assert any(text.startswith(("local disks: assumed", "data disks: assumed")) for text in filled.warnings)
    assert filled.time_s.p95 > 1.3 * filled.time_s.equation


def test_spot_nodes_of_unknown_evictions_keep_no_deadline_for_sure() -> None:
    asked = {"model": "indy", "cloud": "gcp", "pricing": "spot", "instance": "c3-standard-8-lssd", "nodes": 50}
    assumed, calm = (
        recommend("10TB", deadline="1h", **asked, **more).best  # type: ignore[arg-type]
        for more in ({}, {"interruptions": 0.0002})
    )
    assert assumed is not None and calm is not None
    assert assumed.deadline_kept is not None and calm.deadline_kept is not None
    assert assumed.deadline_kept < calm.deadline_kept
    strict = recommend("10TB", deadline="1h", unknown="exclude", **asked).plan  # type: ignore[arg-type]
    assert strict.best is None
    assert "how often gcp takes spot nodes back is unknown" in {r.reason for r in strict.rejected}


def test_the_range_of_decoding_widens_the_95_percent_where_processors_decide() -> None:
    asked = {"model": "object-store", "instance": "c6in.xlarge", "nodes": 30, "format": "parquet"}
    asked |= {"compression": "none", "input": "s3://b/in", "output": "s3://b/out"}
    fast = {"object_read": "99Gbit/s", "object_write": "99Gbit/s", "network": "99Gbit/s"}
    assumed, known = (recommend("3TB", **asked, assume=fast, compute=rate).best for rate in (None, "125MB/s"))  # type: ignore[arg-type]
    assert assumed is not None and known is not None
    assert assumed.time_s.p95 / assumed.time_s.p50 > 1.03 * known.time_s.p95 / known.time_s.p50


def test_prices_of_another_region_widen_the_95_percent_of_the_bill() -> None:
    asked = {"cloud": "gcp", "model": "cloudsort", "nodes": 10, "instance": "n2-standard-16"}
    at_home, elsewhere = (recommend("3TB", region=region, **asked).best for region in ("us-central1", "europe-west4"))  # type: ignore[arg-type]
    assert at_home is not None and elsewhere is not None
    wider = [of.cost_usd.total_p95 / of.cost_usd.total for of in (at_home, elsewhere)]
    assert at_home.time_s == elsewhere.time_s and wider[1] > 1.02 * wider[0]
    assert any("is unknown: assumed that of us-central1, 1.0 to 1.7 times" in text for text in elsewhere.warnings)
    within, beyond = (elsewhere.cost_usd.total_p95 * share for share in (1.01, 0.99))
    assert recommend("3TB", region="europe-west4", budget=within, **asked).best is not None  # type: ignore[arg-type]
    assert recommend("3TB", region="europe-west4", budget=beyond, **asked).best is None  # type: ignore[arg-type]
