"""Direction of a metric, by the words and units in its name; a name without any is asked about, never guessed.

`mb_s`, `iops` and `net_MBps` are rates, of which more is better; `rtt`, `clat_ns_p99` and `boot_s` are times and
`errors` a count, of which less is. `vcpu` and `mem_gib` say what a node is, and measure nothing.
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
"""Faults, waits, and how figures scatter, also those of a rate; times for each of something."""
_BYTES: Final = r"[kmgt]?i?(b|bits?|bytes?)"
_RATE: Final = re.compile(
    rf"([cefipqrt]|i?o|{_BYTES})ps|ops|[kmgt]i?bits?|[gmt]?flops|m?ips|throughput|goodput|bandwidth|bw|rate|speed|score|"
    rf"({_BYTES}|(op|operation|request|record|row|file|block|message|read|write)s|req) "
    r"(s|sec|second)|[a-z]+ per (s|sec|second)"
)
_TIME: Final = re.compile(r"[mun]?s|[mun]?secs?|seconds?|time|duration|elapsed|runtime|p\d\d+|\d+th")
_SMALL_TIME: Final = re.compile(r"[mun]s|[mun]secs?")
"""Units that no rate ends with, as `mb_s` ends with that of time."""
_DEVICE: Final = re.compile(r"read|write|net|network")
"""A column of this name alone has the rates of that."""
_CONTEXT: Final = re.compile(
    r"(v?cpu|core|disk|thread|socket|node|run)s?|numa|mem|memory|ram|zone|region|az|type|instance|host|hostname|ip|"
    r"address|id|rack|arch|os|kernel|date|day|timestamp|uptime|model|family|provider|cloud|ami|numjobs|iodepth|depth|"
    r"qd|bs|iteration|repeat|trial|attempt|index|port|pid|mtu|price|cost|size|comment|note|status"
)
_BESIDE: Final = re.compile(
    r"[kmgt]i?b|bytes|total|count|number|no|name|version|private|public|local|per|of|usd|position|block|queue|s|\d+"
)
"""Words that stand beside these: `mem_gib`, `host_name`."""
_NO_MEASURE: Final = re.compile(r"uptime|timestamp")


def good_direction(metric: str) -> Direction | None:
    """Return which way a metric is better; None where its name does not say."""
    if _says(_NO_MEASURE, metric):
        return None
    words = _words(metric)
    if _says(_LOSS, metric) or (words and _SMALL_TIME.fullmatch(words[-1])):
        return "lower"
    if _says(_RATE, metric):
        return "higher"
    if _says(_TIME, metric):
        return "lower"
    return "higher" if _says(_DEVICE, metric) else None


def is_context(metric: str) -> bool:
    """Whether a column says what a node is or where it stands, so that nodes are not compared by it. `core_temp` says
    more than that.
    """
    words = _words(metric)
    known = all(_CONTEXT.fullmatch(word) or _BESIDE.fullmatch(word) for word in words)
    return good_direction(metric) is None and known and _says(_CONTEXT, metric)


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _says(meaning: re.Pattern[str], metric: str) -> bool:
    """Whether up to three words in a row of a name are of a meaning."""
    words = [word.lower() for word in _WORD.findall(metric)]
    spans = (" ".join(words[at : at + length]) for at in range(len(words)) for length in (1, 2, 3))
    return any(meaning.fullmatch(span) for span in spans)


def parse_better(texts: Iterable[str], metrics: Iterable[str]) -> dict[str, Direction]:
    """Return which way each of the metrics is better: as told (`higher`, `lower`, or `METRIC=lower`), else by its name.

    Raises BadInputError for another text, a metric that is not there, and one of which nothing says it.
    """
    names = list(metrics)
    told: dict[str, Direction] = {}
    rest: Direction | None = None
    for text in texts:
        metric, _, word = text.rpartition("=")
        if (way := _WAYS.get(word)) is None:
            raise BadInputError(f"--better {text!r}: write higher, lower, METRIC=higher or METRIC=lower")
        if metric and metric not in names:
            raise BadInputError(f"--better {text}: {metric} is not among {', '.join(names)}.{nearest(metric, names)}")
        if metric:
            told[metric] = way
        else:
            rest = way
    better: Mapping[str, Direction | None] = {name: told.get(name) or good_direction(name) or rest for name in names}
    if open_names := [name for name, way in better.items() if way is None]:
        raise BadInputError(
            f"{open_names[0]}: is more of it better, or less? Say --better higher or --better lower",
            [f"--better {name}=higher, or --better {name}=lower" for name in open_names] if len(open_names) > 1 else [],
        )
    return {name: way for name, way in better.items() if way is not None}
