"""Parts shared by all emulated clouds: a cloud whose state tests set, a fault proxy, `planner` run on both."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, ClassVar

import pytest
import strict_answers
from fault_proxy import Answer, FaultProxy, Kill, ProxiedRequest

from planner.clouds.calls.retry import RetryPolicy
from planner.clouds.order import ClusterOffer, Order, VolumeOrder
from planner.clouds.protocol import Provider
from planner.clouds.registry import provider_of
from planner.schemas.plan import BillLine, Plan

HERE = Path(__file__).parent
QUICK = RetryPolicy(
    first_pause_s=0.01, longest_pause_s=0.05, give_up_s=60.0, poll_s=0.01, join_s=60.0, gone_s=180.0, settle_s=0.01
)
"""Asks often, and gives up late enough that a busy machine is no reason to."""
FORKSERVER = multiprocessing.get_context("forkserver")
FORKSERVER.set_forkserver_preload(["preloaded_sdks"])


@dataclass
class EmulatedCloud(ABC):
    """A cloud whose state and failures a test can set."""

    port: int
    proxy: FaultProxy
    home: Path
    plan: Path
    extra: dict[str, str] = field(default_factory=dict)

    cloud: ClassVar[str]
    region: ClassVar[str]
    zones: ClassVar[tuple[str, ...]]
    other_region: ClassVar[str]
    launching: ClassVar[str]
    """The action that launches machines."""
    ending: ClassVar[str]
    """The action that ends machines of a cluster that keeps running."""
    slow: ClassVar[dict[str, int]] = {"starting_polls": 1, "ending_polls": 1}
    """A world in which starting and ending machines takes a while."""
    calls_of_a_launch: ClassVar[int]
    calls_refused_at_once: ClassVar[int]
    """Number of calls that launch the cluster, and of those made where there are no machines."""
    whole: ClassVar[dict[str, int]]
    """Resources, by kind, when the cluster is up."""
    kept_when_ended: ClassVar[tuple[str, ...]] = ()
    """Kinds that keep one resource for each machine that has ended on its own, until the cluster is removed."""
    writes: ClassVar[frozenset[str]]
    """All actions that create or delete something in a whole life."""
    building: ClassVar[frozenset[str]]
    """Those of them that name a resource just made."""

    def world(self, **world: Any) -> None:
        """Reset to an empty account in a world as described by the emulator's World."""
        self.proxy.reset()
        self._control(world)

    @property
    def up(self) -> tuple[str, ...]:
        """The command that launches four nodes."""
        cloud = () if self.cloud == "aws" else ("--cloud", self.cloud)
        return ("cluster", "up", str(self.plan), *cloud, "--ssh-from", "203.0.113.7/32", "--staging", "--yes")

    @property
    def sweep(self) -> tuple[str, ...]:
        """The command that removes all runs, whether they have expired or not."""
        return ("cluster", "sweep", "--cloud", self.cloud, "--region", self.region, "--all", "--yes")

    def left(self) -> dict[str, int]:
        """Count the resources that really exist, by kind, however they are tagged."""
        return dict(self._control(None)["left"])

    def machines(self) -> int:
        """Count the machines that really exist."""
        return sum(count for resource_kind, count in self.left().items() if resource_kind.startswith("instance"))

    def machines_described(self) -> list[dict[str, Any]]:
        """Describe every existing machine."""
        return list(self._control(None)["machines"])

    def show(self, machine: str, text: str) -> None:
        """Put text on a machine's console."""
        self._control({machine: text}, method="POST")

    def _control(self, world: dict[str, Any] | None, *, method: str = "PUT") -> dict[str, Any]:
        url, body = f"http://127.0.0.1:{self.port}/control", None if world is None else json.dumps(world).encode()
        request = urllib.request.Request(url, data=body, method="GET" if world is None else method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return dict(json.load(answer))

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Return the variables that direct the SDK to this emulator."""

    @abstractmethod
    def refusal(self, code: str, *, status: int = 400) -> Answer:
        """Return a refusal by this cloud."""

    @abstractmethod
    def zone_of(self, launch: ProxiedRequest) -> str:
        """Return the zone in which a request launches machines."""

    def is_meant(self, seen: ProxiedRequest) -> bool:
        """Return whether a request is to have an effect, or asks for one."""
        return True

    def launches(self) -> list[str]:
        """Return the zone of every request that launches machines."""
        return [self.zone_of(seen) for seen in self.proxy.seen if seen.action == self.launching and self.is_meant(seen)]

    def usual_environment(self) -> dict[str, str]:
        """Return the variables that all emulated clouds need."""
        return {
            "PLANNER_RUNS": str(self.home),
            "PLANNER_MEASUREMENTS": os.devnull + "/none",
            "PLANNER_SETTINGS": os.devnull,
            **self.extra,
        }

    def provider(self, policy: RetryPolicy = QUICK) -> Provider:
        """Return this cloud's provider, with short waits."""
        return provider_of(self.cloud, policy=policy)

    def planner(
        self,
        *arguments: str,
        kill_at: int | str | None = None,
        signal_at: str | None = None,
        policy: RetryPolicy = QUICK,
        within_s: float = 120,
        meanwhile: Callable[[int, str], bool] | None = None,
    ) -> Ended:
        """Run a command in a process of its own. With `kill_at`, kill it once the cloud has carried out its request of
        that number from now on, or its first of that action. With `signal_at`, send it SIGTERM at its first request of
        that action for a run. `meanwhile` is called again and again with the process and its output, until it returns
        that it is done.
        """
        log = self.home.with_name(f"{self.home.name}.log")
        log.write_text("", encoding="utf-8")
        process = FORKSERVER.Process(target=_run_command, args=(arguments, self.environment(), str(log), policy))
        before = len(self.proxy.seen)

        def judge(seen: ProxiedRequest) -> Kill | None:
            nonlocal signal_at
            if seen.action == signal_at and self.of_a_run(seen):
                signal_at = None
                os.kill(process.pid or 0, signal.SIGTERM)
            named = seen.action == kill_at and self.is_meant(seen)
            return Kill(lambda: process.pid or 0) if named or seen.number - before == kill_at else None

        if kill_at or signal_at:
            self.proxy.judge = judge
        process.start()
        deadline = time.monotonic() + within_s
        while process.is_alive() and time.monotonic() < deadline:
            if meanwhile and meanwhile(process.pid or 0, log.read_text(encoding="utf-8")):
                meanwhile = None
            process.join(0.05 if meanwhile else deadline - time.monotonic())
        if process.is_alive():
            process.kill()
        if kill_at is not None:
            self.proxy.judge = lambda _: None
        code = process.exitcode
        return Ended(code=-1 if code is None else code, text=log.read_text(encoding="utf-8"))

    def of_a_run(self, seen: ProxiedRequest) -> bool:
        """Return whether a request is for a run's resources."""
        return "tag:planner-run" in seen.params.values()

    def runs(self) -> list[str]:
        """Return the ids of runs that have a directory."""
        return sorted(path.parent.name for path in self.home.glob("*/journal.jsonl"))


@dataclass(frozen=True)
class Ended:
    """Exit code of a command, and its output on both streams."""

    code: int
    text: str


def _run_command(arguments: Sequence[str], environment: dict[str, str], log: str, policy: RetryPolicy) -> None:
    """The child: the real command line, with waits made short."""
    os.environ.update(environment)
    strict_answers.install(pytest.MonkeyPatch())
    with Path(log).open("w", encoding="utf-8") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    from planner.api import clusters
    from planner.cli.app import build
    from planner.cli.shell.console import exit_code_of
    from planner.clusters.provisioning.cluster_lifecycle import ProviderSession

    def session_on(cloud: str, *, say: Callable[[str], None]) -> ProviderSession:
        return ProviderSession(provider=provider_of(cloud, policy=policy), policy=policy, say=say)

    clusters.session_on = session_on
    sys.argv = ["planner", *arguments]
    try:
        code = exit_code_of(build())
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def write_plan(path: Path, plan: Plan) -> None:
    """Write the plan that all commands read, with only ten of the thousand types left out, as reading them takes each
    command a fifth of its time.
    """
    path.write_text(replace(plan, rejected=plan.rejected[:10]).to_json(), "utf-8")


@contextmanager
def served(server: str, *, naming: Callable[[str, str], str] | None = None) -> Iterator[FaultProxy]:
    """Start an emulator and a proxy before it, and end both."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(HERE))
        forkserver.ensure_running()
    process = subprocess.Popen([sys.executable, str(HERE / server)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    proxy = FaultProxy(port, naming=naming) if naming else FaultProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
        process.kill()
        process.wait()
        process.stdout.close()


def order(run: str, *choices: ClusterOffer, **changes: Any) -> Order:
    """Return an order without a key."""
    usual: dict[str, Any] = {
        "run": run,
        "owner": "tester",
        "cloud": "aws",
        "expires_at": datetime.now(UTC) + timedelta(hours=2),
        "choices": choices,
        "ssh_from": "203.0.113.7/32",
        "ssh_public_key": "",
    }
    return Order(**(usual | changes))


def bill(usd: float) -> tuple[BillLine, ...]:
    """Return the bill of machines that work for an hour."""
    return (BillLine(name="job", time_s=3600.0, usd=usd),)


def volumes(volume_type: str, *, count: int = 2) -> VolumeOrder:
    return VolumeOrder(volume_type=volume_type, count=count, size_gib=50, mibps_each=250)
