"""The page variation.md: effects of bandwidth distributions, slow nodes and token buckets on plans."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from planner import recommend
from planner.arrays import Floats
from planner.catalog import load_catalog
from planner.catalog.bandwidth_distributions import load_distributions
from planner.schemas.plan import Candidate

ENOUGH = 1e15
"""A rate that is never the bottleneck, bytes/s."""

HEAD = """# Network variation

This page shows the effect of varying bandwidths and slow nodes on plans. Every figure is a call of `plan`, made when
the site is built. Those of "Possible explanations" are simulated.

"""

SLOWDOWN = """## Eight clouds

Uta and Obaseki (ICPE 2018) ran HiBench's jobs on Spark on 16 virtual machines. They drew the bandwidth from the
distributions of eight clouds, A to H (Ballani et al., SIGCOMM 2011). They report each job's largest mean slowdown
against 1 Gbit/s for all. The table has the answers of `plan --set network-distribution=A` for 16 nodes of 7 vCPUs.
The disk of 100 MB/s is an assumption, as the study states none. A slowdown is the expected time over that at
125 MB/s without variation.

* TeraSort and Sort are `--model framework` at HiBench's size `large`, {terasort_size} and {sort_size}.
* The last row is `--model indy` with disks and processors that are never the bottleneck. Such a sort only waits for the
  slowest node's network, so no sort can suffer more from these bandwidths.

| job | {clouds} | largest | study: largest |
|---|{lines}---|---|
{rows}

How well they agree:

* TeraSort falls short of the study's slowdown by {terasort:.0%}. The worst cloud is the right one.
* The model misses Sort. Each node sends 20 of 320 MB, which the framework's start-up hides at any of these bandwidths.
  The study saw {sort_study:g}.
* The order is the study's: A and D, the clouds of low bandwidth, hurt most. But in the study every cloud except C
  slows the jobs down. The model slows only a sort that waits for the network, which
  takes {c_alone:.2f} times as long on C, too.
* The shipped constants are those of Hadoop. Its start-up of 28 s is longer than a whole job of this size on Spark's
  running executors, and it copies map output while maps still run, which Spark does not. The next section has the
  other gaps.
* The study's other jobs (word count, Bayes, k-means, page rank) are iterative or do not sort. They are not predicted.

### Possible explanations

Each row is one way in which bandwidth may add to a job, on {nodes} nodes with a pair of caps each, (egress, ingress),
drawn once per run as in the study; the mean of {draws:,} simulated clusters. A block is 128 MiB; 3.2 GB are 24 of them,
320 MB are 2. "Explains" is the time that the job would have to take at 1 Gbit/s for that alone to give the study's
slowdown: what is added, divided by the slowdown less one. The study prints no times, so none can be checked.

| job (study) | what is added | A | C | D | worst | explains, if calm it took |
|---|---|--:|--:|--:|---|--:|
{why_rows}

* TeraSort's 1.79 needs no more than the shuffle, of a job of {terasort_even:.0f} s, if it is not hidden behind
  computing; blocks held unevenly, or three copies of the output, explain a longer one. Under a Hadoop-like start-up of
  28 s and an overlapping shuffle the same bytes give 1.24, as above.
* 20 MB from each node do not explain Sort's 1.51: the job would have taken {sort_even:.0f} s, less than any job takes
  to start. But its input is two or three blocks, so two or three nodes hold and send all map output. That
  explains a job of {sort_held:.0f} s. Reading such a block from elsewhere costs about as much. And it explains why D is
  as bad as A: such a job waits for typical nodes, not for the slowest of sixteen, and the median of D is the lower.
* WordCount combines its output before it sends it, so the shuffle does not count. One block read from another node
  explains a job of {word_one:.0f} s; every block read so, one of {word_remote:.0f} s. The study does not
  print how many were.
* C slows no job in the study. Every mechanism adds {c_least:.1f} to {c_most:.1f} s on it, a few percent of such jobs.

These do not explain it:

* New bandwidths during a run: the study draws them once ("does not change during the course of a single experiment").
* Waves of tasks: 24 blocks and as many reducers fit 112 cores at once, so slow nodes are waited for once, not per wave.
* Spark's limit of 48 MB under way for each reducer: a reducer fetches 29 MB of TeraSort's data in all, on 112 cores.
* Caps as pairs instead of one a node: the slowest of 32 draws instead of 16 takes {pairs:.2f} times as long on A. It
  is part of all rows here, and not of `plan`, where a node has one rate.

