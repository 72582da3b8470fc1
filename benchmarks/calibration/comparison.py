"""The planner, Ernest and gradient boosting on the same measured runs, as the tables of docs/calibration.md.

    python benchmarks/calibration/comparison.py PROTOCOL.py [--seeds 25] [--anonymize 7]

PROTOCOL.py is the scoring script that comes with the measurements; it deals the tasks and scores the answers, this
script only asks and prints.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from adapter import Planner, Undecided
from boosting import Boosting
from ernest import Ernest

PREDICTORS = {"planner": Planner, "planner, undecided": Undecided, "Ernest": Ernest, "boosting": Boosting}
SUITES = (
    ("c3o", "sort", "spec,few3,few5,few10,fewall3,loto,scale,data,c3oproto"),
    ("c3o", "grep", "few5"),
    ("c3o", "sgd", "few5"),
    ("c3o", "kmeans", "few5"),
    ("c3o", "pagerank", "few5"),
    ("arrow", "terasort", "spec,few3,few5,few10,loto,scale"),
    ("exo", "exo", "spec,loo"),
    ("records", "records", "spec"),
)


def main() -> None:
    """Print one Markdown table of errors and one of ranges and deadlines."""
    options = _options()
    protocol = _load(options.protocol)
    rows = {}
    for suite, job, protocols in SUITES:
        for name, predictor in PREDICTORS.items():
            tasks, measured = protocol.SUITES[suite][0](job, protocols.split(","), options.seeds)
            scores = _score(protocol, suite, tasks, measured, predictor=predictor(), disguise=options.anonymize)
            for protocol_name, score in scores.items():
                rows.setdefault((suite, job, protocol_name), {})[name] = score
    _print_errors(rows)
    _print_ranges(rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("protocol", type=Path)
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--anonymize", type=int)
    return parser.parse_args()


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("protocol", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _score(
    protocol: ModuleType, suite: str, tasks: list[Any], measured: list[Any], *, predictor: Any, disguise: int | None
) -> dict[str, dict[str, float]]:
    """Return the protocol's scores of one predictor, with the milliseconds a task took."""
    tasks, specs, factor = [task for task in tasks if task["query"]], protocol.specs(), 1.0
    if disguise is not None:
        specs, factor = protocol.anonymize(tasks, specs, disguise)
    started = time.perf_counter()
    answers = {task["task_id"]: predictor.run(protocol.strip(task, specs)) for task in tasks}
    task_ms = 1000 * (time.perf_counter() - started) / len(tasks)
    answers = {key: [_scaled(answer, factor) for answer in predictions] for key, predictions in answers.items()}
    return {
        name: {**score, "task_ms": task_ms} for name, score in protocol.score(tasks, answers, measured, suite).items()
    }


def _scaled(answer: Any, factor: float) -> Any:
    return {key: value / factor for key, value in answer.items()} if isinstance(answer, dict) else answer / factor


def _print_errors(rows: dict[tuple[str, str, str], dict[str, dict[str, float]]]) -> None:
    print(f"| suite, protocol | {' | '.join(PREDICTORS)} | ms a task |\n|---|{'---:|' * (len(PREDICTORS) + 1)}")
    for (suite, job, name), scores in rows.items():
        unrun = name == "spec"
        cells = (
            "-" if unrun and not key.startswith("planner") else f"{100 * scores[key]['mape']:.1f}" for key in PREDICTORS
        )
        print(f"| {suite} {job}, {name} | {' | '.join(cells)} | {scores['planner']['task_ms']:.0f} |")
    print()


def _print_ranges(rows: dict[tuple[str, str, str], dict[str, dict[str, float]]]) -> None:
    print(
        "| suite, protocol | predictions | in the 90% range | deadline missed | extra cost |\n|---|---:|---:|---:|---:|"
    )
    covered = count = 0.0
    for (suite, job, name), scores in rows.items():
        score = scores["planner"]
        covered, count = covered + score["n"] * score["interval_coverage"], count + score["n"]
        cells = (score["interval_coverage"], score.get("deadline_violation"), score.get("deadline_regret_mean"))
        print(f"| {suite} {job}, {name} | {score['n']} | {' | '.join(map(_percent, cells))} |")
    print(f"| all | {count:.0f} | {_percent(covered / count)} | | |")


def _percent(share: float | None) -> str:
    return "" if share is None or math.isnan(share) else f"{100 * share:.0f}%"


if __name__ == "__main__":
    main()
