"""Discounts and prices on the command line, the narrower before the wider."""

from __future__ import annotations

import pytest

from planner.errors import BadInputError
from planner.schemas.request_forms import discounts, names, own_prices


def test_options_may_be_repeated_and_comma_separated() -> None:
    assert names(["a, b", "c,"]) == ["a", "b", "c"]
    assert names(None) == []


def test_discounts_of_types_come_before_those_of_clouds_and_of_everything() -> None:
    given = discounts(["15%,aws=0.2", "i4i.*=30%"])
    assert [(own.cloud, own.instance, own.discount) for own in given] == [
        ("*", "i4i.*", 0.3),
        ("aws", "*", 0.2),
        ("*", "*", 0.15),
    ]


@pytest.mark.parametrize("text", ["100%", "-1%", "cheap", "aws="])
def test_what_is_no_share_of_a_price_is_refused(text: str) -> None:
    with pytest.raises(BadInputError, match="--discount"):
        discounts([text])


def test_an_own_price_needs_a_type_and_dollars() -> None:
    assert own_prices(["i4i.4xlarge=$0.95"])[0].price_usd_per_hour == 0.95
    (by_vcpu,) = own_prices(["i4i.*=$0.08/vcpu"])
    assert (by_vcpu.price_usd_per_hour, by_vcpu.negotiated_usd_per_hour(16)) == (None, pytest.approx(1.28))
    for text in ("0.95", "i4i.4xlarge=-1", "i4i.4xlarge=x"):
        with pytest.raises(BadInputError, match="--own-price"):
            own_prices([text])
