"""The cluster that an application ran on, as far as its log tells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """What the log tells of the cluster; None and '' are unknown. `origins` says where each figure stands.

    `executors` and `cores` are the most at one time; `hosts` ran executors. `cores_per_executor` and
    `memory_per_executor_bytes` (heap and overhead, as far as stated) are unknown where executors differ.
    """

    platform: str = ""
    cloud: str = ""
    region: str = ""
    instance_type: str = ""
    driver_type: str = ""
    hosts: tuple[str, ...] = ()
    executors: int | None = None
    cores: int | None = None
    cores_per_executor: int | None = None
    memory_per_executor_bytes: float | None = None
    dynamic: bool = False
    origins: Mapping[str, str] = field(default_factory=dict)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of what the log does not tell."""
        names = (f.name for f in fields(self) if f.name not in ("origins", "dynamic"))
        return tuple(name for name in names if getattr(self, name) in (None, "", ()))
