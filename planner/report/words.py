"""Names of resources and fields in plain English."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from planner.schemas.plan import Candidate

EVERY_REGION: Final = "all"
"""The region of a catalog with the same prices in all of a cloud's regions."""

RESOURCE_WORDS: Final = {
    "network": "network",
    "local": "local disks",
    "volumes": "volumes",
    "objects": "object store",
    "cpu": "processors",
    "driver": "driver, which hands out tasks",
    "requests": "requests to the object store",
    "startup": "boot, start-up and teardown",
    "barriers": "waiting for the slowest node",
}
"""Names of resources that a run can wait for, by the names of what-ifs."""


_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:m?s|min|h|days?|[kKMGTP]?i?B|[KMG]bit)\b)")
_KEPT_SPACE: Final = "\N{NO-BREAK SPACE}"


def wrapped(text: str, width: int, *, indent: str = "  ") -> list[str]:
    """Return the text in lines of at most `width` columns, all but the first indented. A number stays with its unit; a
    word longer than a line, such as a path, stays whole.
    """
    kept = _BEFORE_UNIT.sub(_KEPT_SPACE, text)
    lines = textwrap.wrap(kept, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return [line.replace(_KEPT_SPACE, " ") for line in lines]


def words(name: str) -> str:
    """Return a field's name in plain English."""
    return name.replace("_", " ")


_OF_PHASES: Final = {"driver": "handing out tasks", "cpu": "processors", "object_requests": RESOURCE_WORDS["requests"]}


def phase_word(name: str) -> str:
    """Return the usual name of what a phase waits for."""
    return _OF_PHASES.get(name, words(name))


def bottleneck_word(cluster: Candidate) -> str:
    """Return the resource that limits a whole run; for clusters that were not recommended, what the longest phase waits
    for.
    """
    if cluster.bottleneck:
        return RESOURCE_WORDS[cluster.bottleneck].partition(", which")[0]
    longest = max(cluster.phases, key=lambda phase: phase.time_s)
    return phase_word(longest.bottleneck)


def region_word(region: str) -> str:
    """Return a region's name; a catalog whose prices hold everywhere has the region `all`."""
    return "any region" if region == EVERY_REGION else region


def region_text(cluster: Candidate) -> str:
    """Return a cluster's cloud and region: 'aws us-east-1', or 'oci, any region'."""
    return f"{cluster.cloud}{', ' if cluster.region == EVERY_REGION else ' '}{region_word(cluster.region)}"
