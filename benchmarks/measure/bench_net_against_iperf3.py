"""NetBench and iperf3 in turn on one link between two network namespaces, capped by tc; and 8 nodes, one at half rate.

sudo python benchmarks/measure/bench_net_against_iperf3.py [CAP ...]

Needs iperf3, ip and tc, and root. Headers take 4.4% of a link's rate (66 of 1514 bytes on the wire as tc counts them):
payload can reach 95.6% of the cap. Prints medians of payload bytes/s and of the paired ratios with their range.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "measurement" / "instruments"))
from network_namespaces import TOKEN, Cluster, cluster

from planner.measurement.instruments.net import run_net

PAIRS = 5
SECONDS = 3
WARM_UP_S = 1
CAPS_MEGABIT_PER_S = (200, 400, 800, 1000)


def ours(nodes: Cluster) -> float:
    """Return bytes/s received by the first node while both send: the link carries the other way at the same time."""
    measured = run_net(nodes.addresses(), token=TOKEN, seconds=SECONDS, warm_up_s=WARM_UP_S, connections=1)
    return measured.nodes[0].received_bytes_per_s


def iperf3(nodes: Cluster) -> float:
    """Return bytes/s received by the first node, both ways busy, without the first second, as in ours."""
    server = subprocess.Popen(nodes.command(0, "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    words = ["iperf3", "-c", nodes.address(0), "--bidir", "-t", str(SECONDS), "-O", str(WARM_UP_S), "-J"]
    done = subprocess.run(nodes.command(1, *words), capture_output=True, text=True, check=True)
    server.wait()
    return float(json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"]) / 8


def compare(cap: int) -> None:
    with cluster([cap, cap]) as nodes:
        pairs = []
        for i in range(PAIRS):
            first, second = (ours, iperf3) if i % 2 == 0 else (iperf3, ours)
            rates = {first: first(nodes), second: second(nodes)}
            pairs.append((rates[ours], rates[iperf3]))
    mine, theirs = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    ratios = sorted(a / b for a, b in pairs)
    print(
        f"{cap:5} Mbit/s   ours {mine / 1e6:6.2f} MB/s ({mine * 8 / cap / 1e6:.3f} of the cap)   "
        f"iperf3 {theirs / 1e6:6.2f} MB/s   paired {statistics.median(ratios):.3f} "
        f"({ratios[0]:.3f} to {ratios[-1]:.3f})",
        flush=True,
    )


def find_the_slow_node(*, nodes: int = 8, slow: int = 5, cap: int = 100) -> None:
    with cluster([cap // 2 if i == slow else cap for i in range(nodes)]) as made:
        measured = run_net(made.addresses(), token=TOKEN, seconds=5, warm_up_s=WARM_UP_S, connections=1)
    rates = [node.bytes_per_s * 8 / 1e6 for node in measured.nodes]
    print(
        f"{nodes} nodes at {cap} Mbit/s, {made.address(slow)} at {cap // 2}: slowest {measured.slowest.address} at "
        f"{min(rates):.1f} Mbit/s; the others {sorted(rates)[1]:.1f} to {max(rates):.1f}"
    )


def main() -> None:
    chosen = [int(word) for word in sys.argv[1:]]
    for cap in chosen or CAPS_MEGABIT_PER_S:
        compare(cap)
    if not chosen:
        find_the_slow_node()


if __name__ == "__main__":
    main()
