"""A type that is not recommended: its best cluster, the reason, and the changes that would admit or recommend it."""

from __future__ import annotations

from functools import partial

import pytest
from approvals import Approve

import planner
from planner.errors import BadInputError
from planner.planning.ranking import selection
from planner.planning.what_if.why_not import require_type

THREE = ("i8g.8xlarge", "i7i.8xlarge", "is4gen.8xlarge")
recommend = partial(planner.recommend, "3TB", instance=THREE)


@pytest.fixture(scope="module")
def answer() -> planner.Recommendation:
    return recommend()


def test_the_recommended_type_is_said_to_be_it(answer: planner.Recommendation) -> None:
    asked = answer.why_not("i8g.8xlarge")
    assert asked.is_recommended and asked.cluster == answer.best


def test_a_type_that_takes_part_has_its_best_cluster_as_planned_alone(answer: planner.Recommendation) -> None:
    asked = answer.why_not("is4gen.8xlarge")
    assert asked.cluster == planner.recommend("3TB", instance="is4gen.8xlarge", top=1).best
    assert not asked.reason and not asked.is_recommended and asked.recommended == answer.best


@pytest.mark.parametrize("name", ["i7i.8xlarge", "is4gen.8xlarge"])
def test_at_the_price_named_it_is_recommended_and_well_above_it_is_not(
    answer: planner.Recommendation, name: str
) -> None:
    asked = answer.why_not(name)
    price = asked.needed.price_usd_per_hour
    assert asked.cluster is not None and price is not None and 0 < price < asked.cluster.price_usd_per_hour
    at_price = recommend(own_price={name: price}).best
    above = recommend(own_price={name: price * 1.1}).best
    assert at_price is not None and at_price.instance_type == name
    assert above is not None and above.instance_type != name


def test_a_faster_resource_that_is_named_is_one_it_waits_for(answer: planner.Recommendation) -> None:
    asked = answer.why_not("i7i.8xlarge")
    assert asked.cluster is not None and asked.cluster.bottleneck in asked.needed.factors
    assert all(1 < factor <= 10 for factor in asked.needed.factors.values())


@pytest.mark.parametrize(
    ("options", "name", "reason", "lifted_by"),
    [
        ({}, "i3.16xlarge", "not asked for", "name it by --instance i3.16xlarge"),
        ({"instance": None, "exclude": "i3.*"}, "i3.16xlarge", "excluded", "name it by --instance i3.16xlarge"),
        ({"instance": None, "arch": "arm64"}, "i7i.8xlarge", "not known to be arm64", "leave out --arch arm64"),
        ({"max_nodes": 2}, "is4gen.2xlarge", "does not hold the data", "allow --max-nodes "),
        ({"budget": 3.5}, "is4gen.8xlarge", "exceeds the budget", "leave out --budget $3.50"),
        (
            {"sort_deadline": "20m", "nodes": 2},
            "is4gen.8xlarge",
            "misses the sort's deadline",
            "leave out --sort-deadline",
        ),
        ({}, "m5.24xlarge", "no local disks", "use --model all"),
    ],
)
def test_a_type_left_out_has_the_reason_and_what_takes_it_in(
    options: dict[str, object], name: str, reason: str, lifted_by: str
) -> None:
    asked = planner.recommend("3TB", **{"instance": THREE, **options}).why_not(name)
    assert reason in asked.reason
    assert asked.cluster is not None and asked.cluster.instance_type == name
    assert asked.lifted_by[0].startswith(lifted_by)


def test_as_many_nodes_as_it_says_are_enough_and_fewer_are_not() -> None:
    (words,) = recommend(max_nodes=2).why_not("is4gen.2xlarge").lifted_by
    most = int(words.rpartition(" ")[2])
    alone = partial(planner.recommend, "3TB", instance="is4gen.2xlarge")
    assert alone(max_nodes=most).best is not None and alone(max_nodes=most - 1).best is None


def test_a_type_of_unknown_disks_says_what_rate_would_do_and_how_to_measure_it(
    answer: planner.Recommendation, approve: Approve
) -> None:
    asked = answer.why_not("d3en.12xlarge")
    approve(asked.reason)
    assert "bench fleet" in asked.measure
    rate = asked.disk_bytes_per_s
    assert rate is not None and asked.local_disks == 24
    for factor, wins in ((1.001, True), (0.95, False)):
        rates = {f"local_{way}": f"{rate * factor:.0f}B/s" for way in ("read", "write")}
        cluster = planner.recommend("3TB", instance="d3en.12xlarge", assume=rates, top=1).best
        assert cluster is not None
        ranked = selection.order([cluster, *answer.candidates], answer.plan.request.rule)
        assert (ranked[0] is cluster) is wins


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("c6idd.32xlarge", "Did you mean c6id.32xlarge"),
        ("Standard_L8s_v3", "a type of azure, and aws is planned for; try --cloud aws,azure"),
        ("i4i.*", "name one type"),
    ],
)
def test_a_type_that_there_is_not_is_refused_with_what_was_meant(
    answer: planner.Recommendation, name: str, said: str
) -> None:
    with pytest.raises(BadInputError, match=said.replace("*", "\\*")):
        answer.why_not(name)


def test_other_catalogs_are_read_only_for_a_type_that_is_not_there() -> None:
    from planner.catalog import load_catalog

    def never() -> list[object]:
        raise AssertionError("the other clouds' catalogs take a second to read")

    require_type("i4i.large", [load_catalog("aws")], option="--why-not", others=never)  # type: ignore[arg-type]
