"""SizingBench: scores of predictors of cluster run times on measured runs, by fixed protocols.

python benchmarks/sizing [--seeds 25] [--suites c3o_sort,...] [--protocols few5,...] [--predictors planner,...]
[--disguise 7]

Every file in predictors/ with a class Predictor takes part.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from protocols import PROTOCOLS
from score import Score, mean, scored
from tables import SUITES

FILES = sorted(path.stem for path in (Path(__file__).parent / "predictors").glob("[a-z]*.py"))
COLUMNS = (
    *("suite, protocol, predictor", "regret", "worst", "error", "bias", "in the 90% range", "range's ratio"),
    *("deadline missed", "extra cost", "predictions", "ms a task"),
)


def main() -> None:
    """Print one Markdown table: for each suite, protocol and predictor the regret, the error and the rest."""
    options = _options()
    predictors = [importlib.import_module(f"predictors.{name}").Predictor() for name in options.predictors.split(",")]
    print(f"| {' | '.join(COLUMNS)} |\n|---|{'---:|' * (len(COLUMNS) - 1)}")
    for suite in options.suites.split(","):
        for protocol in options.protocols.split(","):
            for predictor in predictors:
                score, task_ms = scored(predictor, suite, protocol, seeds=options.seeds, disguise=options.disguise)
                if score.error:
                    cells = (f"{suite}, {protocol}, {predictor.name}", *_cells(score, predictor), f"{task_ms:.0f}")
                    print(f"| {' | '.join(cells)} |", flush=True)


def _cells(score: Score, predictor: Any) -> list[str]:
    regret = [f"{mean(score.regret):.2f}", f"{max(score.regret):.2f}"] if score.regret else ["", ""]
    width = f"{math.exp(mean(score.log_width)):.2f}" if score.log_width else ""
    held = (_percent(math.exp(mean(score.bias)) - 1), _percent(mean(score.held_by_range)), width)
    deadlines = (_percent(mean(score.missed)), _percent(mean(score.extra_cost)))
    figures = [_percent(mean(score.error), digits=1), *held, *deadlines]
    chosen_only = getattr(predictor, "only_chooses", False)
    return [*regret, *([""] * len(figures) if chosen_only else figures), str(len(score.error))]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--protocols", default=",".join(PROTOCOLS))
    parser.add_argument("--predictors", default=",".join(FILES))
    parser.add_argument("--disguise", type=int)
    return parser.parse_args()


def _percent(share: float, digits: int = 0) -> str:
    return "" if math.isnan(share) else f"{100 * share:.{digits}f}"


if __name__ == "__main__":
    main()
