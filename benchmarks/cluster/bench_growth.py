"""Growth of the calls and the time of a launch and a teardown with the nodes, on the emulators of all three clouds.

python benchmarks/cluster/bench_growth.py --nodes 50 100 200 --rounds 5

The clouds take turns. Emulated machines take three looks to start and to end, and waits are short: seconds are those of
the planner, its SDK and the emulator on this machine, not those of a cloud. A cloud would see the same calls.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "emulators"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))
from emulated_azure import emulated_azure
from emulated_cloud import EmulatedCloud
from emulated_ec2 import emulated_ec2
from emulated_gcp import emulated_gcp
from many_nodes import Life, life_of

EMULATORS = (emulated_ec2, emulated_gcp, emulated_azure)


@contextmanager
def in_environment_of(cloud: EmulatedCloud) -> Iterator[None]:
    """Make this process a user of an emulated cloud."""
    before = dict(os.environ)
    os.environ.update(cloud.environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def measured(clouds: list[EmulatedCloud], *, nodes: list[int], rounds: int) -> dict[tuple[str, int], list[Life]]:
    """Return the lives of each cloud and size, taken in turn."""
    lives: dict[tuple[str, int], list[Life]] = {(cloud.cloud, count): [] for cloud in clouds for count in nodes}
    for _ in range(rounds):
        for count in nodes:
            for cloud in clouds:
                with in_environment_of(cloud):
                    lives[cloud.cloud, count].append(life_of(cloud, count))
    return lives


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[50, 100, 200])
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        clouds: list[EmulatedCloud] = []
        for number, emulator in enumerate(EMULATORS):
            (Path(home) / str(number)).mkdir()
            clouds.append(stack.enter_context(emulator(Path(home) / str(number))))
        lives = measured(clouds, nodes=asked.nodes, rounds=asked.rounds)
    print(f"{'cloud':6} {'nodes':>6} {'calls up':>9} {'down':>6} {'peak/s':>7} {'wall s, median (range)':>24}")
    for (cloud, nodes), some in lives.items():
        walls = sorted(life.wall_s for life in some)
        up, down = median(life.calls_up for life in some), median(life.calls_down for life in some)
        peak = max(life.peak_calls_per_s for life in some)
        wall = f"{median(walls):.1f} ({walls[0]:.1f}-{walls[-1]:.1f})"
        print(f"{cloud:6} {nodes:6} {up:9.0f} {down:6.0f} {peak:7} {wall:>24}")


if __name__ == "__main__":
    main()
