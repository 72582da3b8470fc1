"""Section of data-sources.md: what each cloud's error codes mean for a run, from `planner/clouds/codes/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.clouds.calls.codes import Rule, rules_of

CLOUDS: Final = {"aws": "EC2", "gcp": "Compute Engine", "azure": "Azure"}
HEAD: Final = """# Error codes of the clouds

The first row that fits an answer counts. After *capacity*, *not here*, *quota* and *closed region* a launch tries the
next place, as far as that can help. *Throttled* and *passing* calls, and those of *busy* resources, are repeated. The
others end the launch; errors show the hint.
"""


def page() -> str:
    """Return the section."""
    return "\n".join([HEAD, *(line for cloud, name in CLOUDS.items() for line in table(cloud, name))])


def table(cloud: str, name: str) -> Iterator[str]:
    yield from (f"## Error codes of {name}\n", "| answer | meaning | hint |", "|---|---|---|")
    yield from (f"| {answer(rule)} | {rule.meaning} | {rule.hint.replace('|', '/')} |" for rule in rules_of(cloud))
    yield ""


def answer(rule: Rule) -> str:
    """Return the codes, statuses and pattern of codes of a rule, and the pattern of the message if it has one."""
    found = sorted(rule.codes) + [f"HTTP {status}" for status in sorted(rule.statuses)]
    found += [rule.code.pattern] if rule.code else []
    codes = ", ".join(f"`{part.replace('|', ' or ')}`" for part in found) or "any code"
    return f"{codes}, with `{rule.message.pattern.replace('|', ' or ')}` in its message" if rule.message else codes
