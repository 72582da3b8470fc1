"""Options for rented machines."""

from __future__ import annotations

import pytest

from planner.api.rental_options import parse_tag
from planner.errors import BadInputError


def test_a_tag_is_a_key_and_a_value_that_all_clouds_take() -> None:
    assert parse_tag("cost-center=lab-7") == ("cost-center", "lab-7")
    assert parse_tag("team=") == ("team", "")
    for wrong in ("team", "Team=a", "team=A b", "7=a", "=a", f"{'k' * 64}=a"):
        with pytest.raises(BadInputError, match="write key=value in lower-case letters"):
            parse_tag(wrong)


def test_a_tag_cannot_take_the_place_of_the_runs_own() -> None:
    with pytest.raises(BadInputError, match="keys that begin with planner- are the planner's own"):
        parse_tag("planner-run=other")
