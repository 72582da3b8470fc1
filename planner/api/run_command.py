"""The job of a run, and the `planner run` command that repeats it with all its options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from planner.api.input_format import InputFormat
from planner.schemas.arguments import option_of
from planner.schemas.door import Bytes, Count, checked
from planner.schemas.request_forms import name_list, number_text
from planner.units import format_exact_size

if TYPE_CHECKING:
    from planner.api.rental_options import RentalOptions
    from planner.clusters.emulated.shaping import Shaping
    from planner.clusters.runs.node_benchmarks import Effort


@checked
@dataclass(frozen=True, kw_only=True)
class Work:
    """Job of a run, without its place. `input` and `output` are prefixes in an object store, or paths;
    `lend_credentials` hands the store's keys to the nodes. `data` is required without `input`. `detach` leaves the run
    as soon as its sort has started. `directory` and `threads` are for runs on this machine.
    """

    data: str | None
    model: str
    instance: str | Sequence[str] | None = None
    nodes: Count | None = None
    arch: str | None = None
    memory_bytes: Bytes | None = None
    skew: bool = False
    keep: bool = False
    wheelhouse: Path | None = None
    input: str | None = None
    output: str | None = None
    lend_credentials: bool = False
    detach: bool = False
    form: InputFormat = field(default_factory=InputFormat)
    directory: Path = Path()
    threads: Count | None = None


def run_words(
    work: Work,
    *,
    cloud: str | None = None,
    shaping: Shaping | None = None,
    rental: RentalOptions | None = None,
    effort: Effort | None = None,
) -> tuple[str, ...]:
    """Return the words after `planner` that repeat the work in the same place: on this machine, on an emulated cluster,
    or on machines rented with the same options.
    """
    ignored = () if rental else _OF_RENTED if cloud else (*_OF_RENTED, *_OF_A_CLUSTER)
    counting = {name: value for name, value in _work_options(work).items() if name not in ignored}
    options: dict[str, Any] = {"cloud": rental.cloud if rental else cloud, **counting}
    options |= _shaping_options(shaping) if shaping else {}
    options |= _rental_options(rental) if rental else {}
    options |= _effort_options(effort) if effort else {}
    return ("run", *_words(options))


_OF_RENTED: Final = ("instance", "arch", "keep", "detach", "lend_credentials", "wheelhouse")
_OF_A_CLUSTER: Final = ("nodes", "skew", "input", "output")
"""Options ignored in other places, as when a plan for rented machines runs here; the command line refuses them."""


def words_on(run: str, work: Work, *, effort: Effort) -> tuple[str, ...]:
    """Return the words after `planner` that repeat the work on the machines of a run."""
    options = {**_work_options(work), **_effort_options(effort)}
    keep = options.pop("keep")
    if keep:
        return ("run", "--on", run, *_words(options))
    return ("cluster", "run", run, *_words(options), "--take-down")


def _work_options(work: Work) -> dict[str, Any]:
    return {
        "data": work.data,
        "model": work.model,
        "input": work.input,
        "output": work.output,
        **_format_options(work.form),
        "instance": ",".join(name_list(work.instance)) or None,
        "arch": work.arch,
        "nodes": work.nodes,
        "memory": None if work.memory_bytes is None else format_exact_size(work.memory_bytes),
        "threads": work.threads,
        "skew": work.skew,
        "keep": work.keep,
        "detach": work.detach,
        "lend_credentials": work.lend_credentials,
        "wheelhouse": _path(work.wheelhouse),
        "dir": _path(None if str(work.directory) == "." else work.directory),
    }


def _format_options(form: InputFormat) -> dict[str, Any]:
    return {
        "format": form.format,
        "key": form.key,
        "separator": form.separator,
        "no_header": form.no_header,
        "unique": form.unique,
        "z": form.zero_terminated,
    }


def _shaping_options(shaping: Shaping) -> dict[str, Any]:
    bucket = shaping.bucket
    return {
        "rate": ",".join(f"{number_text(rate)}B/s" for rate in shaping.rates_bytes_per_s) or None,
        "distribution": shaping.distribution,
        "rate_factor": None if shaping.rate_factor == 1.0 else number_text(shaping.rate_factor),
        "bucket": bucket and format_exact_size(bucket.size_bytes),
        "burst_rate": bucket and f"{number_text(bucket.burst_bytes_per_s)}B/s",
        "redraw": None if shaping.redraw_s is None else _seconds(shaping.redraw_s),
        "seed": shaping.seed,
    }


def _rental_options(rental: RentalOptions) -> dict[str, Any]:
    return {
        "region": ",".join(name_list(rental.region)) or None,
        "pricing": None if rental.pricing == "on-demand" else rental.pricing,
        "max_cost": rental.max_cost,
        "max_hours": rental.max_hours,
        "ssh_from": rental.ssh_from,
        "image": rental.image,
        "node_identity": rental.node_identity or None,
        "subnet": rental.subnet or None,
        "no_public_address": rental.no_public_address,
        "jump": rental.jump or None,
        "reservation": rental.reservation or None,
        "or_next": None if rental.or_next == type(rental).or_next else rental.or_next,
        "max_cost_per_month": rental.max_cost_per_month,
        "tag": [f"{key}={value}" for key, value in rental.tags],
    }


def _effort_options(effort: Effort) -> dict[str, Any]:
    return {
        "screen_seconds": None if effort.seconds == type(effort).seconds else _seconds(effort.seconds),
        "screen_size": None if effort.file_bytes is None else format_exact_size(effort.file_bytes),
    }


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield each option with a value. A value that looks like an option is joined to its option."""
    for name, value in options.items():
        option = "-z" if name == "z" else option_of(name)
        if value is True:
            yield option
        elif value is not None and value is not False:
            for each in value if isinstance(value, list | tuple) else [value]:
                word = number_text(each) if isinstance(each, float) else str(each)
                yield from [f"{option}={word}"] if word.startswith("-") else [option, word]


def _path(path: Any) -> str | None:
    return None if path is None else str(path)


def _seconds(seconds: float) -> str:
    return f"{number_text(seconds)}s"
