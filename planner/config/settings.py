"""Persistent user settings: the clouds to rent from, access to them, and the user's own prices.

One TOML file, `settings.toml`, with a table for each cloud and one for each command's defaults. Without the file
nothing is set.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

from planner.config import paths
from planner.errors import BadInputError, bad_input, nearest
from planner.schemas.plan import OwnPrice
from planner.schemas.request_forms import CLOUDS

FILE_VARIABLE: Final = "PLANNER_SETTINGS"
_ACCESS: Final = ("account", "specs_url", "prices_url", "end_role")
_OF_CLOUD: Final = (*_ACCESS, "discount", "prices")
_AMOUNTS: Final = ("discount", "price_usd_per_hour", "price_usd_per_vcpu_hour")
_PER_MONTH: Final = "max_cost_per_month"
_TABLES: Final = (*CLOUDS, "plan", "limits")
_TABLES_OF: Final = {"clouds": "plan", _PER_MONTH: "limits", **dict.fromkeys(_OF_CLOUD, "aws")}
"""A table for each key."""
_OF_PRICE: Final = ("instance", "region", "pricing", *_AMOUNTS, "nodes", "until", "note")


@dataclass(frozen=True, kw_only=True)
class CloudSettings:
    """Access to a cloud (see planner.clouds.price_lists.Access; blank means the default of its own tools), and its cost
    for this user: the first of `prices` that fits counts. `end_role` is the ARN of the role with which AWS's scheduler
    may end machines, '' for none; only AWS has it.
    """

    account: str = ""
    specs_url: str = ""
    prices_url: str = ""
    end_role: str = ""
    prices: tuple[OwnPrice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The whole file; `plan_clouds` are the clouds that `plan` considers if none are named, `usd_per_month` the limit
    on the cost of all rented machines.
    """

    clouds: Mapping[str, CloudSettings] = field(default_factory=dict)
    plan_clouds: tuple[str, ...] = ()
    usd_per_month: float | None = None

    def of(self, cloud: str) -> CloudSettings:
        """Return the settings of a cloud, empty ones if it has none."""
        return self.clouds.get(cloud, CloudSettings())

    @property
    def own_prices(self) -> tuple[OwnPrice, ...]:
        """The user's prices of all clouds."""
        return tuple(price for cloud in self.clouds.values() for price in cloud.prices)


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
            f"{path}: cannot be read ({error.strerror}); set {FILE_VARIABLE} to a file of yours"
        ) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInputError(f"{path}: cannot be read as TOML ({error}); correct or remove it") from error
    problems = list(_problems(raw))
    if problems:
        raise bad_input(path, problems, "; correct them and run again")
    clouds = {name: _cloud(name, raw[name], today=today) for name in CLOUDS if name in raw}
    return Settings(
        clouds=clouds,
        plan_clouds=tuple(raw.get("plan", {}).get("clouds", ())),
        usd_per_month=_amount(raw.get("limits", {}).get(_PER_MONTH)),
    )


def _cloud(name: str, raw: Mapping[str, Any], *, today: date) -> CloudSettings:
    own = [_price(name, entry) for entry in raw.get("prices", ()) if entry.get("until", today) >= today]
    if "discount" in raw:
        own.append(OwnPrice(cloud=name, discount=float(raw["discount"]), note="settings"))
    return CloudSettings(**{key: raw.get(key, "") for key in _ACCESS}, prices=tuple(own))


def _price(cloud: str, entry: Mapping[str, Any]) -> OwnPrice:
    texts = {key: str(entry[key]) for key in ("instance", "region", "pricing") if key in entry}
    return OwnPrice(
        cloud=cloud,
        discount=_amount(entry.get("discount")),
        price_usd_per_hour=_amount(entry.get("price_usd_per_hour")),
        price_usd_per_vcpu_hour=_amount(entry.get("price_usd_per_vcpu_hour")),
        nodes=entry.get("nodes"),
        note=entry.get("note") or "settings",
        **texts,
    )


def _amount(number: Any) -> float | None:
    return None if number is None else float(number)


