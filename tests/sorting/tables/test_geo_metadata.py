"""GeoParquet's description of geometries, united when several files are sorted into one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import planner

UTM = {"type": "ProjectedCRS", "id": {"authority": "EPSG", "code": 25832}}
CRS84 = {"type": "GeographicCRS", "id": {"authority": "OGC", "code": "CRS84"}}


def described(tmp_path: Path, *files: dict[str, Any] | bytes | None) -> Any:
    """Return the description of the geometry in the sorted rows of files with these descriptions."""
    names = [tmp_path / str(number) for number, _ in enumerate(files)]
    for name, column in zip(names, files, strict=True):
        geo = column
        if isinstance(column, dict):
            columns = {"g": {"encoding": "WKB"} | column}
            geo = json.dumps({"version": "1.1.0", "primary_column": "g", "columns": columns}).encode()
        table = pa.table({"k": [2, 1], "g": [b"point", b"line"]})
        pq.write_table(table.replace_schema_metadata({"geo": geo} if geo else {}), name)
    planner.sort(names, tmp_path / "out", format="parquet", key="k", force=True)
    found = pq.read_metadata(tmp_path / "out").metadata[b"geo"]
    return json.loads(found)["columns"]["g"]


def test_a_box_or_kind_of_one_file_is_not_that_of_all(tmp_path: Path) -> None:
    """The kind of geoparquet/geoparquet-io#658 and #934: readers skip files by their box."""
    one = {"geometry_types": ["Point"], "bbox": [0, 0, 1, 1]}
    assert described(tmp_path, one) == described(tmp_path, one, one) == {"encoding": "WKB"} | one
    other = {"geometry_types": ["LineString", "Point"], "bbox": [5, 5, 9, 9], "orientation": "counterclockwise"}
    assert described(tmp_path, one, other) == {"encoding": "WKB", "geometry_types": ["LineString", "Point"]}
    assert described(tmp_path, one, {"geometry_types": []}) == {"encoding": "WKB", "geometry_types": []}
    assert described(tmp_path, one, None) == {"encoding": "WKB", "geometry_types": []}


@pytest.mark.parametrize("files", [({"crs": UTM}, {}), ({"crs": UTM}, {"crs": None}), ({}, {"edges": "spherical"})])
def test_coordinates_of_unlike_systems_are_refused(tmp_path: Path, files: tuple[dict[str, Any], ...]) -> None:
    with refused("mixed-coordinates", " g "):
        described(tmp_path, *files)
    assert not (tmp_path / "out").exists()


def test_the_usual_system_need_not_be_named(tmp_path: Path) -> None:
    assert described(tmp_path, {}, {"crs": CRS84, "edges": "planar"})["encoding"] == "WKB"


def test_metadata_that_are_no_geoparquet_are_kept(tmp_path: Path) -> None:
    for value in (b"no JSON", b"[]", b'{"columns": 1}'):
        with suppress(ValueError, TypeError):  # it is not described
            described(tmp_path, value, {"bbox": [0, 0, 1, 1]})
        assert pq.read_metadata(tmp_path / "out").metadata[b"geo"] == value
