"""What a cloud's error codes mean: rules in `planner/clouds/codes/CLOUD.toml`, each with its source.

A rule fits if one of its `codes` is the code, the pattern `code` is found in it, or the HTTP status is one of its
`statuses`; a rule without these fits every code. The pattern `message` must be found in the message as well, if given.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

Meaning = Literal[
    "throttled", "passing", "capacity", "not here", "closed region", "quota", "permission", "policy",
    "ended credentials", "wrong credentials", "busy", "gone", "there", "finding",
]  # fmt: skip
"""Throttled calls did nothing. A closed region leaves others; `there` is what a call would create. A finding is shown
as it came, and its call is not repeated.
"""
REFUSED: Final[frozenset[Meaning]] = frozenset(
    ["permission", "policy", "closed region", "ended credentials", "wrong credentials"]
)
"""Meanings for which a reading call is refused as well."""
_FOLDER: Final = Path(__file__).parents[1] / "codes"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A meaning, the codes that have it, and a hint for the user."""

    meaning: Meaning
    source: str = ""
    codes: frozenset[str] = frozenset()
    code: re.Pattern[str] | None = None
    message: re.Pattern[str] | None = None
    statuses: frozenset[int] = frozenset()
    hint: str = ""

    def fits(self, code: str, message: str, status: int) -> bool:
        """Return whether an answer has this meaning."""
        if self.message and not self.message.search(message):
            return False
        by_code = code in self.codes or bool(self.code and self.code.search(code)) or status in self.statuses
        return by_code or not (self.codes or self.code or self.statuses)


_FINDING: Final = Rule(meaning="finding")


def rule_of(cloud: str, code: str, message: str, *, status: int = 0) -> Rule:
    """Return the first rule that fits an answer; one of the meaning `finding` where none does."""
    return next((rule for rule in rules_of(cloud) if rule.fits(code, message, status)), _FINDING)


@cache
def rules_of(cloud: str) -> tuple[Rule, ...]:
    """Return the rules of a cloud in order. Raises ValueError for a rule without a known meaning or source."""
    document = tomllib.loads((_FOLDER / f"{cloud}.toml").read_text(encoding="utf-8"))
    return tuple(_rule(values, document["sources"]) for values in document["rules"])


def _rule(values: dict[str, Any], sources: dict[str, str]) -> Rule:
    if values["meaning"] not in get_args(Meaning) or values["source"] not in sources:
        raise ValueError(values)
    read: dict[str, Any] = {name: frozenset(values[name]) for name in ("codes", "statuses") if name in values}
    read |= {name: re.compile(values[name]) for name in ("code", "message") if name in values}
    return Rule(**{**values, **read})
