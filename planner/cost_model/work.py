"""Work of one resource in a phase, and the time that processors on credit take for theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.arrays import Floats, Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Work:
    """Work of one resource in a phase over the whole cluster, all of shape (R,).

    `read_node_s` and `write_node_s` are the times of either direction alone; both are zero for a resource without
    directions. They add up to `node_seconds`, except where disks read and write at once: there the longer counts.
    """

    total_bytes: Floats
    node_seconds: Floats
    read_node_s: Floats
    write_node_s: Floats

    @classmethod
    def alternating(cls, total_bytes: Floats, *, read_node_s: Floats, write_node_s: Floats) -> Work:
        """Return the work of a device whose reads and writes take turns."""
        return cls(
            total_bytes=total_bytes,
            node_seconds=read_node_s + write_node_s,
            read_node_s=read_node_s,
            write_node_s=write_node_s,
        )

    def only(self, rows: Rows) -> Work:
        """Return the work of some layouts."""
        return Work(
            total_bytes=self.total_bytes[rows],
            node_seconds=self.node_seconds[rows],
            read_node_s=self.read_node_s[rows],
            write_node_s=self.write_node_s[rows],
        )

    def at_share(self, share: float) -> Work:
        """Return the work of a resource that reaches only this share of its rate."""
        if share == 1:
            return self
        seconds = {name: getattr(self, name) / share for name in ("node_seconds", "read_node_s", "write_node_s")}
        return replace(self, **seconds)

    def slow_factor(self, direction: str, *, factor: float, row: int) -> float:
        """Return the factor by which a layout's resource takes longer when one direction takes `factor` times as long;
        '' covers all its work.
        """
        read, write, whole = (
            float(seconds[row]) for seconds in (self.read_node_s, self.write_node_s, self.node_seconds)
        )
        if not direction or not whole:
            return factor if whole else 1.0
        slowed, other = (read * factor, write) if direction == "read" else (write * factor, read)
        at_once = whole < (read + write) * (1 - 1e-9)
        return (max(slowed, other) if at_once else slowed + other) / whole


def on_credit_s(full_s: Floats, *, earlier_s: Floats, share: Floats, credit_s: Floats) -> Floats:
    """Return the seconds of work that takes `full_s` at full speed, elementwise; NaN where `share` is unknown.

    A node sustains `share` of its speed, and `credit_s` seconds at full speed beyond that. By second t it has done
    min(t, credit_s + share t), so the work takes max(full_s, (full_s - credit_s) / share). Earlier work of `earlier_s`
    spent (1 - share) of each second. Idle processors save no credit here: saving would only make them faster.
    Sources: the credit tables of EC2 (standard mode) and of Azure's B series, in burstable.csv of the catalogs.
    """
    left_s = np.maximum(credit_s - earlier_s * (1 - share), 0.0)
    return np.where(full_s > 0, np.maximum(full_s, (full_s - left_s) / share), 0.0)
