"""Rotating disks that serve several streams: the arm moves to a stream before each transfer from or to it.

The kernel sets the bytes transferred at a visit: its largest read-ahead request, its least chunk of writeback. Buffers
do not make visits shorter: two passes need pieces of 5 MB at least on such disks (`planner.cost_model.capacity`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class Visits:
    """Bytes that a disk reads or writes of one stream before it moves to another, and seconds for the move."""

    read_bytes: float
    write_bytes: float
    read_position_s: float
    write_position_s: float

    def read_rate(self, transfer_bytes_per_s: Floats, *, streams: Floats) -> Floats:
        """Return bytes/s of a disk that reads one of `streams` at each visit."""
        return _rate(transfer_bytes_per_s, streams, visit_bytes=self.read_bytes, position_s=self.read_position_s)

    def write_rate(self, transfer_bytes_per_s: Floats, *, streams: Floats) -> Floats:
        """Return bytes/s of a disk that writes one of `streams` at each visit."""
        return _rate(transfer_bytes_per_s, streams, visit_bytes=self.write_bytes, position_s=self.write_position_s)


def _rate(transfer_bytes_per_s: Floats, streams: Floats, *, visit_bytes: float, position_s: float) -> Floats:
    """Return the rate. A single stream needs no positioning, two or more at each visit; a mean between 1 and 2 comes
    from disks of both kinds.
    """
    positioned_s = np.clip(streams - 1, 0.0, 1.0) * position_s
    return np.asarray(1 / (1 / transfer_bytes_per_s + positioned_s / visit_bytes))
