"""Direction of a metric, by the words and units in its name; a name without any leads to a question, not a guess.

`mb_s`, `iops` and `net_MBps` are rates: higher is better. `rtt`, `clat_ns_p99` and `boot_s` are times and `errors` a
count: lower is better. `vcpu` and `mem_gib` describe a node and measure nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal

from planner.errors import BadInputError, nearest

Direction = Literal["higher", "lower"]
_WAYS: Final[Mapping[str, Direction]] = {"higher": "higher", "lower": "lower"}

_WORD: Final = re.compile(r"[A-Za-z]+\d*|\d+[A-Za-z]*")
_LOSS: Final = re.compile(
    r"(error|failure|retransmit|retransmission|drop|stall|wait|timeout|overrun|reset|restart|collision|fault|hop)s?|"
    r"fail|failed|miss|misses|retry|retries|retr|retrans|rexmit|resent|dropped|loss|lost|steal|throttled|crash|crashes|"
    r"latency|latencies|[cs]?lat|delay|rtt|ping|jitter|await|iowait|ttfb|overhead|slow|reallocated|"
    r"std|stdev|stddev|[sm]?dev|cv|variance|[mun]?s(ecs?|econds?)? per [a-z]+"
)
"""Faults, waits, and scatter of figures, also of a rate; times per unit of something."""
_BYTES: Final = r"[kmgt]?i?(b|bits?|bytes?)"
_RATE: Final = re.compile(
    rf"([cefipqrt]|i?o|{_BYTES})ps|ops|[kmgt]i?bits?|[gmt]?flops|m?ips|throughput|goodput|bandwidth|bw|rate|speed|score|"
    rf"({_BYTES}|(op|operation|request|record|row|file|block|message|read|write)s|req) "
    r"(s|sec|second)|[a-z]+ per (s|sec|second)"
)
_TIME: Final = re.compile(r"[mun]?s|[mun]?secs?|seconds?|time|duration|elapsed|runtime|p\d\d+|\d+th")
_SMALL_TIME: Final = re.compile(r"[mun]s|[mun]secs?")
"""Units of time with which no rate ends, unlike `s` in `mb_s`."""
_DEVICE: Final = re.compile(r"read|write|net|network")
"""A column with only this name has the rates of that device."""
_CONTEXT: Final = re.compile(
    r"(v?cpu|core|disk|thread|socket|node|run)s?|numa|mem|memory|ram|zone|region|az|type|instance|host|hostname|ip|"
    r"address|id|rack|arch|os|kernel|date|day|timestamp|uptime|model|family|provider|cloud|ami|numjobs|iodepth|depth|"
    r"qd|bs|iteration|repeat|trial|attempt|index|port|pid|mtu|price|cost|size|comment|note|status"
)
_BESIDE: Final = re.compile(
    r"[kmgt]i?b|bytes|total|count|number|no|name|version|private|public|local|per|of|usd|position|block|queue|s|\d+"
)
"""Words that go with these: `mem_gib`, `host_name`."""
_NO_MEASURE: Final = re.compile(r"uptime|timestamp")


def good_direction(metric: str) -> Direction | None:
    """Return the better direction of a metric; None if its name has no clue."""
    if _matches(_NO_MEASURE, metric):
        return None
    words = _words(metric)
    if _matches(_LOSS, metric) or (words and _SMALL_TIME.fullmatch(words[-1])):
        return "lower"
    if _matches(_RATE, metric):
        return "higher"
    if _matches(_TIME, metric):
        return "lower"
    return "higher" if _matches(_DEVICE, metric) else None


def is_context(metric: str) -> bool:
    """Return whether a column describes a node or its place, so that nodes are not compared by it. `core_temp` does
    more than that.
    """
    words = _words(metric)
    known = all(_CONTEXT.fullmatch(word) or _BESIDE.fullmatch(word) for word in words)
    return good_direction(metric) is None and known and _matches(_CONTEXT, metric)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _matches(meaning: re.Pattern[str], metric: str) -> bool:
    """Return whether up to three consecutive words of a name match a meaning."""
    words = [word.lower() for word in _WORD.findall(metric)]
    spans = (" ".join(words[at : at + length]) for at in range(len(words)) for length in (1, 2, 3))
    return any(meaning.fullmatch(span) for span in spans)


def parse_better(texts: Iterable[str], metrics: Iterable[str]) -> dict[str, Direction]:
    """Return the better direction of each metric: as given (`higher`, `lower`, or `METRIC=lower`), else by its name.

    Raises BadInputError for any other text, for an unknown metric, and for a metric without a direction.
    """
    names = list(metrics)
    reported: dict[str, Direction] = {}
    rest: Direction | None = None
    for text in texts:
        metric, _, word = text.rpartition("=")
        if (way := _WAYS.get(word)) is None:
            raise BadInputError(
                f"--better {text!r}: write higher, lower, METRIC=higher or METRIC=lower", code="malformed"
            )
        if metric and metric not in names:
            raise BadInputError(
                f"--better {text}: {metric} is not among {', '.join(names)}.{nearest(metric, names)}",
                code="unknown-word",
            )
        if metric:
            reported[metric] = way
        else:
            rest = way
    better: Mapping[str, Direction | None] = {
        name: reported.get(name) or good_direction(name) or rest for name in names
    }
    if open_names := [name for name, way in better.items() if way is None]:
        raise BadInputError(
            f"{open_names[0]}: is more of it better, or less? Say --better higher or --better lower",
            [f"--better {name}=higher, or --better {name}=lower" for name in open_names] if len(open_names) > 1 else [],
            code="direction-unknown",
        )
    return {name: way for name, way in better.items() if way is not None}
