"""Measurement of the launched machines before they work: each one's disks at the same time, and the network among all.

SoCC 2015, section 5.1 launches, benchmarks, and decommissions the slow before the job begins. The results are kept in
the instruments' own format, one file a machine, for `planner ingest`.
"""

from __future__ import annotations

import json
import math
import secrets
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from planner.clouds.protocol import Node
from planner.clusters.remote.bootstrap import PLANNER, Equipped
from planner.clusters.remote.ssh import HEAD, Ssh, UnreachableError, environment_script, failures, of_success
from planner.errors import IoFailureError, PlannerError
from planner.schemas.door import Bytes, Count, Seconds, checked
from planner.statistics.slow_node_screening import Screening, screen
from planner.units import count_text

_AGENT_PORT: Final = 7070
_TOKEN: Final = "PLANNER_BENCH_TOKEN"
_SLACK_S: Final = 120.0
"""Time that a benchmark may take in addition to its measuring time."""
_LONGER: Final = 4
"""Factor by which a network is measured for longer after a first failure."""
_MODES: Final = 3
SMALL_IO_RUNS: Final = 42
_SMALL_IO_PAUSE_S: Final = 2.0
"""Time that a run of the small-io suite may take in addition to its seconds."""
_TRIALS_S: Final = 2.5
"""DiskBench's time to find the queue depth of each mode."""

_START_AGENT: Final = """\
set -eu
{environment}cd planner
earlier=$(cat agent.pid 2>/dev/null || true)
if [ -n "$earlier" ] && kill "$earlier" 2>/dev/null; then
  for _ in $(seq 50); do kill -0 "$earlier" 2>/dev/null || break; sleep 0.2; done
fi
nohup timeout {seconds} venv/bin/planner bench net --agent --listen {address}:{port} </dev/null >agent.log 2>&1 &
echo $! >agent.pid
for _ in $(seq 100); do
  grep -q listening agent.log && exit 0
  sleep 0.2
done
cat agent.log >&2
exit 1
"""
"""Ends an agent left by a caller that was killed: it would hold the port."""
_END_AGENT: Final = "kill $(cat planner/agent.pid 2>/dev/null) 2>/dev/null; rm -f planner/agent.pid"
NetworkDocument: TypeAlias = tuple[dict[str, Any], dict[str, str], dict[str, PlannerError]]


@checked
@dataclass(frozen=True, kw_only=True)
class Effort:
    """Duration of measurements: `seconds` a run, `repeats` of each; `file_bytes` in each disk's directory (None:
    DiskBench's default).
    """

    seconds: Seconds = 5.0
    repeats: Count = 2
    file_bytes: Bytes | None = None

    @property
    def disk_s(self) -> float:
        """Duration of the disks' measurement."""
        return _MODES * (self.repeats * self.seconds + _TRIALS_S)


@dataclass(frozen=True, kw_only=True)
class NodeRates:
    """Rates in bytes/s by metric, then by machine: `disk_read`, `disk_write`, `disk_both` (half and half), `network`.

    `failed` are machines that could not be measured; their rates are missing.
    """

    rates: dict[str, dict[str, float]]
    failed: dict[str, PlannerError]

    def screen(self) -> Screening:
        """Return the machines to keep by the planner's rule; machines that could not be measured are not kept."""
        measured = {metric: dict(figures) for metric, figures in self.rates.items() if figures}
        for figures in measured.values():
            figures.update({name: math.nan for name in self.failed if name not in figures})
        return screen(measured)

    def without(self, names: Collection[str]) -> NodeRates:
        """Return the rates of all other machines."""
        others = {
            metric: {name: rate for name, rate in figures.items() if name not in names}
            for metric, figures in self.rates.items()
        }
        return NodeRates(rates=others, failed=self.failed)

    def slowest(self, metric: str, nodes: Sequence[str]) -> float | None:
        """Return the lowest rate among some machines; None when one of them has none."""
        figures = [self.rates.get(metric, {}).get(name) for name in nodes]
        rates = [rate for rate in figures if rate is not None]
        return min(rates) if rates and len(rates) == len(figures) else None


