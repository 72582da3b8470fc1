"""The options of `plan` and the parameters of `recommend` are the fields of `Request`, with its defaults."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import get_args, get_type_hints

import pytest
from typer.models import OptionInfo

from planner import recommend
from planner.cli.request_options import RequestOptions
from planner.errors import BadInputError
from planner.schemas.plan import Objective, Request, meaning

OPTIONS_OF = {
    "data_bytes": ("data",),
    "catalogs": ("cloud", "catalog"),
    "regions": ("region",),
    "instances": ("instance",),
    "deadline_s": ("deadline",),
    "sort_deadline_s": ("sort_deadline",),
    "budget_usd": ("budget",),
    "interruptions_per_node_hour": ("interruptions",),
    "scale": ("what_if",),
    "own_prices": ("discount", "own_price"),
    "node_limits": ("capacity",),
    "compute_bytes_per_s_per_vcpu": ("compute",),
}
"""Fields whose options have other names, or several."""

OWN_WORDS = {"cloud", "catalog", "discount", "own_price", "capacity", "profile", "option"}
"""Options that set no field, or a part of one, and say so in their own words."""

BY_DEFAULT = RequestOptions(data="1TB", model="indy", catalog=["aws"])


def test_every_field_has_its_options_and_every_option_its_field() -> None:
    options = [name for field in fields(Request) for name in OPTIONS_OF.get(field.name, (field.name,))]
    assert sorted([*options, "profile", "option"]) == sorted(field.name for field in fields(RequestOptions))


def test_the_help_of_an_option_is_the_meaning_of_its_field() -> None:
    hints = get_type_hints(RequestOptions, include_extras=True)
    for field in fields(Request):
        for name in OPTIONS_OF.get(field.name, (field.name,)):
            info = next(extra for extra in get_args(hints[name]) if isinstance(extra, OptionInfo))
            assert name in OWN_WORDS or info.help == meaning(field.name), name
            assert info.help


def test_options_left_out_leave_the_defaults() -> None:
    request = BY_DEFAULT.request()
    for field in fields(Request):
        plain = field.default_factory() if field.default_factory is not MISSING else field.default
        if field.name not in ("data_bytes", "model", "own_prices", "node_limits"):
            assert getattr(request, field.name) == plain, field.name


def test_recommend_takes_every_option_and_every_field() -> None:
    parameters = inspect.signature(recommend).parameters
    options = {field.name for field in fields(RequestOptions)}
    renamed = {"data_bytes": "data", "deadline_s": "deadline", "sort_deadline_s": "sort_deadline", "scale": "what_if"}
    assert options | {renamed.get(field.name, field.name) for field in fields(Request)} <= set(parameters)
    for field in fields(Request):
        if field.name in parameters and field.default is not MISSING:
            assert parameters[field.name].default == field.default


def test_every_objective_is_an_option() -> None:
    for word in get_args(Objective):
        assert RequestOptions(data="1TB", model="indy", objective=word).request().objective == word
    with pytest.raises(BadInputError, match=r"--objective tim: use one of balanced, .* Did you mean time\?"):
        RequestOptions(data="1TB", model="indy", objective="tim").request()
