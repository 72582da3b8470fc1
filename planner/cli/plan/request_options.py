"""Options that make up a `Request`, as `planner.schemas.request` declares them: of `plan` and of every question about a
plan; other commands share some.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from typer import Option

from planner.cli.shell import completion
from planner.cli.shell.files import read_plan
from planner.errors import BadInputError
from planner.schemas.arguments import option_of, request_fields
from planner.schemas.plan import TIMES_OF_PROFILE
from planner.schemas.request import Request, default_of, options

if TYPE_CHECKING:
    from planner.api.recommend import Recommendation
    from planner.schemas.plan import Plan


def _words_of(complete: str | tuple[str, ...]) -> Any:
    return getattr(completion, complete) if isinstance(complete, str) else completion.among(complete)


def request_option(name: str, *, help_text: str = "", shown: bool | str | None = None) -> Any:
    """Return an option of a request in typer's form, with its own `help_text` or `shown` default if given."""
    _, option = options()[name]
    return Option(
        option_of(name),
        help=help_text or option.help,
        show_default=shown or option.shown or True,
        autocompletion=_words_of(option.complete) if option.complete else None,
    )


def _default(name: str) -> Any:
    item, option = options()[name]
    default = default_of(item)
    return default if isinstance(default, str | int) and option.shown is None else None


def _parameter(name: str) -> Parameter:
    default, value_type = _default(name), options()[name][1].form.option_type
    given: Any = value_type if default is not None else value_type | None
    annotation: Any = Annotated[given, request_option(name)]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


OneSize = Annotated[str | None, request_option("data", help_text="How much to sort: 100TB.")]
Model = Annotated[str, request_option("model", shown=True)]
OneModel = Annotated[
    str,
    request_option("model", help_text="Cost model: a name that `planner models` lists, or a TOML file.", shown=True),
]
Clouds = Annotated[list[str] | None, request_option("cloud")]
Catalogs = Annotated[list[str] | None, request_option("catalog")]
Regions = Annotated[list[str] | None, request_option("region")]
Instances = Annotated[list[str] | None, request_option("instance")]
Nodes = Annotated[int | None, request_option("nodes")]
Architecture = Annotated[str | None, request_option("arch")]
MaxNodes = Annotated[int, request_option("max_nodes")]
_Profile = Annotated[
    str | None, Option(help="Take times and ranges from this calibrated profile.", autocompletion=completion.profiles)
]
_Columns = Annotated[list[str] | None, Option(help="A further column of the profile's runs: io=s3.")]

_OF_PROFILE: Final = {"profile": _Profile, "option": _Columns}


