"""The arguments of `recommend`: names of `plan`, texts and Python values, and contradictions."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import BadInputError
from planner.schemas.arguments import request_fields
from planner.schemas.plan import NodeLimit, OwnPrice


@pytest.mark.parametrize(
    ("asked", "field", "value"),
    [
        ({"cloud": "aws, gcp"}, "catalogs", ("aws", "gcp")),
        ({"catalog": ["a,b", "c"]}, "catalogs", ("a", "b", "c")),
        ({"region": "us-east-1"}, "regions", ("us-east-1",)),
        ({"instance": ["i4i.*"]}, "instances", ("i4i.*",)),
        ({"budget": 40}, "budget_usd", 40),
        ({"compute": "50MB/s"}, "compute_bytes_per_s_per_vcpu", 50e6),
        ({"assume": {"network": "1GB/s", "price": 1.65}}, "assume", {"network": 1e9, "price": 1.65}),
        ({"assume": "network=1GB/s,price=1.65"}, "assume", {"network": 1e9, "price": 1.65}),
        ({"what_if": "network=1.5"}, "scale", {"network": 1.5}),
        ({"data": 1e12}, "data_bytes", 10**12),
        ({"data": "1e6 records"}, "data_bytes", 10**8),
        ({"deadline": "1h 30m"}, "deadline_s", 5400.0),
        ({"deadline": 90}, "deadline_s", 90.0),
        ({"deadline": None}, "deadline_s", None),
        ({"region": None}, "regions", ()),
        ({"assume": None}, "assume", {}),
        ({"nodes": "1,000"}, "nodes", 1000),
        ({"max_vcpus": "1e4"}, "max_vcpus", 10_000),
        ({"budget": "$10,000"}, "budget_usd", 1e4),
        ({"budget": "20 USD"}, "budget_usd", 20),
        ({"what_if": "network=2x"}, "scale", {"network": 2}),
        ({"map_ratio": "50%"}, "map_ratio", 0.5),
        ({"confidence": "95%"}, "confidence", 0.95),
    ],
)
def test_each_form_is_understood(asked: dict[str, Any], field: str, value: object) -> None:
    assert request_fields(asked)[field] == value


@pytest.mark.parametrize("discount", ["15%", 0.15, {"*": "15%"}])
def test_a_discount_is_a_text_a_share_or_one_for_each_type(discount: Any) -> None:
    assert request_fields({"discount": discount})["own_prices"] == (OwnPrice(discount=0.15, note="--discount"),)


def test_prices_and_capacities_add_up() -> None:
    own = OwnPrice(instance="b", discount=0.5)
    fields = request_fields({"own_price": {"a": 0.95}, "discount": "10%", "own_prices": [own], "capacity": "a=4"})
    assert [price.instance for price in fields["own_prices"]] == ["a", "b", "*"]
    assert fields["node_limits"] == (NodeLimit(instance="a", nodes=4, note="--capacity"),)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"instnace": "a"}, "Did you mean instance"),
        ({"cloud": "aws", "catalogs": ["gcp"]}, "says the same"),
        ({"assume": "network"}, "NAME=RATE"),
        ({"assume": {"network": "fast"}}, "write it as"),
        ({"assume": "network=800"}, "no unit"),
        ({"assume": "network=net.csv"}, r"--assume network=net.csv: .*\n.*`planner ingest FILE`"),
        ({"assume": "network=50%"}, "--what-if network=50% multiplies it"),
        ({"what_if": "network=800MB/s"}, "write it as network=2"),
        ({"data": 0}, "must lie between"),
        ({"data": "n.toml"}, r"a file, and no size\n.*plan n.toml.*\n.*planner.read_request\(FILE\)"),
        ({"deadline": -1}, "must be positive"),
        ({"nodes": 0}, "--nodes 0: must lie between 1 and 100000"),
        ({"budget": -1}, "positive amount"),
        ({"budget": "much"}, "--budget: number 'much'"),
        ({"budget": "3000/month"}, "the budget is of one run, not per month"),
        ({"budget": "$90 a week"}, "the budget is of one run, not per week"),
        ({"max_cost": 3}, "Did you mean: budget='200', the most that a run may cost; objective='cost' asks"),
        ({"ram": "64GiB"}, "Did you mean: min_memory='64GiB'"),
        ({"types": "i4i"}, "Did you mean: instance$"),
        ({"nightly": True}, "Note: the bill is that of one run"),
        ({"what_if": "network=fast"}, "--what-if network=fast: write it as network=2, 2x or 200%"),
        ({"spot": True}, "Did you mean: pricing='spot'"),
        ({"objective": "tim"}, "Did you mean time"),
        ({"cloud": "aws", "catalog": "gcp"}, "--cloud and --catalog contradict"),
        ({"data": "1TB", "min_memory": "64"}, "--min-memory: size '64' has no unit"),
        ({"data": "1TB", "sort_deadline": "45"}, "--sort-deadline: duration '45' has no unit"),
    ],
)
def test_what_cannot_be_meant_is_refused(asked: dict[str, Any], complaint: str) -> None:
    with pytest.raises(BadInputError, match=complaint):
        request_fields(asked)
