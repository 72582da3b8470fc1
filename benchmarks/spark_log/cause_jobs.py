"""Jobs of Spark whose time goes to one known cause, run by `bench_causes.py`.

Each prints measurements from outside Spark: CPU time of the task threads by the kernel, garbage collection by the JVM,
time within a Python function, of a sleep or of a throttled server by their own clocks.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812, as Spark's own documents do
from slow_storage import SlowStorage

_TASK_THREAD: Final = "Executor task l"
"""The kernel keeps the first 15 characters of a thread's name."""
_TICKS_PER_S: Final = 100
_SLEEP_MS: Final = 50


@dataclass
class Job:
    """A session, the size of the job, and its own clocks' measurements, in seconds."""

    spark: SparkSession
    size: int
    scratch: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Measure the body: wall time, CPU time of task threads, garbage collection."""
        begin, cpu, gc = time.monotonic(), _task_cpu_s(), self._gc_s()
        yield
        measured = {"wall": time.monotonic() - begin, "cpu": _task_cpu_s() - cpu, "gc_of_jvm": self._gc_s() - gc}
        for name, seconds in measured.items():
            self.seconds[name] = self.seconds.get(name, 0.0) + seconds

    def _gc_s(self) -> float:
        beans = self.spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
        return sum(bean.getCollectionTime() for bean in beans) / 1000

    def rows(self, count: int, partitions: int) -> DataFrame:
        """Return numbered rows."""
        return self.spark.range(0, count, 1, partitions)


def _task_cpu_s() -> float:
    """Return the CPU time of all threads that run tasks, in the JVM that started this process and in its
    descendants.
    """
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        for name in process.glob("task/[0-9]*/comm") if _is_below(int(process.name)) else ():
            if name.read_text().startswith(_TASK_THREAD):
                fields = name.with_name("stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_PER_S


def _is_below(pid: int) -> bool:
    try:
        while pid > 1 and pid != os.getppid():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except FileNotFoundError:
        return False  # it has ended
    return pid > 1


def _kept(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _hashed(column: Column, times: int) -> Column:
    for _ in range(times):
        column = F.sha2(column, 512)
    return column


def cpu(job: Job) -> None:
    """Hash each row many times."""
    frame = job.rows(job.size, 16).select(_hashed(F.col("id").cast("string"), 40).alias("hash"))
    with job.timed():
        _kept(frame)


def sleep(job: Job) -> None:
    """Sleep for each row."""
    slept = F.expr(f"java_method('java.lang.Thread', 'sleep', {_SLEEP_MS}L)")
    with job.timed():
        _kept(job.rows(job.size, 12).select(slept.alias("slept")))
    job.seconds["waiting"] = job.size * _SLEEP_MS / 1000


def udf(job: Job) -> None:
    """Compute in a Python function that takes single rows."""
    spent = job.spark.sparkContext.accumulator(0.0)

    def slow(number: int) -> int:
        begin = time.perf_counter()
        total = sum(i * i % 7 for i in range(number % 50 + 100_000))
        spent.add(time.perf_counter() - begin)
        return total

    with job.timed():
        _kept(job.rows(job.size, 12).select(F.udf(slow, "long")("id").alias("sum")))
    job.seconds["python"] = spent.value


def spill(job: Job) -> None:
    """Sort more than the memory of the tasks holds."""
    text = F.concat(*[F.sha1((F.col("id") + part).cast("string")) for part in range(4)])
    with job.timed():
        _kept(
            job.rows(job.size, 8).select(F.xxhash64("id").alias("key"), text.alias("text")).sortWithinPartitions("key")
        )


def skew(job: Job) -> None:
    """Hash the rows of 16 keys, most of them of one key."""
    key = F.when(F.col("id") % 10 < 7, 0).otherwise(F.col("id") % 16)
    rows = job.rows(job.size, 4).select(key.alias("key"), F.col("id").cast("string").alias("text"))
    hashed = rows.repartition(16, "key").select(_hashed(F.col("text"), 40).alias("hash"))
    with job.timed():
        _kept(hashed)


def shuffle(job: Job) -> None:
    """Send all rows to other executors, over a link of a known rate."""
    text = F.concat(*[F.sha1((F.col("id") + part).cast("string")) for part in range(4)])
    with job.timed():
        _kept(job.rows(job.size, 8).select("id", text.alias("text")).repartition(8, "id"))


def gc(job: Job) -> None:
    """Gather lists in a heap that other objects nearly fill."""
    jvm = job.spark._jvm
    kept = jvm.java.util.stream.IntStream.range(0, 12_000_000).boxed().toList()
    text = F.sha1(F.col("id").cast("string"))
    lists = job.rows(job.size, 8).groupBy((F.col("id") % 64).alias("key")).agg(F.collect_list(text).alias("texts"))
    with job.timed():
        _kept(lists)
    job.seconds["kept"] = float(kept.size())


def small_files(job: Job) -> None:
    """Read many files of a few bytes, a task for each."""
    folder = job.scratch / "files"
    folder.mkdir()
    for place in range(job.size):
        (folder / f"{place}.txt").write_text("a line\n" * 10)
    with job.timed():
        _kept(job.spark.read.text(str(folder)))


def storage(job: Job) -> None:
    """Read files from a store that sends slowly."""
    with SlowStorage(files=8, file_bytes=job.size, bytes_per_s=4e6) as store:
        with job.timed():
            _kept(job.spark.read.text(f"webhdfs://localhost:{store.port}/data"))
        job.seconds["storage"] = store.held_back_s


def driver(job: Job) -> None:
    """Let the driver work between small jobs."""
    worked = 0.0
    with job.timed():
        for _ in range(job.size):
            _kept(job.rows(100_000, 4).select(F.sha1(F.col("id").cast("string"))))
            begin = time.perf_counter()
            time.sleep(2.5)
            worked += time.perf_counter() - begin
    job.seconds["driver"] = worked


JOBS: dict[str, Callable[[Job], None]] = {
    job.__name__: job for job in (cpu, sleep, udf, spill, skew, shuffle, gc, small_files, storage, driver)
}


def _measured(name: str, size: int, scratch: Path) -> dict[str, Any]:
    session = SparkSession.builder.appName("job").getOrCreate()
    job = Job(session, size, scratch)
    JOBS[name](job)
    session.stop()
    return job.seconds


if __name__ == "__main__":
    print(json.dumps(_measured(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
