"""NetBench on a network with known limits: a capped rate is found, a slow node named, a lost one noticed."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from network_namespaces import TOKEN, cluster

from planner.errors import IoFailureError
from planner.measurement.instruments import net
from planner.measurement.instruments.net import run_net

pytestmark = pytest.mark.needs_root(why="makes network namespaces")


def test_the_cap_of_the_links_is_found() -> None:
    with cluster([100, 100, 100]) as nodes:
        bench = run_net(nodes.addresses(), token=TOKEN, seconds=1, warm_up_s=0.5, connections=1)
    cap_bytes_per_s = 100e6 / 8
    assert all(0.6 * cap_bytes_per_s < node.bytes_per_s < 1.1 * cap_bytes_per_s for node in bench.nodes)


def test_of_four_nodes_the_one_at_half_the_rate_is_named() -> None:
    with cluster([100, 100, 50, 100]) as nodes:
        bench = run_net(nodes.addresses(), token=TOKEN, seconds=1.5, warm_up_s=0.5, connections=1)
        assert bench.slowest.address == nodes.addresses()[2]
    assert 0.6 * 50e6 / 8 < bench.slowest.bytes_per_s < 1.1 * 50e6 / 8


def test_a_peer_that_dies_in_the_middle_is_named() -> None:
    with cluster([100, 100, 100]) as nodes:
        threading.Timer(1, nodes.agents[1].kill).start()
        with pytest.raises(IoFailureError) as caught:
            run_net(nodes.addresses(), token=TOKEN, seconds=20, warm_up_s=0, connections=1)
    assert nodes.addresses()[1] in str(caught.value)


def test_a_peer_that_falls_silent_in_the_middle_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(net, "STALL_S", 1.0)
    with cluster([100, 100, 100]) as nodes:
        threading.Timer(1, nodes.cut, (1,)).start()
        with pytest.raises(IoFailureError) as caught:
            run_net(nodes.addresses(), token=TOKEN, seconds=20, warm_up_s=0, connections=1)
    assert nodes.addresses()[1] in str(caught.value)
