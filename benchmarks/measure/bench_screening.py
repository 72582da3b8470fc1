"""Screening and spares against the truth.

1. 1,000 simulated clusters of each kind with known bad nodes: how many bad nodes are missed, how many good ones are
dropped, and the gain for the barrier. Good nodes are lognormal, each rate is measured with 2% error. 2. The number of
spares against brute force: every number is simulated by drawing, sorting and keeping the best.

python benchmarks/measure/bench_screening.py [CLUSTERS]
"""

from __future__ import annotations

import sys

import numpy as np

from planner.arrays import Floats
from planner.statistics.slow_node_screening import limit_of
from planner.statistics.spare_nodes import best_spares

SIZES = (8, 45, 178)
KINDS = (  # spread of the good, share of bad, rate of the bad
    ("healthy, 5%", 0.05, 0.0, 1.0),
    ("healthy, 15%", 0.15, 0.0, 1.0),
    ("1/9 rate, 11%", 0.15, 1 / 9, 1 / 9),
    ("1/3 rate, 5%", 0.10, 0.05, 1 / 3),
    ("1/2 rate, 5%", 0.10, 0.05, 1 / 2),
    ("4/5 rate, 5%", 0.05, 0.05, 0.8),
)


def screening(clusters: int, rng: np.random.Generator) -> None:
    """Print a table of misses and false alarms."""
    head = ("missed", "false", "any false", "barrier before", "after")
    print(f"{clusters} clusters each\n{'bad nodes':15} {'nodes':>5} " + " ".join(f"{h:>14}" for h in head))
    for title, spread, share, slow in KINDS:
        for size in SIZES:
            outcomes = np.array([one_cluster(size, spread, share, slow, rng) for _ in range(clusters)])
            bad, missed, alarms, before, after = outcomes.T
            miss = f"{missed.sum() / bad.sum():14.2%}" if bad.sum() else f"{'-':>14}"
            good = clusters * size - bad.sum()
            rates = f"{alarms.sum() / good:14.3%} {(alarms > 0).mean():14.1%}"
            print(f"{title:15} {size:5} {miss} {rates} {np.mean(before):14.2f} {np.mean(after):14.2f}")


def one_cluster(size: int, spread: float, share: float, slow: float, rng: np.random.Generator) -> tuple[float, ...]:
    """Return bad nodes, missed, good ones dropped, and the barrier's slowness before and after."""
    bad = rng.random(size) < share
    rates = rng.lognormal(0, spread, size) * np.where(bad, slow, 1.0)
    seen = rates * rng.lognormal(0, 0.02, size)
    dropped = seen < limit_of("rate", seen.tolist()).limit_per_s
    return bad.sum(), (bad & ~dropped).sum(), (~bad & dropped).sum(), 1 / rates.min(), 1 / rates[~dropped].min()


def spares(launches: int, rng: np.random.Generator) -> None:
    """Print the chosen number of spares, the simulated best, and the additional cost of the choice."""
    kinds = {
        "Scalyr: 5 of 45 at 1/9": np.array([7.0] * 40 + [7 / 9] * 5),
        "and the rest spread 20%": np.append(rng.lognormal(np.log(7), 0.2, 40), [7 / 9] * 5),
        "thin tail: 1%": rng.lognormal(0, 0.01, 200),
        "thin tail: 5%": rng.lognormal(0, 0.05, 200),
    }
    print(f"\n{launches} launches for each number of spares; 15 min of work, 4 min of boot and screening")
    print(f"{'rates':24} {'nodes':>5} {'chosen':>6} {'brute':>6} {'regret':>7} {'cost without':>12} {'with':>6}")
    for title, rates in kinds.items():
        for nodes in (10, 45, 178):
            most = nodes
            exact = best_spares(rates, nodes=nodes, work_s=900, screen_s=240, max_spares=most)
            hours = np.array([brute_force(rates, nodes, k, launches, rng) for k in range(most + 1)])
            regret = hours[exact.count] / hours.min() - 1
            alone = nodes * (900 + 240) / 3600
            row = f"{title:24} {nodes:5} {exact.count:6} {hours.argmin():6} {regret:7.2%}"
            print(f"{row} {hours[0] / alone:12.2f} {hours[exact.count] / alone:6.2f}")


def brute_force(rates: Floats, nodes: int, count: int, launches: int, rng: np.random.Generator) -> float:
    """Return the mean node-hours of launching `count` spares."""
    slowest = np.partition(rng.choice(rates, (launches, nodes + count)), count, axis=1)[:, count]
    work = 900 * np.median(rates) / slowest
    return float(((nodes + count) * 240 + nodes * work).mean() / 3600)


def main(clusters: int) -> None:
    """Run both parts."""
    rng = np.random.default_rng(2)
    screening(clusters, rng)
    spares(4000, rng)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
