"""A stopwatch for the steps of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

Result = TypeVar("Result")


@dataclass
class Stopwatch:
    """`seconds` of each step by its name, in the order in which they ended."""

    seconds: dict[str, float] = field(default_factory=dict)

    def measure(self, name: str, call: Callable[[], Result]) -> Result:
        """Return what `call` returns, and note its seconds under `name`; a call that raises is not noted."""
        began = time.monotonic()
        result = call()
        self.seconds[name] = time.monotonic() - began
        return result