class RequestOptions(dict[str, Any]):
    """The given options of a request, by name, and the profile to answer with."""

    __signature__: ClassVar = Signature(
        [
            *(_parameter(name) for name in options() if name != "most_data"),  # `planner most-data` asks that
            *(Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=a) for n, a in _OF_PROFILE.items()),
        ]
    )

    based_on: Plan | None = None
    """The kept plan whose request the given options change."""

    def on_top_of(self, file: Path, given: Collection[str]) -> RequestOptions:
        """Return the options of a request's TOML file, or the request of a kept plan, with those `given` on the command
        line in the place of the file's.
        """
        mine = {name: value for name, value in self.items() if name in given}
        if not file.exists():
            size = re.fullmatch(r"[kKMGTPE]i?B", str(file)) is not None and "data" in given
            text = f"{file}: no such file; it is a request, FILE.toml, or a kept plan, FILE.json"
            other = f"a size has no blank: plan --data {self['data']}{file}" if size else ""
            hints = [other or "other options begin with --: plan --data 100TB"]
            raise BadInputError(text, hints, code="no-such-file")
        if file.suffix == ".toml":
            from planner.api.arguments.request_file import read_request

            return RequestOptions(self | read_request(file) | mine)
        if file.suffix != ".json":
            hints = [
                f"of a Spark event log: planner plan-log {file}",
                f"of data to plan for: plan --input {file}; to sort it: planner sort {file} OUTPUT",
            ]
            text = f"{file}: a request is FILE.toml, in TOML, and a kept plan FILE.json"
            raise BadInputError(text, hints, code="unsupported-format")
        again = RequestOptions(mine)
        again.based_on = read_plan(file)
        best = again.based_on.best
        if best and "profile" not in given and any(text.startswith(TIMES_OF_PROFILE) for text in best.warnings):
            text = f"{file}: its times are of a profile, whose name a plan does not keep; add `profile`"
            raise BadInputError(text, field="profile", code="missing-companion")
        return again

    def toml_of(self, request: Request) -> str:
        """Return the request that these options made as a TOML file for `on_top_of`."""
        from planner.api.arguments.request_file import OF_PROFILE, request_toml
        from planner.report.terminal.command import arguments_as_given

        return request_toml(arguments_as_given(request) | {name: self.get(name) for name in OF_PROFILE})

    @property
    def given(self) -> list[str]:
        """The options that differ from their defaults."""
        parameters = self.__signature__.parameters.items()
        return [option_of(name) for name, option in parameters if self.get(name, option.default) != option.default]

    @property
    def sizes(self) -> list[str]:
        """The sizes in --data: `3TB,6TB` are two, `10,000GB` is one, as only a unit ends a size.

        Raises BadInputError where one of several is empty.
        """
        data = str(self.get("data") or "")
        sizes = [size.strip() for size in re.split(r"(?<=[A-Za-z,])\s*,", data)]
        if len(sizes) > 1 and not all(sizes):
            raise BadInputError(
                f"--data {data}: a size is missing next to a comma; write it as 3TB,6TB,12TB", code="empty"
            )
        return sizes

    def answer(self) -> Recommendation:
        """Return the answer to the request. At a terminal it first asks whether to read prices that a region lacks.

        Raises BadInputError as `request` does, and for several sizes of data.
        """
        from datetime import date

        from planner.api.recommend import answer
        from planner.cli.plan.missing_prices import read_missing_prices

        if len(self.sizes) > 1:
            raise BadInputError(
                f"--data {self['data']}: name one size; `planner sizes` makes a table of several", code="one-size"
            )
        request = self.request()
        read_missing_prices(request)
        return answer(request, today=date.today(), profile=self.get("profile") or None, option=self.get("option"))

    def request(self) -> Request:
        """Return the request, with the user's settings and the capacity seen in the last week.

        Raises BadInputError for invalid values, and for options that contradict each other.
        """
        from datetime import date

        from planner.api.request_inputs import clouds_of_data, in_regions_of_data, price_sheets, with_derived_arguments
        from planner.clusters.provisioning.observed_capacity import observed_limits
        from planner.config.settings import load_settings

        given = {name: value for name, value in self.items() if value is not None and name not in _OF_PROFILE}
        if self.based_on:
            changes = request_fields(given | price_sheets(given))
            return in_regions_of_data(replace(self.based_on.request, **changes))
        fields = request_fields(with_derived_arguments({"data": None, **given}))
        settings = load_settings(today=date.today())
        fields["catalogs"] = fields.get("catalogs") or settings.plan_clouds or clouds_of_data(fields)
        fields["own_prices"] = (*fields.get("own_prices", ()), *settings.own_prices)
        fields["node_limits"] = () if self.get("paper") else (*fields.get("node_limits", ()), *observed_limits())
        return in_regions_of_data(Request(**fields))


def _of_request(heading: str) -> list[str]:
    places = {name: option.place.rpartition(" ") for name, (_, option) in options().items()}
    return sorted((name for name in places if places[name][0] == heading), key=lambda name: int(places[name][2]))


_HEADINGS: Final = {
    "Used first": "* explain html ran_on app to draws seed lose slow timeline",
    "What to sort": "* profile",
    "Where": "*",
    "Machines": "*",
    "Limits": "*",
    "Cluster size": "*",
    "Money": "*",
    "Evidence and what-if": "*",
    "Settings": "* option sort columns dark",
    "Output": "show json out save chart force rejected *",
}

PANELS: Final = {
    heading: tuple(name for word in words.split() for name in (_of_request(heading) if word == "*" else [word]))
    for heading, words in _HEADINGS.items()
}
"""Options under the headings of the help, in its order: `*` stands for those of a request."""
