"""Processes killed and links cut at random moments of a whole run: generating or staging in, sorting, staging out,
reading back. Does the run finish, and is its output correct?

Works as `bench_kills.py` does for the sort alone. A run without a store generates records and keeps two copies of its
output on the nodes' disks; one with `--store` brings the same records from an object store, sorts them in one copy and
returns them there. After a run this process reads the output: from the disks, or from the store. As root, with `pip
install 'sortplanner[ray,objects]' 'moto[s3,server]' boto3`:

python benchmarks/cluster/bench_run_kills.py --kills 12
python benchmarks/cluster/bench_run_kills.py --kills 12 --store
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import boto3
import numpy as np
from bench_kills import FAULTS, HANG_TIMES, STORE_BYTES, HangError, Kill, harmed, hung, kills
from moto.server import ThreadedMotoServer

from planner.clusters.emulated.cluster import emulated_cluster
from planner.clusters.emulated.ray import EmulatedRay, start_ray
from planner.clusters.emulated.relay import relay_url
from planner.clusters.emulated.shaping import parse_shaping
from planner.clusters.ray.driver_session import Session
from planner.errors import PlannerError
from planner.native import core

BUCKET: Final = "runs"
FILES: Final = 6
KEYS: Final = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}


@dataclass(kw_only=True)
class Watch:
    """Start times of a run's steps."""

    began_s: float = field(default_factory=time.monotonic)
    steps: list[tuple[float, str]] = field(default_factory=list)

    def on_event(self, event: dict[str, Any]) -> None:
        """Record an event."""
        if event["event"] == "step":
            self.steps.append((time.monotonic() - self.began_s, event["name"]))

    def moment_s(self, names: Sequence[str], *, number: int, share: float, end_s: float) -> float:
        """Return a moment of one of the named steps in turn (of all steps if none is named), after a share of it."""
        begins = [*self.steps, (end_s, "")]
        spans = {name: (began_s, next_s) for (began_s, name), (next_s, _) in pairwise(begins)}
        begin_s, until_s = spans[names[number // len(FAULTS) % len(names)]] if names else (0.0, end_s)
        return begin_s + share * (until_s - begin_s)

    def at(self, seconds: float) -> str:
        """Return the step that was under way."""
        return next((name for began_s, name in reversed(self.steps) if began_s <= seconds), "nothing")


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run's request, and the check of its output; `clear` makes room for the next."""

    request: dict[str, Any]
    is_right: Callable[[dict[str, Any]], bool]
    clear: Callable[[], None]


def checksum_of(parts: Iterator[bytes]) -> tuple[int, int, bool]:
    """Return records, checksum and whether all are in order, of parts in order."""
    records = checksum = 0
    is_sorted, last = True, b""
    for part in parts:
        summary = core.validate_records(np.frombuffer(part, np.uint8).data)
        records, checksum = records + summary.records, checksum + summary.checksum
        is_sorted &= summary.unordered == 0 and (not part or last <= part[:10])
        last = part[-100:-90] or last
    return records, checksum, is_sorted


def generated(records: int) -> Job:
    """Return a run that generates its input and keeps two copies of the output on the nodes."""
    expected: dict[str, tuple[int, int, bool]] = {}

    def is_right(result: dict[str, Any]) -> bool:
        reached = [
            [Path(copy["uri"]) for copy in partition["copies"] if Path(copy["uri"]).exists()]
            for partition in result["dataset"]["partitions"]
        ]
        seen = checksum_of(paths[0].read_bytes() for paths in reached if paths)
        return seen == expected.setdefault("sum", seen) and seen[0] == records and seen[2]

    return Job(request={"records": records, "copies": 2}, is_right=is_right, clear=lambda: None)


def stored(client: Any, records: int) -> Job:
    """Return a run from an object store and to it."""
    with tempfile.NamedTemporaryFile() as file:
        core.generate_file(file.name, records=records, start=0)
        content = Path(file.name).read_bytes()
    step = -(-records // FILES) * 100
    partitions = []
    for number in range(FILES):
        part = content[number * step : (number + 1) * step]
        client.put_object(Bucket=BUCKET, Key=f"in/{number}", Body=part)
        copies = [{"uri": f"s3://{BUCKET}/in/{number}", "node": ""}]
        empty = {"recipe": None, "first_key": "", "last_key": "", "checksum": ""}
        partitions.append({"records": len(part) // 100, "copies": copies} | empty)
    layout = {"record_size": 100, "key_offset": 0, "key_size": 10}
    source = {"format": "planner-manifest-1", "records": records, "layout": layout, "partitions": partitions}
    _, checksum, _ = checksum_of(iter([content]))

    def listed() -> list[str]:
        return [item["Key"] for item in client.list_objects_v2(Bucket=BUCKET, Prefix="out/").get("Contents", [])]

    def is_right(_: dict[str, Any]) -> bool:
        names = sorted(name for name in listed() if "part-" in name)
        bodies = (client.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names)
        return checksum_of(bodies) == (records, checksum, True)

    def clear() -> None:
        for name in listed():
            client.delete_object(Bucket=BUCKET, Key=name)

    request = {"records": 0, "copies": 1, "source": source, "output": f"s3://{BUCKET}/out"}
    return Job(request=request, is_right=is_right, clear=clear)


def whole_run(session: Session, job: Job, journal: Path) -> tuple[dict[str, Any], float, Watch]:
    """Run; return the result, the seconds and the start times of steps."""
    job.clear()
    watch = Watch()
    done = session.do({"do": "run", "request": job.request, "journal": str(journal)}, watch.on_event)
    return done, time.monotonic() - watch.began_s, watch


def disturbed(
    cluster: EmulatedRay, harm: Kill, *, at_s: float, session: Session, job: Job, journal: Path, normal_s: float
) -> str:
    """Run, cause a fault after some seconds, and return the outcome."""
    try:
        with harmed(cluster, harm, at_s=at_s, longest_s=HANG_TIMES * normal_s + 90):
            result, seconds, watch = whole_run(session, job, journal)
    except PlannerError as error:
        return f"FAILED: {error.message} {error.details}"
    except HangError:
        return "HANGS"
    right = "right" if job.is_right(result) else "WRONG"
    steps = ", ".join(f"{name} {step_s:.1f}" for name, step_s in result["steps_s"].items())
    return f"{seconds / normal_s:.2f} times, {right}, in {watch.at(at_s)}; {steps}"


@contextmanager
def clusters(options: argparse.Namespace, folder: Path) -> Iterator[tuple[EmulatedRay, Any]]:
    """Yield a cluster, and a client of the store that its nodes reach, None without one."""
    shaping = parse_shaping(rate=options.rate)
    with emulated_cluster(workers=options.nodes, shaping=shaping, directory=folder) as nodes:
        if not nodes.is_shaped:
            sys.exit("a node is told from others by its network namespace: run as root, with ip and tc")
        if not options.store:
            yield start_ray(nodes, store_bytes=STORE_BYTES), None
            return
        logging.getLogger("werkzeug").setLevel(logging.ERROR)  # each request, else
        server = ThreadedMotoServer(port=0, verbose=False)
        server.start()
        try:
            host, port = server.get_host_and_port()
            url = f"http://{host}:{port}"
            client = boto3.client("s3", endpoint_url=url, region_name="us-east-1")
            client.create_bucket(Bucket=BUCKET)
            with relay_url(nodes, url) as reached:
                store = {"AWS_ENDPOINT_URL": reached, "AWS_ENDPOINT_URL_S3": reached}
                yield start_ray(nodes, store_bytes=STORE_BYTES, store=store), client
        finally:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--records", type=int, default=4_000_000, help="in all")
    parser.add_argument("--rate", default="400Mbit")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true", help="from an object store and to it")
    parser.add_argument("--during", nargs="*", default=[], help="steps to disturb by turns, as `validate`; else all")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=FAULTS)
    options = parser.parse_args()
    os.environ |= KEYS
    signal.signal(signal.SIGALRM, hung)
    endings = list[str]()
    with tempfile.TemporaryDirectory() as name, clusters(options, Path(name)) as (cluster, client):
        job = stored(client, options.records) if options.store else generated(options.records)
        journal = Path(name) / "journal"
        with cluster.session() as session:
            whole_run(session, job, journal)
            result, normal_s, watch = whole_run(session, job, journal)
            began = ", ".join(f"{step} at {at_s:.1f}" for at_s, step in watch.steps)
            print(f"undisturbed {normal_s:.1f} s, right: {job.is_right(result)}; {began}", flush=True)
            for harm in kills(options):
                at_s = watch.moment_s(options.during, number=harm.number, share=harm.share, end_s=normal_s)
                ending = disturbed(
                    cluster, harm, at_s=at_s, session=session, job=job, journal=journal, normal_s=normal_s
                )
                endings.append(ending)
                print(f"{harm.number + 1}: {harm.fault} of node-{harm.node} at {at_s:.2f} s: {ending}", flush=True)
                if harm.fault in ("raylet", "link"):
                    cluster.nodes.end(harm.node)
                    cluster.start_worker(harm.node, store_bytes=STORE_BYTES)
    steps = Counter(ending.split(", in ")[1].split(";")[0] for ending in endings if ", in " in ending)
    print(f"{sum(', right,' in ending for ending in endings)} of {len(endings)} ended right; hit {dict(steps)}")


if __name__ == "__main__":
    main()
