"""Section of papers.md: the storage figures that Lee & Fox (2019) print for four clouds, next to the planner's."""

from __future__ import annotations

from typing import Final

from planner import recommend
from planner.catalog import VolumeType, load_catalog
from planner.cost_model.volumes.volume_sizes import SizedVolume, sized
from planner.planning.catalog_questions.price_performance import rank
from planner.planning.request.region import offer_of
from planner.schemas.plan import Candidate

MIB: Final = 2**20

CATALOGS: Final = {"AWS": "aws-2019", "Azure": "azure-2019", "GCE": "gcp-2019", "OCI": "oci-2019"}
TERASORT_MINUTES: Final = {"AWS": 10, "Azure": 24, "GCE": 24, "OCI": 10}
"""Section III-C: "Both AWS and OCI completed the task in 10 minutes as GCE and Azure took about 24 minutes"."""

WORKERS: Final = {
    "AWS": ("r5.24xlarge", "gp2", 7, 2048, "1750 MB/s", 42000),
    "Azure": ("Standard_E64s_v3", "premium-ssd-p30", 7, 1024, "1400 MB/s", 35000),
    "GCE": ("n1-highmem-96", "pd-ssd", 8, 834, "1200 MB/s read, 400 written", 60000),
    "OCI": ("BM.Standard2.52", "block", 6, 700, "1920 MB/s", 150000),
}
"""Table II: type, volumes, their number, GB each, most throughput and IOPS of a worker."""

USD_PER_TFLOPS: Final = {"AWS": 6.59, "Azure": 5.15, "GCE": 7.05, "OCI": 4.02}
"""Prices of Table V over the GFLOPS of section III-A; Figure 8 prints bars."""

HEAD = """# Lee & Fox's figures, recomputed

The tables compare figures of H. Lee and G. Fox,
"Big Data Benchmarks of High-Performance Storage Systems on Commercial Bare Metal Clouds" (CLOUD 2019),
with what the planner computes from its catalogs of 2019.
"""

MISSES = """
The rates of the processors are the shipped model's, learnt from others' runs. The paper prints one run of each cloud,
from which no profile can be learnt. Two things explain the misses:

* Processors. In the model they alone take 14 minutes on AWS and 13 on OCI. Both runs took 10, so these processors were
  at least 1.3 times as fast as the shipped rate. Azure's are nearest to it.
* Memory. Compute Engine's workers write at most 400 MB/s. Four times the data (two spills, the merge, the output) at
  that rate take 2,000 s, and the run took 1,440. So more than a quarter of what Hadoop wrote never reached a volume: a
  worker has 624 GB of memory for 200 GB of the data. The model lets every spill go to the volumes, whatever the memory.
  The paper says the same of reading ("Hadoop uses memory to retrieve data until it is overfilled").

On Azure the planner takes one Ultra SSD, where the paper took seven P30. Both reach the limit of the machine.
"""

LEFT = """## What is not recomputed

* Tables I and III are inputs: the rates of the catalogs of 2019 are these. Table V has their prices.
* Figures 1, 2, 4 and 6 have bars and lines without figures. None can be read to a tenth.
* Figure 5 has WordCount, K-means, PageRank and TestDFSIO. A sort's model does not describe them, and one run of each is
  too few for a profile.
* Figure 7 plots one worker's counters over time. Its maximum of 22,528 writes/s is below the 150,000 of Table II.
* Total execution cost (equation 1) is defined, and no figure of it is printed. A plan's cost is one: nodes and volumes
  for as long as the run takes.
"""


def page() -> str:
    """Return the page."""
    return "\n".join([HEAD, _terasort(), MISSES, _workers(), _sizes(), _devices(), _arithmetic(), LEFT])


def _terasort() -> str:
    lines = [
        "## TeraSort of 600 GB on three workers (Figure 5)",
        "",
        "Model `framework-volumes` with the shipped rates: HDFS and spills on the volumes that the planner chooses.",
        "",
        "| cloud | published | predicted | range (95% below) | predicted / published | volumes | what binds |",
        "|---|--:|--:|--:|--:|---|---|",
    ]
    for cloud, minutes in TERASORT_MINUTES.items():
        best = _planned(cloud)
        volumes = f"{best.volumes.count} x {best.volumes.volume_type}" if best.volumes else ""
        binding = ", ".join(dict.fromkeys(phase.bottleneck for phase in best.phases[1:]))
        predicted, late = best.time_s.expected / 60, best.time_s.p95 / 60
        times = f"{minutes} min | {predicted:.1f} min | {late:.1f} min | {predicted / minutes:.2f}"
        lines.append(f"| {cloud} | {times} | {volumes} | {binding} |")
    return "\n".join(lines)


def _planned(cloud: str) -> Candidate:
    answer = recommend(data="600GB", model="framework-volumes", catalogs=(CATALOGS[cloud],), nodes=3, engine="ideal")
    if answer.best is None:
        raise SystemExit(f"{cloud}: nothing feasible")
    return answer.best


