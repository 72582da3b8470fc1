"""Templates of platforms' files, filled. A template's suffix names its language, and all that it prints is quoted for
that language, except what it marks `safe`: a fragment of its own, or one that another template has quoted.
"""

from __future__ import annotations

import json
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.units import format_duration, format_usd

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.runtime import Context

TEMPLATES: Final = Path(__file__).with_name("templates")
_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_UNPRINTABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON may hold as they are and YAML may not, or reads as the end of a line."""


def fill(template: str, **values: Any) -> str:
    """Return a template with its values; JSON in its usual layout. An unknown value is an error of Jinja's."""
    text = _environment().get_template(template).render(values)
    return json.dumps(json.loads(text), indent=2) + "\n" if template.endswith(".json") else text


def quote_yaml(value: Any) -> str:
    """Return a scalar as YAML: as in JSON unless it is plainly a name, so that no parser guesses."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False))


def quote_terraform(value: Any) -> str:
    """Return a value as JSON in which Terraform finds no expressions."""
    return json.dumps(value).replace("${", "$${").replace("%{", "%%{")


_QUOTES: Final[Mapping[str, Callable[[Any], str]]] = {
    ".yaml": quote_yaml,
    ".json": quote_terraform,
    ".sh": lambda value: shlex.quote(str(value)),
    ".txt": lambda value: " ".join(str(value).split()),  # on one line
}


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context

    @pass_context
    def quote(context: Context, value: Any) -> Any:
        return value if hasattr(value, "__html__") else _QUOTES[Path(context.name or "").suffix](value)

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        finalize=quote,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.tests["unknown"] = math.isnan
    environment.filters |= {
        "ceil": math.ceil,
        "clamp": lambda value, least, most: min(max(value, least), most),
        "comment": _comment,
        "duration": format_duration,
        "usd": format_usd,
    }
    return environment


def _comment(text: str) -> str:
    """Return lines as comments of YAML and shells."""
    from markupsafe import Markup

    lines = (textwrap.fill(line, 118, initial_indent="# ", subsequent_indent="#   ") for line in text.splitlines())
    return Markup("\n".join(lines))
