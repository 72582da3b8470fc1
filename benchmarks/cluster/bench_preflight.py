"""Duration of a plan's preflight where every call has latency, on the emulators of all three clouds.

python benchmarks/cluster/bench_preflight.py --latency-ms 100 --rounds 5

The plan's best type and the next two are checked, in one region and in two. The first round is like a command's: it
includes making the SDK's clients. Seconds are those of the planner, its SDK, the emulator and the latency, which is
added to each single call.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "emulators"))
from bench_growth import in_environment_of
from emulated_cloud import EmulatedCloud
from fault_proxy import ProxiedRequest

TYPES = {
    "aws": ("i4i.large", "i4i.xlarge", "i4i.2xlarge"),
    "gcp": ("n2-standard-4", "n2-standard-8", "n2-standard-16"),
    "azure": ("Standard_L8s_v3", "Standard_L16s_v3", "Standard_L32s_v3"),
}
MODULES = {"aws": "ec2", "gcp": "gcp", "azure": "azure"}


@contextmanager
def emulated(name: str, home: Path) -> Iterator[EmulatedCloud]:
    """Start the emulator of a cloud."""
    home.mkdir()
    module = importlib.import_module(f"emulated_{MODULES[name]}")
    with getattr(module, f"emulated_{MODULES[name]}")(home) as cloud:
        yield cloud


def preflight_of(cloud: EmulatedCloud, *, regions: int, latency_s: float) -> tuple[float, int, int]:
    """Return the seconds of a preflight, its calls and its findings."""
    module = importlib.import_module(f"emulated_{MODULES[cloud.cloud]}")
    cloud.world()
    where = (cloud.region, cloud.other_region)[:regions]
    choices = [module.choice(instance_type=name, regions=where) for name in TYPES[cloud.cloud]]

    def delayed(_: ProxiedRequest) -> None:
        time.sleep(latency_s)

    cloud.proxy.judge = delayed
    began_s = time.monotonic()
    seen = cloud.provider().preflight(module.order("r1", *choices))
    return time.monotonic() - began_s, len(cloud.proxy.seen), len(seen.findings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--latency-ms", type=float, default=100.0)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2] / "tests" / "emulators")
    print(f"{'cloud':6} {'regions':>7} {'calls':>6} {'findings':>8} {'first s':>8} {'wall s, median (range)':>24}")
    with tempfile.TemporaryDirectory() as home, ExitStack() as stack:
        for name in TYPES:
            cloud = stack.enter_context(emulated(name, Path(home) / name))
            for regions in (1, 2):
                with in_environment_of(cloud):
                    rounds = [
                        preflight_of(cloud, regions=regions, latency_s=asked.latency_ms / 1000)
                        for _ in range(asked.rounds)
                    ]
                walls = sorted(wall for wall, _, _ in rounds)
                wall = f"{median(walls):.1f} ({walls[0]:.1f}-{walls[-1]:.1f})"
                _, calls, findings = rounds[0]
                print(f"{name:6} {regions:7} {calls:6} {findings:8} {rounds[0][0]:8.1f} {wall:>24}")


if __name__ == "__main__":
    main()
