"""From files of any known kind to measurements; kinds are recognised by content, never by file name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from planner.config.user_files import read_user_file
from planner.errors import BadInputError
from planner.measurement.ingest.csv_columns import KNOWN, read_columns
from planner.measurement.ingest.fio import drop_interim, is_fio, read_fio
from planner.measurement.ingest.ioping import is_ioping, read_ioping
from planner.measurement.ingest.iperf3 import is_iperf3, merge_stream, read_iperf3
from planner.measurement.ingest.json_documents import holds_objects, parse, refuse_malformed
from planner.measurement.ingest.measurement import (
    OPTIONS,
    STORAGE,
    Measurement,
    Reading,
    complete_reading,
    merge_readings,
)
from planner.measurement.ingest.other_outputs import refuse_other_outputs
from planner.measurement.ingest.perfkit import is_perfkit, read_perfkit
from planner.measurement.ingest.planner_bench import is_own, read_own
from planner.measurement.ingest.sysbench import is_sysbench, read_sysbench

_SAY_SOMETHING_OF: Final = {
    **dict.fromkeys(("disks", "volume_type", "volumes"), "disks or volumes"),
    **dict.fromkeys(("nodes", "placement_group"), "a network"),
    **dict.fromkeys(("mapping", "only"), "a CSV"),
    "job": "fio's jobs",
}
"""The kind of measurement to which each user option applies."""


def read_measurements(
    paths: Sequence[Path],
    *,
    user_values: Mapping[str, Any],
    mapping: Mapping[str, tuple[str, str]],
    only: Mapping[str, str] | None = None,
    job: str | None = None,
    files_are: str | None = None,
) -> list[Measurement]:
    """Return all measurements in the files; `user_values` fill the gaps that the files leave.

    `mapping` and `only` (which rows: column -> value) are for CSV files, `job` for fio files of several jobs;
    `files_are` ("instances" or "repeats") is the meaning of several files of the same circumstances. Raises
    BadInputError for the first file that cannot be used; no file is half read.
    """
    readings = [
        {**reading, "file": path.resolve()}
        for path in paths
        for reading in readings_of(path, mapping=mapping, only=only, job=job)
    ]
    merged = merge_readings(readings, files_are=files_are)
    if files_are and len(merged) == len(readings):
        raise BadInputError(
            "--files-are applies only to several files or runs of the same: leave it out", code="not-applicable"
        )
    measurements = [complete_reading(reading, user_values) for reading in merged]
    _require_used({**user_values, "job": job, "mapping": mapping, "only": only}, measurements, readings)
    return measurements


def _require_used(given: Mapping[str, Any], measurements: Sequence[Measurement], readings: Sequence[Reading]) -> None:
    """Raise BadInputError for an option that applies to none of the measurements in the files."""
    has = {
        "disks or volumes": any(measurement.quantity in STORAGE for measurement in measurements),
        "a network": any(measurement.quantity == "network" for measurement in measurements),
        "fio's jobs": any(reading.get("job") for reading in readings),
        "a CSV": any("row" in reading for reading in readings),
    }
    for name, what in _SAY_SOMETHING_OF.items():
        if given.get(name) and not has[what]:
            option = OPTIONS.get(name) or {"job": "--job", "mapping": "--column", "only": "--only"}[name]
            raise BadInputError(f"{option} applies only to measurements of {what}: leave it out", code="not-applicable")


def readings_of(
    path: Path, *, mapping: Mapping[str, tuple[str, str]], only: Mapping[str, str] | None = None, job: str | None = None
) -> list[Reading]:
    """Return the readings of one file without filling gaps; options as for `read_measurements`.

    Raises BadInputError for a file that cannot be used.
    """
    text = read_user_file(path)
    if not text.strip():
        raise BadInputError(f"{path}: empty", code="empty-file")
    if is_sysbench(text):
        return read_sysbench(path, text)
    if not holds_objects(text):
        refuse_other_outputs(path, text)
        return read_columns(path, mapping, only)
    documents = parse(path, text)
    with refuse_malformed(path):
        return [
            {**reading, "document": place}
            for place, found in enumerate(_read_documents(path, documents, job))
            for reading in found
        ]


def _read_documents(path: Path, documents: list[dict[str, Any]], job: str | None) -> Iterator[list[Reading]]:
    """Yield the readings of each run in a file."""
    if is_ioping(documents):
        yield [read_ioping(path, documents)]
    elif documents and all(map(is_perfkit, documents)):
        yield read_perfkit(path, documents)
    else:
        for document in merge_stream(drop_interim(documents)) or [{}]:
            yield _read_json(path, document, job)


def _read_json(path: Path, document: dict[str, Any], job: str | None) -> list[Reading]:
    if is_fio(document):
        return read_fio(path, document, job=job)
    if is_iperf3(document):
        return [read_iperf3(path, document)]
    if is_own(document):
        return read_own(path, document)
    raise BadInputError(f"{path}: JSON of no known instrument", [KNOWN], code="unknown-format")
