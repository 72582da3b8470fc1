"""Rates of single nodes from a file, for screening: CSV with a column `node` and one column per rate, or JSON."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.errors import BadInputError
from planner.measure.documents import parse, read_text

RatesByNode = dict[str, dict[str, float]]
"""Metric -> node -> rate; higher is better."""


def read_node_results(path: Path) -> RatesByNode:
    """Return each metric's rate by node; NaN where a node gave no figure.

    CSV: a column `node`, every other column a metric, a blank cell is no figure. JSON: an object of nodes, each an
    object of metrics, or what `planner bench net --json` wrote. Raises BadInputError listing all that is wrong.
    """
    text = read_text(path)
    rows = _json_rows(path, text) if text.lstrip().startswith(("{", "[")) else _csv_rows(path, text)
    problems: list[str] = []
    results: RatesByNode = {}
    for node, figures in rows.items():
        for metric, cell in figures.items():
            results.setdefault(metric, {})[node] = _rate(cell, f"{path}: node {node}, {metric}", problems)
    if problems:
        raise BadInputError(f"{path}: {len(problems)} problem{'s' * (len(problems) > 1)}", problems)
    if not results:
        raise BadInputError(f"{path}: no node with a figure; expected a column node and one column per rate")
    return results


def _csv_rows(path: Path, text: str) -> dict[str, dict[str, Any]]:
    try:
        reader = csv.DictReader(text.splitlines(), restkey="", strict=True)
        rows = list(reader)
    except csv.Error as error:
        raise BadInputError(f"{path}: cannot be read as CSV ({error})") from error
    if "node" not in (reader.fieldnames or ()):
        raise BadInputError(f"{path}: no column 'node' among {', '.join(reader.fieldnames or ()) or 'no columns'}")
    names = [row["node"] for row in rows]
    wrong = [f"data row {n}: more or fewer cells than the header" for n, row in enumerate(rows, 1) if _ragged(row)]
    wrong += [f"node {name!r} appears more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if wrong:
        raise BadInputError(f"{path}: {len(wrong)} problem{'s' * (len(wrong) > 1)}", wrong)
    return {row["node"]: {metric: cell for metric, cell in row.items() if metric != "node"} for row in rows}


def _ragged(row: Mapping[str, Any]) -> bool:
    return "" in row or None in row.values()


def _json_rows(path: Path, text: str) -> dict[str, dict[str, Any]]:
    document = _netbench(parse(path, text))
    if not all(isinstance(figures, dict) for figures in document.values()):
        raise BadInputError(f'{path}: expected an object of nodes, such as {{"node-1": {{"read_bytes_per_s": 1e9}}}}')
    return document


def _netbench(document: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes of NetBench's largest cluster; any other document as it is."""
    if document.get("instrument") != "netbench" or not document.get("runs"):
        return document
    largest = max(document["runs"], key=lambda run: run["nodes"])
    return {node["address"]: {"network_bytes_per_s": node["bytes_per_s"]} for node in largest["per_node"]}


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
