"""A slice that is grouped, or of which blocks are on their way."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(kw_only=True)
class SliceUnderWay:
    """The node that groups it, in which segment, how many of its blocks are not stored yet, and their bytes.

    `is_disturbed` says that some of it was lost on the way, so that its segment may still be read.
    """

    source: str
    segment: str
    left: int
    left_bytes: int
    is_grouping: bool = True
    is_disturbed: bool = False
