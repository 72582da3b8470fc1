"""How a cloud is reached: whose account, which credentials, and other addresses than the public ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from planner.clouds.calls.reading import READING
from planner.clouds.calls.retry import RetryPolicy


@dataclass(frozen=True, kw_only=True)
class Access:
    """Blank fields mean what the cloud's own tools would use: its environment variables, files and public addresses.

    `account` is the project of Compute Engine, the subscription of Azure or the profile of AWS. `specs_url` and
    `prices_url` serve clouds with addresses of their own (sovereign regions, private endpoints).
    """

    account: str = ""
    credentials: Any = field(default=None, repr=False)
    specs_url: str = ""
    prices_url: str = ""
    retry_policy: RetryPolicy = READING
