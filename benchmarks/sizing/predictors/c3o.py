"""C3O's predictor (Will et al., IC2E 2021) re-implemented: the best of four models in leave-one-out validation.

Two are "optimistic": scale-out and inputs act independently, so that time = g(nodes) h(inputs). g is a polynomial of
degree 3 (here in 1 / nodes) through the largest group of runs with equal inputs. h is linear (BOM) or boosted trees
(OGB) on the times scaled to one node count. The others are Ernest and boosted trees (GBM). Each machine type with three
runs is fitted separately; other types see all runs together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from predictors import boosting, ernest

FOLDS = 5
LEAST_OWN = 3
DEGREE = 3
Rows = Sequence[dict[str, Any]]
Model = Callable[[Rows], np.ndarray]


class Predictor:
    """Predictor that needs runs; without any it has no answer."""

    name = "C3O"
    needs_runs = True

    def run(self, task: dict[str, Any]) -> list[float]:
        """Return seconds for every query row of a task."""
        models: dict[str, Model] = {}
        for name in {row["type"] for row in task["query"]}:
            own = [row for row in task["train"] if row["type"] == name]
            models[name] = chosen(own if len(own) >= LEAST_OWN else task["train"], task["specs"])
        return [float(models[row["type"]]([row])[0]) for row in task["query"]]


def chosen(train: Rows, specs: dict[str, Any]) -> Model:
    """Return the model with the least mean relative error on runs left out, fitted to all of them."""
    kinds = (_ernest, _boosting, basic_optimistic, _boosted_optimistic)
    return min(kinds, key=lambda kind: _error_left_out(kind, train, specs))(train, specs)


def _error_left_out(kind: Callable[[Rows, dict[str, Any]], Model], train: Rows, specs: dict[str, Any]) -> float:
    errors = []
    for fold in range(min(FOLDS, len(train))):
        rest, out = [row for i, row in enumerate(train) if i % FOLDS != fold], train[fold::FOLDS]
        true = np.array([row["runtime_s"] for row in out])
        errors += np.abs(kind(rest, specs)(out) / true - 1).tolist() if rest else [np.inf]
    return float(np.mean(errors))


def _ernest(train: Rows, specs: dict[str, Any]) -> Model:
    weights = ernest.nonnegative_least_squares(ernest.features(list(train)), _seconds(train))
    return lambda rows: np.asarray(ernest.features(list(rows)) @ weights)


def _boosting(train: Rows, specs: dict[str, Any]) -> Model:
    options = boosting.numeric_options(train)
    model = boosting.boost(boosting.features(list(train), specs, options), np.log(_seconds(train)))
    return lambda rows: np.exp(model(boosting.features(list(rows), specs, options)))


def basic_optimistic(train: Rows, specs: dict[str, Any]) -> Model:
    """Return time as scale-out times a linear function of the inputs."""
    scale_out = _scale_out(train)
    weights = np.linalg.lstsq(_inputs(train, train), _seconds(train) / scale_out(train), rcond=None)[0]
    return lambda rows: scale_out(rows) * (_inputs(rows, train) @ weights)


def _boosted_optimistic(train: Rows, specs: dict[str, Any]) -> Model:
    scale_out = _scale_out(train)
    model = boosting.boost(_inputs(train, train), _seconds(train) / scale_out(train))
    return lambda rows: scale_out(rows) * model(_inputs(rows, train))


def _scale_out(train: Rows) -> Model:
    """Return the relative time by node count, from the largest group of runs that differ in it only; else 1 / nodes."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in train:
        groups.setdefault(tuple(row[key] for key in sorted(row) if key not in ("n", "runtime_s")), []).append(row)
    group = max(groups.values(), key=lambda rows: len({row["n"] for row in rows}))
    counts = {row["n"] for row in group}
    if len(counts) < 2:
        return lambda rows: 1 / np.array([row["n"] for row in rows])
    inverse, seconds = 1 / np.array([row["n"] for row in group]), _seconds(group)
    curve = np.polynomial.Polynomial.fit(inverse, seconds, min(DEGREE, len(counts) - 1))
    least = 0.1 * seconds.min()
    return lambda rows: np.maximum(curve(1 / np.array([row["n"] for row in rows])), least) / seconds.mean()


def _inputs(rows: Rows, train: Rows) -> np.ndarray:
    names = ["data_gb", *boosting.numeric_options(train)]
    return np.array([[1.0, *(float(row[name]) for name in names)] for row in rows])


def _seconds(rows: Rows) -> np.ndarray:
    return np.array([row["runtime_s"] for row in rows], float)