def _problems(raw: Mapping[str, Any]) -> Iterator[str]:
    for name, table in raw.items():
        if name not in _TABLES and not isinstance(table, dict):
            yield f"{name}: {_place_of(name)}"
        elif name not in _TABLES:
            yield f"[{name}]: unknown.{_known(name, _TABLES)}"
        elif not isinstance(table, dict):
            yield f"{name}: must be a table, written [{name}]"
        elif name == "plan":
            yield from _plan_problems(table)
        elif name == "limits":
            yield from _limits_problems(table)
        else:
            yield from _cloud_problems(name, table)


def _place_of(key: str) -> str:
    """Return advice on a key outside any table."""
    if key in _TABLES_OF:
        return f"belongs in a table, such as [{_TABLES_OF[key]}]; write that above it"
    return f"unknown key.{_known(key, (*_TABLES_OF, *_TABLES))}"


def _known(word: str, names: Sequence[str]) -> str:
    return nearest(word, names) or f" Known: {', '.join(names)}."


def _limits_problems(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key != _PER_MONTH:
            yield f"[limits] {key}: unknown.{_known(key, [_PER_MONTH])}"
        elif isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            yield f"[limits] {key}: {value!r} is no number of US dollars over 0"


def _plan_problems(table: Mapping[str, Any]) -> Iterator[str]:
    yield from _unknown("[plan]", table, ("clouds",))
    clouds = table.get("clouds", [])
    if not isinstance(clouds, list) or not all(isinstance(name, str) and name for name in clouds):
        yield '[plan] clouds: must be a list of names, such as ["aws", "gcp"]'


def _cloud_problems(name: str, table: Mapping[str, Any]) -> Iterator[str]:
    where = f"[{name}]"
    yield from _unknown(where, table, _OF_CLOUD)
    for key in _ACCESS:
        if not isinstance(table.get(key, ""), str):
            yield f"{where} {key}: must be text"
    if table.get("end_role") and (name != "aws" or not str(table["end_role"]).startswith("arn:")):
        yield f"{where} end_role: must be the ARN of a role, under [aws] alone"
    yield from _share(where, table)
    prices = table.get("prices", [])
    if not isinstance(prices, list) or not all(isinstance(entry, dict) for entry in prices):
        yield f"{where} prices: must be tables, each written [[{name}.prices]]"
        return
    for number, entry in enumerate(prices, start=1):
        yield from _price_problems(f"[[{name}.prices]] number {number}", entry)


def _price_problems(where: str, entry: Mapping[str, Any]) -> Iterator[str]:
    yield from _unknown(where, entry, _OF_PRICE)
    for key in ("instance", "region", "note"):
        if not isinstance(entry.get(key, ""), str):
            yield f"{where} {key}: must be text"
    if entry.get("pricing", "on-demand") not in ("on-demand", "spot"):
        yield f"{where} pricing: must be on-demand or spot"
    if sum(name in entry for name in _AMOUNTS) != 1:
        yield f"{where}: needs either a discount, a price_usd_per_hour or a price_usd_per_vcpu_hour"
    yield from _share(where, entry)
    for key in _AMOUNTS[1:]:
        price = entry.get(key, 1.0)
        if isinstance(price, bool) or not isinstance(price, int | float) or not 0 <= price < 1e6:
            yield f"{where} {key}: must be US dollars per hour, 0 for what is paid already"
    nodes = entry.get("nodes", 1)
    if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
        yield f"{where} nodes: must be how many instances the price is for, at least 1"
    if not isinstance(entry.get("until", date.min), date):
        yield f"{where} until: must be a date, written YYYY-MM-DD without quotes"


def _share(where: str, table: Mapping[str, Any]) -> Iterator[str]:
    share = table.get("discount", 0.0)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        yield f"{where} discount: must be a share of the list price, at least 0 and below 1, such as 0.15"


def _unknown(where: str, table: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for key in table:
        if key not in names:
            yield f"{where} {key}: unknown.{_known(key, names)}"
