"""`planner validate --ray`: a manifest's partitions are read back on the nodes where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from json import loads
from os import environ
from pathlib import Path
from typing import Any, Final

from planner.cli.shell.console import show_json, show_text
from planner.errors import BadInputError, ValidationFailedError

_SHOWN: Final = ("records", "sorted", "duplicates", "checksum")


def validate_on_ray(manifests: Sequence[Path], *, address: str, checksum: int | None, json: bool) -> None:
    """Have every copy of a dataset read back, and show what it holds.

    Raises ValidationFailedError when a copy is not in order, not whole, not what the manifest says, or not of the
    expected checksum.
    """
    from planner.clusters.ray.driver_session import ray_session
    from planner.distributed_sort.dataset.dataset import read_manifest

    if len(manifests) > 1:
        raise BadInputError("with --ray there is one file: the manifest, which names all partitions")
    dataset = read_manifest(manifests[0])
    driver = ray_session(address=address, command=lambda *words: list(words), environment=environ)
    with driver as session:
        read = session.do({"do": "validate", "dataset": loads(dataset.to_json())}, lambda _: None)["copies"]
    copies = [{name: copy["validation"][name] for name in _SHOWN} | {"problems": copy["problems"]} for copy in read]
    if json:
        show_json({"copies": copies})
    else:
        show_text(
            "\n".join(_line(number, copy, unit=dataset.layout.counted) for number, copy in enumerate(copies, start=1))
        )
    require_sound(copies, checksum=checksum)


def require_sound(copies: Sequence[dict[str, Any]], *, checksum: int | None) -> None:
    """Raise ValidationFailedError, listing why, unless every copy is in order, whole, and of the checksum, if given."""
    problems = [problem for copy in copies for problem in copy["problems"]]
    problems += [f"copy {number} is not in order" for number, copy in enumerate(copies, 1) if not copy["sorted"]]
    if checksum is not None:
        problems += [
            f"copy {number} has the checksum {copy['checksum']}, expected {checksum:x}"
            for number, copy in enumerate(copies, 1)
            if int(copy["checksum"], 16) != checksum
        ]
    if problems:
        raise ValidationFailedError("the dataset is not what it should be", problems)


def _line(number: int, copy: dict[str, Any], *, unit: str) -> str:
    order = "in order" if copy["sorted"] else "not in order"
    return (
        f"Copy {number}: {copy['records']} {unit}, {order}, {copy['duplicates']} duplicate keys, "
        f"checksum {copy['checksum']}"
    )
