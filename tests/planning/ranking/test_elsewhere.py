"""A refusal of types without local disks names the models that keep the data elsewhere, and their clusters."""

from __future__ import annotations

import pytest

from planner import recommend
from planner.errors import InfeasibleError
from planner.planning.recommendation import require_best


def test_types_that_only_lack_disks_are_told_the_models_that_need_none() -> None:
    """Each advised model gives the cluster and the bill that the advice has."""
    answer = recommend("1TB", cloud="aws", instance="m6i.*,r6i.*")
    assert answer.best is None
    assert [text.split()[2].rstrip(":") for text in answer.plan.conflicts] == ["cloudsort", "object-store"]
    for text in answer.plan.conflicts:
        best = recommend("1TB", cloud="aws", instance="m6i.*,r6i.*", model=text.split()[2].rstrip(":")).best
        assert best is not None
        assert f"({best.instance_type})" in text and f"${best.cost_usd.total:.2f}" in text
    with pytest.raises(InfeasibleError) as refused:
        require_best(answer.plan)
    assert "with the data on volumes" in " ".join(refused.value.details)


def test_a_framework_is_told_of_frameworks_alone() -> None:
    answer = recommend("1TB", cloud="aws", instance="m6i.*", model="framework")
    assert [text.split()[2] for text in answer.plan.conflicts] == ["framework-volumes:"]


def test_other_refusals_get_no_such_advice() -> None:
    assert recommend("1TB", cloud="aws", instance="m6i.*,i4i.large", nodes=2).best is None
    assert "Try --model" not in " ".join(recommend("1TB", cloud="aws", instance="i4i.large", nodes=2).plan.conflicts)
