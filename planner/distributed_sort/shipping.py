"""The code that a cluster's nodes lack: found by a task that needs only Ray, and sent with Ray's runtime
environment.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path, PurePath
from typing import Any, Final

from planner.compression.text_codecs import LIBRARIES
from planner.distributed_sort.job.events import Emit, ignore
from planner.distributed_sort.job.memory_kills import KilledForMemoryError
from planner.distributed_sort.job.silence import REPORT_EVERY_S, waiting
from planner.errors import IoFailureError
from planner.native import core

OWN: Final = "sortplanner"
_ALWAYS: Final = (OWN, "numpy", "psutil")
_TABLES, _STORES = "pyarrow", "obstore"
_ANSWERS_WITHIN_S: Final = 30.0
_LEFT_BEHIND: Final = {"tests", "__pycache__", "include"}
_SUFFIXES_LEFT_BEHIND: Final = {".pyi", ".pyc", ".a", ".h"}

Versions = Mapping[str, str]
"""Versions by distribution, '' where it is not installed; and the processor's architecture as `machine`."""


def needed_distributions(order: Mapping[str, Any]) -> list[str]:
    """Return the distributions that the nodes need for an order: of the optional ones, only those for its data.

    Distributions that the driver itself lacks are left out.
    """
    request = order.get("request", {})
    dataset = order.get("dataset") or request.get("source") or {}
    copies = [copy for partition in dataset.get("partitions", ()) for copy in partition["copies"]]
    places = [request.get("output") or "", *(copy["uri"] for copy in copies)]
    files = [*copies, *(part for copy in copies for part in copy.get("parts", ()))]
    wanted = [LIBRARIES[form] for file in files if (form := file.get("compression")) in LIBRARIES]
    wanted += [_TABLES] * bool(dataset.get("layout", {}).get("table"))
    wanted += [_STORES] * any("://" in place for place in places)
    return [name for name in dict.fromkeys((*_ALWAYS, *wanted)) if _installed_version(name)]


def missing_distributions(ray: Any, names: Sequence[str], emit: Emit = ignore) -> list[str]:
    """Return the distributions that some node lacks, and this package also where a node has another version.

    Nodes that do not answer for 30 s are skipped: later steps report them. Raises IoFailureError where distributions
    are missing and a node's processors differ from the driver's.
    """
    found = _ask_nodes(ray, names, emit)
    missing = [name for name in names if any(not versions[name] for _, versions in found)]
    if OWN not in missing and any(versions[OWN] != _installed_version(OWN) for _, versions in found):
        missing.insert(0, OWN)
    machine = platform.machine()
    others = [f"{node}: {versions['machine']}" for node, versions in found if versions["machine"] != machine]
    if missing and others:
        raise IoFailureError(
            f"nodes lack {', '.join(missing)}, and what the driver has is for {machine}",
            [*others, f"pip install '{OWN}[ray]' on every node"],
            code="no-wheels",
        )
    return missing


def stage(names: Collection[str], folder: Path) -> dict[str, Any]:
    """Copy distributions into a folder, and return the runtime environment with which nodes import them from there."""
    for name in names:
        for source, place in _own_files() if name == OWN else _files_of(name):
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return {"working_dir": str(folder)}


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _ask_nodes(ray: Any, names: Sequence[str], emit: Emit) -> list[tuple[str, Versions]]:
    """Return the address and versions of each node that answers; an event names the nodes that are waited for."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(_probe())
    nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    asked = {
        task.options(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(
            list(names)
        ): node["NodeManagerAddress"]
        for node in nodes
    }
    left, found, waited_s = list(asked), list[tuple[str, Versions]](), 0.0
    while left and waited_s < _ANSWERS_WITHIN_S:
        if waited_s:
            late = [asked[reference] for reference in left]
            emit(waiting(late, since_s=waited_s, reason="they have yet to say what is installed there"))
        _, left = ray.wait(left, num_returns=len(left), timeout=REPORT_EVERY_S)
        waited_s += REPORT_EVERY_S
    for reference in asked.keys() - set(left):
        try:
            found.append((asked[reference], ray.get(reference)))
        except ray.exceptions.OutOfMemoryError as error:
            raise KilledForMemoryError.of(str(error)) from error
        except ray.exceptions.RayError:
            continue
    return found


def _probe() -> Callable[[list[str]], Versions]:
    """Return a task that Ray sends as its code, since nodes would have to import one that is named by its module."""

    def versions(names: list[str]) -> Versions:
        import platform
        from importlib.metadata import PackageNotFoundError, version

        found = {"machine": platform.machine()}
        for name in names:
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = ""
        return found

    return versions


def _own_files() -> Iterator[tuple[Path, PurePath]]:
    """Yield this package's modules, its extension and its name and version, with their places below a folder."""
    top = Path(__file__).parents[1]
    yield from ((path, path.relative_to(top.parent)) for path in top.rglob("*.py"))
    extension = Path(str(core.__file__))
    yield extension, PurePath("planner", extension.name)
    yield from ((source, place) for source, place in _files_of(OWN) if place.name == "METADATA")


def _files_of(name: str) -> Iterator[tuple[Path, PurePath]]:
    for file in distribution(name).files or ():
        if file.suffix in _SUFFIXES_LEFT_BEHIND or ".." in file.parts or _LEFT_BEHIND.intersection(file.parts):
            continue
        yield Path(str(file.locate())), PurePath(file)
