"""Commands with grouped options: a class among the parameters stands for one option per argument of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import is_dataclass
from typing import Annotated, Any, get_args, get_type_hints

from planner.cli.shell.set_option import HEADING, set_option


def ungrouped(
    command: Callable[..., None], *, panels: Mapping[str, Sequence[str]] | None = None
) -> Callable[..., None]:
    """Return a command in typer's form: every parameter whose type is a dataclass, or has its own signature, is
    replaced by that type's arguments, annotated as options. `panels` has the options under the headings of the help;
    those under `Settings` are given as `--set NAME=VALUE`.
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: _options(hint) for name, hint in hints.items() if is_dataclass(hint) or _has_signature(hint)}
    if not (groups or panels):
        return command

    def flat(**given: Any) -> None:
        given.pop("set", None)  # the command's words have the options behind it
        for name, options in groups.items():
            given[name] = hints[name](**{option.name: given.pop(option.name) for option in options})
        command(**given)

    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        parameters += groups.get(parameter.name) or [parameter.replace(annotation=hints[parameter.name])]
    parameters = _under_headings(parameters, panels or {})
    if settings := [parameter.name for parameter in parameters if parameter.name in (panels or {}).get(HEADING, ())]:
        annotation = set_option(settings)
        parameters.append(inspect.Parameter("set", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    flat.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    flat.__name__, flat.__doc__ = command.__name__, command.__doc__
    return flat


def _under_headings(
    parameters: Sequence[inspect.Parameter], panels: Mapping[str, Sequence[str]]
) -> list[inspect.Parameter]:
    """Return parameters with their options under headings, in the order of `panels`, after those without one. Options
    are copied, because other commands share them.
    """
    headings = {name: heading for heading, names in panels.items() for name in names}
    order = {name: number for number, name in enumerate(headings)}
    ordered = sorted(parameters, key=lambda parameter: order.get(parameter.name, -1))
    return [_under(parameter, headings.get(parameter.name)) for parameter in ordered]


def _under(parameter: inspect.Parameter, heading: str | None) -> inspect.Parameter:
    annotated, *metadata = get_args(parameter.annotation) or (parameter.annotation,)
    if heading is None or not metadata:
        return parameter
    option = copy(metadata[0])
    option.rich_help_panel = heading
    option.hidden = option.hidden or heading == HEADING
    return parameter.replace(annotation=Annotated[annotated, option])


def _has_signature(hint: Any) -> bool:
    return isinstance(hint, type) and "__signature__" in vars(hint)


def _options(group: Any) -> list[inspect.Parameter]:
    hints = {} if _has_signature(group) else get_type_hints(group, include_extras=True)
    return [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints.get(name, parameter.annotation))
        for name, parameter in inspect.signature(group).parameters.items()
    ]