def measure(
    ssh: Ssh, machines: Sequence[Equipped], *, effort: Effort, results_directory: Path, say: Callable[[str], None]
) -> NodeRates:
    """Measure all machines and keep the instruments' results in `results_directory`.

    Raises IoFailureError when the network cannot be measured at all, UnreachableError when the head does not answer.
    """
    results_directory.mkdir(exist_ok=True)
    say(f"measuring the disks of {count_text(len(machines), 'machine')}")
    disks = disk_documents(ssh, machines, effort)
    documents = of_success(disks)
    for name, document in documents.items():
        (results_directory / f"disk-{name}.json").write_text(json.dumps(document), encoding="utf-8")
    rates = {
        "disk_read": {name: _rate(document, "read", "read_bytes_per_s") for name, document in documents.items()},
        "disk_write": {name: _rate(document, "write", "write_bytes_per_s") for name, document in documents.items()},
        "disk_both": {name: _mixed_rate(document) for name, document in documents.items()},
    }
    failed = failures(disks)
    working = [machine for machine in machines if machine.name not in failed]
    if len(working) > 1:
        say(f"measuring the network among {count_text(len(working), 'machine')}, all to all")
        rates["network"], silent = _network(ssh, working, effort, results_directory, say=say)
        failed |= silent
    return NodeRates(rates=rates, failed=failed)


def cluster_sizes(nodes: int) -> int:
    """Return the number of cluster sizes that NetBench measures while doubling: 2, 4, 8, ... and all."""
    return max(1, math.ceil(math.log2(max(nodes, 1))))


def disk_documents(ssh: Ssh, machines: Sequence[Equipped], effort: Effort) -> dict[str, dict[str, Any] | PlannerError]:
    """Return DiskBench's result or error for each machine; all are measured at once."""
    words = ["--mode", "all", "--seconds", f"{effort.seconds:g}", "--repeats", str(effort.repeats)]
    return _on_each(ssh, machines, words, file_bytes=effort.file_bytes, within_s=effort.disk_s + _SLACK_S)


def small_io_documents(
    ssh: Ssh, machines: Sequence[Equipped], *, seconds: float, file_bytes: int | None
) -> dict[str, dict[str, Any] | PlannerError]:
    """Return the small-io suite's result or error for each machine, with runs of `seconds` each.

    It measures one disk at a time: the first of each machine.
    """
    firsts = [replace(machine, disks=machine.disks[:1]) for machine in machines]
    words = ["--suite", "small-io", "--seconds", f"{seconds:g}", "--repeats", "1"]
    lasting = SMALL_IO_RUNS * (seconds + _SMALL_IO_PAUSE_S) + _SLACK_S
    return _on_each(ssh, firsts, words, file_bytes=file_bytes, within_s=lasting)


def _on_each(
    ssh: Ssh, machines: Sequence[Equipped], words: Sequence[str], *, file_bytes: int | None, within_s: float
) -> dict[str, dict[str, Any] | PlannerError]:
    size = [] if file_bytes is None else ["--size", f"{file_bytes}B"]

    def measure_disks(node: Node) -> dict[str, Any]:
        machine = next(machine for machine in machines if machine.name == node.id)
        whole = [PLANNER, "bench", "disk", "--json", "--type", node.instance_type, *words, *size]
        whole += [word for disk in machine.disks for word in ("--dir", disk)]
        return _document(ssh.run(node.id, shlex.join(whole), within_s=within_s), node.id)

    outcomes = ssh.each([machine.node for machine in machines], measure_disks)
    _require_head(outcomes, machines)
    return outcomes


