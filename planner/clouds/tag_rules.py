"""What each cloud takes as a tag, which Google calls a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from planner.clouds.calls.facts import facts_of
from planner.errors import BadInputError

_OWN: Final = 6
"""Tags that the planner puts on a machine, with its name."""


@dataclass(frozen=True, kw_only=True)
class TagRules:
    """Forms of keys and values, most tags of a resource, and what keys may not be or begin with, in any case.

    `words` say the forms; `folds_case` where keys that differ by case alone are one.
    """

    key: str
    value: str
    words: str
    most: int
    reserved: Sequence[str] = ()
    beginnings: Sequence[str] = ()
    folds_case: bool = False


def require_tags(tags: Sequence[tuple[str, str]], *, cloud: str) -> None:
    """Raise BadInputError for tags that a cloud does not take, or that are the planner's own."""
    rules = TagRules(**facts_of(cloud)["tag_rules"])
    for key, value in tags:
        _require_tag(key, value, rules, cloud=cloud)
    if len(tags) > rules.most - _OWN:
        raise BadInputError(
            f"`tag`: {len(tags)} of them; {cloud} takes {rules.most} on a resource, and {_OWN} are the planner's",
            field="tag",
            code="too-many",
        )
    if rules.folds_case and (twice := _repeated(key.lower() for key, _ in tags)):
        raise BadInputError(
            f"`tag={twice}`: {cloud} has one tag of that name in any case", field="tag", code="repeated"
        )


def _require_tag(key: str, value: str, rules: TagRules, *, cloud: str) -> None:
    tag = f"{key}={value}"
    if not re.fullmatch(rules.key, key) or not re.fullmatch(rules.value, value):
        raise BadInputError(
            f"`tag={tag}`: write key=value as {cloud} takes it", [rules.words], field="tag", code="malformed"
        )
    folded = key.lower()
    if folded in rules.reserved or folded.startswith(tuple(rules.beginnings)):
        theirs = "the planner's own" if folded.startswith("planner-") or folded in rules.reserved else f"{cloud}'s own"
        raise BadInputError(f"`tag={tag}`: such keys are {theirs}; choose another", field="tag", code="reserved")


def _repeated(keys: Iterable[str]) -> str:
    seen: set[str] = set()
    return next((key for key in keys if key in seen or seen.add(key)), "")  # type: ignore[func-returns-value]
