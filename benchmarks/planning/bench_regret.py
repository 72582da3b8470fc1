"""Regret: true cost of the recommended cluster over the best one, on random clouds with a simulated truth.

Each cloud has a dozen types with disks, networks, token buckets, straggler tails and noise between nodes. The planner
sees a catalog of it: rates as an instrument would measure them (3% off), the network's stated baseline, its bucket and
the tails seen. The truth is simulated run by run and shares no code with the planner. Compared with it: the cheapest
type per hour, the planner fed storage alone, and the planner fed advertised rates (peak network, no buckets, no tails,
no noise).
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

from planner import recommend
from planner.cost_model import run_overheads
from planner.schemas.plan import Candidate

DATA_BYTES = 20e12
DATA = "20TB"
MAX_NODES = 300
RUNS = 40
COUNTS = sorted({round(n) for n in np.geomspace(1, MAX_NODES, 60)})

HEAD = """title = "drawn"
cloud = "aws"
currency = "USD"
default_region = "here"
prices_as_of = 2026-11-01
hours_per_month = 720
[sources]
drawn = { title = "drawn" }
"""
ENGINE = """title = "the drawn clouds' sort: what `run_usd` simulates"
source = "drawn"
[cpu_s_per_byte]
partition = 1e-9
sort = 1e-9
"""


@dataclass(frozen=True)
class Machine:
    """A type's true properties; rates in bytes/s per node."""

    name: str
    price: float
    vcpu: int
    memory_bytes: float
    disks: int
    disk_bytes: float
    read: float
    write: float
    baseline: float
    peak: float
    bucket_bytes: float | None
    tail: float
    node_sigma: float

    @property
    def held_bytes(self) -> float:
        return self.disks * self.disk_bytes * 0.95


