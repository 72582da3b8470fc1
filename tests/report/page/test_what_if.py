"""The answers in a page match those of `what_if`; a question without an answer is marked."""

from __future__ import annotations

from dataclasses import replace

import pytest

import planner
from planner.planning.what_if.what_if import Contrast, Variant
from planner.report.page.plan_page import what_if_part

TYPES = "i4i.8xlarge,i8g.8xlarge,i8g.24xlarge"


@pytest.fixture(scope="module")
def answer() -> planner.Recommendation:
    return planner.recommend("10TB", instance=TYPES, deadline="2h")


@pytest.fixture(scope="module")
def contrast(answer: planner.Recommendation) -> Contrast:
    """All answers in the page; computing them takes three seconds."""
    return answer.page_contrast()


def test_each_answer_of_the_page_is_that_of_what_if(answer: planner.Recommendation, contrast: Contrast) -> None:
    best = answer.best
    assert best is not None
    variants = {(made.lever, made.factor): made.plan.best for made in contrast.variants}
    leading = {of.instance_type for of in (*answer.plan.candidates, *answer.plan.frontier)}
    asked = {
        ("data", 2.0): {"data": "20TB"},
        ("network", 0.5): {"network": 0.5},
        ("price", 0.7): {"price": 0.7},
        ("nodes", 2.0): {"nodes": 2 * best.nodes},
    }
    for change, arguments in asked.items():
        again = answer.what_if(instance=sorted(leading), top=1, **arguments).best
        assert again is not None
        made = variants[change]
        assert made is not None
        assert (made.instance_type, made.nodes, made.time_s, made.cost_usd) == (
            again.instance_type,
            again.nodes,
            again.time_s,
            again.cost_usd,
        )
    assert ("limits", 1.0) in variants


def test_the_page_names_the_change_and_its_cluster(answer: planner.Recommendation, contrast: Contrast) -> None:
    best = answer.best
    assert best is not None
    part = what_if_part(answer.plan, best, contrast)
    document = part["document"]
    place = {label: value for value, label in part["menu"]["Data"]}["20 TB"]
    assert document["answers"][place]["cluster"] == part["table"].rows[place][1]
    assert document["answers"][0]["total_usd"] == best.cost_usd.total
    assert [label for _, label in part["menu"]["Deadline and budget"]] == ["none"]
    assert "Network, same cluster" not in part["menu"] and "Local disks, same cluster" in part["menu"]


def test_what_is_not_feasible_is_a_row_without_a_cluster(answer: planner.Recommendation) -> None:
    best = answer.best
    assert best is not None
    none = replace(answer.plan, best=None, candidates=(), frontier=())
    part = what_if_part(answer.plan, best, Contrast(variants=(Variant(lever="network", factor=0.5, plan=none),)))
    assert part["table"].rows[1] == ["Network: 0.5 times as fast", "none", "-", "-", "-"]
    assert part["document"]["answers"][1] is None
