"""Records in the data of a run."""

from __future__ import annotations

import pytest

from planner.clusters.runs.record_count import record_count
from planner.errors import BadInputError


def test_records_have_a_hundred_bytes() -> None:
    assert record_count(10**9) == 10**7
    with pytest.raises(BadInputError, match="--data 150B is not a whole number of 100-byte records"):
        record_count(150)