def draw_machine(number: int, rng: np.random.Generator, node_sigma: float) -> Machine:
    """Draw a type: its price follows its resources, as on real clouds, but not closely."""
    vcpu = int(2 ** rng.integers(2, 7))
    disk_rate = vcpu * rng.lognormal(math.log(1.2e8), 0.6)
    baseline = vcpu * rng.lognormal(math.log(6e7), 0.6)
    has_bucket = vcpu <= 16 and rng.random() < 0.7
    price = (0.04 * vcpu + disk_rate / 4e9 + baseline / 6e9) * rng.lognormal(0, 0.25)
    return Machine(
        name=f"t{number}",
        price=price,
        vcpu=vcpu,
        memory_bytes=vcpu * 4e9 * 2 ** rng.integers(0, 2),
        disks=max(1, vcpu // 8),
        disk_bytes=rng.choice([1e12, 2e12, 4e12]),
        read=disk_rate * 1.3,
        write=disk_rate,
        baseline=baseline,
        peak=baseline * (rng.uniform(2, 6) if has_bucket else 1.0),
        bucket_bytes=baseline * rng.uniform(200, 2000) if has_bucket else None,
        tail=0.05 if rng.random() < 0.15 else 0.0,
        node_sigma=node_sigma,
    )


def slowest(count: int, sigma: float, rng: np.random.Generator) -> float:
    """Draw the slowness of the slowest of `count` nodes: the maximum of N uniforms is U^(1/N)."""
    top = min(max(rng.random() ** (1 / count), 1e-12), 1 - 1e-12)
    return math.exp(sigma * NormalDist().inv_cdf(top))


def run_usd(machine: Machine, nodes: int, rng: np.random.Generator) -> float:
    """Simulate one run of a 2-IO sort and return its whole bill."""
    share = DATA_BYTES / nodes
    in_memory = nodes * machine.memory_bytes * run_overheads.shipped().memory_share >= DATA_BYTES
    slow_nodes = rng.binomial(nodes, machine.tail)
    disk = slowest(nodes, machine.node_sigma, rng)
    if slow_nodes:
        disk = max(disk, 3 * slowest(slow_nodes, machine.node_sigma, rng))
    read, write = share / machine.read, share / machine.write
    first, second = (read, write) if in_memory else (read + write, read + write)
    moved = share * (nodes - 1) / nodes
    sent = network_s(machine, moved / slowest_rate(nodes, machine.node_sigma, rng))
    cpu = share / (machine.vcpu * 1e9)
    job = max(first * disk, sent, cpu) + max(second * slowest(nodes, machine.node_sigma, rng), cpu)
    job *= math.exp(0.116 * rng.standard_normal())
    life = run_overheads.shipped()
    ready_s = life.boot_s + life.install_s + life.screen_s
    spares = math.ceil(life.spare_fraction * nodes) if nodes > 1 else 0
    whole_s = ready_s + job + life.teardown_s + read + write
    return machine.price * (nodes * whole_s + spares * ready_s) / 3600


def holds(machine: Machine, nodes: int) -> bool:
    """Return whether a cluster has room for the data on skewed nodes, and on those that remain after losing one."""
    life = run_overheads.shipped()
    copies = 2 if nodes * machine.memory_bytes * life.memory_share >= DATA_BYTES else 3
    needed = copies * DATA_BYTES / machine.held_bytes
    return nodes >= needed * (1 + life.skew) and (nodes == 1 or nodes - life.lost_nodes >= needed)


def slowest_rate(nodes: int, sigma: float, rng: np.random.Generator) -> float:
    return 1 / slowest(nodes, sigma, rng)


def network_s(machine: Machine, moved: float) -> float:
    """Step a token bucket until all bytes are sent, and return the seconds."""
    if machine.bucket_bytes is None:
        return moved / machine.baseline
    burst_s = machine.bucket_bytes / (machine.peak - machine.baseline)
    at_burst = min(moved, burst_s * machine.peak)
    return at_burst / machine.peak + (moved - at_burst) / machine.baseline


def true_usd(machine: Machine, nodes: int) -> float:
    """Return the mean bill over `RUNS` runs; every cluster has the same draws, so that differences are not luck."""
    if not holds(machine, nodes):
        return math.inf
    return float(np.mean([run_usd(machine, nodes, np.random.default_rng(run)) for run in range(RUNS)]))


def write_catalog(folder: Path, machines: Iterable[Machine], rng: np.random.Generator, *, advertised: bool) -> str:
    """Write what can be known of the machines; advertised: what a price list claims."""
    folder.mkdir()
    (folder / "catalog.toml").write_text(HEAD)
    files: dict[str, list[dict[str, object]]] = {}
    for machine in machines:
        name = {"instance_type": machine.name}
        shape = {"family": "x", "arch": "x86_64", "vcpu": machine.vcpu, "memory_bytes": machine.memory_bytes,
                 "local_disks": machine.disks, "local_disk_bytes": machine.disk_bytes, "local_disk_kind": "nvme",
                 "network_baseline_bytes_per_s": machine.peak if advertised else machine.baseline,
                 "placement_group": "yes", "current_generation": "yes"}  # fmt: skip
        files.setdefault("instances", []).append(name | shape)
        price = {"region": "here", "pricing": "on-demand", "price_usd_per_hour": machine.price}
        files.setdefault("prices", []).append(name | price)
        for mode, rate in (("read_only", machine.read), ("write_only", machine.write)):
            seen = rate * rng.lognormal(0, 0.03)
            disk = {"mode": mode, "bytes_per_s": seen, "aggregate": "mean", "method": "drawn"}
            files.setdefault("disks", []).append(name | disk)
        if advertised:
            continue
        if machine.bucket_bytes is not None:
            bucket = {"variant": "x", "burst_bytes_per_s": machine.peak, "baseline_bytes_per_s": machine.baseline,
                      "bucket_bytes": machine.bucket_bytes, "runs": 1}  # fmt: skip
            files.setdefault("token_buckets", []).append(name | bucket)
        if machine.tail:
            tail = {
                "zone": "z",
                "resource": "local_read",
                "slow_fraction": machine.tail,
                "slow_factor": 3,
                "per": "node",
            }
            files.setdefault("stragglers", []).append(name | tail)
    for table, rows in files.items():
        with (folder / f"{table}.csv").open("w", newline="", encoding="utf-8") as file:
            origin = {"evidence": "measured", "source": "drawn", "as_of": "2026-11-01"}
            writer = csv.DictWriter(file, [*rows[0], *origin])
            writer.writeheader()
            writer.writerows(row | origin for row in rows)
    return str(folder)


def choices(folder: Path, machines: list[Machine], rng: np.random.Generator) -> dict[str, tuple[str, int]]:
    """Return the type and nodes that each way of choosing picks."""
    state = rng.bit_generator.state
    true_catalog = write_catalog(folder / "known", machines, rng, advertised=False)
    rng.bit_generator.state = state
    advertised = write_catalog(folder / "advertised", machines, rng, advertised=True)
    (folder / "drawn.toml").write_text(ENGINE)
    engine = str(folder / "drawn.toml")
    asked = {"data": DATA, "model": "indy", "max_nodes": MAX_NODES, "objective": "cost", "engine": engine}
    ways: dict[str, Callable[[], Candidate | None]] = {
        "the planner": lambda: recommend(**asked, catalogs=(true_catalog,)).best,
        "storage alone": lambda: recommend(**asked, catalogs=(true_catalog,), assume={"network": 1e15}).best,
        "advertised rates": lambda: recommend(**asked, catalogs=(advertised,)).best,
    }
    picked = {name: way() for name, way in ways.items()}
    chosen = {name: (option.instance_type, option.nodes) for name, option in picked.items() if option is not None}
    fitting = (option for option in machines if holds(option, MAX_NODES))
    cheapest = min(fitting, key=lambda option: option.price)
    fewest = next(nodes for nodes in range(1, MAX_NODES + 1) if holds(cheapest, nodes))
    return chosen | {"cheapest per hour": (cheapest.name, fewest)}


def regrets(seed: int) -> dict[str, float]:
    """Return, for each way of choosing, its true cost over that of the best cluster, less one."""
    rng = np.random.default_rng(seed)
    node_sigma = rng.uniform(0.02, 0.15)
    machines = [draw_machine(number, rng, node_sigma) for number in range(12)]
    by_name = {machine.name: machine for machine in machines}
    with tempfile.TemporaryDirectory() as folder:
        picked = choices(Path(folder), machines, rng)
    costs = {name: true_usd(by_name[instance_type], nodes) for name, (instance_type, nodes) in picked.items()}
    best = min([*(true_usd(machine, nodes) for machine in machines for nodes in COUNTS), *costs.values()])
    return {name: cost / best - 1 for name, cost in costs.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clouds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="seed of the first cloud")
    parser.add_argument("--kept", type=Path, help="file of earlier clouds, to add to and to count as well")
    given = parser.parse_args()
    run_overheads.shipped()
    rows = [regrets(seed) for seed in range(given.first, given.first + given.clouds)]
    if given.kept:
        with given.kept.open("a+", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.seek(0)
            rows = [json.loads(line) for line in file]
    print(f"{len(rows)} clouds of 12 types, {DATA}, up to {MAX_NODES} nodes: true cost over the best, less one")
    for name in rows[0]:
        values = np.array([row[name] for row in rows])
        figures = {"mean": values.mean(), "median": np.median(values), "95%": np.quantile(values, 0.95)}
        shown = "   ".join(f"{what} {value:8.1%}" for what, value in (figures | {"worst": values.max()}).items())
        print(f"{name:<20} {shown}")


if __name__ == "__main__":
    main()
