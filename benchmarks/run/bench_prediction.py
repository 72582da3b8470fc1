"""Accuracy of the local run's prediction: predicted and measured seconds of each phase over several runs of 1 GB.

Usage: python benchmarks/run/bench_prediction.py [--runs 5] [--data 1GB] [--model daytona] [--dir DIR]
Each run is a process of its own, as a user starts it; figures are medians with their range.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections import defaultdict

COMMAND = "import sys; from planner.cli.app import main; sys.argv[0] = 'planner'; main()"


def one_run(options: argparse.Namespace) -> list[dict[str, float]]:
    """Return the phases of one run's report."""
    arguments = ["run", "--data", options.data, "--model", options.model, "--dir", options.dir, "--json"]
    outcome = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=True)
    return json.loads(outcome.stdout)["phases"]


def summary(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} s ({min(seconds):.3f}-{max(seconds):.3f})"


def main() -> None:
    """Run and print one row per phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", default="1GB")
    parser.add_argument("--model", default="daytona")
    parser.add_argument("--dir", default=".")
    options = parser.parse_args()
    predicted, measured = defaultdict(list), defaultdict(list)
    for _ in range(options.runs):
        for phase in one_run(options):
            predicted[phase["name"]].append(phase["predicted_s"])
            measured[phase["name"]].append(phase["measured_s"])
    print(f"{options.model}, {options.data}, {options.runs} runs, medians and ranges")
    for name, seconds in measured.items():
        ratio = statistics.median(predicted[name]) / statistics.median(seconds)
        single = ", ".join(f"{p / m:.2f}" for p, m in zip(predicted[name], seconds, strict=True))
        print(f"{name}: predicted {summary(predicted[name])}, measured {summary(seconds)}, ratio {ratio:.2f}")
        print(f"  single runs {single}")


if __name__ == "__main__":
    main()
