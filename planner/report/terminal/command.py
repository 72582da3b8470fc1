"""The command line that asks what a Request asks."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from planner.clouds.registry import CLOUDS
from planner.schemas.arguments import COLLECTED, option_of
from planner.schemas.plan import Plan, Request
from planner.schemas.request import default_of, options

_PRICE_OPTIONS: Final = ("--discount", "--own-price")
_CAPACITY_OPTION: Final = "--capacity"

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


def _asked(request: Request) -> list[str]:
    return [*_words(request), *_own_prices(request), *_capacity(request)]


def _words(request: Request) -> Iterator[str]:
    for argument, (field, option) in options().items():
        value = getattr(request, field.name)
        is_first_of_two = option is not field.metadata["options"][-1]
        if is_first_of_two or field.name in COLLECTED or (field.name not in _ALWAYS and value == default_of(field)):
            continue
        yield option_of(argument)
        if value is not True:
            yield option.form.show(value)


def _own_prices(request: Request) -> Iterator[str]:
    for price in request.own_prices:
        if price.note in _PRICE_OPTIONS:
            place = price.cloud if price.cloud != "*" else price.instance
            yield from (price.note, f"{place}={price.amount_text}")


def _capacity(request: Request) -> Iterator[str]:
    """Only what was asked; what earlier runs saw is found again."""
    for limit in request.node_limits:
        if limit.note == _CAPACITY_OPTION:
            yield from (limit.note, f"{limit.instance}={limit.nodes}")
