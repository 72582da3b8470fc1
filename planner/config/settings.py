"""Persistent user settings: the clouds to rent from, access to them, and the user's own prices.

One TOML file, `settings.toml`, with a table for each cloud and one for each command's defaults. Without the file
nothing is set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Annotated, Final, Literal

from planner.config import paths
from planner.errors import BadInputError, Finding, bad_input
from planner.schemas.door import Between, Count
from planner.schemas.json_values import Reader
from planner.schemas.plan import OwnPrice
from planner.schemas.request_forms import CLOUDS

FILE_VARIABLE: Final = "PLANNER_SETTINGS"
_AMOUNTS: Final = ("discount", "price_usd_per_hour", "price_usd_per_vcpu_hour")
_OF_PRICE: Final = ("instance", "region", "pricing", *_AMOUNTS, "nodes", "note")
_NOTE: Final = "settings"
_Share = Annotated[float, Between(0, 1, below=True)]
_UsdPerHour = Annotated[float, Between(0, 1e6)]


@dataclass(frozen=True, kw_only=True)
class _Price:
    """A table `[[CLOUD.prices]]`; 0 US dollars is what is paid already."""

    instance: str = "*"
    region: str = "*"
    pricing: Literal["on-demand", "spot"] = "on-demand"
    discount: _Share | None = None
    price_usd_per_hour: _UsdPerHour | None = None
    price_usd_per_vcpu_hour: _UsdPerHour | None = None
    nodes: Count | None = None
    until: date | None = None
    note: str = _NOTE


@dataclass(frozen=True, kw_only=True)
class CloudSettings:
    """Access to a cloud (see planner.clouds.price_lists.Access; blank means the default of its own tools), and its cost
    for this user: the first of `prices` that fits counts, then the `discount`.
    """

    account: str = ""
    specs_url: str = ""
    prices_url: str = ""
    discount: _Share | None = None
    prices: tuple[_Price, ...] = ()

    def own_prices(self, cloud: str, *, today: date) -> Iterator[OwnPrice]:
        """Yield the prices that count today."""
        for price in self.prices:
            if price.until is None or price.until >= today:
                yield OwnPrice(cloud=cloud, **{key: getattr(price, key) for key in _OF_PRICE})
        if self.discount is not None:
            yield OwnPrice(cloud=cloud, discount=self.discount, note=_NOTE)


@dataclass(frozen=True, kw_only=True)
class _Plan:
    clouds: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Limits:
    max_cost_per_month: Annotated[float, Between(0, above=True)] | None = None


@dataclass(frozen=True, kw_only=True)
class _File:
    aws: CloudSettings = CloudSettings()
    gcp: CloudSettings = CloudSettings()
    azure: CloudSettings = CloudSettings()
    oci: CloudSettings = CloudSettings()
    plan: _Plan = _Plan()
    limits: _Limits = _Limits()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The whole file: `own_prices` are the user's of all clouds, `plan_clouds` the clouds that `plan` considers if none
    are named, `usd_per_month` the limit on the cost of all rented machines.
    """

    clouds: Mapping[str, CloudSettings] = field(default_factory=dict)
    own_prices: tuple[OwnPrice, ...] = ()
    plan_clouds: tuple[str, ...] = ()
    usd_per_month: float | None = None

    def of(self, cloud: str) -> CloudSettings:
        """Return the settings of a cloud, empty ones if it has none."""
        return self.clouds.get(cloud, CloudSettings())


def settings_file() -> Path:
    """Return the settings' path: $PLANNER_SETTINGS, else planner/settings.toml in $XDG_CONFIG_HOME or ~/.config."""
    if chosen := os.environ.get(FILE_VARIABLE):
        return Path(chosen)
    return paths.settings_file()


def load_settings(*, today: date) -> Settings:
    """Return the user's settings; prices whose `until` is past are left out.

    Raises one BadInputError that lists all errors in the file.
    """
    path = settings_file()
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except OSError as error:
        raise BadInputError(
            f"{path}: cannot be read ({error.strerror}); set {FILE_VARIABLE} to a file of yours", code="unreadable"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(
            f"{path}: cannot be read as TOML ({error}); correct or remove it", code="not-toml"
        ) from error
    reader = Reader(is_strict=True)
    file: _File = reader.read(_File, raw)
    if problems := reader.findings or list(_contradictions(file)):
        raise bad_input(path, problems, "; correct them and run again")
    clouds: dict[str, CloudSettings] = {name: getattr(file, name) for name in CLOUDS if name in raw}
    return Settings(
        clouds=clouds,
        own_prices=tuple(price for name, of in clouds.items() for price in of.own_prices(name, today=today)),
        plan_clouds=file.plan.clouds,
        usd_per_month=file.limits.max_cost_per_month,
    )


def _contradictions(file: _File) -> Iterator[Finding]:
    for name in CLOUDS:
        table: CloudSettings = getattr(file, name)
        for number, price in enumerate(table.prices):
            if sum(getattr(price, amount) is not None for amount in _AMOUNTS) != 1:
                text = "needs either a discount, a price_usd_per_hour or a price_usd_per_vcpu_hour"
                yield Finding(field=f"{name}.prices[{number}]", code="missing-argument", text=text)
