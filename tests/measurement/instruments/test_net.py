"""NetBench between agents on this machine, without a network of its own: shares, refusals, losses."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from approvals import Approve
from growing_windows import in_growing_windows
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from planner.errors import BadInputError, InterruptedRunError, IoFailureError
from planner.measurement.instruments.agent import Agent
from planner.measurement.instruments.net import bench_net, doublings, run_net
from planner.measurement.instruments.net_wire import receive_message, split_address
from planner.native import core

TOKEN = "known to both"
COMMAND = [sys.executable, "-c", "from planner.cli.app import main; main()", "bench", "net"]


@contextmanager
def agents(count: int, *, token: str = TOKEN) -> Iterator[list[str]]:
    with ExitStack() as stack:
        listening = [Agent(host="127.0.0.1", port=0, token=token) for _ in range(count)]
        for agent in listening:
            stack.callback(agent.close)
            threading.Thread(target=agent.serve, daemon=True).start()
        yield [f"127.0.0.1:{agent.port}" for agent in listening]


def nodes_measured(nodes: list[str]) -> int:
    run = in_growing_windows(
        lambda seconds: run_net(nodes, token=TOKEN, seconds=seconds, warm_up_s=0, connections=1),
        is_enough=lambda _: True,
    )
    return len(run.nodes)


@given(st.integers(min_value=2, max_value=5000))
def test_node_counts_double_until_all_take_part(nodes: int) -> None:
    counts = doublings(nodes)
    assert (counts[0], counts[-1]) == (2, nodes)
    assert all(later <= 2 * earlier for earlier, later in itertools.pairwise(counts))
    assert counts == sorted(set(counts))


def test_every_node_hears_from_every_other_and_the_slowest_counts() -> None:
    with agents(3) as nodes:
        bench = in_growing_windows(
            lambda seconds: bench_net(
                nodes, token=TOKEN, seconds=seconds, warm_up_s=0.05, doubling=True, machine_type="m.large"
            ),
            is_enough=lambda bench: all(run.slowest.bytes_per_s > 0 for run in bench.runs),
        )
    document = json.loads(json.dumps(bench.to_dict(), allow_nan=False))
    assert (document["instrument"], document["nodes"], document["machine_type"]) == ("netbench", 3, "m.large")
    assert [point["nodes"] for point in document["curve"]] == [2, 3]
    for run in document["runs"]:
        rates = [min(node["sent_bytes_per_s"], node["received_bytes_per_s"]) for node in run["per_node"]]
        assert run["slowest_bytes_per_s"] == min(rates) > 0
        assert run["slowest_node"] == nodes[rates.index(min(rates))]
        for node in run["per_node"]:
            assert set(node["received_from_bytes_per_s"]) == set(nodes[: run["nodes"]]) - {node["address"]}
            assert sum(node["received_from_bytes_per_s"].values()) == pytest.approx(node["received_bytes_per_s"])


def test_agents_serve_one_run_after_the_other() -> None:
    with agents(2) as nodes:
        for _ in range(2):
            assert nodes_measured(nodes) == 2


def test_a_wrong_token_is_refused_by_name() -> None:
    with agents(2) as nodes, pytest.raises(IoFailureError, match=f"agent {nodes[0]} refused"):
        bench_net(nodes, token="known to nobody", seconds=1)


def test_an_agent_says_nothing_to_a_stranger() -> None:
    with agents(1) as nodes, socket.create_connection(split_address(nodes[0])) as stranger:
        assert set(receive_message(stranger)) == {"challenge"}
        stranger.sendall((2).to_bytes(4, "big") + b"{}")
        with pytest.raises(ConnectionError):
            receive_message(stranger)


def test_a_dead_agent_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        nowhere = f"127.0.0.1:{unused.getsockname()[1]}"
    with agents(1) as nodes, pytest.raises(IoFailureError, match=f"agent {nowhere}"):
        bench_net([*nodes, nowhere], token=TOKEN, seconds=1)


def test_something_that_is_no_agent_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, agents(1) as nodes:
        port = server.getsockname()[1]
        threading.Thread(target=_greet_like_a_web_server, args=(server,), daemon=True).start()
        with refused("refused-by-agent", kind=IoFailureError):
            bench_net([*nodes, f"127.0.0.1:{port}"], token=TOKEN, seconds=1)


def _greet_like_a_web_server(server: socket.socket) -> None:
    connection, _ = server.accept()
    with connection, contextlib.suppress(ConnectionError):
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.recv(1000)


@pytest.mark.parametrize(
    ("nodes", "token", "words"),
    [
        (["a:1"], TOKEN, "at least two"),
        (["a:1", "a:1"], TOKEN, "each once"),
        (["a:1", "b"], TOKEN, "host:port"),
        (["a:1", "b:99999"], TOKEN, "host:port"),
        (["a:1", "b:2"], "short", "at least 8 characters"),
    ],
)
def test_impossible_arguments_are_refused(nodes: list[str], token: str, words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        bench_net(nodes, token=token)


def test_a_peer_that_closes_early_ends_the_exchange(approve: Approve) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        threading.Timer(0.3, theirs.shutdown, (socket.SHUT_RDWR,)).start()
        bench = core.exchange_traffic([], [ours.fileno()], seconds=30, warm_up_s=0)
    approve(bench["broken"]["reason"])
    assert bench["broken"]["was_sending"] is False


def test_a_connection_on_which_nothing_moves_ends_the_exchange() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        bench = core.exchange_traffic([ours.fileno()], [], seconds=30, warm_up_s=0, stall_s=0.3)
    assert "nothing moved" in bench["broken"]["reason"]


def test_what_arrives_are_the_generators_records() -> None:
    ours, theirs = socket.socketpair()
    expected = bytearray(1_000_000)
    core.generate_records(expected)
    arrived = bytearray()

    def collect() -> None:
        while len(arrived) < len(expected) and (part := theirs.recv(1 << 16)):
            arrived.extend(part)
        theirs.close()  # that ends the exchange

    with ours, theirs:
        collector = threading.Thread(target=collect)
        collector.start()
        core.exchange_traffic([ours.fileno()], [], seconds=60, warm_up_s=0, cool_down_s=0)
        ours.shutdown(socket.SHUT_RDWR)
        collector.join()
    assert arrived[: len(expected)] == expected


def test_an_interrupt_ends_the_exchange_and_frees_the_agents() -> None:
    with agents(2) as nodes:
        words = [word for node in nodes for word in ("--node", node)]
        caller = subprocess.Popen(
            [*COMMAND, *words, "--seconds", "60"],
            env={**os.environ, "PLANNER_BENCH_TOKEN": TOKEN},
            stderr=subprocess.PIPE,
            text=True,
        )
        with caller:
            assert caller.stderr is not None
            assert "2 nodes" in caller.stderr.readline()
            time.sleep(1)
            caller.send_signal(signal.SIGINT)
            assert "interrupted" in caller.stderr.read()
        assert caller.returncode == InterruptedRunError.exit_code
        assert nodes_measured(nodes) == 2
