"""The command line that asks what a Request asks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from planner.clouds.registry import CLOUDS
from planner.schemas.asked import is_plain
from planner.schemas.plan import Plan, Request

_OPTIONS: Final = {
    "data_bytes": "--data",
    "catalogs": "--catalog",
    "regions": "--region",
    "instances": "--instance",
    "deadline_s": "--deadline",
    "sort_deadline_s": "--sort-deadline",
    "budget_usd": "--budget",
    "scale": "--what-if",
    "interruptions_per_node_hour": "--interruptions",
    "compute_bytes_per_s_per_vcpu": "--compute",
}
"""Options whose names are not their fields' names."""

_PRICE_OPTIONS: Final = ("--discount", "--own-price")
_CAPACITY_OPTION: Final = "--capacity"

_UNITS: Final = {"data_bytes": "B", "deadline_s": "s", "sort_deadline_s": "s", "compute_bytes_per_s_per_vcpu": "B/s"}
_ALWAYS: Final = ("data_bytes", "model", "catalogs")
"""What is said even when it is as by default: the catalogs could be others by the settings."""


def plan_command(request: Request) -> str:
    """Return the `plan` command that gives this request, quoted for a shell; what is as by default is left out.

    Prices that come from the settings file have no option; a comment says so.
    """
    command = shlex.join(["plan", *_asked(request)])
    settled = any(price.note not in _PRICE_OPTIONS for price in request.own_prices)
    return command + ("  # with the prices of your settings file" if settled else "")


def rent_commands(plan: Plan) -> str | None:
    """Return the commands that keep a plan in a file and rent its best cluster; None where none can be rented.

    Rented are on-demand machines of the clouds of today; a catalog of the past bears another name than its cloud.
    """
    best, request = plan.best, plan.request
    if (
        best is None
        or request.paper
        or best.pricing != "on-demand"
        or best.cloud not in {*CLOUDS} & {*request.catalogs}
    ):
        return None
    keep = shlex.join(["plan", "--out", "plan.json", *_asked(request)])
    return f"{keep}\n{shlex.join(['planner', 'cluster', 'up', 'plan.json', '--cloud', best.cloud])}"


def run_command(request: Request) -> str:
    """Return the `planner run` command that sorts as much under the same model on the machine in front of you."""
    return shlex.join(["planner", "run", "--data", _size(request.data_bytes), "--model", request.model])


def _asked(request: Request) -> list[str]:
    return [*_words(request), *_own_prices(request), *_capacity(request)]


def _words(request: Request) -> Iterator[str]:
    for field in fields(Request):
        value = getattr(request, field.name)
        if field.name in ("own_prices", "node_limits") or (field.name not in _ALWAYS and value == _default(field)):
            continue
        yield _OPTIONS.get(field.name, "--" + field.name.replace("_", "-"))
        if value is not True:
            yield _text(field.name, value)


def _own_prices(request: Request) -> Iterator[str]:
    for price in request.own_prices:
        if price.note in _PRICE_OPTIONS:
            place = price.cloud if price.cloud != "*" else price.instance
            amount = price.price_usd_per_hour if price.discount is None else price.discount
            yield from (price.note, f"{place}={_number(amount)}")


def _capacity(request: Request) -> Iterator[str]:
    """Only what was asked; what earlier runs saw is found again."""
    for limit in request.node_limits:
        if limit.note == _CAPACITY_OPTION:
            yield from (limit.note, f"{limit.instance}={limit.nodes}")


def _default(field: Any) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def _text(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}={_amount(name, key, amount)}" for key, amount in value.items())
    if isinstance(value, tuple):
        return ",".join(value)
    if name == "data_bytes":
        return _size(value)
    return f"{_number(value)}{_UNITS.get(name, '')}"


def _amount(name: str, key: str, amount: float) -> str:
    return _number(amount) + ("B/s" if name == "assume" and not is_plain(key) else "")


def _size(size: int) -> str:
    """Return bytes exactly, in the largest decimal unit of which they are a whole number."""
    for factor, unit in ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size % factor == 0:
            return f"{size // factor}{unit}"
    return f"{size}B"


def _number(value: Any) -> str:
    """Return a number with every digit that counts, whole ones without a point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
