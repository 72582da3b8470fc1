"""The command line equivalent to a Request."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

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
    settled = any(price.note not in _PRICE_OPTIONS and not price.sheet for price in request.own_prices)
    return command + ("  # with the prices of your settings file" if settled else "")


def rent_commands(plan: Plan) -> str | None:
    """Return the commands that save a plan to a file and rent its best cluster; None if it cannot be rented.

    Only on-demand machines of today's clouds can be rented; a catalog of the past has another name than its cloud.
    """
    best, request = plan.best, plan.request
    if (
        best is None
        or request.paper
        or request.supposed
        or best.pricing != "on-demand"
        or best.cloud not in {*CLOUDS} & {*request.catalogs}
    ):
        return None
    keep = shlex.join(["plan", "--out", "plan.json", *_options_as_given(request)])
    return f"{keep}\n{shlex.join(['planner', 'cluster', 'up', 'plan.json', '--cloud', best.cloud])}"


def arguments_as_given(request: Request) -> dict[str, Any]:
    """Return the arguments of `planner.recommend` that make this request, as texts; defaults are left out, and prices
    and limits of the settings file.
    """
    given: dict[str, Any] = {}
    for argument, value in _given(request):
        before = given.get(argument)
        given[argument] = value if before is None else [*(before if isinstance(before, list) else [before]), value]
    return given


def _options_as_given(request: Request) -> list[str]:
    words = (words_of(argument, "" if value is True else value) for argument, value in _given(request))
    return [word for option in words for word in option]


def _given(request: Request) -> Iterator[tuple[str, Any]]:
    """Yield each argument with its value: True, or a text."""
    for argument, (field, option) in options().items():
        value = getattr(request, field.name)
        is_first_of_two = option is not field.metadata["options"][-1]
        if is_first_of_two or field.name in COLLECTED or (field.name not in _ALWAYS and value == default_of(field)):
            continue
        yield argument, value if value is True else option.form.show(value)
    yield from (("own_price", file) for file in dict.fromkeys(price.sheet for price in request.own_prices) if file)
    for price in request.own_prices:
        if price.note in _PRICE_OPTIONS:
            place = price.cloud if price.cloud != "*" else price.instance
            yield price.note.removeprefix("--").replace("-", "_"), f"{place}={price.amount_text}"
    for limit in request.node_limits:  # those from earlier runs are found again
        if limit.note == _CAPACITY_OPTION:
            yield "capacity", f"{limit.instance}={limit.nodes}"
