"""One table of options that apply only together with others; elsewhere they are refused, with where they apply.

Conditions that a rule cannot know, such as the kind of a file, are checked where they become known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.errors import BadInputError

_RENTED: Final = "with --on or --cloud aws or --cloud gcp or --cloud azure"

RULES: Final[Mapping[str, Mapping[str, str]]] = {
    "plan": {
        "--option": "with --profile",
        "--explain --rejected": "without --json",
        "--force": "with --out or --html or --save or --chart",
        "--json": "without --show network or --show volumes",
    },
    "run": {
        "--verbose": "with --dry-run",
        "--screen-seconds --screen-size": _RENTED,
        "--threads": "without --on",
        "--skew": "without --input",
        "--force": "with --out",
    },
    "sort": {"--explain --json": "without OUTPUT -", "--explain": "without --json or --ray or --check"},
    "validate": {"--force": "with --summary"},
    "calibrate": {"--catalog": "without --instances", "--repeats": "with --next"},
    "predict": {"--catalog": "without --instances"},
    "screen": {
        "--work --screening --objective --metric": "with --spares-for",
        "--force": "with --html",
        "--chart": "without --json",
    },
    "report": {"--force": "with --html", "--wide": "without --json or --html"},
    "receipt": {"--force": "with --html"},
    "explain-log": {"--force": "with --html", "--show": "without --json"},
    "ingest": {
        "--count": "with --volume",
        "--only": "with --column",
        "--type --where --as-of --instances --repeats --disks --volume --nodes --placement-group": "without --remove",
        "--quantity --aggregate --method --column --job --files-are --json": "without --remove",
    },
    "bench net": {
        "--listen": "with --agent",
        "--seconds --warm-up --connections --repeats --doubling --type --json": "without --agent",
        "--node": "without --agent",
    },
    "catalog refresh": {"--dry-run --region --public": "without --forget"},
    "cluster up": {"--verbose": "with --dry-run", "--data --model --instance --nodes": "without PLAN"},
    "cluster sweep": {"--region --all --anyone --yes": "without --cloud emulated"},
    "storage": {"--top": "without --json"},
    "bench fleet": {
        "--verbose": "with --dry-run",
        "--count --volume-size": "with --volume",
        "--dir": "with --local",
        "--yes": "with --cloud",
    },
}
"""Rules by command: options, and those with which (`with`, one is enough) or without which (`without`) they apply."""


def require_applicable(ctx: Any) -> None:
    """Raise BadInputError for an option given where it has no effect. `ctx` is that of a command."""
    source = ctx.get_parameter_source
    typed = [of for of in ctx.command.params if getattr(source(of.name), "name", "") == "COMMANDLINE"]
    given = {name: ctx.params[parameter.name] for parameter in typed for name in _names(parameter)}
    group = ctx.parent.command.name if ctx.parent is not None and ctx.parent.parent is not None else ""
    for options, condition in RULES.get(f"{group} {ctx.command.name}".strip(), {}).items():
        for option in options.split():
            if option in given and not holds(condition, given):
                raise BadInputError(refusal(option, condition), code="not-applicable")


def refusal(option: str, condition: str) -> str:
    """Return the message for an option given where its condition does not hold."""
    word, others = condition.split(" ", 1)
    if word == "with":
        return f"{option} applies only with {others}: add that, or leave out {option}"
    return f"{option} does not apply with {others}: leave out one of them"


def holds(condition: str, given: Mapping[str, Any]) -> bool:
    """Return whether one of the options of a condition is given, or for `without` that none is."""
    word, others = condition.split(" ", 1)
    if word == "with":
        return any(_is_given(other, given, most=None) for other in others.split(" or "))
    return not any(_is_given(other, given, most=1) for other in others.split(" or "))


def _is_given(option: str, given: Mapping[str, Any], *, most: int | None) -> bool:
    """Return whether `--simulate` is given, or `--pricing spot` with this value, among `most` values."""
    name, _, wanted = option.partition(" ")
    value = given.get(name)
    if value in (None, False, (), []):
        return False
    items = value if isinstance(value, list | tuple) else [value]
    texts = [text for item in items for text in str(item).split(",")]
    return not wanted or (wanted in texts and len(texts) <= (most or len(texts)))


def _names(parameter: Any) -> tuple[str, ...]:
    """Return a parameter's names in rules: an option's names, an argument's placeholder."""
    if parameter.param_type_name == "option":
        return tuple(parameter.opts)
    return (parameter.metavar or parameter.name.upper(),)
