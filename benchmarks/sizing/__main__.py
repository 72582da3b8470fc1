"""SizingBench: how well predictors of cluster run times do on measured runs, by fixed protocols.

    python benchmarks/sizing [--seeds 25] [--suites c3o_sort,...] [--protocols few5,...] [--predictors planner,...]
                             [--disguise 7]

Every file in predictors/ with a class Predictor takes part.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from disguise import Disguise
from protocols import PROTOCOLS, deal
from score import Score, mean
from tables import SUITES, read, specifications

FILES = sorted(path.stem for path in (Path(__file__).parent / "predictors").glob("[a-z]*.py"))


def main() -> None:
    """Print a Markdown table of errors and one of ranges and deadlines."""
    options = _options()
    predictors = [importlib.import_module(f"predictors.{name}").Predictor() for name in options.predictors.split(",")]
    print(f"| suite, protocol | predictions | {' | '.join(p.name for p in predictors)} | ms a task |")
    print(f"|---|---:|{'---:|' * (len(predictors) + 1)}")
    ranges = []
    for suite in options.suites.split(","):
        for protocol in options.protocols.split(","):
            scores = {
                p.name: scored(p, suite, protocol, seeds=options.seeds, seed=options.disguise) for p in predictors
            }
            first, task_ms = next(iter(scores.values()))
            if not first.error and len(scores) == 1:
                continue
            cells = " | ".join(_percent(mean(score.error), digits=1) for score, _ in scores.values())
            count = max(len(score.error) for score, _ in scores.values())
            task_ms = max(ms for _, ms in scores.values())
            if count:
                print(f"| {suite}, {protocol} | {count} | {cells} | {task_ms:.0f} |", flush=True)
            ranges += [(suite, protocol, name, score) for name, (score, _) in scores.items() if score.held_by_range]
    _print_ranges(ranges)


def scored(predictor: Any, suite: str, protocol: str, *, seeds: int, seed: int | None) -> tuple[Score, float]:
    """Return a predictor's score in one protocol and the mean processor milliseconds of a task."""
    specs, rows, score = specifications(), read(suite), Score()
    mask, tasks = Disguise(specs, seed, rows), list(deal(protocol, rows, seeds=seeds))
    started = time.process_time()
    for task in tasks if protocol != "no_runs" or not predictor.needs_runs else ():
        train = [mask.row(row, second) for row, second in zip(task.train, task.train_s, strict=True)]
        seen = {"suite": suite, "specs": mask.specs, "train": train, "query": [mask.row(row) for row in task.query]}
        score.add(task.query, [mask.undo(answer) for answer in predictor.run(seen)], specs)
    return score, 1000 * (time.process_time() - started) / max(len(tasks), 1)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--predictors", default=",".join(FILES))
    parser.add_argument("--disguise", type=int)
    return parser.parse_args()


def _print_ranges(rows: list[tuple[str, str, str, Score]]) -> None:
    print(
        "\n| suite, protocol, predictor | bias | in the 90% range | deadline missed | extra cost |"
        "\n|---|---:|---:|---:|---:|"
    )
    for suite, protocol, name, score in rows:
        cells = (math.exp(mean(score.bias)) - 1, mean(score.held_by_range), mean(score.missed), mean(score.extra_cost))
        print(f"| {suite}, {protocol}, {name} | {' | '.join(_percent(cell) for cell in cells)} |")
    for name in dict.fromkeys(row[2] for row in rows):
        hits = [hit for row in rows if row[2] == name for hit in row[3].held_by_range]
        print(f"| all, {name} | | {_percent(mean(hits))} | | |")


def _percent(share: float, digits: int = 0) -> str:
    return "" if math.isnan(share) else f"{100 * share:.{digits}f}"


if __name__ == "__main__":
    main()
