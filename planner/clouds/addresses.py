"""Addresses of a run's private network, the same on every cloud (CIDR notation)."""

from __future__ import annotations

from typing import Final

NETWORK: Final = "10.77.0.0/16"
NODES_SUBNET: Final = "10.77.0.0/17"
HEAD_SUBNET: Final = "10.77.128.0/28"
ANYWHERE: Final = "0.0.0.0/0"
