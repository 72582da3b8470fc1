"""Energy of a run, where the power of a node is known; clouds do not state it.

Source: Rasmussen et al., TritonSort, section 5.6: E(N) = N E_server + E_switch, here over time. Its energies divided by
its 100 TB times (6,395 s and 8,274 s) give 330 W a server; 8.332 MJ over 6,395 s give 1.3 kW for the 52-port switch.
"""

from __future__ import annotations

import numpy as np

from planner.arrays import Floats

SWITCH_POWER_W = 1300.0
SWITCH_PORTS = 52


def energy_j(time_s: Floats, *, nodes: Floats, power_w: Floats) -> Floats:
    """Return the joules of `nodes` servers of `power_w` watts each, and of the switches that join them, for a time;
    elementwise, NaN where the power is not known.
    """
    switches = np.where(nodes > 1, np.ceil(nodes / SWITCH_PORTS), 0.0)
    return np.asarray(time_s * (nodes * power_w + switches * SWITCH_POWER_W))
