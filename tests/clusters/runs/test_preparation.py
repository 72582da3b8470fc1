"""Preparation of machines for their job, as far as no machine has to answer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from emulated_cloud import QUICK
from emulated_ec2 import EmulatedEc2, choice, order

from planner.clouds.protocol import Place
from planner.clusters.provisioning.cluster_lifecycle import ProviderSession, begin, up
from planner.clusters.remote.bootstrap import Equipment, Equipped
from planner.clusters.runs import preparation
from planner.clusters.runs.run import Run
from planner.errors import IoFailureError


def test_only_the_machine_that_failed_is_ended(ec2: EmulatedEc2, monkeypatch: pytest.MonkeyPatch) -> None:
    session = ProviderSession(provider=ec2.provider(), policy=QUICK, say=lambda _: None)
    keyed, directory = begin(order("equips"))
    cluster = up(keyed, [Place(choice=choice(), region=ec2.region, zone=ec2.zones[0])], directory, session)
    *good, failed = cluster.nodes
    ready = tuple(Equipped(node=node, vcpus=2, memory_bytes=1, disks=("/d",)) for node in good)
    equipment = Equipment(ready=ready, failed={failed.id: IoFailureError("no answer")})

    def measure(*_: Any, **__: Any) -> None:
        raise IoFailureError("far enough")

    for name in ("wait_for_head", "stop_ray"):
        monkeypatch.setattr(preparation, name, lambda *_, **__: None)
    monkeypatch.setattr(preparation, "equip", lambda *_, **__: equipment)
    monkeypatch.setattr(preparation, "measure", measure)
    task: Any = SimpleNamespace(task=SimpleNamespace(is_lent=False, effort=None), wheelhouse=None)
    run = Run(order=keyed, cluster=cluster, directory=directory, session=session, task=task, is_attached=True)
    ssh: Any = None
    with pytest.raises(IoFailureError, match="far enough"):
        preparation.prepare(run, ssh)
    nodes = session.provider.nodes(keyed.run, region=ec2.region)
    assert {node.id for node in nodes if node.state == "running"} == {node.id for node in good}
    assert [event.details["nodes"] for event in directory.events() if event.what == "ended"] == [[failed.id]]
