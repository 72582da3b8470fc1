"""Scoreboard: every dataset predicted with constants that were chosen on the other datasets.

python benchmarks/sizing/left_out.py [--seeds 2] [--suites c3o_sort,...] [--constants OPTION_SD,...] [--stretch 0.3]

Each constant of the calibration is tried at a few values, one at a time, on all datasets. For each dataset the value
with the least mean loss on the others is taken (`score.Score.loss`, every protocol and dataset counting alike), and the
dataset is predicted with these. Two tables come out: the scores, and the values chosen.

The priors' centres were rounded by hand with these datasets in view, so that they fit them better than they fit any
other. Each task's times are therefore multiplied by a factor of its own, exp(N(0, stretch)).
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from predictors.planner import Predictor
from score import Score, mean, scored
from tables import SUITES

from planner.calibration import fit, options, posterior, prediction, priors, residual, suspicion

FROM_RUNS = (
    *("few3", "few5", "few10", "few3_across", "few5_across", "new_type", "new_type_plus1", "new_type_plus3"),
    *("few3_same_data", "few3_more_data"),
)
PEERS = ("least_squares", "ernest", "c3o")
Scores = dict[str, Score]
Setting = tuple[tuple[str, Any], ...]
NEVER = 99.0
"""Log odds at which a suspicion is never kept."""

CONSTANTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "USUAL_AMPLITUDE": (posterior, (0.05, 0.12)),
    "TREND_SD": (residual, (0.03, 0.1)),
    "MACHINE_SD": (residual, (0.03, 0.08)),
    "OPTION_SD": (residual, (0.18, 0.35)),
    "RECORDS_SHARE": (options, (0.0, 0.25, 0.75)),
    "COLUMN_COST": (fit, (0.0, 1.5)),
    "MOST_CHARGED": (fit, (1.0, 2.0)),
    "PRIOR_WORTH_RUNS": (prediction, (1.0, 4.0, 1e6)),
    "OUTLIER_COST": (suspicion, (2.5, NEVER)),
    "WORKING_SETS": (priors, ((), priors.working_sets(holds_data=0.5, holds_by_core=0.2))),
    "SPILL": (priors, (priors.Prior(centre=16, spread=1.2), priors.Prior(centre=128, spread=1.2))),
}
"""Where each constant lies, and the values to try beside the shipped one; among them those that leave its part out."""
TITLES = (
    *("dataset, predictor", "none", "three, five, ten of a type", "three, five of any", "a type never run, +1, +3"),
    *("in the 90% range", "range's ratio", "regret (worst): the same data", "the most data"),
)


def main() -> None:
    """Print the scoreboard, and the values that each dataset's others choose."""
    asked = _options()
    suites, names = asked.suites.split(","), [name for name in asked.constants.split(",") if name]
    bench = Bench(seeds=asked.seeds, stretch_sd=asked.stretch)
    losses = {key: {suite: _loss(bench.scores(suite, dict(key))) for suite in suites} for key in _settings(names)}
    chosen = {suite: _chosen(suite, names, losses) for suite in suites}
    _print_row(TITLES)
    print("|---|" + "---:|" * (len(TITLES) - 1))
    own = {suite: bench.scores(suite, chosen[suite]) for suite in suites}
    for suite in suites:
        unrun = _error(bench.score(suite, "no_runs"))
        _print_row((f"{suite}, constants of the others", unrun, *_cells(own[suite])))
        _print_row(("constants as shipped", unrun, *_cells(bench.scores(suite, {}))))
        for peer in PEERS:
            predictor = importlib.import_module(f"predictors.{peer}").Predictor()
            _print_row((predictor.name, "", *_cells(bench.scores(suite, {}, predictor))))
    _print_row(
        ("dataset left out", "chosen by the others in place of the shipped values", "loss with it", "as shipped")
    )
    print("|---|---|---:|---:|")
    for suite in suites:
        values = ", ".join(f"{name} {_short(value)}" for name, value in chosen[suite].items()) or "none"
        _print_row((suite, values, f"{_loss(own[suite]):.3f}", f"{losses[()][suite]:.3f}"))


@dataclass(kw_only=True)
class Bench:
    """Scores of predictors by protocol, with so many draws of times stretched as much; each score is made once."""

    seeds: int
    stretch_sd: float
    known: dict[tuple[Any, ...], Scores] = field(default_factory=dict)

    def scores(self, suite: str, values: Mapping[str, Any], predictor: Any = None) -> Scores:
        """Return the scores of the planner with some constants, or of another predictor."""
        key = (suite, *values.items(), predictor and predictor.name)
        if key not in self.known:
            with ExitStack() as stack:
                for name, value in values.items():
                    stack.enter_context(patch.object(CONSTANTS[name][0], name, value))
                found = {protocol: self.score(suite, protocol, predictor) for protocol in FROM_RUNS}
            self.known[key] = {protocol: score for protocol, score in found.items() if score.error}
        return self.known[key]

    def score(self, suite: str, protocol: str, predictor: Any = None) -> Score:
        """Return the score in one protocol."""
        asked = predictor or Predictor()
        return scored(asked, suite, protocol, seeds=self.seeds, stretch_sd=self.stretch_sd)[0]


def _settings(names: list[str]) -> list[Setting]:
    """Return the shipped constants, and every one at each other value."""
    return [(), *(((name, value),) for name in names for value in CONSTANTS[name][1])]


def _chosen(suite: str, names: list[str], losses: Mapping[Setting, Mapping[str, float]]) -> dict[str, Any]:
    """Return the constants for which another value has a lower mean loss on the other datasets, with the best value."""
    others = {key: np.mean([loss for name, loss in row.items() if name != suite]) for key, row in losses.items()}
    found = {}
    for name in names:
        best = min(CONSTANTS[name][1], key=lambda value, name=name: others[(name, value),])
        if others[(name, best),] < others[()]:
            found[name] = best
    return found


def _loss(scores: Scores) -> float:
    return float(np.mean([score.loss for score in scores.values()]))


def _print_row(cells: Iterable[str]) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def _cells(scores: Scores) -> tuple[str, ...]:
    """Return errors in percent, the share within the ranges and their width, and regrets."""
    of = [_errors(scores, names) for names in (FROM_RUNS[:3], FROM_RUNS[3:5], FROM_RUNS[5:8])]
    held, width = ([mean(getattr(s, name)) for s in scores.values()] for name in ("held_by_range", "log_width"))
    ranges = ("", "") if math.isnan(held[0]) else (f"{100 * mean(held):.0f}%", f"{math.exp(mean(width)):.2f}")
    regrets = [scores[name].regret if name in scores else [] for name in FROM_RUNS[8:]]
    return (*of, *ranges, *(f"{mean(each):.2f} ({max(each):.2f})" if each else "" for each in regrets))


def _errors(scores: Scores, protocols: tuple[str, ...]) -> str:
    return ", ".join(_error(scores[name]) if name in scores else "-" for name in protocols)


def _error(score: Score) -> str:
    return f"{100 * mean(score.error):.1f}"


def _short(value: Any) -> str:
    if isinstance(value, priors.Prior):
        return f"{value.centre:g}"
    return f"{value:g}" if isinstance(value, float | int) else f"of {len(value)}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--suites", default=",".join(SUITES))
    parser.add_argument("--constants", default=",".join(CONSTANTS), help="to choose; '' for those as shipped alone")
    parser.add_argument("--stretch", type=float, default=0.3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