"""

TAILS = """## A tail on one type

About 5% of c3.4xlarge nodes read their volumes three times slower in SoCC 2015 (section 5.3, Figure 12). Some of 330
nodes are always slow. So the authors took r3.4xlarge, which is 60% dearer, and paid $450.84.

Below are 100 TB on 330 nodes under `cloudsort` at the prices of 2014, with the tail on neither, on the type it was seen
on, and on both. The network is assumed to be fast enough. Each cell has the expected time, the cost of the sort alone,
and the whole bill, which adds the steps around a sort (boot, generating, validating):

| tail on | c3.4xlarge | r3.4xlarge | cheaper sort | cheaper bill |
|---|--:|--:|---|---|
{rows}

A tail slows only its own medium and direction: here phase 1, which reads volumes. Phase 2 reads local disks and writes
volumes, and keeps its time. By hand: reading 100 TB takes 330 nodes 100e12 / 330 / 243e6 = 1,247 s, three times as long
3,741 s, writing 100e12 / 330 / 226e6 = 1,341 s, in all 5,082 s before nodes and runs vary.

The plan agrees with the paper on the cost of the sort, which the paper compares: the tail makes c3.4xlarge lose. It
disagrees on the whole bill: c3.4xlarge stays cheaper by a few percent, because its lower price also holds for the steps
around the sort. These steps are planned without the tail. Validating reads volumes, too: the tail would take c3.4xlarge
another {validate:,.0f} s and reverse the bill. A deadline decides as the paper did.

"""

BUCKETS = """## A token bucket

A c5.xlarge sends at {burst:.2f} GB/s until its bucket is empty, then at {base:.3f} GB/s (measured in 2019). The table
has the shuffle of a sort on 16 of them, with disks that are fast enough. Up to {crossover:.1f} TB it goes at burst.
Beyond, the mean rate falls towards the baseline.

| data | network, map and shuffle | mean rate per node | the bucket |
|--:|--:|--:|---|
{rows}
"""

NODES, DRAWS, LINK, BLOCK = 16, 4000, 125e6, 128 * 2**20
Sends = Callable[[float, Floats, Floats, Floats], Floats]
"""Seconds of each simulated cluster, from a job's bytes, the nodes' egress and ingress (DRAWS, NODES), and uniform
draws.
"""


def blocks(data: float, uniform: Floats) -> Floats:
    """Return the bytes that each node holds where whole blocks lie on nodes at random."""
    count = max(1, round(data / BLOCK))
    owner = (uniform[:, :count] * NODES).astype(int)
    return np.stack([(owner == node).sum(1) for node in range(NODES)], 1) * (data / count)


def shuffled(data: float, egress: Floats, ingress: Floats, _: Floats) -> Floats:
    return (data * (NODES - 1) / NODES**2 / np.minimum(egress, ingress)).max(1)


def shuffled_from_blocks(data: float, egress: Floats, ingress: Floats, uniform: Floats) -> Floats:
    away = (NODES - 1) / NODES
    return np.maximum((blocks(data, uniform) * away / egress).max(1), (data / NODES * away / ingress).max(1))


def copied(data: float, egress: Floats, ingress: Floats, _: Floats) -> Floats:
    return (2 * data / NODES / np.minimum(egress, ingress)).max(1)


def read_elsewhere(data: float, egress: Floats, ingress: Floats, uniform: Floats) -> Floats:
    out = (blocks(data, uniform) / egress).max(1)
    return np.maximum(out, (blocks(data, uniform[:, ::-1]) / ingress).max(1))


def one_block(_: float, egress: Floats, ingress: Floats, __: Floats) -> Floats:
    return BLOCK / np.minimum(egress[:, 0], ingress[:, 1])


def jar(_: float, egress: Floats, __: Floats, ___: Floats) -> Floats:
    return NODES * 10e6 / egress[:, 0]


WAYS: tuple[tuple[str, Sends], ...] = (
    ("the shuffle, as much from each node, not hidden", shuffled),
    ("the shuffle from the nodes that hold the blocks", shuffled_from_blocks),
    ("two more copies of the output", copied),
    ("every block read from another node", read_elsewhere),
    ("one block read from another node", one_block),
    ("10 MB of program from the driver to every node", jar),
)
STUDY = (("TeraSort", 3.2e9, 1.79, "A"), ("Sort", 3.2e8, 1.51, "D"), ("WordCount", 3.2e9, 1.61, "A"))


def added_s(way: Sends, data: float, cloud: str, *, is_paired: bool = True) -> float:
    """Return the mean seconds that a cloud's caps add to those at 1 Gbit/s."""
    rng = np.random.default_rng(1)
    caps = [load_distributions()[cloud].sample(DRAWS * NODES, rng).reshape(DRAWS, NODES) for _ in range(2)]
    egress, ingress = caps if is_paired else (caps[0], caps[0])
    uniform, calm = rng.random((DRAWS, 64)), np.full((DRAWS, NODES), LINK)
    return float((way(data, egress, ingress, uniform) - way(data, calm, calm, uniform)).mean())


