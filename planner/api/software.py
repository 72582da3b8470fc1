"""Delivery of the planner to rented machines of any processor, and its cost in a run."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from planner.api.clusters import Say
from planner.errors import BadInputError
from planner.schemas.plan import Candidate, Plan
from planner.units import format_duration, format_usd

if TYPE_CHECKING:
    from planner.clusters.remote.wheelhouse import SoftwareForm, Wheelhouse


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """Delivery of the planner to machines with the processor `architecture`, as clouds name it; `form` is '' for wheels
    built by the user. `compiling_s` is the compile time on their head, 0 without compiling, and `usd_per_hour` the cost
    of all machines meanwhile.
    """

    architecture: str
    form: SoftwareForm | None
    compiling_s: float = 0.0
    usd_per_hour: float = 0.0

    @property
    def added_s(self) -> float:
        """Seconds certain to be added to the run."""
        return self.compiling_s if self.form == "source" else 0.0

    @property
    def text(self) -> str:
        """Description for users, before anything is rented."""
        machines = f"machines: {self.architecture} processors; software:"
        took = f"about {format_duration(self.compiling_s)}, {format_usd(self.compiling_s * self._usd_per_s)}"
        if self.form is None:
            return f"{machines} the wheels of --wheelhouse, which adds no time"
        if self.form == "own wheel":
            return f"{machines} this installation as a wheel, which adds no time"
        if self.form == "built wheel":
            return f"{machines} this checkout's wheel in dist/, which adds no time"
        if self.form == "wheel of the index":
            return (
                f"{machines} the index's wheel of this version; where there is none, the head compiles the sort core "
                f"({took})"
            )
        here = cloud_name_here()
        other = f"; --arch {here} needs none" if here != self.architecture and self._fits_here else ""
        return f"{machines} the head compiles the sort core, which adds {took}{other}"

    @property
    def _usd_per_s(self) -> float:
        return self.usd_per_hour / 3600

    @property
    def _fits_here(self) -> bool:
        from planner.clusters.remote.wheelhouse import software_form

        return software_form(architecture=platform.machine()) == "own wheel"


def cloud_name_here() -> str:
    """Return the clouds' name of this machine's processor."""
    from planner.clusters.remote.wheelhouse import cloud_name, linux_name

    return cloud_name(linux_name(platform.machine()))


def architecture_of(cloud: str, instance_type: str) -> str:
    """Return the processor of a type in the catalog, x86_64 or arm64."""
    from planner.catalog import load_catalog

    types = load_catalog(cloud).instances
    return str(types.arch[types.rows[instance_type]])


def requested_architecture(arch: str | None, wheelhouse: Path | None) -> str | None:
    """Return the only processor to plan for: the requested one, or that of the user's wheels.

    Raises BadInputError if these differ.
    """
    if wheelhouse is None:
        return arch
    from planner.clusters.remote.wheelhouse import architecture_in

    brought = architecture_in(wheelhouse) or None
    if arch and brought and arch != brought:
        raise BadInputError(
            f"--arch {arch}: the wheels in {wheelhouse} are for {brought}; leave one of them out",
            code="wrong-architecture",
        )
    return arch or brought


def delivery_to(best: Candidate, *, wheelhouse: Path | None) -> Delivery:
    """Return how the machines of a candidate get the planner."""
    from planner.catalog import load_catalog
    from planner.clusters.remote.wheelhouse import software_form
    from planner.cost_model.run_overheads import compiling_s

    types = load_catalog(best.cloud).instances
    architecture = architecture_of(best.cloud, best.instance_type)
    return Delivery(
        architecture=architecture,
        form=None if wheelhouse else software_form(architecture=architecture),
        compiling_s=float(compiling_s(types.vcpu[types.rows[best.instance_type]])),
        usd_per_hour=best.usd_per_hour * (best.nodes + best.spares) / best.nodes,
    )


def of_one_processor(plan: Plan, *, architecture: str) -> Plan:
    """Return a plan with only the candidates that run the same software."""
    fitting = [each for each in plan.candidates if architecture_of(each.cloud, each.instance_type) == architecture]
    return replace(plan, candidates=tuple(fitting))


@contextmanager
def wheels(directory: Path | None, *, architecture: str, is_table: bool = False, say: Say) -> Iterator[Wheelhouse]:
    """Yield the software for machines with a processor, built now unless the user has built it before.

    Raises BadInputError for wheels that do not fit the machines, or lack the libraries of tables.
    """
    from planner.clusters.remote.wheelhouse import linux_name, make_wheels, pack, require_tables

    with tempfile.TemporaryDirectory(prefix="planner-wheels-") as made:
        given = directory
        if directory is None:
            say(f"collecting the software that {architecture} machines need")
            directory = Path(made) / "wheels"
            make_wheels(directory, architecture=architecture)
        if is_table:
            require_tables(directory)
        packed = pack(directory, Path(made) / "wheels.tar")
        if packed.architecture not in ("", linux_name(architecture)):
            raise BadInputError(
                f"--wheelhouse {given}: its wheels are for {packed.architecture}, not for {architecture}",
                ["make others: `planner cluster wheelhouse DIR --arch`"],
                code="wrong-architecture",
            )
        yield packed
