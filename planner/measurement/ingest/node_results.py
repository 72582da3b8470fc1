"""Rates of single nodes from files, for screening: CSV with a column `node` and one column per rate, JSON by node, or
instruments' files: our own, fio, iperf3, ioping, one per run of a node.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.catalog.tables.reading import rows_of
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, bad_input
from planner.measurement.ingest.fio import drop_interim, is_fio, readings_by_host
from planner.measurement.ingest.ingest import readings_of
from planner.measurement.ingest.ioping import is_ioping
from planner.measurement.ingest.iperf3 import is_iperf3, merge_stream, read_iperf3
from planner.measurement.ingest.json_documents import holds_objects, parse, refuse_malformed
from planner.measurement.ingest.measurement import Reading
from planner.measurement.ingest.metric_names import good_direction, is_context
from planner.measurement.ingest.other_outputs import refuse_other_outputs
from planner.measurement.ingest.planner_bench import is_own, read_own
from planner.measurement.ingest.sysbench import is_sysbench

NodeRuns = dict[str, dict[str, list[float]]]
"""Metric -> node -> the rate of each run, in the order of the runs; NaN where a run gave no figure."""

_NOT_METRICS = ("node", "run")
_NO_FIGURE: Final = ("", None, "nan", "na", "n/a", "null", "none", "-")
"""Spellings of a missing figure in tables."""
_NODE_HEADING: Final = re.compile(r'(^|,) *"?node"? *(?=,|$)', re.IGNORECASE)
_LATENCY: Final = "latency_p99_s"

_Row = tuple[str, Mapping[str, Any], str]
"""A node, its figures, and the time of their measurement ('' if the file has none)."""


def read_node_results(paths: Path | Sequence[Path]) -> NodeRuns:
    """Return each metric's rates by node, one for each run, those of several files in order of time.

    CSV: a column `node`, one named `run` where nodes have several rows, every other column a metric; a blank cell is a
    missing figure. JSON: an object of nodes, each an object of metrics, or an instrument's, whose node is the host that
    it names, else the file's name. Columns that describe a node (`vcpu`, `zone`) are not metrics. Raises BadInputError
    listing all errors.
    """
    problems: list[str] = []
    results: NodeRuns = {}
    files = [paths] if isinstance(paths, Path) else paths
    rows = [(path, row) for path in files for row in _rows(path)]
    labels = _labels([figures for _, (_, figures, _) in rows])
    for path, (node, figures, _) in sorted(rows, key=lambda row: row[1][2]):
        for metric in (name for name in figures if not (is_context(name) or name in labels)):
            rate = _rate(figures[metric], f"{path}: node {node}, {metric}", problems)
            results.setdefault(metric, {}).setdefault(node, []).append(rate)
    where = ", ".join(str(path) for path in files)
    if problems:
        raise bad_input(where, problems, code="bad-cell")
    if not results:
        names = ", ".join(dict.fromkeys(name for _, (_, figures, _) in rows for name in figures if name != "node"))
        raise BadInputError(
            f"{where}: no node with a figure; expected a column node and one column per rate",
            [f"{names}: these say what a node is, or have no number"] if names else [],
            code="no-figures",
        )
    return results


def _rows(path: Path) -> Iterable[_Row]:
    text = read_user_file(path)
    if is_sysbench(text):
        return [_instrument_row(path.stem, readings_of(path, mapping={}), "")]
    if holds_objects(text):
        documents = parse(path, text)
        if is_ioping(documents):
            return [_instrument_row(path.stem, readings_of(path, mapping={}), "")]
        if documents and all(isinstance(document.get("node"), str) for document in documents):
            return [(document["node"], document, "") for document in documents]
        with refuse_malformed(path):
            return [row for document in merge_stream(drop_interim(documents)) for row in _json_rows(path, document)]
    refuse_other_outputs(path, text)
    return [(node, figures, "") for node, figures in _csv_rows(path, text)]


def median_rates(runs: NodeRuns) -> dict[str, dict[str, float]]:
    """Return each metric's rate by node: the median of its runs that gave a figure, NaN without any."""
    return {
        metric: {node: _median([rate for rate in rates if not math.isnan(rate)]) for node, rates in by_node.items()}
        for metric, by_node in runs.items()
    }


def _median(rates: list[float]) -> float:
    return statistics.median(rates) if rates else math.nan


