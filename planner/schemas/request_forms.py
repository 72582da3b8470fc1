"""Forms of a request's values: how people write a size, a rate or a price in Python and on the command line, and how it
is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Final, Literal, get_args

from planner.errors import BadInputError, nearest
from planner.schemas.door import Between, Count, Offset, Usd, checked
from planner.units import (
    format_exact_size,
    parse_count,
    parse_duration,
    parse_number,
    parse_rate,
    parse_share,
    parse_size,
)

CLOUDS: Final[tuple[str, ...]] = ("aws", "gcp", "azure", "oci")
"""Clouds with a shipped catalog."""
OWN: Final = "local"
"""The cloud of machines that people own."""


Objective = Literal["balanced", "cost", "time", "energy"]
Rule = Objective | Literal["papers"]
"""Rules that rank clusters: the papers' is the default objective without its value of hours and minutes."""

NetworkView = Literal["unlimited", "ideal", "expected"]
"""The three networks of SoCC 2015, Figure 9: never the bottleneck, scaling ideally, or as expected at scale."""


PER_VCPU: Final = "/vcpu"
"""Suffix of a price per vCPU."""


@checked
@dataclass(frozen=True, kw_only=True)
class OwnPrice:
    """A price of the user's own: a `discount` (a share of the list price), or `price_usd_per_hour` for a negotiated
    price or a reservation, which holds for `nodes` instances (None: for any number; others cost the list price).

    `price_usd_per_vcpu_hour` is a negotiated price that grows with the size. `instance` and `region` are patterns;
    `note` states its source.
    """

    cloud: str = "*"
    instance: str = "*"
    region: str = "*"
    pricing: str = "on-demand"
    discount: Annotated[float, Between(0, 1, below=True)] | None = None
    price_usd_per_hour: Usd | None = None
    price_usd_per_vcpu_hour: Usd | None = None
    nodes: Count | None = None
    note: str = ""

    def negotiated_usd_per_hour(self, vcpu: float) -> float | None:
        """Return the price of a type with this number of vCPUs; None for a discount, NaN where the vCPUs are unknown
        and count.
        """
        if self.price_usd_per_vcpu_hour is not None:
            return self.price_usd_per_vcpu_hour * vcpu
        return self.price_usd_per_hour

    @property
    def sheet(self) -> str:
        """The file that `--own-price FILE` read it from, '' for none."""
        _, _, given = self.note.partition("--own-price ")
        return given.partition(", columns ")[0]

    @property
    def amount_text(self) -> str:
        """The amount as options take it: `0.15`, `0.95` or `0.08/vcpu`."""
        if self.price_usd_per_vcpu_hour is not None:
            return f"{number_text(self.price_usd_per_vcpu_hour)}{PER_VCPU}"
        return number_text(self.price_usd_per_hour if self.discount is None else self.discount)


@checked
@dataclass(frozen=True, kw_only=True)
class NodeLimit:
    """An upper limit of `nodes` instances of a type, spares included: the most that a cloud was seen to have, or that
    one placement group takes. `instance` and `region` are patterns; `note` states its source.
    """

    nodes: Offset
    cloud: str = "*"
    instance: str = "*"
    region: str = "*"
    note: str = ""


def is_plain(assumed: str) -> bool:
    """Return whether `--assume` takes a plain number under this name: dollars or watts; the rest are rates."""
    return assumed == "price" or assumed.partition(":")[0] == "power"


def in_seconds(duration: str | float) -> float:
    """Return the seconds of a text with a unit, or of a number of seconds. Raises BadInputError for anything else."""
    return parse_duration(duration if isinstance(duration, str) else f"{duration}s")


def in_rate(rate: str | float) -> float:
    """Return the bytes/s of a text with a unit, or of a number. Raises BadInputError for anything else."""
    return parse_rate(rate if isinstance(rate, str) else f"{rate}B/s")


def in_bytes(data: str | float) -> int:
    """Return the bytes of a text with a unit, or of a number. Raises BadInputError for anything else."""
    return parse_size(data if isinstance(data, str) else f"{data}B")


