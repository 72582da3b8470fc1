"""Nodes as network namespaces, each with one link to a virtual switch in a separate namespace.

The machine's own network is unchanged, so clusters never meet, and deleting the namespaces removes everything. Caps (tc
tbf) apply to outgoing traffic at the node's end of the link and to incoming traffic at the switch's.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Final

from planner.clusters.emulated.shaping import Cap
from planner.errors import IoFailureError

PREFIX: Final = "planner-emu-"
MTU_BYTES: Final = 9000
"""Jumbo frames, as inside a cloud's network; headers then take less than 1% of a cap."""
_CONGESTION_CONTROL: Final = "reno"
"""Fills a link with a short queue, in every kernel; the machine's default may pace itself below the cap."""
_CONGESTION_CONTROL_FILE: Final = "/proc/sys/net/ipv4/tcp_congestion_control"
_QUEUE_S: Final = 0.02
_LEAST_BURST_BYTES: Final = 128 * 1024
_LONGEST_END_S: Final = 60.0
"""A killed process ends late on a machine with busy disks or hundreds of other processes."""
_LONGEST_ALIAS_BYTES: Final = 255
_LONGEST_MAKING_S: Final = 60.0
_NAMESPACES: Final = Path("/run/netns")


def are_usable() -> bool:
    """Return whether this process may create namespaces: it needs root, ip and tc."""
    return os.geteuid() == 0 and all(shutil.which(tool, path=_path()) for tool in ("ip", "tc"))


def _path() -> str:
    """Return the folders of programs, with those that a user's own PATH may lack."""
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