def _csv_rows(path: Path, text: str) -> list[tuple[str, dict[str, Any]]]:
    first, _, rest = text.partition("\n")
    header, numbered = rows_of(path, "\n".join((_NODE_HEADING.sub(r"\1node", first), rest)))
    if "node" not in header:
        raise BadInputError(
            f"{path}: no column 'node' among {', '.join(header) or 'no columns'}", code="missing-column"
        )
    rows = [row for _, row in numbered]
    names = [" run ".join(str(row[name]) for name in _NOT_METRICS if name in row) for row in rows]
    twice = [f"node {name!r} appears more than once" for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise bad_input(path, twice, "" if "run" in header else "; give repeated runs a column run", code="repeated")
    return [(row["node"].strip(), row) for row in rows]


def _json_rows(path: Path, document: dict[str, Any]) -> list[_Row]:
    when = str(document.get("measured_at") or document.get("timestamp") or "")
    if document.get("instrument") == "netbench":
        return [(node, figures, when) for node, figures in _netbench_rows(path, document)]
    if is_fio(document):
        hosts = readings_by_host(path, document)
        return [_instrument_row(host or path.stem, readings, when) for host, readings in hosts.items()]
    if is_own(document) or is_iperf3(document):
        readings = read_own(path, document) if is_own(document) else [read_iperf3(path, document)]
        return [_instrument_row(str(document.get("host") or path.stem), readings, when)]
    if not all(isinstance(figures, dict) for figures in document.values()):
        raise BadInputError(
            f'{path}: expected an object of nodes, such as {{"node-1": {{"read_bytes_per_s": 1e9}}}}', code="wrong-type"
        )
    return [(node, figures, "") for node, figures in document.items()]


def _instrument_row(node: str, readings: Sequence[Reading], when: str) -> _Row:
    """Return a node's rates, and the latency of its slowest operations if measured."""
    figures: dict[str, Any] = {}
    for reading in readings:
        name = _name(reading)
        figures[f"{name}_bytes_per_s"] = reading["bytes_per_s"]
        if reading.get(_LATENCY) is not None:
            figures[f"{name}_{_LATENCY}"] = reading[_LATENCY]
    return node, figures, when


def _name(reading: Reading) -> str:
    """Return a reading's name, such as `both_write_1M` or `read_random_4K_raid0`."""
    quantity = str(reading.get("quantity")).replace("_only", "").replace("simultaneous", "both")
    size = (reading.get("block_bytes") or 0) / 1024
    block = "" if not size else f"{size:g}K" if size < 1024 else f"{size / 1024:g}M"
    random = "random" if reading.get("pattern") == "random" else ""
    array = "raid0" if reading.get("layout") == "raid0" else ""
    return "_".join(filter(None, (quantity, reading.get("side"), random, block, array)))


def _netbench_rows(path: Path, document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the nodes in every run of NetBench's largest cluster."""
    try:
        largest = max(run["nodes"] for run in document["runs"])
        nodes = [node for run in document["runs"] if run["nodes"] == largest for node in run["per_node"]]
        return [(node["address"], {"network_bytes_per_s": node["bytes_per_s"]}) for node in nodes]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInputError(
            f"{path}: not as netbench writes it ({error!r}); measure again", code="malformed"
        ) from error


def _labels(tables: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names without a direction and without a number in any row, such as a kernel's."""
    names = dict.fromkeys(name for figures in tables for name in figures if good_direction(name) is None)
    cells = {name: [figures[name] for figures in tables if figures.get(name) not in _NO_FIGURE] for name in names}
    return {
        name
        for name, values in cells.items()
        if values and not any(isinstance(v, dict | list) or _is_number(v) for v in values)
    }


def _is_number(cell: Any) -> bool:
    try:
        return not isinstance(cell, bool | list | dict) and math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def _rate(cell: Any, where: str, problems: list[str]) -> float:
    if cell is None or (isinstance(cell, str) and cell.strip().lower() in _NO_FIGURE):
        return math.nan
    try:
        rate = math.nan if isinstance(cell, bool | list | dict) else float(cell)
    except ValueError:
        rate = math.nan
    if not (math.isfinite(rate) and rate >= 0):
        problems.append(f"{where}: {cell!r} is not a rate of zero or more")
    return rate