def explanations() -> dict[str, Any]:
    """Return the rows of the table of mechanisms and the figures that the text quotes."""
    rows, calm, on_c = [], {}, []
    for job, data, study, worst in STUDY:
        for what, way in WAYS if job != "WordCount" else WAYS[3:]:
            seconds = {cloud: added_s(way, data, cloud) for cloud in "ABCDEFGH"}
            largest = max(seconds, key=lambda cloud, seconds=seconds: seconds[cloud])
            calm[job, way] = seconds[worst] / (study - 1)
            on_c.append(seconds["C"])
            cells = [f"{seconds[cloud]:.1f} s" for cloud in "ACD"]
            label = f"{job} ({study:g}, {worst})"
            rows.append(f"| {label} | {what} | {' | '.join(cells)} | {largest} | {calm[job, way]:.1f} s |")
    base = NODES - 1
    alone = [added_s(shuffled, STUDY[0][1], "A", is_paired=paired) for paired in (True, False)]
    least = STUDY[0][1] * base / NODES**2 / LINK
    return {
        "why_rows": "\n".join(rows),
        "terasort_even": calm["TeraSort", shuffled],
        "sort_even": calm["Sort", shuffled],
        "sort_held": calm["Sort", shuffled_from_blocks],
        "word_one": calm["WordCount", one_block],
        "word_remote": calm["WordCount", read_elsewhere],
        "c_least": min(on_c),
        "c_most": max(on_c),
        "pairs": (alone[0] + least) / (alone[1] + least),
        "nodes": NODES,
        "draws": DRAWS,
    }


MACHINE = {
    "catalog.toml": """title = "The machines of Uta and Obaseki"
cloud = "local"
currency = "USD"
default_region = "here"
prices_as_of = 2018-04-09
hours_per_month = 720
[sources]
uta = { title = "Uta, Obaseki, ICPE 2018, section 2.5" }
""",
    "instances.csv": "instance_type,vcpu,memory_bytes,local_disks,local_disk_bytes,network_baseline_bytes_per_s,family,"
    "placement_group,current_generation,evidence,source,as_of\n"
    "vm,7,18e9,1,30e9,125e6,vm,yes,no,spec,uta,2018-04-09\n",
    "disks.csv": "instance_type,mode,bytes_per_s,aggregate,method,evidence,source,as_of\n"
    "vm,read_only,100e6,mean,assumed,assumed,uta,2018-04-09\nvm,write_only,100e6,mean,assumed,assumed,uta,2018-04-09\n",
    "prices.csv": "instance_type,region,pricing,price_usd_per_hour,evidence,source,as_of\n"
    "vm,here,on-demand,1,assumed,uta,2018-04-09\n",
}

JOBS = (("TeraSort", "3200MB", 1.79, "A"), ("Sort", "320MB", 1.51, "D"))
NETWORK_ALONE = {"local_read": ENOUGH, "local_write": ENOUGH, "partition": ENOUGH, "sort": ENOUGH}


def best_of(**given: Any) -> Candidate:
    # As in the papers: disks and networks alone, and disks filled completely.
    best = recommend(**({"head_room": 0.0, "engine": "ideal"} | given)).best
    if best is None:
        raise SystemExit(f"nothing feasible: {given}")
    return best


def slowdowns(asked: dict[str, Any], assume: dict[str, float]) -> dict[str, float]:
    """Return the expected time under each distribution over that at 1 Gbit/s for all."""
    calm = best_of(**asked, assume=assume | {"network": 125e6}).time_s.expected
    clouds = load_distributions()
    return {
        cloud: best_of(**asked, assume=assume, network_distribution=cloud).time_s.expected / calm for cloud in clouds
    }


def row(job: str, factors: dict[str, float], study: str) -> str:
    largest = max(factors, key=lambda cloud: factors[cloud])
    cells = [job, *(f"{factor:.2f}" for factor in factors.values()), f"{factors[largest]:.2f} ({largest})", study]
    return f"| {' | '.join(cells)} |"