class Namespaces:
    """The namespaces of one cluster, named after its `cluster_id`; node k has the address 10.0.0.(k+1)."""

    def __init__(self, cluster_id: str, nodes: int) -> None:
        self.cluster_id = cluster_id
        self.nodes = nodes
        self.switch = f"{PREFIX}{cluster_id}-switch"

    def name(self, node: int) -> str:
        """Return the namespace of a node."""
        return f"{PREFIX}{self.cluster_id}-{node}"

    def names(self) -> list[str]:
        """Return all namespaces, the switch's last."""
        return [*(self.name(node) for node in range(self.nodes)), self.switch]

    def address(self, node: int) -> str:
        """Return a node's IPv4 address."""
        return f"10.0.{(node + 1) // 250}.{(node + 1) % 250}"

    def create(self, *, mark: str = "") -> None:
        """Create all namespaces with uncapped links; `mark` becomes the bridge's alias.

        Raises IoFailureError with the system's message.
        """
        _run("ip", "netns", "add", self.switch)
        _run("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        if 0 < len(mark.encode()) <= _LONGEST_ALIAS_BYTES:
            _run("ip", "-n", self.switch, "link", "set", "bridge", "alias", mark)
        _run("ip", "-n", self.switch, "link", "set", "bridge", "up")
        for node in range(self.nodes):
            self._create_node(node)

    def _create_node(self, node: int) -> None:
        name, port = self.name(node), f"port{node}"
        _run("ip", "netns", "add", name)
        pair = ["type", "veth", "peer", "name", "eth0", "mtu", str(MTU_BYTES), "netns", name]
        _run("ip", "-n", self.switch, "link", "add", port, "mtu", str(MTU_BYTES), *pair)
        _run("ip", "-n", self.switch, "link", "set", port, "master", "bridge", "up")
        _run("ip", "-n", name, "addr", "add", f"{self.address(node)}/16", "dev", "eth0")
        for device in ("lo", "eth0"):
            _run("ip", "-n", name, "link", "set", device, "up")
        _run("ip", "netns", "exec", name, "sh", "-c", f"echo {_CONGESTION_CONTROL} > {_CONGESTION_CONTROL_FILE}")

    def cap(self, node: int, cap: Cap | None) -> None:
        """Cap a node's link at `cap` in both directions from now on; None lifts the cap."""
        for namespace, device in ((self.name(node), "eth0"), (self.switch, f"port{node}")):
            if cap is None:
                with contextlib.suppress(IoFailureError):  # there may be no cap to lift
                    _run("tc", "-n", namespace, "qdisc", "del", "dev", device, "root")
            else:
                _run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", *token_bucket_filter(cap))

    def cut(self, node: int) -> None:
        """Take a node's link down at the switch: nothing arrives any more, and no process is notified."""
        _run("ip", "-n", self.switch, "link", "set", f"port{node}", "down")

    def restore_link(self, node: int) -> None:
        """Bring a cut link up again."""
        _run("ip", "-n", self.switch, "link", "set", f"port{node}", "up")

    def pids(self, node: int) -> list[int]:
        """Return the ids of the processes in a node."""
        return _pids_in(self.name(node))

    def end(self, node: int) -> None:
        """End every process in a node. Raises IoFailureError when some do not end."""
        _end_all(self.name(node))

    def remove(self) -> None:
        """End every process in the namespaces and delete those that still exist."""
        existing = set(namespaces_of(self.cluster_id))
        for name in self.names():
            if name in existing:
                _end_all(name)
                _run("ip", "netns", "delete", name)


def namespaces_of(cluster_id: str) -> list[str]:
    """Return the existing namespaces of a cluster."""
    listed = json.loads(_run("ip", "-j", "netns", "list") or "[]")
    return [entry["name"] for entry in listed if entry["name"].startswith(f"{PREFIX}{cluster_id}-")]


def marks() -> dict[str, str]:
    """Return each cluster's mark by its id; '' if it has none and is no longer being created."""
    listed = json.loads(_run("ip", "-j", "netns", "list") or "[]")
    switches = [entry["name"] for entry in listed if re.fullmatch(f"{PREFIX}[0-9a-f]+-switch", entry["name"])]
    marked = {name.removeprefix(PREFIX).removesuffix("-switch"): _mark(name) for name in switches}
    return {cluster_id: mark for cluster_id, mark in marked.items() if mark is not None}


def _mark(switch: str) -> str | None:
    try:
        young = time.time() - (_NAMESPACES / switch).stat().st_mtime < _LONGEST_MAKING_S
        links = json.loads(_run("ip", "-n", switch, "-j", "link") or "[]")
    except (IoFailureError, FileNotFoundError):  # it has just been removed
        return None
    mark = "".join(link.get("ifalias", "") for link in links)
    return mark if mark or not young else None


def token_bucket_filter(cap: Cap) -> list[str]:
    rate = f"{cap.bytes_per_s * 8:.0f}bit"
    if cap.bucket is None:
        burst = max(_LEAST_BURST_BYTES, round(cap.bytes_per_s / 250))  # a timer tick's worth
        return ["tbf", "rate", rate, "burst", f"{burst}b", "latency", f"{_QUEUE_S * 1000:g}ms"]
    peak = f"{cap.bucket.burst_bytes_per_s * 8:.0f}bit"
    minimum = max(_LEAST_BURST_BYTES, round(cap.bucket.burst_bytes_per_s / 250))
    bucket = ["burst", f"{cap.bucket.size_bytes}b", "peakrate", peak, "mtu", f"{minimum}b"]
    limit = round(cap.bucket.burst_bytes_per_s * _QUEUE_S) + minimum
    return ["tbf", "rate", rate, *bucket, "limit", f"{limit}b"]


def _end_all(namespace: str) -> None:
    """Kill a namespace's processes until none is left: a dying process may have started another."""
    deadline = time.monotonic() + _LONGEST_END_S
    while pids := _pids_in(namespace):
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise IoFailureError(
                f"namespace {namespace}: processes {pids} do not end; delete it when they have", code="not-ended"
            )
        time.sleep(0.02)


def _pids_in(namespace: str) -> list[int]:
    return [int(pid) for pid in _run("ip", "netns", "pids", namespace).split()]


def _run(*words: str) -> str:
    done = subprocess.run(words, env=os.environ | {"PATH": _path()}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IoFailureError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}", code="command-failed")
    return done.stdout
