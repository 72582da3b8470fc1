"""What each cloud takes as a tag, which Google calls a label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

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
    reserved: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    folds_case: bool = False


RULES: Final = {
    # EC2 User Guide, "Tag your Amazon EC2 resources": restrictions
    "aws": TagRules(
        key=r"[\w .:/=+@-]{1,128}",
        value=r"[\w .:/=+@-]{0,256}",
        words="letters, digits, blanks and . : / = + @ _ -, at most 128 in a key and 256 in a value",
        most=50,
        reserved=("name",),
        beginnings=("aws:", "planner-"),
    ),
    # Google Cloud, "Labels overview": requirements
    "gcp": TagRules(
        key="[a-z][a-z0-9_-]{0,62}",
        value="[a-z0-9_-]{0,63}",
        words="lower-case letters, digits, - and _, at most 63 of each, and a letter first in a key",
        most=64,
        beginnings=("planner-", "goog"),
    ),
    # Azure Resource Manager, "Use tags to organize your Azure resources": limitations
    "azure": TagRules(
        key=r"[^<>%&\\?/\x00-\x1f\x7f]{1,512}",
        value=r"[^\x00-\x1f\x7f]{0,256}",
        words=r"no control characters, and none of < > % & \ ? / in a key; at most 512 in a key and 256 in a value",
        most=50,
        beginnings=("planner-", "microsoft", "azure", "windows"),
        folds_case=True,
    ),
}


def require_tags(tags: Sequence[tuple[str, str]], *, cloud: str) -> None:
    """Raise BadInputError for tags that a cloud does not take, or that are the planner's own."""
    rules = RULES[cloud]
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
    if folded in rules.reserved or folded.startswith(rules.beginnings):
        theirs = "the planner's own" if folded.startswith("planner-") or folded in rules.reserved else f"{cloud}'s own"
        raise BadInputError(f"`tag={tag}`: such keys are {theirs}; choose another", field="tag", code="reserved")


def _repeated(keys: Iterable[str]) -> str:
    seen: set[str] = set()
    return next((key for key in keys if key in seen or seen.add(key)), "")  # type: ignore[func-returns-value]
