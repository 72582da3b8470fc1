"""Calibrated profiles on disk: one readable JSON file each in the user's data directory, replaced atomically."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner import calibration
from planner.calibration import Profile
from planner.calibration.history import Records, records
from planner.catalog.tables.reading import rows_of
from planner.config import paths
from planner.config.atomic_file import change_store, replace_file
from planner.config.user_files import read_user_file
from planner.errors import BadInputError, nearest

if TYPE_CHECKING:
    from planner.catalog import Catalog

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SUFFIX: Final = ".json"


def calibrate(
    runs: Records,
    *,
    instances: Mapping[str, Mapping[str, Any]] | Records = None,
    model: str = "framework",
    name: str | None = None,
    catalog: str | Path = "aws",
) -> Profile:
    """Learn a profile from runs, as `planner.calibration.calibrate` does; machines come from a catalog unless given."""
    specs = specs_of(catalog) if instances is None else instances
    return calibration.calibrate(runs, instances=specs, model=model, name=name)


def profile_names() -> list[str]:
    """Return the names of the stored profiles, sorted."""
    directory = paths.user_directory("profiles")
    return sorted(path.stem for path in directory.glob(f"*{_SUFFIX}")) if directory.is_dir() else []


def save_profile(profile: Profile) -> Path:
    """Store a profile under its name and return the file. Raises BadInputError for a name that is not a file name."""
    path = _path(profile.name)
    with change_store(path, what="profile"):
        _replace(path, profile)
    return path


def load_profile(name_or_path: str | Path) -> Profile:
    """Return a stored profile by its name, or one from a file. Raises BadInputError when there is none or it is
    damaged.
    """
    path = Path(name_or_path) if str(name_or_path).endswith(_SUFFIX) else _path(str(name_or_path))
    if not path.exists():
        names = profile_names()
        listed = f"; there are {', '.join(names)}" if names else "; make one with planner calibrate RUNS.csv"
        raise BadInputError(
            f"no profile {str(name_or_path)!r}{listed}.{nearest(path.stem, names)}", code="no-such-profile"
        )
    try:
        values = json.loads(read_user_file(path))
    except ValueError as error:
        raise BadInputError(f"profile {path} cannot be read: {error}", code="unreadable") from error
    try:
        return Profile.from_dict(values)
    except BadInputError as error:
        raise error.reworded(f"profile {path}: {error.message}") from error


def add_run(name: str, run: Mapping[str, Any], *, instances: Mapping[str, Mapping[str, Any]], model: str) -> Profile:
    """Add one finished run to a stored profile, created with `model` if there is none, and return the profile."""
    path = _path(name)
    with change_store(path, what="profile"):
        if path.exists():
            profile = load_profile(name).with_runs([run], instances=instances)
        else:
            profile = calibration.calibrate([run], instances=instances, model=model, name=name)
        _replace(path, profile)
    return profile


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file as text cells. Raises BadInputError when it cannot be read, is empty or ragged, or
    repeats a column.
    """
    _, rows = rows_of(path, read_user_file(path))
    if not rows:
        raise BadInputError(
            f"{path}: no rows; the names of the columns come first, then a row for each run", code="no-rows"
        )
    return [row for _, row in rows]


def specs_of(catalog: str | Path) -> dict[str, dict[str, Any]]:
    """Return the specifications that calibration reads for every type of a catalog; what it lacks stays unknown."""
    from planner.catalog import load_catalog

    return _specs(load_catalog(catalog))


def _specs(catalog: Catalog) -> dict[str, dict[str, Any]]:
    import numpy as np

    from planner.catalog.shipped_tables import measured_clocks_ghz

    types = catalog.instances
    clocks_ghz = measured_clocks_ghz(catalog.cloud)
    columns = {
        "vcpu": types.vcpu,
        "ghz": np.array([clocks_ghz.get(name, np.nan) for name in types.instance_type.tolist()]),
        "mem_gib": types.memory_bytes / 2**30,
        "ebs_mbps": types.volume_bytes_per_s * 8e-6,
        "net_base_gbps": types.network_baseline_bytes_per_s * 8e-9,
        "net_burst_gbps": types.network_peak_bytes_per_s * 8e-9,
        "nvme_r_MBps": catalog.disk_rates("read_only").bytes_per_s / 1e6,
        "nvme_w_MBps": catalog.disk_rates("write_only").bytes_per_s / 1e6,
        "price_usd_h": catalog.prices().price_usd_per_hour,
    }
    values = zip(*(column.tolist() for column in columns.values()), strict=True)
    return {
        name: dict(zip(columns, row, strict=True))
        for name, row in zip(types.instance_type.tolist(), values, strict=True)
    }


def instances_from(path: Path) -> list[dict[str, Any]]:
    """Return machine specifications from a CSV file with a column `type`."""
    return records(read_rows(path))


def _path(name: str) -> Path:
    if not _NAME.fullmatch(name):
        raise BadInputError(
            f"profile name {name!r}: use letters, digits and . _ -, beginning with a letter or digit", code="malformed"
        )
    return paths.user_directory("profiles") / f"{name}{_SUFFIX}"


def _replace(path: Path, profile: Profile) -> None:
    text = json.dumps(profile.to_dict(), indent=1, allow_nan=False)
    replace_file(path, f"{text}\n")
