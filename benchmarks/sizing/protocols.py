"""Fixed ways to deal the runs of a suite into those to learn from and those to predict.

Only predicted configurations that the predictor has not seen are scored. Draws are seeded by protocol, type and number,
so that everyone scores the same ones. In few-run protocols a run is one repeat; the truth is the median of the repeats.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from tables import Row, family

Deal = tuple[list[Row], list[Row]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """Rows to learn from, with the seconds to give for each, and rows to predict."""

    train: list[Row]
    train_s: list[float]
    query: list[Row]


def deal(protocol: str, rows: list[Row], *, seeds: int) -> Iterator[Task]:
    """Yield the tasks of a protocol; none where the rows do not allow it."""
    for number, (train, query) in enumerate(PROTOCOLS[protocol](rows, seeds)):
        if query and (train or protocol == "no_runs"):
            rng = random.Random(f"{protocol} {number}")
            repeat = "few" in protocol or "plus" in protocol
            seconds = [
                rng.choice(row.get("repeats_s", [row["runtime_s"]])) if repeat else row["runtime_s"] for row in train
            ]
            yield Task(train=train, train_s=seconds, query=[row for row in query if row not in train])


def _no_runs(rows: list[Row], _: int) -> Iterator[Deal]:
    yield [], rows


def _few(count: int) -> Callable[[list[Row], int], Iterator[Deal]]:
    def of_one_type(rows: list[Row], seeds: int) -> Iterator[Deal]:
        for name in _types(rows):
            own = [row for row in rows if row["type"] == name]
            for seed in range(seeds if len(own) > count else 0):
                yield random.Random(f"few {name} {seed}").sample(own, count), own

    return of_one_type


def _few_across(count: int) -> Callable[[list[Row], int], Iterator[Deal]]:
    def of_any_type(rows: list[Row], seeds: int) -> Iterator[Deal]:
        for seed in range(2 * seeds):
            yield random.Random(f"across {seed}").sample(rows, count), rows

    return of_any_type


def _new_type(rows: list[Row], _: int) -> Iterator[Deal]:
    for name in _types(rows):
        yield [row for row in rows if row["type"] != name], [row for row in rows if row["type"] == name]


def _new_type_plus(count: int) -> Callable[[list[Row], int], Iterator[Deal]]:
    def with_some(rows: list[Row], seeds: int) -> Iterator[Deal]:
        for others, own in _new_type(rows, seeds):
            for seed in range(seeds if len(own) > count else 0):
                yield others + random.Random(f"plus {own[0]['type']} {seed}").sample(own, count), own

    return with_some


def _new_family(rows: list[Row], _: int) -> Iterator[Deal]:
    for name in dict.fromkeys(family(type_name) for type_name in _types(rows)):
        others = [row for row in rows if family(row["type"]) != name]
        yield others, [row for row in rows if family(row["type"]) == name]


def _new_family_few(rows: list[Row], seeds: int) -> Iterator[Deal]:
    for others, own in _new_family(rows, seeds):
        for seed in range(seeds if len(others) > 5 else 0):
            yield random.Random(f"family {own[0]['type']} {seed}").sample(others, 5), own


def _larger(column: str) -> Callable[[list[Row], int], Iterator[Deal]]:
    def from_smaller(rows: list[Row], _: int) -> Iterator[Deal]:
        values = sorted({row[column] for row in rows})
        middle = values[(len(values) - 1) // 2]
        yield [row for row in rows if row[column] <= middle], [row for row in rows if row[column] > middle]

    return from_smaller


def _three_small(rows: list[Row], seeds: int, *, larger: bool) -> Iterator[Deal]:
    """Deal three runs of the least data, and all clusters with the same or the most data."""
    sizes = [row["data_gb"] for row in rows]
    small, large = ([row for row in rows if row["data_gb"] == size] for size in (min(sizes), max(sizes)))
    for seed in range(seeds if len(small) > 3 else 0):
        yield random.Random(f"small {seed}").sample(small, 3), large if larger else small


def _all_but_one(rows: list[Row], _: int) -> Iterator[Deal]:
    for row in rows:
        yield [other for other in rows if other is not row], [row]


def _types(rows: list[Row]) -> list[str]:
    return sorted({row["type"] for row in rows})


PROTOCOLS: dict[str, Callable[[list[Row], int], Iterator[Deal]]] = {
    "no_runs": _no_runs,
    "few1": _few(1),
    "few2": _few(2),
    "few3": _few(3),
    "few5": _few(5),
    "few10": _few(10),
    "few3_across": _few_across(3),
    "few5_across": _few_across(5),
    "few3_same_data": partial(_three_small, larger=False),
    "few3_more_data": partial(_three_small, larger=True),
    "new_type": _new_type,
    "new_type_plus1": _new_type_plus(1),
    "new_type_plus3": _new_type_plus(3),
    "new_family": _new_family,
    "new_family_few5": _new_family_few,
    "more_nodes": _larger("n"),
    "more_data": _larger("data_gb"),
    "all_but_one": _all_but_one,
}