def slowdown(folder: Path) -> str:
    """Predict each job under each distribution."""
    for name, text in MACHINE.items():
        (folder / name).write_text(text, "utf-8")
    asked = {"catalogs": (str(folder),), "nodes": 16}
    factors = {job: slowdowns(asked | {"data": size, "model": "framework"}, {}) for job, size, *_ in JOBS}
    bound = slowdowns(asked | {"data": JOBS[0][1], "model": "indy"}, NETWORK_ALONE)
    rows = [row(job, factors[job], f"{most:g} ({worst})") for job, _, most, worst in JOBS]
    rows.append(row("any sort, network alone", bound, "-"))
    return SLOWDOWN.format(
        **explanations(),
        clouds=" | ".join(bound),
        lines="---|" * len(bound),
        rows="\n".join(rows),
        terasort_size="3.2 GB",
        sort_size="320 MB",
        terasort=1 - max(factors["TeraSort"].values()) / JOBS[0][2],
        sort_study=JOBS[1][2],
        c_alone=bound["C"],
    )


def tails(folder: Path) -> str:
    """Plan with the tail on neither, on c3.4xlarge and on both."""
    path = load_catalog("aws-2014").path
    seen = (path / "stragglers.csv").read_text("utf-8")
    header, row = seen.splitlines()[:2]
    rows = []
    for tailed in ((), ("c3.4xlarge",), ("c3.4xlarge", "r3.4xlarge")):
        copy = folder / f"tails-{len(tailed)}"
        shutil.copytree(path, copy)
        lines = [header, *(row.replace("c3.4xlarge", name) for name in tailed)]
        (copy / "stragglers.csv").write_text("\n".join(lines) + "\n", "utf-8")
        asked = {
            "data": "100TB", "model": "cloudsort", "catalogs": (str(copy),), "nodes": 330, "objective": "cost",
            "assume": {"network": ENOUGH, "local_read": ENOUGH, "local_write": ENOUGH},
        }  # fmt: skip
        clusters = {name: best_of(**asked, instances=(name,)) for name in ("c3.4xlarge", "r3.4xlarge")}
        shown = [
            f"{best.time_s.expected:,.0f} s, ${best.cost_usd.expected:,.0f}, ${best.cost_usd.total:,.0f}"
            for best in clusters.values()
        ]
        by_sort = min(clusters, key=lambda name: clusters[name].cost_usd.expected)
        by_bill = best_of(**asked, instances=tuple(clusters)).instance_type
        rows.append(f"| {' and '.join(tailed) or 'neither'} | {' | '.join(shown)} | {by_sort} | {by_bill} |")
        validate_s = clusters["c3.4xlarge"].overheads_s["validate"]
    return TAILS.format(rows="\n".join(rows), validate=2 * validate_s)


def bucket_rows() -> Iterator[str]:
    for size in (1, 4, 8, 12, 16, 32, 64, 128):
        best = best_of(
            data=f"{size}TB", model="cloudsort", catalogs=("aws",), instances=("c5.xlarge",), nodes=16,
            assume={"volume_read": ENOUGH, "volume_write": ENOUGH},
        )  # fmt: skip
        use = best.phases[0].resources["network"]
        says = "lasts" if any("outlasts the job" in text for text in best.warnings) else "is spent"
        rate = use.bytes_per_s / 1e9
        yield f"| {size} TB | {use.time_s:,.0f} s | {rate:.3f} GB/s | {says} |"


def buckets() -> str:
    """Plan ever larger sorts on a type with a token bucket."""
    variants = load_catalog("aws").token_buckets["c5.xlarge"]
    bucket = min(variants, key=lambda variant: variant.burst_bytes_per_s)
    burst, base = bucket.burst_bytes_per_s, load_catalog("aws").instances.network_baseline_bytes_per_s
    rate = float(base[load_catalog("aws").instances.index("c5.xlarge")])
    crossover = bucket.bucket_bytes / (1 - rate / burst) * 16 / (15 / 16) / 1e12
    rows = "\n".join(bucket_rows())
    return BUCKETS.format(burst=burst / 1e9, base=rate / 1e9, crossover=crossover, rows=rows)


def page() -> str:
    """Return the whole page as Markdown."""
    with TemporaryDirectory() as first, TemporaryDirectory() as second:
        return HEAD + slowdown(Path(first)) + tails(Path(second)) + buckets()
