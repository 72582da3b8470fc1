"""A plan is one JSON value: any plan round-trips exactly, and other input is refused by name."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest
from approvals import Approve
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import BadInputError
from planner.schemas.door import Between
from planner.schemas.plan import Plan, Range

SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=8),
    int: st.integers(-(2**60), 2**60),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
}


def anything_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of an annotation of `planner.schemas.plan`."""
    origin, inner = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return st.builds(hint, **{field.name: anything_of(hints[field.name]) for field in fields(hint)})
    if origin in (Union, UnionType):
        return st.one_of(
            *(st.none() if alternative is type(None) else anything_of(alternative) for alternative in inner)
        )
    if origin is tuple:
        return st.lists(anything_of(inner[0]), max_size=2).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(max_size=4), anything_of(inner[1]), max_size=2)
    if origin is Annotated:
        bounds = next((about for about in inner[1:] if isinstance(about, Between)), None)
        return anything_of(inner[0]) if bounds is None else within(inner[0], bounds)
    return st.sampled_from(inner) if origin is Literal else SCALARS[hint]


def within(hint: type, bounds: Between) -> st.SearchStrategy[Any]:
    most = None if bounds.most == float("inf") else bounds.most
    if hint is int:
        return st.integers(int(bounds.least), min(int(most or 2**60), 2**60))
    ends = {"exclude_min": bounds.above, "exclude_max": bounds.below}
    return st.floats(bounds.least, most, allow_nan=False, allow_infinity=False, **ends)


@settings(max_examples=25, deadline=None)
@given(plan=anything_of(Plan))
def test_any_plan_round_trips_exactly(plan: Plan) -> None:
    text = plan.to_json()
    again = Plan.from_json(text)
    assert sorted(again.rejected, key=str) == sorted(plan.rejected, key=str)
    assert replace(again, rejected=plan.rejected) == plan
    assert again.to_json() == text


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("request", "data_bytes"), 1.5, "plan.request.data_bytes: expected a whole number"),
        (("request", "data_bytes"), True, "plan.request.data_bytes: expected a whole number"),
        (("request", "objective"), "fame", "plan.request.objective: 'fame' is none of balanced"),
        (("request", "node_limits"), {}, "plan.request.node_limits: expected a list"),
        (("catalog", "prices_as_of"), None, "plan.catalog.prices_as_of: expected a text"),
        (("rejected",), [{"reason": "none", "types": "two"}], "plan.rejected[0].types: expected a whole number"),
        (("warnings",), [1], "plan.warnings[0]: expected a text"),
    ],
)
def test_what_is_no_plan_is_named(place: tuple[str, ...], value: object, message: str) -> None:
    document: dict[str, Any] = {
        "request": {"data_bytes": 1, "model": "indy"},
        "catalog": {"name": "aws", "prices_as_of": "2026-01-01"},
        "best": None,
        "candidates": [],
        "rejected": [],
    }
    assert Plan.from_json(json.dumps(document)).best is None
    inside = document
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    with pytest.raises(BadInputError) as caught:
        Plan.from_json(json.dumps(document))
    assert message in str(caught.value)


def test_a_time_says_which_of_its_two_figures_is_which(approve: Approve) -> None:
    time = Range(equation=26.4, expected=28.1, p50=28.0, p95=33.0)
    approve(time.both_times)
