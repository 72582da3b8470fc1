"""The options of `planner run`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from planner.api.arguments.run_arguments import EffortArguments, LinkArguments
from planner.api.run import OF_A_CLUSTER, OF_RENTED, effort_of, require_place
from planner.api.run_job import Work
from planner.cli.shell.declared_options import DeclaredOptions
from planner.errors import BadInputError

_OF_MACHINES_THERE: Final = ("lend_credentials", "wheelhouse", "detach", "skew", "input", "output")
"""Options on rented machines or a cluster that also apply to existing machines."""


PANELS: Final = {
    heading: tuple(options.split())
    for heading, options in {
        "What to sort": "data model input format key separator no_header zero_terminated unique output",
        "Where": "cloud on region instance nodes pricing directory memory_bytes",
        "Limits, and before it rents": "max_cost max_hours dry_run verbose yes",
        "Rented machines": "keep take_down detach ssh_from subnet no_public_address jump reservation tag"
        " node_identity lend_credentials wheelhouse",
        "Emulated nodes": "rate",
        "Settings": "skew threads arch or_next max_cost_per_month image screen_seconds screen_size distribution"
        " rate_factor bucket burst_rate redraw seed",
        "Report": "out json force profile",
    }.items()
}
"""Options under the headings of the help, in its order."""


class Job(DeclaredOptions, of=[Work]):
    """What is sorted, and with what."""


class EffortOptions(DeclaredOptions, of=[effort_of]):
    """How rented machines are measured before a sort."""


def require_its_place(given: Collection[str], *, cloud: str | None, on: str | None) -> None:
    """Raise BadInputError for options that do not apply to a run's place: they would be ignored."""
    if on is None:
        require_place(given, cloud)
        return
    elsewhere = {"cloud", "threads", "directory", *LinkArguments.__annotations__, *OF_RENTED, *OF_A_CLUSTER}
    for name in given:
        if name in elsewhere - {*_OF_MACHINES_THERE, *EffortArguments.__annotations__}:
            raise BadInputError(
                f"`{name}` says nothing about the machines of run {on}: leave it out", field=name, code="not-applicable"
            )
