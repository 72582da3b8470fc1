"""Figure 9 of SoCC 2015: the same types without a network limit, with ideal scaling, and at scale."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from approvals import Approve
from refusals import refused

from planner import recommend
from planner.api.recommend import Recommendation
from planner.errors import BadInputError
from planner.planning.what_if.network_views import NetworkRow, network_rows, verdict
from planner.schemas.plan import Plan, Request


@pytest.fixture(scope="module")
def figure_9() -> Recommendation:
    return recommend(data="100TB", model="indy", catalogs=("aws-2014",), max_nodes=179, paper=True)


@pytest.fixture(scope="module")
def rows(figure_9: Recommendation) -> dict[str, NetworkRow]:
    return {row.instance_type: row for row in figure_9.network_rows()}


def costs(row: NetworkRow) -> list[float | None]:
    return [cluster and cluster.cost_usd.equation for cluster in row.clusters.values()]


def test_the_papers_dollars_under_each_network(rows: dict[str, NetworkRow]) -> None:
    """Equation 7 for 1e14 B: $/h / 3600 x 1e14 x (1/min(network, disks) + 1/disks).

    i2.8xlarge at $6.82: disks 1738 MB/s, network 1089 MB/s between two nodes and 879 MB/s at 178. m1.xlarge at $0.35:
    disks 125.4 MB/s, network 34.2 MB/s. The paper prints $218 and $155, then $325 and $362.
    """
    by_hand = [
        6.82 / 3600 * 1e14 * (2 / 1738e6),
        6.82 / 3600 * 1e14 * (1 / 1089e6 + 1 / 1738e6),
        6.82 / 3600 * 1e14 * (1 / 879e6 + 1 / 1738e6),
    ]
    assert costs(rows["i2.8xlarge"]) == pytest.approx(by_hand, rel=1e-3)
    assert costs(rows["i2.8xlarge"]) == pytest.approx([218, 283, 325], abs=0.6)
    assert costs(rows["m1.xlarge"]) == pytest.approx([155, 362, 362], abs=0.6)


def test_the_winner_changes_when_the_network_counts(rows: dict[str, NetworkRow], approve: Approve) -> None:
    assert rows["m1.xlarge"].wins == ("unlimited",)
    assert rows["i2.8xlarge"].wins == ("ideal", "expected")
    approve(verdict(list(rows.values())))
    approve(verdict([rows["i2.8xlarge"]]))


def test_rows_are_cheapest_first_and_leave_blank_what_has_no_network_rate(rows: dict[str, NetworkRow]) -> None:
    expected = [row.clusters["expected"] for row in rows.values()]
    totals = [cluster.cost_usd.total for cluster in expected if cluster]
    assert totals == sorted(totals)
    assert expected[len(totals) :] == [None] * (len(expected) - len(totals))
    assert rows["i2.4xlarge"].clusters["unlimited"] is not None  # its network rate is not printed in the paper
    assert rows["i2.4xlarge"].clusters["expected"] is None


def test_the_frame_marks_one_winner_for_each_network(figure_9: Recommendation) -> None:
    frame = figure_9.networks()
    winners = frame[frame.winner].set_index("network").instance_type
    assert dict(winners) == {"unlimited": "m1.xlarge", "ideal": "i2.8xlarge", "expected": "i2.8xlarge"}


def test_a_view_is_a_plan_that_can_be_asked_for(rows: dict[str, NetworkRow]) -> None:
    asked = recommend(
        data="100TB", model="indy", catalogs=("aws-2014",), max_nodes=179, paper=True, network="unlimited"
    )
    assert asked.best is not None
    assert replace(asked.best, bottleneck="", reliefs_s={}) == rows["m1.xlarge"].clusters["unlimited"]


def test_a_stated_rate_falls_at_scale_as_expected_and_not_ideally() -> None:
    asked: dict[str, Any] = {"data": "100TB", "model": "daytona", "instances": ("i8g.8xlarge",), "nodes": 77}
    expected, ideal = recommend(**asked).best, recommend(**asked, network="ideal").best
    assert expected is not None and ideal is not None
    assert ideal.time_s.equation == expected.time_s.equation
    assert ideal.time_s.expected < expected.time_s.expected


def test_a_network_that_the_user_states_is_not_compared() -> None:
    asked = recommend(data="1TB", model="indy", catalogs=("aws-2014",), assume={"network": "1GB/s"})
    assert asked.network_rows() == ()
    assert asked.networks().empty
    with refused("contradiction", field="network"):
        recommend(data="1TB", model="indy", assume={"network": "1GB/s"}, network="ideal")
    with pytest.raises(BadInputError, match=r"network: .*unlimited, ideal, expected"):
        recommend(data="1TB", model="indy", network="idle")  # type: ignore[typeddict-item]


def test_five_leading_types_are_asked_for_under_each_network() -> None:
    """All of them are also asked for together: here the same five, with no room for a sixth."""
    plan = recommend(data="100TB", model="indy", catalogs=("aws-2014",), max_nodes=60, paper=True).plan
    asked: list[Request] = []

    def plan_again(request: Request) -> Plan:
        asked.append(request)
        return replace(plan, candidates=plan.candidates[:1])

    network_rows(plan.request, plan_again=plan_again)
    assert [(request.network, request.top) for request in asked] == [
        *(("unlimited", 5), ("ideal", 5), ("expected", 5)),
        *(("unlimited", 1), ("ideal", 1), ("expected", 1)),
    ]
