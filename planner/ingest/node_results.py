"""Rates of single nodes from a file, for screening: CSV with a column `node` and one column per rate, or JSON."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import BadInputError
from planner.ingest.json_documents import parse, read_text

NodeRuns = dict[str, dict[str, list[float]]]
"""Metric -> node -> the rate of each run; higher is better, NaN where a run gave no figure."""

_NOT_METRICS = ("node", "run")


def read_node_results(path: Path) -> NodeRuns:
    """Return each metric's rates by node, one for each run.

    CSV: a column `node`, one named `run` where nodes have several rows, every other column a metric, a blank cell is
    no figure. JSON: an object of nodes, each an object of metrics, or what `planner bench net --json` wrote. Raises
    BadInputError listing all that is wrong.
    """
    text = read_text(path)
    rows = _json_rows(path, text) if text.lstrip().startswith(("{", "[")) else _csv_rows(path, text)
    problems: list[str] = []
    results: NodeRuns = {}
    for node, figures in rows:
        for metric in (name for name in figures if name not in _NOT_METRICS):
            rate = _rate(figures[metric], f"{path}: node {node}, {metric}", problems)
            results.setdefault(metric, {}).setdefault(node, []).append(rate)
    if problems:
        raise BadInputError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)}", problems)
    if not results:
        raise BadInputError(f"{path}: no node with a figure; expected a column node and one column per rate")
    return results


def median_rates(runs: NodeRuns) -> dict[str, dict[str, float]]:
    """Return each metric's rate by node: the median of its runs that gave a figure, NaN without any."""
    return {
        metric: {node: _median([rate for rate in rates if not math.isnan(rate)]) for node, rates in by_node.items()}
        for metric, by_node in runs.items()
    }


def _median(rates: list[float]) -> float:
    return statistics.median(rates) if rates else math.nan


def _csv_rows(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    try:
        reader = csv.DictReader(text.splitlines(), restkey="", strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise BadInputError(f"{path}: cannot be read as CSV ({error})") from error
    if "node" not in (reader.fieldnames or ()):
        raise BadInputError(f"{path}: no column 'node' among {', '.join(reader.fieldnames or ()) or 'no columns'}")
    names = [" run ".join(str(row[name]) for name in _NOT_METRICS if name in row) for row in rows]
    wrong = [f"data row {n}: more or fewer cells than the header" for n, row in enumerate(rows, 1) if _ragged(row)]
    wrong += [f"node {name!r} appears more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if wrong:
        hint = "; give repeated runs a column run" if "run" not in (reader.fieldnames or ()) else ""
        raise BadInputError(f"{path}: {len(wrong)} problem{'s' * (len(wrong) > 1)}{hint}", wrong)
    return [(row["node"], row) for row in rows]


def _ragged(row: Mapping[str, Any]) -> bool:
    return "" in row or None in row.values()


def _json_rows(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    document = parse(path, text)
    if document.get("instrument") == "netbench":
        return _netbench_rows(path, document)
    if not all(isinstance(figures, dict) for figures in document.values()):
        raise BadInputError(f'{path}: expected an object of nodes, such as {{"node-1": {{"read_bytes_per_s": 1e9}}}}')
    return list(document.items())


def _netbench_rows(path: Path, document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the nodes in every run of NetBench's largest cluster."""
    try:
        largest = max(run["nodes"] for run in document["runs"])
        nodes = [node for run in document["runs"] if run["nodes"] == largest for node in run["per_node"]]
        return [(node["address"], {"network_bytes_per_s": node["bytes_per_s"]}) for node in nodes]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(f"{path}: not as netbench writes it ({error!r}); measure again") from error


def _rate(cell: Any, where: str, problems: list[str]) -> float:
    if cell in ("", None):
        return math.nan
    try:
        rate = math.nan if isinstance(cell, bool | list | dict) else float(cell)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and rate >= 0):
        problems.append(f"{where}: {cell!r} is not a rate of zero or more")
    return rate
