"""Contradictory or meaningless requests are refused before planning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from planner.catalog import load_catalog
from planner.errors import BadInputError
from planner.planning.request.request_checks import check_request
from planner.schemas.plan import OwnPrice, Request
from planner.schemas.request_forms import capacities, discounts, own_prices

REQUEST = Request(data_bytes=10**12, model="indy")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"confidence": 1.0}, "a probability between 0 and 1, such as 95% or 0.95"),
        ({"confidence": 0.99999}, "confidence 0.99999: no forecast is so sure; at most 0.9999"),
        ({"zones": 7}, "--zones 7: must lie between 1 and 6; no region has more zones"),
        ({"compute_bytes_per_s_per_vcpu": 1e-8}, "--compute: 1e-08 B/s must lie between 1KB/s and 1EB/s"),
        ({"assume": {"network": 999.0}}, "assume network: 999 B/s must lie between 1KB/s and 1EB/s"),
        ({"assume": {"local_read": 1.1e18}}, "assume local_read: 1.1e[+]18 B/s must lie between 1KB/s and 1EB/s"),
        ({"scale": {"cpu": 0.0009}}, "what-if cpu=0.0009: a factor must be positive, from 0.001 to"),
        ({"map_ratio": 9e-7}, "map ratio 9e-07: output over input must be positive, from 0.000001"),
        ({"map_ratio": 0.0}, "map ratio 0: output over input must be positive"),
        ({"reduce_ratio": 1e7}, r"reduce ratio 1e\+07"),
        ({"interruptions_per_node_hour": 61.0, "pricing": "spot"}, "above 0 and at most 60"),
        ({"interruptions_per_node_hour": 0.0, "pricing": "spot"}, "above 0 and at most 60"),
        ({"interruptions_per_node_hour": 0.5}, "say pricing spot, not on-demand"),
        ({"nodes": 20, "max_nodes": 10}, "--nodes 20 and --max-nodes 10 contradict each other"),
        ({"arch": "sparc"}, "use x86_64 or arm64"),
        ({"instances": ("i4i.4xlarg",)}, "unknown instance type 'i4i.4xlarg' in aws.* Did you mean i4i.4xlarge"),
        ({"instances": ("n2-standard-8",)}, r"'n2-standard-8' in aws\. It is of gcp: say --cloud gcp, too"),
        ({"instances": ("Standard_L*",)}, r"'Standard_L\*' in aws\. It is of azure: say --cloud azure, too"),
        ({"instances": ("i8g",)}, r"--instance: unknown instance type 'i8g' in aws\. Its family is 'i8g\.\*'"),
        ({"exclude": ("i8g",)}, r"--exclude: unknown instance type 'i8g' in aws\. Its family is 'i8g\.\*'"),
        ({"own_prices": tuple(own_prices(["zzz=1"]))}, "--own-price: unknown instance type 'zzz'"),
        ({"own_prices": tuple(discounts(["i8g=50%"]))}, "--discount: unknown instance type 'i8g'"),
        ({"node_limits": tuple(capacities(["x9z.*=4"]))}, "--capacity: unknown instance type"),
        ({"assume": {"netwrk": 1.0}}, "Did you mean network"),
        ({"scale": {"price": -1.0}}, "a factor must be positive, from 0.001 to"),
    ],
)
def test_what_cannot_be_meant_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        check_request(replace(REQUEST, **fields), [load_catalog("aws")])


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes": 2000},
        {"nodes": 5, "max_nodes": 10},
        {"instances": ("i4i.*",)},
        {"confidence": 0.99, "deadline_s": 60.0},
        {"exclude": ("i8g.*", "m5.large")},
        {"own_prices": tuple(discounts(["15%", "gcp=5%", "i8g.*=50%"]))},
        {"own_prices": (OwnPrice(instance="n2-standard-8", price_usd_per_hour=0.1, note="contract of 2026"),)},
    ],
)
def test_what_can_be_meant_passes(fields: dict[str, Any]) -> None:
    check_request(replace(REQUEST, **fields), [load_catalog("aws")])
