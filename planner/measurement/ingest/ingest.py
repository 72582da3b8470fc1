"""From files of any known kind to measurements: told apart by what is in them, never by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.config.given_files import read_given
from planner.errors import BadInputError
from planner.measurement.ingest.csv_columns import read_columns
from planner.measurement.ingest.fio import drop_interim, is_fio, read_fio
from planner.measurement.ingest.ioping import is_ioping, is_ioping_text, read_ioping
from planner.measurement.ingest.iperf3 import is_iperf3, merge_stream, read_iperf3
from planner.measurement.ingest.json_documents import holds_objects, parse, parse_list
from planner.measurement.ingest.measurement import (
    OPTIONS,
    STORAGE,
    Measurement,
    Reading,
    complete_reading,
    merge_readings,
)
from planner.measurement.ingest.perfkit import is_perfkit, read_perfkit
from planner.measurement.ingest.planner_bench import is_own, read_own
from planner.measurement.ingest.sysbench import is_sysbench, read_sysbench

_SAY_SOMETHING_OF: Final = {
    **dict.fromkeys(("disks", "volume_type", "volumes"), "disks or volumes"),
    **dict.fromkeys(("nodes", "placement_group"), "a network"),
    **dict.fromkeys(("mapping", "only"), "a CSV"),
    "job": "fio's jobs",
}
"""By what a user says: the kind of measurement that it says something of."""


def read_measurements(
    paths: Sequence[Path],
    *,
    user_values: Mapping[str, Any],
    mapping: Mapping[str, tuple[str, str]],
    only: Mapping[str, str] | None = None,
    job: str | None = None,
    files_are: str | None = None,
) -> list[Measurement]:
    """Return all measurements in the files, with what the user `said` filling what they leave open.

    `mapping` and `only` (which rows: column -> value) are for CSV files, `job` for fio files of several jobs;
    `files_are` ("instances" or "repeats") says what several files of the same circumstances are. Raises BadInputError
    for the first file that cannot be used; nothing is half read.
    """
    readings = [
        {**reading, "file": path.resolve()}
        for path in paths
        for reading in readings_of(path, mapping=mapping, only=only, job=job)
    ]
    merged = merge_readings(readings, files_are=files_are)
    measurements = [complete_reading(reading, user_values) for reading in merged]
    _require_used({**user_values, "job": job, "mapping": mapping, "only": only}, measurements, readings)
    return measurements


def _require_used(given: Mapping[str, Any], measurements: Sequence[Measurement], readings: Sequence[Reading]) -> None:
    """Raise BadInputError for an option that says something of what none of the files measured."""
    has = {
        "disks or volumes": any(measurement.quantity in STORAGE for measurement in measurements),
        "a network": any(measurement.quantity == "network" for measurement in measurements),
        "fio's jobs": any(reading.get("job") for reading in readings),
        "a CSV": any("row" in reading for reading in readings),
    }
    for name, what in _SAY_SOMETHING_OF.items():
        if given.get(name) and not has[what]:
            option = OPTIONS.get(name) or {"job": "--job", "mapping": "--column", "only": "--only"}[name]
            raise BadInputError(f"{option} applies only to measurements of {what}: leave it out")


def readings_of(
    path: Path, *, mapping: Mapping[str, tuple[str, str]], only: Mapping[str, str] | None = None, job: str | None = None
) -> list[Reading]:
    """Return what one file says, as it says it; options as for `read_measurements`, which also fills the gaps.

    Raises BadInputError for a file that cannot be used.
    """
    text = read_given(path)
    if not text.strip():
        raise BadInputError(f"{path}: empty")
    if text.lstrip().startswith("["):
        return [read_ioping(path, _items(path, text))]
    if is_sysbench(text):
        return read_sysbench(path, text)
    if is_ioping_text(text):
        raise BadInputError(f"{path}: ioping's output for people; run it with -J for JSON")
    if not holds_objects(text):
        _refuse_text_for_people(path, text)
        return read_columns(path, mapping, only)
    documents = parse(path, text)
    if all(map(is_perfkit, documents)):
        return read_perfkit(path, documents)
    return [
        reading for document in merge_stream(drop_interim(documents)) for reading in _read_json(path, document, job)
    ]


_FOR_PEOPLE: Final = (
    ("fio", "--output-format=json", re.compile(r"^(Run status group \d+|.*: \(groupid=\d+, jobs=\d+\))", re.MULTILINE)),
    ("iperf3", "-J", re.compile(r"^\[ *ID\] +Interval +Transfer", re.MULTILINE)),
)


def _refuse_text_for_people(path: Path, text: str) -> None:
    """Raise BadInputError for what an instrument prints without its option for JSON."""
    for name, option, pattern in _FOR_PEOPLE:
        if pattern.search(text):
            raise BadInputError(f"{path}: {name}'s output for people; run it with {option}")


def _read_json(path: Path, document: dict[str, Any], job: str | None) -> list[Reading]:
    if is_fio(document):
        return read_fio(path, document, job=job)
    if is_iperf3(document):
        return [read_iperf3(path, document)]
    if is_own(document):
        return read_own(path, document)
    raise BadInputError(
        f"{path}: JSON of no known instrument",
        ["known: fio, iperf3, ioping, PerfKitBenchmarker, planner bench; sysbench fileio as text"],
    )


def _items(path: Path, text: str) -> list[dict[str, Any]]:
    items = parse_list(path, text)
    if not is_ioping(items):
        raise BadInputError(f"{path}: a JSON list of no known instrument; known: ioping -J")
    return items