def _network(
    ssh: Ssh, machines: Sequence[Equipped], effort: Effort, results_directory: Path, *, say: Callable[[str], None]
) -> tuple[dict[str, float], dict[str, PlannerError]]:
    """Return the machines' mean rates, and the machines whose agent does not start."""
    document, names, silent = network_document(ssh, machines, effort, is_doubling=False, say=say)
    (results_directory / "network.json").write_text(json.dumps(document), encoding="utf-8")
    by_run = [{node["address"]: node["bytes_per_s"] for node in run["per_node"]} for run in document["runs"]]
    return {name: sum(run[address] for run in by_run) / len(by_run) for address, name in names.items()}, silent


def network_document(
    ssh: Ssh, machines: Sequence[Equipped], effort: Effort, *, is_doubling: bool, say: Callable[[str], None]
) -> NetworkDocument:
    """Have all machines send to all, started from the head; with `is_doubling` first 2, then 4, 8, ... of them. A
    failed measurement is repeated once, for longer: a machine that is busy for a second, or a link too slow to carry
    anything in the time, must not end a run.

    Return NetBench's document, the machine at each address, and the machines whose agent does not start; the others are
    measured without them.
    """
    try:
        return _measure_network(ssh, machines, effort, is_doubling=is_doubling)
    except UnreachableError:
        raise
    except IoFailureError as error:
        say(f"{error}\nmeasuring the network once more, for longer")
        longer = replace(effort, seconds=_LONGER * effort.seconds)
        return _measure_network(ssh, machines, longer, is_doubling=is_doubling)


def _measure_network(ssh: Ssh, machines: Sequence[Equipped], effort: Effort, *, is_doubling: bool) -> NetworkDocument:
    """Measure once. Agents end whatever happens, if need be at their own time limit."""
    token = secrets.token_hex(32)
    nodes = [machine.node for machine in machines]
    secret = environment_script({_TOKEN: token})
    sizes = cluster_sizes(len(machines)) if is_doubling else 1
    lasting = sizes * effort.seconds * effort.repeats + 2 * _SLACK_S

    def start(node: Any) -> str:
        script = _START_AGENT.format(
            environment=secret, seconds=int(lasting), address=node.private_address, port=_AGENT_PORT
        )
        return ssh.run(node.id, script, within_s=_SLACK_S)

    try:
        outcomes = ssh.each(nodes, start)
        _require_head(outcomes, machines)
        silent = failures(outcomes)
        addresses = {f"{node.private_address}:{_AGENT_PORT}": node.id for node in nodes if node.id not in silent}
        words = [PLANNER, "bench", "net", "--json", "--type", nodes[0].instance_type]
        words += ["--seconds", f"{effort.seconds:g}", "--repeats", str(effort.repeats)]
        words += [word for address in addresses for word in ("--node", address)]
        words += ["--doubling"] if is_doubling else []
        document = _document(ssh.run(HEAD, secret + shlex.join(words), within_s=lasting), HEAD)
    finally:
        ssh.each(nodes, lambda node: ssh.run(node.id, _END_AGENT, within_s=_SLACK_S))
    return document, addresses, silent


def _require_head(outcomes: Mapping[str, object], machines: Sequence[Equipped]) -> None:
    """Raise UnreachableError when the head does not answer: all others are reached through it, and may be well."""
    for machine in machines:
        outcome = outcomes.get(machine.name)
        if machine.node.head and isinstance(outcome, UnreachableError):
            raise outcome


def _document(text: str, name: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise IoFailureError(f"{name}: what it measured cannot be read: {text[:200]!r}", code="unreadable") from error
    if not isinstance(document, dict):
        raise IoFailureError(f"{name}: what it measured is no object: {text[:200]!r}", code="wrong-type")
    return document


def _rate(document: dict[str, Any], mode: str, direction: str) -> float:
    return next(float(rate[direction]) for rate in document["rates"] if rate["mode"] == mode)


def _mixed_rate(document: dict[str, Any]) -> float:
    """Return the lower rate of simultaneous reading and writing: the rate that a shuffle would get."""
    return min(_rate(document, "mixed", direction) for direction in ("read_bytes_per_s", "write_bytes_per_s"))
