"""Options of `plan` that make up a `Request`, as `planner.schemas.request` declares them; other commands share some."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Annotated, Any, ClassVar, Final

from typer import Option

from planner.cli.shell import completion
from planner.schemas.arguments import option_of, request_fields
from planner.schemas.request import Request, default_of, options


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
_Columns = Annotated[list[str] | None, Option(help="Further columns of the profile's runs: io=s3.")]

_OF_PROFILE: Final = {"profile": _Profile, "option": _Columns}


class RequestOptions(dict[str, Any]):
    """The given options of `plan`, by name; in addition to a request's, the profile to answer with."""

    __signature__: ClassVar = Signature(
        [
            *map(_parameter, options()),
            *(Parameter(n, Parameter.KEYWORD_ONLY, default=None, annotation=a) for n, a in _OF_PROFILE.items()),
        ]
    )

    def request(self) -> Request:
        """Return the request, with the user's settings and the capacity seen in the last week.

        Raises BadInputError for invalid values, and for options that contradict each other.
        """
        from datetime import date

        from planner.api.request_inputs import clouds_of_data, in_regions_of_data, with_derived_arguments
        from planner.clusters.provisioning.observed_capacity import observed_limits
        from planner.config.settings import load_settings

        given = {name: value for name, value in self.items() if value is not None and name not in _OF_PROFILE}
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
    "Used first": "* explain why_not own html",
    "What to sort": "* profile option",
    "Where": "* refresh",
    "Machines": "*",
    "Limits": "*",
    "Cluster size": "*",
    "Money": "*",
    "Evidence and what-if": "*",
    "Simulation": "simulate draws seed lose slow timeline",
    "Output": "show wide json out chart dark export force rejected * sort columns",
    "Spark": "from_log ran_on app",
}

PANELS: Final = {
    heading: tuple(name for word in words.split() for name in (_of_request(heading) if word == "*" else [word]))
    for heading, words in _HEADINGS.items()
}
"""Options under the headings of the help, in its order: `*` stands for those of a request."""
