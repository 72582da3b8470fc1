"""A request for several data sizes returns the same answers as a separate request for each size."""

from __future__ import annotations

import json

import pytest

import planner
from planner.errors import BadInputError
from planner.schemas.plan import Plan


@pytest.fixture(scope="module")
def sizes() -> planner.DataSizes:
    return planner.recommend_each(["2TB", "1TB"], instance="i4i.4xlarge", nodes=8)


def test_each_answer_is_that_of_its_size_alone_least_first(sizes: planner.DataSizes) -> None:
    alone = [planner.recommend(data, instance="i4i.4xlarge", nodes=8).plan for data in ("1TB", "2TB")]
    assert list(sizes.plans) == alone
    assert [point.cluster for point in sizes.points] == [plan.best for plan in alone]


def test_the_frame_and_the_text_have_a_row_for_each_size(sizes: planner.DataSizes) -> None:
    frame = sizes.to_frame()
    assert frame["data_bytes"].tolist() == [10**12, 2 * 10**12]
    assert frame["cost_usd_total"].tolist() == [point.total_usd for point in sizes.points]
    heading, *rows = repr(sizes).splitlines()
    assert heading.split()[:2] == ["data", "cluster"] and [row.split("  ")[0] for row in rows] == ["1 TB", "2 TB"]
    assert "<table" in sizes._repr_html_()


def test_the_json_has_the_plans_which_can_be_read_again(sizes: planner.DataSizes) -> None:
    document = json.loads(sizes.to_json())
    assert [Plan.from_json(json.dumps(plan)) for plan in document["plans"]] == list(sizes.plans)


@pytest.mark.parametrize(("data", "said"), [([], "at least one size"), (["1TB", "1000GB"], "one size twice")])
def test_no_size_and_one_given_twice_are_refused(data: list[str], said: str) -> None:
    with pytest.raises(BadInputError, match=said):
        planner.recommend_each(data, instance="i4i.4xlarge", nodes=8)