def in_share(share: str | float) -> float:
    """Return the share given as `95%`, `0.95` or a number. Raises BadInputError for anything else."""
    return parse_share(share) if isinstance(share, str) else float(share)


def names(values: list[str] | None) -> list[str]:
    """Return the values of an option that may be repeated, comma-separated, or both."""
    return [name.strip() for value in values or [] for name in value.split(",") if name.strip()]


def clouds(values: Sequence[str]) -> tuple[str, ...]:
    """Return the requested catalogs, with `all` for those of today's clouds; a shipped name may be in capitals."""
    words = [word if "/" in word else word.casefold() for word in values]
    return tuple(dict.fromkeys(name for word in words for name in (CLOUDS if word == "all" else (word,))))


def name_list(amount: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of a text with commas, or of several texts."""
    return tuple(names([amount] if isinstance(amount, str) else list(amount or ())))


def _pricing(amount: str | Sequence[str]) -> str:
    """Return the ways to pay to compare, comma-separated, each once."""
    return ",".join(dict.fromkeys(name_list(amount)))


def pairs(option: str, amount: Mapping[str, Any] | str | Sequence[str] | None, *, example: str) -> dict[str, Any]:
    """Return `{"network": "1.5"}` for a mapping, or for texts such as `network=1.5`."""
    if isinstance(amount, Mapping):
        return dict(amount)
    by_name: dict[str, Any] = {}
    for item in name_list(amount):
        name, equals, value = item.partition("=")
        if not equals:
            raise BadInputError(f"{option} {item}: write it as {example}", code="malformed")
        if name in by_name:
            raise BadInputError(f"{option} {name} is given twice", code="repeated")
        by_name[name] = value
    return by_name


def _texts(amount: Any) -> list[str]:
    """Return the command line's texts: `TYPE=AMOUNT` for each item of a mapping."""
    if isinstance(amount, Mapping):
        return [f"{name}={value}" for name, value in amount.items()]
    return list(name_list(str(amount) if isinstance(amount, float | int) else amount))


def _assumed_rates(amount: Any) -> dict[str, float]:
    by_name = pairs("--assume", amount, example="NAME=RATE, for example network=800MB/s")
    return {name: (_plain_number if is_plain(name) else _assumed_rate)(name, value) for name, value in by_name.items()}


def _assumed_rate(name: str, amount: str | float) -> float:
    try:
        return in_rate(amount)
    except BadInputError as error:
        hints = []
        if re.search(r"\.[a-z]+$", str(amount)):
            hints = ["`planner ingest FILE` takes rates measured in a file, and plans then use them"]
        elif re.search(r"\d\s*[%x]$", str(amount)):
            hints = [f"--what-if {name}={amount} multiplies it"]
        raise BadInputError(f"--assume {name}={amount}: {error.message}", hints, code=error.code) from None


def _plain_number(name: str, amount: str | float) -> float:
    try:
        value = float(str(amount).removeprefix("$"))
    except ValueError:
        unit = "US dollars per node-hour, or of watts"
        raise BadInputError(f"--assume {name}={amount}: not a number of {unit}", code="not-a-number") from None
    if not 1e-4 <= value < 1e6:
        raise BadInputError(
            f"--assume {name}={amount}: must be positive, from 0.0001 to below a million", code="out-of-range"
        )
    return value


_CHANGE: Final = re.compile(r"([+-]\d+(?:\.\d+)?)\s*%")


def _factors(amount: Any) -> dict[str, float]:
    by_name = pairs("--what-if", amount, example="NAME=FACTOR, for example network=1.5")
    return {name: factor(name, value) for name, value in by_name.items()}


def is_factor(amount: Any) -> bool:
    """Return whether an amount can only be a factor: a number, `2x` or `200%`."""
    return not isinstance(amount, str) or amount.strip().endswith(("x", "%"))


def factor(name: str, amount: str | float) -> float:
    """Return a factor: `2`, `2x`, `200%`; with a sign a percentage is a change, so `+50%` is 1.5 and `-20%` is 0.8."""
    if isinstance(amount, str) and (change := _CHANGE.fullmatch(amount.strip())):
        return 1 + float(change[1]) / 100
    try:
        return in_share(re.sub(r"(?<=\d)\s*x$", "", amount.strip()) if isinstance(amount, str) else amount)
    except BadInputError:
        raise BadInputError(
            f"--what-if {name}={amount}: write it as {name}=2, 2x or 200%; +20% adds", code="malformed"
        ) from None


def _count(amount: str | float, option: str, *, most: int = 100_000) -> int:
    count = parse_count(str(amount))
    if not 1 <= count <= most:
        raise BadInputError(f"{option} {amount}: must lie between 1 and {most}", code="out-of-range")
    return count


def _usd(amount: str | float) -> float:
    if period := re.search(r"(?:/ ?|(?:per|a|an) )(hour|day|night|week|month|quarter|year)$", str(amount)):
        hints = ["a nightly job runs about 30 times a month: 3000/month is 100"]
        raise BadInputError(
            f"--budget {amount}: the budget is of one run, not per {period[1]}", hints, code="malformed"
        )
    try:
        usd = parse_number(re.sub(r"\s*(USD|\$)$", "", str(amount), flags=re.IGNORECASE).removeprefix("$"))
    except BadInputError as error:
        raise error.reworded(f"--budget: {error.message}") from None
    if not 0 < usd < 1e12:
        raise BadInputError(f"--budget {amount}: must be a positive amount of US dollars", code="out-of-range")
    return usd


def _objective(word: str) -> str:
    objectives = get_args(Objective)
    if word not in objectives:
        raise BadInputError(
            f"--objective {word}: use one of {', '.join(objectives)}.{nearest(word, objectives)}", code="unknown-word"
        )
    return word


def discounts(values: list[str] | None) -> list[OwnPrice]:
    """Read `15%` (of everything), `aws=15%` (of a cloud) and `i4i.*=15%` (of types), the narrower before the wider.

    Raises BadInputError for an invalid share of a price.
    """
    prices = [_discount(item) for item in names(values)]
    return sorted(prices, key=lambda own: (own.instance == "*", own.cloud == "*"))


def own_prices(values: list[str] | None) -> list[OwnPrice]:
    """Read `i4i.4xlarge=0.95`, US dollars per hour of a type, or `i4i.*=0.08/vcpu`, per hour of each of its vCPUs.
    Raises BadInputError for an invalid price.
    """
    return [_own_price(item) for item in names(values)]


def capacities(values: list[str] | None) -> list[NodeLimit]:
    """Read `i4i.*=40`: at most 40 instances of a type. Raises BadInputError for an invalid number of nodes."""
    return [_capacity(item) for item in names(values)]


def _capacity(item: str) -> NodeLimit:
    instance, _, amount = item.rpartition("=")
    try:
        count = parse_count(amount)
    except BadInputError:
        count = 0
    if not instance or count < 1:
        raise BadInputError(f"--capacity {item}: write it as TYPE=NODES, such as 'i4i.*=40'", code="malformed")
    return NodeLimit(instance=instance, nodes=count, note="--capacity")


def _discount(item: str) -> OwnPrice:
    name, _, amount = item.rpartition("=")
    try:
        share = parse_share(amount)
    except BadInputError:
        share = -1.0
    if not 0 <= share < 1:
        raise BadInputError(
            f"--discount {item}: write it as 15%, aws=15% or 'i4i.*=15%'; at least 0% and below 100%", code="malformed"
        )
    if name in CLOUDS:
        return OwnPrice(cloud=name, discount=share, note="--discount")
    return OwnPrice(instance=name or "*", discount=share, note="--discount")


def _own_price(item: str) -> OwnPrice:
    name, _, amount = item.rpartition("=")
    usd, is_per_vcpu = amount.removesuffix(PER_VCPU).removeprefix("$"), amount.endswith(PER_VCPU)
    try:
        price = float(usd)
    except ValueError:
        price = -1.0
    if not name or not 0 <= price < 1e6:
        advice = "write it as TYPE=USD, such as i4i.4xlarge=0.95, or for each vCPU as 'i4i.*=0.08/vcpu'"
        raise BadInputError(f"--own-price {item}: {advice}", code="malformed")
    if is_per_vcpu:
        return OwnPrice(instance=name, price_usd_per_vcpu_hour=price, note="--own-price")
    return OwnPrice(instance=name, price_usd_per_hour=price, note="--own-price")


def number_text(value: Any) -> str:
    """Return a number with all significant digits, whole ones without a point; a text unchanged."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _amounts_text(amounts: Mapping[str, float]) -> str:
    return ",".join(f"{name}={number_text(amount)}" for name, amount in amounts.items())


def _rates_text(rates: Mapping[str, float]) -> str:
    return ",".join(f"{name}={number_text(rate)}{'' if is_plain(name) else 'B/s'}" for name, rate in rates.items())


@dataclass(frozen=True)
class Form:
    """A kind of values: its type in Python and as an option, how `read` converts input (with the option for errors),
    and how it is printed in a command.
    """

    in_python: str
    option_type: Any = str
    read: Callable[[Any, str], Any] = lambda amount, _: amount
    show: Callable[[Any], str] = number_text


def _form(in_python: str, option_type: Any, read: Callable[[Any], Any], show: Callable[[Any], str]) -> Form:
    return Form(in_python, option_type, lambda amount, _: read(amount), show)


def _amount(in_python: str, read: Callable[[Any], Any], show: Callable[[Any], str]) -> Form:
    """Return the form of an amount that several options take, so that errors name the option."""

    def read_of(amount: Any, option: str) -> Any:
        try:
            return read(amount)
        except BadInputError as error:
            raise error.reworded(f"{option}: {error.message}") from None

    return Form(in_python, str, read_of, show)


_NAMES: Final = "str | Sequence[str] | None"

TEXT: Final = Form("str", str)
FLAG: Final = Form("bool", bool)
NETWORK: Final = Form("NetworkView", str)
COUNT: Final = Form("str | int", int, _count)
FILES: Final = Form("str | int", int, partial(_count, most=10**10))
VCPUS: Final = Form("str | int", int, partial(_count, most=10**9))
SIZE: Final = _amount("str | float", in_bytes, format_exact_size)
SECONDS: Final = _amount("str | float", in_seconds, lambda seconds: f"{number_text(seconds)}s")
RATE: Final = _amount("str | float", in_rate, lambda rate: f"{number_text(rate)}B/s")
SHARE: Final = _amount("str | float", in_share, number_text)
NUMBER: Final = replace(_amount("str | float", in_share, number_text), option_type=float)
USD: Final = _form("str | float", str, _usd, number_text)
OBJECTIVE: Final = _form("Objective", str, _objective, str)
PRICING: Final = _form(_NAMES, str, _pricing, str)
NAMES: Final = _form(_NAMES, list[str], name_list, ",".join)
CATALOGS: Final = _form(_NAMES, list[str], lambda amount: clouds(name_list(amount)), ",".join)
RATES: Final = _form("Mapping[str, str | float] | str | Sequence[str] | None", list[str], _assumed_rates, _rates_text)
FACTORS: Final = _form("Mapping[str, float] | str | Sequence[str]", list[str], _factors, _amounts_text)
DISCOUNTS: Final = _form(
    "Mapping[str, str | float] | str | Sequence[str] | float", list[str], lambda amount: discounts(_texts(amount)), str
)
OWN_PRICES: Final = _form(
    "Mapping[str, float | str] | str | Sequence[str]", list[str], lambda amount: own_prices(_texts(amount)), str
)
CAPACITIES: Final = _form(
    "Mapping[str, int] | str | Sequence[str]", list[str], lambda amount: capacities(_texts(amount)), str
)
