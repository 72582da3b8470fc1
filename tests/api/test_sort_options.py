"""Every sort option is obeyed or refused, whatever the format."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import planner
from planner.api.validate import validate_rows
from planner.errors import BadInputError

FORMATS: Final[dict[str, dict[str, Any]]] = {"records": {}, "lines": {}, "csv": {"key": "n"}, "parquet": {"key": "n"}}
GIVEN: Final[dict[str, Any]] = {
    "separator": ";", "no_header": True, "unique": True, "zero_terminated": True, "merge": True, "limit": 1,
    "compress": "gz", "record_size": 200, "key_offset": 10, "key_size": 1, "stable": True, "spill": "lz4",
    "more_outputs": ["more"], "copies": 2, "to": "s3://bucket/x", "file_bytes": 10**6, "directory": "/mnt",
    "uniform": True, "wait_s": 60.0, "lines": True,
    "consume_input": True, "union_by_name": True,
}  # fmt: skip
REFUSED: Final = {
    "records": {"separator", "no_header", "zero_terminated", "lines", "union_by_name", "file_bytes"},
    "lines": {"separator", "no_header", "record_size", "more_outputs", "union_by_name", "file_bytes"},
    "csv": {
        "zero_terminated", "record_size", "key_offset", "key_size", "more_outputs", "lines", "union_by_name",
        "file_bytes",
    },
    "parquet": {
        "separator", "no_header", "zero_terminated", "compress", "record_size", "key_offset", "key_size", "spill",
        "more_outputs", "lines",
    },
}  # fmt: skip
FOR_CLUSTERS: Final = {"copies", "to", "directory", "uniform", "wait_s"}
UNSEEN: Final = {"stable", "spill", "consume_input", "union_by_name"}
"""Options that are obeyed but have no visible effect on so few rows."""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with a file of each format, made so that any option changes the result."""
    records = [b"A" * 9 + bytes([key]) + bytes([90 - number]) * 90 for number, key in enumerate(b"2121")]
    (tmp_path / "records").write_bytes(b"".join(records))
    lines = [b"a" * 10 + b"z", b"b" * 10 + b"w", b"a" * 10 + b"y\0x", b"b" * 10 + b"w", b""]
    (tmp_path / "lines").write_bytes(b"\n".join(lines))
    (tmp_path / "csv").write_bytes(b"n,x;n\n2,b;3\n1,a;4\n2,c;5\n")
    pq.write_table(pa.table({"n": [2, 1, 2], "x": ["b", "a", "c"]}), tmp_path / "parquet")
    return tmp_path


def result(folder: Path, format: str, **options: Any) -> bytes:
    """Return everything that a sort wrote."""
    if "more_outputs" in options:
        options["more_outputs"] = [folder / "more"]
    if format == "csv" and "no_header" in options:
        options["key"] = "2"
    outputs = [folder / ("files" if "file_bytes" in options else "out"), folder / "more"]
    planner.sort(folder / format, outputs[0], format=format, force=True, **FORMATS[format] | options)  # type: ignore[arg-type]
    files = [file for path in outputs for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    return b"\xff".join(str(path).encode() + path.read_bytes() for path in files if path.exists())


@pytest.mark.parametrize(("format", "option"), list(product(FORMATS, GIVEN)))
def test_an_option_is_obeyed_or_refused(format: str, option: str, sources: Path) -> None:
    if option in REFUSED[format] | FOR_CLUSTERS:
        with pytest.raises(BadInputError, match="`") as refused:
            result(sources, format, **{option: GIVEN[option]})
        assert refused.value.field
        assert not (sources / "out").exists()
        return
    if option == "merge":  # the merge checks the order of its inputs
        with pytest.raises(BadInputError, match="is out of order: only sorted inputs can be merged"):
            result(sources, format, merge=True)
        return
    plain = result(sources, format)
    given = result(sources, format, **{option: GIVEN[option]})
    assert (given == plain) is (option in UNSEEN or (format, option) == ("lines", "lines"))


def test_a_folder_of_files_may_end_with_a_slash(sources: Path) -> None:
    with pytest.raises(BadInputError, match="writes tables as a folder of files"):
        planner.sort(sources / "parquet", f"{sources}/new/", key="n")
    planner.sort(sources / "parquet", f"{sources}/new/", key="n", file_bytes=10**6)
    assert [file.name for file in (sources / "new").iterdir()] == ["part-00000.parquet"]
    validate_rows([sources / "new"], format="parquet", key=["n"], input=[sources / "parquet"]).require()
