"""The command line equivalent to a Request."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from planner.clouds.registry import CLOUDS
from planner.schemas.arguments import COLLECTED, words_of
from planner.schemas.plan import Plan, Request
from planner.schemas.request import default_of, options

_PRICE_OPTIONS: Final = ("--discount", "--own-price")
_CAPACITY_OPTION: Final = "--capacity"

_ALWAYS: Final = ("data_bytes", "model", "catalogs")
"""Fields written even at their defaults, as settings could change the catalogs."""


def plan_command(request: Request) -> str:
    """Return the `plan` command equivalent to this request, quoted for a shell; defaults are left out.

    Prices from the settings file have no option; a comment mentions them.
    """
    command = shlex.join(["plan", *_options_as_given(request)])
    settled = any(price.note not in _PRICE_OPTIONS for price in request.own_prices)
    return command + ("  # with the prices of your settings file" if settled else "")


def rent_commands(plan: Plan) -> str | None:
    """Return the commands that save a plan to a file and rent its best cluster; None if it cannot be rented.

    Only on-demand machines of today's clouds can be rented; a catalog of the past has another name than its cloud.
    """
    best, request = plan.best, plan.request
    if (
        best is None
        or request.paper
        or best.pricing != "on-demand"
        or best.cloud not in {*CLOUDS} & {*request.catalogs}
    ):
        return None
    keep = shlex.join(["plan", "--out", "plan.json", *_options_as_given(request)])
    return f"{keep}\n{shlex.join(['planner', 'cluster', 'up', 'plan.json', '--cloud', best.cloud])}"


def _options_as_given(request: Request) -> list[str]:
    return [*_words(request), *_own_prices(request), *_capacity(request)]


def _words(request: Request) -> Iterator[str]:
    for argument, (field, option) in options().items():
        value = getattr(request, field.name)
        is_first_of_two = option is not field.metadata["options"][-1]
        if is_first_of_two or field.name in COLLECTED or (field.name not in _ALWAYS and value == default_of(field)):
            continue
        yield from words_of(argument, "" if value is True else option.form.show(value))


def _own_prices(request: Request) -> Iterator[str]:
    for price in request.own_prices:
        if price.note in _PRICE_OPTIONS:
            place = price.cloud if price.cloud != "*" else price.instance
            yield from (price.note, f"{place}={price.amount_text}")


def _capacity(request: Request) -> Iterator[str]:
    """Yield only requested limits; those from earlier runs are found again."""
    for limit in request.node_limits:
        if limit.note == _CAPACITY_OPTION:
            yield from words_of("capacity", f"{limit.instance}={limit.nodes}")
