"""How long `plan` takes to answer: as a command beside `import pandas`, and as a call over all types and node counts.

Commands run in turn; figures are medians with their range, ratios those of neighbouring pairs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

JOB = ("--data", "100TB", "--model", "daytona")
PLAN = [str(Path(sys.executable).with_name("plan")), *JOB]
PANDAS = [sys.executable, "-c", "import pandas"]


def seconds_of(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quietly(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def line(name: str, values: list[float], unit: str) -> str:
    return f"{name:<44} {median(values):8.3f} {unit}   ({min(values):.3f} to {max(values):.3f}, {len(values)} runs)"


def time_commands(runs: int) -> None:
    pairs = [(seconds_of(lambda: quietly(PLAN)), seconds_of(lambda: quietly(PANDAS))) for _ in range(runs + 1)][1:]
    print(line("plan " + " ".join(JOB), [plan for plan, _ in pairs], "s"))
    print(line("python -c 'import pandas'", [pandas for _, pandas in pairs], "s"))
    print(line("ratio (wanted: at most 2)", [plan / pandas for plan, pandas in pairs], "x"))


def time_evaluation(runs: int) -> None:
    import planner
    from planner.catalog import load_catalog

    types = len(load_catalog("aws").instances.instance_type)
    once = [seconds_of(lambda: planner.recommend(data="100TB", model="daytona")) for _ in range(runs + 1)][1:]
    print(line(f"recommend: {types} types x 1 to 1000 nodes", once, "s"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=11)
    runs = parser.parse_args().runs
    time_commands(runs)
    time_evaluation(runs)


if __name__ == "__main__":
    main()
