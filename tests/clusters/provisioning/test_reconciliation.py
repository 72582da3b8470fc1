"""Beliefs about a cloud whose listings are late, short and stale."""

from __future__ import annotations

from dataclasses import replace

import pytest
from emulated_ec2 import QUICK, EmulatedEc2, choice, order

from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, down, up
from planner.clusters.provisioning.reconciliation import UNSEEN, Reconciliation
from planner.clusters.provisioning.run_directory import RunDirectory


@pytest.fixture
def directory(ec2: EmulatedEc2) -> RunDirectory:
    """Four machines in a network of their own."""
    keyed, directory = begin(order("known"))
    up(keyed, [Place(choice=choice(), region="us-east-1", zone="us-east-1a")], directory, session(ec2))
    return directory


def session(ec2: EmulatedEc2) -> ProviderSession:
    return ProviderSession(provider=ec2.provider(), policy=QUICK, say=str)


def account(ec2: EmulatedEc2, directory: RunDirectory, *, settle_s: float = QUICK.settle_s) -> Reconciliation:
    return Reconciliation.of(directory, provider=ec2.provider(), policy=replace(QUICK, settle_s=settle_s))


def test_what_no_listing_shows_is_found_by_its_id(ec2: EmulatedEc2, directory: RunDirectory) -> None:
    known = account(ec2, directory)
    known.provider.find = lambda *_, **__: ()  # type: ignore[method-assign]
    kinds = [resource.kind for resource in directory.ordered()]
    assert {item.key for item in known.list_existing(kinds, region="us-east-1")} == {
        item.key for item in directory.ordered()
    }
    down(directory, session(ec2))
    assert known.list_existing(kinds, region="us-east-1") == ()
    assert ec2.left() == {}


def test_a_stale_listing_of_what_has_ended_is_not_believed(ec2: EmulatedEc2, directory: RunDirectory) -> None:
    known = account(ec2, directory)
    shown = known.list_existing(["instance"], region="us-east-1")
    assert len(shown) == 4
    known.provider.find = lambda *_, **__: shown  # type: ignore[method-assign]
    known.end(shown)
    known.provider.delete(shown)
    assert known.list_existing(["instance"], region="us-east-1") == ()
    down(directory, session(ec2))


def test_a_machine_is_gone_when_its_id_is_unknown_twice_and_apart(ec2: EmulatedEc2, directory: RunDirectory) -> None:
    patient, hasty = account(ec2, directory, settle_s=3600.0), account(ec2, directory, settle_s=0.0)
    ids = [resource.id for resource in directory.ordered() if resource.kind == "instance"]
    assert hasty.proven_gone(ids, region="us-east-1") == set()
    hasty.provider.terminate(hasty.nodes(region="us-east-1")[:1])
    gone = set(ids) - {node.id for node in hasty.nodes(region="us-east-1") if node.state != "ended"}
    assert hasty.proven_gone(ids, region="us-east-1") == gone and len(gone) == 1
    assert patient.proven_gone(ids, region="us-east-1") == set(), "the first look proves nothing"
    down(directory, session(ec2))


def test_a_machine_that_was_ordered_and_is_not_listed_is_starting(ec2: EmulatedEc2, directory: RunDirectory) -> None:
    known = account(ec2, directory)
    known.provider.nodes = lambda *_, **__: ()  # type: ignore[method-assign]
    assert {(node.state, node.reason) for node in known.nodes(region="us-east-1")} == {("starting", UNSEEN)}
    down(directory, session(ec2))
