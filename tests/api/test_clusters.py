"""`planner.up` and `planner.down`, called from Python alone, on an emulated EC2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from emulated_cloud import QUICK
from emulated_ec2 import EmulatedEc2

import planner
from planner.api.clusters import Confirm
from planner.clouds.aws.provider import AwsProvider
from planner.clouds.order import Order
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession
from planner.errors import BadInputError, InterruptedRunError, ProviderRefusedError

RENTAL: Any = {"cloud": "aws", "max_cost": 50, "ssh_from": "203.0.113.7/32"}


@pytest.fixture
def answer(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> planner.Recommendation:
    """Two machines to rent from an EC2 that answers without delay."""

    def session_on(cloud: str, *, say: Callable[[str], None] = print) -> ProviderSession:
        return ProviderSession(provider=AwsProvider(policy=QUICK), policy=QUICK, say=say)

    monkeypatch.setattr("planner.api.clusters.session_on", session_on)
    return planner.recommend("20MB", catalogs=["aws"], instances=["i4i.large"], nodes=2)


def test_a_cluster_comes_and_goes(ec2: EmulatedEc2, answer: planner.Recommendation) -> None:
    messages: list[str] = []
    asked: list[Order] = []
    raised = planner.up(answer, **RENTAL, confirm=lambda order: not asked.append(order), say=messages.append)
    assert len(raised.cluster.nodes) == 2 == ec2.machines()
    assert asked[0].choices[0].instance_type == "i4i.large" and any("i4i.large" in text for text in messages)
    assert planner.down(raised.run) > 0
    assert ec2.left() == {} and not raised.directory.key.exists()


@pytest.mark.parametrize(("confirm", "error"), [(False, BadInputError), (lambda order: False, InterruptedRunError)])
def test_nothing_is_rented_without_a_yes(
    ec2: EmulatedEc2, answer: planner.Recommendation, confirm: Confirm, error: type[Exception]
) -> None:
    with pytest.raises(error):
        planner.up(answer, **RENTAL, confirm=confirm)
    assert ec2.launches() == [] and ec2.left() == {}


def test_a_run_is_not_rented_unless_confirmed(ec2: EmulatedEc2, answer: planner.Recommendation) -> None:
    with pytest.raises(BadInputError, match="confirm=True"):
        planner.run(answer, **RENTAL)
    assert ec2.launches() == []


def test_a_cluster_beyond_the_limit_is_refused(ec2: EmulatedEc2, answer: planner.Recommendation) -> None:
    with pytest.raises(ProviderRefusedError):
        planner.up(answer, **RENTAL | {"max_cost": 0.01}, confirm=True)
    assert ec2.left() == {}