def _workers() -> str:
    lines = [
        "## Limits of a worker (Table II)",
        "",
        "The table has the volumes by the limits of one volume, and the catalog's figures for the type.",
        "",
        "| cloud | volumes | throughput, published | computed | IOPS, published | computed |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for cloud, (instance_type, name, count, gib, throughput, iops) in WORKERS.items():
        catalog = load_catalog(CATALOGS[cloud])
        row, volume = catalog.instances.index(instance_type), catalog.volume_types[name]
        rate = count * min(volume.read_bytes_per_s_max, volume.write_bytes_per_s_max)
        rate = min(rate, float(catalog.instances.volume_bytes_per_s[row]))
        operations = min(count * _iops(volume, gib), float(catalog.instances.volume_iops[row]))
        computed = f"{rate / 1e6:,.0f} MB/s ({rate / MIB:,.0f} MiB/s)"
        what = f"{count} x {gib} GB {name}"
        lines.append(f"| {cloud} | {what} | {throughput} | {computed} | {iops:,} | {operations:,.0f} |")
    lines += [
        "",
        "AWS's 42,000 are 7 x 6,000; 3 for each of 2,048 GB are 6,144. Compute Engine's volumes could write more than",
        "a worker may: the catalog's rate is of reading. OCI's six volumes of 320 MiB/s are called 1920 MB/s.",
    ]
    return "\n".join(lines)


def _iops(volume: VolumeType, gib: int) -> float:
    return min(volume.iops_max, volume.iops_per_gib * gib) if volume.iops_per_gib > 0 else volume.iops_max


def _sizes() -> str:
    lines = [
        "",
        "## Size for operations (Table VI and section III-E)",
        "",
        "`planner storage --iops 16k` on these catalogs; and the least size with a volume's most operations.",
        "",
        "| volume | for 16,000 IOPS | computed | a month | its most IOPS | least size for them | computed |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    published = {
        ("AWS", "gp2"): ("5,334 GB", ""),
        ("AWS", "io1"): ("", "1,280 GiB"),
        ("GCE", "pd-ssd"): ("", "2,048 GiB"),
        ("OCI", "block"): ("267 GB", ""),
    }
    for (cloud, name), (for_16k, for_most) in published.items():
        volume = load_catalog(CATALOGS[cloud]).volume_types[name]
        asked, most = (_sized(volume, iops) for iops in (16_000, volume.iops_max))
        for_these = f"{for_16k} | {asked.size_gib:,} | ${asked.usd_per_month:,.2f}"
        lines.append(f"| {cloud} {name} | {for_these} | {volume.iops_max:,.0f} | {for_most} | {most.size_gib:,} |")
    lines += ["", "Compute Engine's 2,048 GiB of the text do not agree with Table VI: at 30 IOPS each 2,000 suffice."]
    return "\n".join(lines)


def _sized(volume: VolumeType, iops: float) -> SizedVolume:
    answer = sized(volume, iops=iops, bytes_per_s=0.0, data_bytes=0.0)
    if not isinstance(answer, SizedVolume):
        raise SystemExit(f"{volume.volume_type}: {answer.reason}")
    return answer


def _devices() -> str:
    catalog, name = load_catalog("oci-2019"), "BM.DenseIO2.52"
    row = catalog.instances.index(name)
    lines = [
        "",
        "## Local disks over block volumes on Oracle's cloud (Table IV)",
        "",
        "The catalog has both rates as printed; the quotients are computed.",
        "",
        "| 256 KiB, random | published | computed |",
        "|---|--:|--:|",
    ]
    for word, mode, published in (("writing", "write_only", 6.0), ("reading", "read_only", 6.6)):
        local = float(catalog.disk_rates(mode).bytes_per_s[row])
        volumes = float(catalog.volume_rates("block", mode).bytes_per_s[row])
        lines.append(f"| {word} | {published:g} | {local / volumes:.2f} |")
    return "\n".join(lines)


def _arithmetic() -> str:
    catalogs = [load_catalog(name) for name in CATALOGS.values()]
    offers = [(c, offer_of(c, c.default_region, pricing="on-demand")) for c in catalogs]
    usd = {row.catalog: row.value * 1000 for row in rank(offers, by="usd_per_GFLOPS", mode="read_only").rows}
    lines = [
        "",
        "## Dollars an hour for a TFLOP/s (Figure 8)",
        "",
        "`planner catalog rank --by usd_per_GFLOPS`. Section III-E names 684 and 687 GFLOPS for AWS and OCI, which",
        "contradicts section III-A (917.78 and 825.51).",
        "",
        "| cloud | Table V over section III-A | computed |",
        "|---|--:|--:|",
    ]
    lines += [f"| {cloud} | ${USD_PER_TFLOPS[cloud]:.2f} | ${usd[name]:.2f} |" for cloud, name in CATALOGS.items()]
    return "\n".join([*lines, ""])
