"""A standalone Spark cluster on emulated nodes: links are capped, a control group limits each node's processors."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planner.clusters.emulated.cluster import HEAD, EmulatedCluster, emulated_cluster
from planner.clusters.emulated.shaping import parse_shaping
from planner.spark.model.machines import Nodes, NodeType

_GROUPS: Final = Path("/sys/fs/cgroup/cpu")
_PERIOD_US: Final = 100_000
"""Default of Kubernetes."""
_MOST_SHARES: Final = 262_144
"""The kernel's maximum: other processes on this machine get what Spark's leave."""
_IN_GROUP: Final = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
"""Before the node is entered, as it has its own /sys."""
_START_S: Final = 120.0
_USD_PER_PROCESSOR_HOUR: Final = 0.05
_MEMORY_BYTES: Final = 2_000_000_000
_JOBS: Final = Path(__file__).with_name("spark_jobs.py")


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A number of nodes with `slots` tasks at once, `processors` of this machine's time and a link of `rate` each."""

    nodes: int
    slots: int
    processors: float
    rate: str

    @property
    def name(self) -> str:
        """Return `2 nodes, 1 slot, 0.5 processors, 100Mbit`."""
        return f"{self.nodes} nodes, {self.slots} slots, {self.processors:g} processors, {self.rate}"

    def described(self) -> Nodes:
        """Return the nodes in the form of the Spark application model; they are paid by their processors' time."""
        machine = NodeType(
            cloud="emulated",
            instance_type=f"{self.slots}slots-{self.processors:g}cpu-{self.rate}",
            arch="x86_64",
            vcpu=self.slots,
            siblings=False,
            clock_ghz=1.0,
            cpu_share=self.processors / self.slots,
            memory_bytes=float(_MEMORY_BYTES * self.slots),
            network_bytes_per_s=float(self.rate.removesuffix("Mbit")) * 1e6 / 8,
            disk_bytes_per_s=float("nan"),
            price_usd_per_hour=self.processors * _USD_PER_PROCESSOR_HOUR,
        )
        return Nodes(machine=machine, count=self.nodes)


@dataclass(frozen=True, kw_only=True)
class SparkNodes:
    """A running cluster that jobs are sent to."""

    nodes: EmulatedCluster
    spark_home: Path
    environment: dict[str, str]
    head: Path
    """The control group of the master and the driver."""

    def run(self, job: str, *, rows: int, partitions: int, shape: Shape, log: Path) -> None:
        """Run a job over this number of rows, with the given partitions before and after every shuffle, and leave its
        event log in the file `log`.
        """
        folder = log.with_suffix(".folder")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        workers, address = shape.nodes, self.nodes.address(HEAD)
        settings = {
            "spark.master": f"spark://{address}:7077",
            "spark.driver.host": address,
            "spark.driver.memory": "1g",
            "spark.executor.memory": f"{900 * shape.slots}m",
            "spark.executor.cores": shape.slots,
            "spark.cores.max": workers * shape.slots,
            "spark.scheduler.minRegisteredResourcesRatio": 1.0,
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.sql.shuffle.partitions": partitions,
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.autoBroadcastJoinThreshold": -1,
            "spark.locality.wait": 0,
            "spark.ui.enabled": "false",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": folder.as_uri(),
        }
        words = [str(self.spark_home / "bin" / "spark-submit")]
        words += [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
        command = _grouped(self.head, self.nodes.command(HEAD, *words, str(_JOBS), job, str(rows), str(partitions)))
        subprocess.run(command, env=self.environment, check=True, capture_output=True, timeout=1200)
        (written,) = folder.iterdir()
        written.rename(log)
        folder.rmdir()


@contextmanager
def spark_nodes(shape: Shape, *, spark_home: Path, directory: Path) -> Iterator[SparkNodes]:
    """Yield a cluster of a shape; nothing of it remains afterwards."""
    shaping = parse_shaping(rate=shape.rate)
    with ExitStack() as stack:
        nodes = stack.enter_context(emulated_cluster(workers=shape.nodes, shaping=shaping, directory=directory))
        head = stack.enter_context(_control_group(f"{nodes.entry.cluster_id}-0"))
        environment = _environment(spark_home)
        cluster = SparkNodes(nodes=nodes, spark_home=spark_home, environment=environment, head=head)
        stack.enter_context(_daemon(cluster, HEAD, "master.Master", "--port", "7077", group=head))
        for node in range(1, shape.nodes + 1):
            group = stack.enter_context(_control_group(f"{nodes.entry.cluster_id}-{node}"))
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(round(shape.processors * _PERIOD_US)))
            words = ["worker.Worker", "--cores", str(shape.slots), "--memory", f"{1000 * shape.slots}m"]
            words += ["--work-dir", str(nodes.directory(node)), f"spark://{nodes.address(HEAD)}:7077"]
            stack.enter_context(_daemon(cluster, node, *words, group=group))
        _wait_for(cluster, workers=shape.nodes)
        yield cluster


def _environment(spark_home: Path) -> dict[str, str]:
    known = {name: os.environ[name] for name in ("PATH", "JAVA_HOME", "HOME") if name in os.environ}
    python = str(spark_home.parents[3] / "bin" / "python")
    return {**known, "SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": python, "SPARK_LOG_DIR": "/tmp"}


def _grouped(group: Path, command: list[str]) -> list[str]:
    return ["sh", "-c", _IN_GROUP, str(group), *command]


@contextmanager
def _control_group(name: str) -> Iterator[Path]:
    group = _GROUPS / f"planner-spark-{name}"
    group.mkdir()
    (group / "cpu.shares").write_text(str(_MOST_SHARES))
    try:
        yield group
    finally:
        deadline = time.monotonic() + 30
        while (group / "cgroup.procs").read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        group.rmdir()


@contextmanager
def _daemon(cluster: SparkNodes, node: int, *words: str, group: Path) -> Iterator[None]:
    """Run a part of Spark on a node, in a control group."""
    address = cluster.nodes.address(node)
    part, *rest = words
    command = [str(cluster.spark_home / "bin" / "spark-class"), f"org.apache.spark.deploy.{part}", "--host", address]
    log = cluster.nodes.directory(node) / "daemon.log"
    with log.open("wb") as written:
        process = subprocess.Popen(
            _grouped(group, cluster.nodes.command(node, *command, "--webui-port", "0", *rest)),
            env={**cluster.environment, "SPARK_LOCAL_IP": address, "SPARK_DAEMON_MEMORY": "256m"},
            stdout=written,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            cluster.nodes.end(node)
            process.wait()


def _wait_for(cluster: SparkNodes, *, workers: int) -> None:
    log = cluster.nodes.directory(HEAD) / "daemon.log"
    deadline = time.monotonic() + _START_S
    while log.read_text(errors="replace").count("Registering worker") < workers:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{workers} workers did not register: {log.read_text(errors='replace')[-500:]}")
        time.sleep(0.2)


def usable(spark_home: Path) -> str:
    """Return the reason why no cluster can be made here, '' if one can."""
    if os.geteuid() != 0 or not (_GROUPS / "cpu.cfs_quota_us").exists():
        return "needs root and control groups of version 1 for processors"
    return "" if shutil.which("java") and spark_home.is_dir() else "needs java and pyspark"
