"""Quotas of EC2, counted by groups of instance families."""

from __future__ import annotations

import pytest

from planner.providers.aws.quota import quota_code


@pytest.mark.parametrize(
    ("instance_type", "code"),
    [
        ("i4i.large", "L-1216C47A"),
        ("g5.xlarge", "L-DB2E81BA"),
        ("p5.48xlarge", "L-417A185B"),
        ("x2idn.16xlarge", "L-7295265B"),
    ],
)
def test_families_count_towards_their_own_quota(instance_type: str, code: str) -> None:
    assert quota_code(instance_type) == code
