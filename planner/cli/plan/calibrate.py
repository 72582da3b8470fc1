"""`planner calibrate` learns a profile from past runs, `planner predict` answers from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from planner.cli.shell.completion import profiles as offered_profiles
from planner.cli.shell.console import show, show_json, show_text, table, talk

if TYPE_CHECKING:
    from planner.calibration import JobRow, NextRun, Profile

_INSTANCES = Option(
    help="Machine specifications, a CSV with the columns type, vcpu, mem_gib, ghz, ...; else --catalog."
)


def calibrate(
    runs: Annotated[
        list[Path],
        Argument(help="CSV with instance_type, nodes, data_gb, runtime_s, ...; Spark's logs; or reports of `run`."),
    ],
    *,
    model: Annotated[
        str | None, Option(help="Prior: framework, spark, hadoop, native or own; of logs spark, of reports own.")
    ] = None,
    ran_on: Annotated[
        list[str] | None, Option(help="Where logged runs ran, such as 'm5.4xlarge x 4'; APP=... for one of several.")
    ] = None,
    name: Annotated[str | None, Option(help="Name to store the profile under; the model's otherwise.")] = None,
    instances: Annotated[Path | None, _INSTANCES] = None,
    catalog: Annotated[
        str | None, Option(help="Catalog that knows the machines, aws otherwise; not for reports alone.")
    ] = None,
    next_run: Annotated[
        bool, Option("--next", help="Only print the one further run to make, its price and what it saves.")
    ] = False,
    repeats: Annotated[float, Option(min=1, help="How often the job will run later, for --next.")] = 10,
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Learn from past runs what the equations leave out, and store it as a profile.

    Example: planner calibrate runs.csv --model spark --name spark-emr
    """
    from planner.api.past_runs import calibrate_files
    from planner.stores.profiles import save_profile

    profile, notes = calibrate_files(
        runs, ran_on=ran_on or (), model=model, name=name, instances=instances, catalog=catalog
    )
    learned, further = profile.explain(), profile.next_run(repeats=repeats)
    stored = None if next_run else save_profile(profile)
    for warning in learned["warnings"]:
        talk(f"warning: {warning}")
    for note in notes:
        talk(f"note: {note}")
    if json:
        show_json(
            {
                "profile": profile.name,
                "path": None if stored is None else str(stored),
                **learned,
                "notes": notes,
                "next_run": _next_run_json(further),
            }
        )
        return
    if not next_run:
        _show_learned(profile, learned)
    show_text(_advice(further))
    if stored is not None:
        talk(f"stored as {stored}; use it with --profile {profile.name}")


def predict(
    query: Annotated[
        Path, Argument(help="CSV with instance_type, nodes, data_gb and the further columns of the runs.")
    ],
    *,
    profile: Annotated[str, Option(help="Stored profile, or a profile's JSON file.", autocompletion=offered_profiles)],
    instances: Annotated[Path | None, _INSTANCES] = None,
    catalog: Annotated[str, Option(help="Catalog for types that the profile does not know.")] = "aws",
    json: Annotated[bool, Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Predict how long jobs take, with the range that holds 90% of runs.

    Example: planner predict query.csv --profile spark-emr
    """
    from planner.calibration.history import parse_jobs
    from planner.stores import profiles

    stored, rows = profiles.load_profile(profile), profiles.read_rows(query)
    jobs = parse_jobs(rows, what=str(query), timed=False)
    new = {job.instance_type for job in jobs} - stored.machines.keys()
    specs = profiles.instances_from(instances) if instances else _from_catalog(catalog, new)
    runtime_s, lo, hi = stored.mixture(jobs, instances=specs).range_s().tolist()
    answers = [
        {**job.to_dict(), "runtime_s": a, "lo": b, "hi": c}
        for job, a, b, c in zip(jobs, runtime_s, lo, hi, strict=True)
    ]
    notes = [
        f"column {name} of {query} changes nothing, and the ranges do not cover it: {why}"
        for name, why in stored.options.unread(jobs).items()
    ]
    notes += _settling(stored, jobs, specs)
    if "runtime_s" in rows[0]:
        notes.append(f"column runtime_s of {query} is not read; what is shown is predicted")
    if json:
        show_json({"profile": stored.name, "predictions": answers, "warnings": stored.explain()["warnings"] + notes})
        return
    _show_answers(answers)
    for note in notes:
        talk(f"note: {note}")


def _settling(stored: Profile, jobs: Sequence[JobRow], specs: Any) -> list[str]:
    """Return, for each type that never ran and has a wide range, the run that would settle its largest job."""
    from planner.calibration.experiment import settling_run
    from planner.calibration.machines import read_specs

    largest = {job.instance_type: job for job in sorted(jobs, key=lambda job: job.nodes * job.data_gb)}
    known = read_specs(specs)
    runs = (settling_run(stored, job, instances=known) for job in largest.values())
    return [run.settles() for run in runs if run is not None]


def _from_catalog(catalog: str, types: set[str]) -> dict[str, dict[str, Any]]:
    """Return the catalog's specifications of the types that a profile lacks; if it lacks none, no catalog is read."""
    from planner.stores import profiles

    return {name: spec for name, spec in profiles.specs_of(catalog).items() if name in types} if types else {}


def _show_learned(profile: Profile, learned: dict[str, Any]) -> None:
    rows = []
    for name, entry in learned["coefficients"].items():
        share = "" if entry["share_of_time"] is None else f"{entry['share_of_time']:.0%}"
        span = f"{entry['lo']:.3g} - {entry['hi']:.3g}"
        rows.append((name, f"{entry['value']:.3g}", span, f"{entry['prior']:g}", share, entry["unit"]))
    columns = ("coefficient", "value", "90% range", "prior", "share of time", "unit")
    show(table(columns, rows, title=f"{profile.name}: {learned['runs']}"))
    show_text(f"repeats scatter by about {learned['scatter']:.0%}")
    show_text(learned["memory"]["sentence"])
    if learned["rivals"]["run"] is not None:
        show_text(learned["rivals"]["sentence"])


def _show_answers(answers: list[dict[str, Any]]) -> None:
    from planner.units import format_duration

    rows = [
        [*(f"{v:.5g}" if isinstance(v, float) else str(v) for v in row.values()), format_duration(row["runtime_s"])]
        for row in answers
    ]
    show(table((*answers[0], "time") if answers else (), rows, numbers=True))


def _advice(further: NextRun) -> str:
    from planner.units import format_duration, format_usd

    where = f"{further.nodes} x {further.instance_type}, {further.data_gb:.4g} GB"
    gain = f"hi/lo {further.range_ratio_before:.3g} -> {further.range_ratio_after:.3g}"
    cost = f"about {format_duration(further.runtime_s)}, {format_usd(further.cost_usd)}"
    if further.pays:
        return f"the next run to make: {where} ({cost}); it saves about {format_usd(further.saves_usd)} later; {gain}"
    return f"no further run pays for itself; the next run to make for narrower ranges: {where} ({cost}); {gain}"


def _next_run_json(further: NextRun) -> dict[str, Any]:
    from dataclasses import asdict
    from math import isfinite

    values = asdict(further)
    return {**values, "pays": further.pays, "cost_usd": values["cost_usd"] if isfinite(values["cost_usd"]) else None}
