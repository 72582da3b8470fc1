"""Which format a location has: the log of Delta, metadata of Iceberg, a name in a catalog, or Parquet files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from planner.errors import BadInputError
from planner.sorting.tables.arrow_library import arrow
from planner.tables.storage import store_errors
from planner.tables.table_format import TableFormat

_METADATA = ".metadata.json"


def open_table(
    location: str, *, catalog: Mapping[str, str], catalog_name: str | None, storage: Mapping[str, str]
) -> TableFormat:
    """Return the table at a location. Raises BadInputError where there is none."""
    if catalog or catalog_name:
        from planner.tables.iceberg import IcebergFormat

        return IcebergFormat(location, catalog, name=catalog_name)
    names = {} if location.endswith(_METADATA) else _names(location, storage)
    if metadata := location if location.endswith(_METADATA) else _newest_metadata(location, names):
        from planner.tables.iceberg import IcebergFormat

        return IcebergFormat(metadata, storage, name=None, is_file=True)
    if "_delta_log" in names:
        from planner.tables.delta import DeltaFormat

        return DeltaFormat(location, storage)
    if storage:
        raise BadInputError(f"--storage is of Delta and Iceberg tables, and {location} is none", code="not-applicable")
    from planner.tables.folder import FolderFormat

    return FolderFormat(location)


def _names(location: str, storage: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the names of folders at a location that show its format, with the names in `metadata`."""
    if "://" not in location or location.startswith("file://"):
        root = Path(location.removeprefix("file://"))
        if not root.is_dir():
            is_file = ["it is a file: planner sort FILE OUTPUT --key NAME sorts one"] if root.is_file() else []
            raise BadInputError(f"{location}: no such folder; a table is one", is_file, code="no-such-file")
        within = root / "metadata"
        names = [path.name for path in sorted(within.iterdir())] if within.is_dir() else []
        return {"metadata": names} | ({"_delta_log": []} if (root / "_delta_log").is_dir() else {})
    if storage:
        return {"_delta_log": []}
    with store_errors(location):
        file_system, root = arrow("pyarrow.fs").FileSystem.from_uri(location)
        found = {"metadata": _listed(file_system, f"{root}/metadata")}
        return found | ({"_delta_log": []} if _listed(file_system, f"{root}/_delta_log") else {})


def _listed(file_system: object, folder: str) -> list[str]:
    library = arrow("pyarrow.fs")
    infos = file_system.get_file_info(library.FileSelector(folder, allow_not_found=True))  # type: ignore[attr-defined]
    return sorted(each.base_name for each in infos)


def _newest_metadata(location: str, names: Mapping[str, list[str]]) -> str:
    """Return the address of the metadata file with the greatest number, as in `v12` or `00012-…`."""
    found = [name for name in names.get("metadata", ()) if name.endswith(_METADATA)]
    if not found:
        return ""
    newest = max(found, key=lambda name: (_number(name), name))
    folder = location if "://" in location else str(Path(location).absolute())
    return f"{folder.rstrip('/')}/metadata/{newest}"


def _number(name: str) -> int:
    digits = name.removeprefix("v").partition(".")[0].partition("-")[0]
    return int(digits) if digits.isdigit() else -1
