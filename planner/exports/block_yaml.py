"""Values as block-style YAML: strings are quoted as in JSON unless plainly names, so that no parser guesses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def block_yaml(value: Mapping[str, Any]) -> str:
    """Return JSON-able values as YAML; a multi-line string becomes a block."""
    return "".join(f"{line}\n" for line in _lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _item(f"{_scalar(key)}:", item)
    else:
        for item in value:
            first, *rest = _item("-", item) if _is_simple(item) else _lines(item)
            yield first if _is_simple(item) else f"- {first}"
            yield from (f"  {line}" for line in rest)


def _item(begin: str, item: Any) -> Iterator[str]:
    if isinstance(item, str) and "\n" in item:
        yield f"{begin} |"
        yield from (f"  {line}".rstrip() for line in item.rstrip("\n").split("\n"))
    elif _is_simple(item):
        yield f"{begin} {_scalar(item)}"
    else:
        yield begin
        yield from (f"  {line}" for line in _lines(item))


def _is_simple(item: Any) -> bool:
    return isinstance(item, str) or not isinstance(item, Mapping | Sequence) or not item


def _scalar(item: Any) -> str:
    if isinstance(item, str) and _PLAIN.fullmatch(item) and item.lower() not in _WORDS:
        return item
    return json.dumps(item, ensure_ascii=False)
