"""The study of Uta and Obaseki (ICPE 2018) in miniature: one sort under a homogeneous network and under clouds A-H.

As in the study, every node gets the same share of the work, so that a barrier waits for the slowest link. The result
lists measured times, the planner's predictions for the same caps, and the study's own figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any, Final

from planner.clusters.emulated.cluster import HEAD
from planner.clusters.emulated.network_trial import payload_bytes_per_s
from planner.clusters.emulated.ray import EmulatedRay, emulated_ray
from planner.clusters.emulated.run import EmulatedRun, question_for
from planner.clusters.emulated.shaping import Cap, Draws, Shaping
from planner.clusters.emulated.sort_trial import Trial, try_sort
from planner.clusters.ray.driver_session import OnEvent, Session
from planner.errors import BadInputError, ValidationFailedError
from planner.measurement.instruments.machine import LocalMachine, measure_machine, sample_size
from planner.planning.recommendation import require_best

HOMOGENEOUS: Final = "homogeneous"
CLOUDS: Final = tuple("ABCDEFGH")
FULL_RATE_BYTES_PER_S: Final = 125e6
"""The 1 Gbit/s of the study's homogeneous network (section 3.3); no draw exceeds it."""
TABLE_2: Final = {
    "Wordcount": (1.61, "A"),
    "Sort": (1.51, "D"),
    "Terasort": (1.79, "A"),
    "K-Means": (1.48, "D"),
    "Bayes": (1.14, "A"),
    "Pagerank": (1.07, "A"),
}
"""The greatest mean slowdown of each application, and the cloud under which it occurred (the study's Table 2)."""
_MODEL: Final = "indy"


@dataclass(frozen=True, kw_only=True)
class Study:
    """The study to run: `repeats` rounds of a sort of `data_bytes` under each network, rates times `rate_factor`."""

    data_bytes: int
    nodes: int
    rate_factor: float
    repeats: int
    directory: Path
    clouds: tuple[str, ...] = CLOUDS
    seed: int | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Sorts under one network: measured and planned seconds of each round for the same caps, and the slowest cap of
    each.
    """

    network: str
    measured_s: tuple[float, ...]
    predicted_s: tuple[float, ...]
    slowest_bytes_per_s: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Slowdown:
    """One row of the result: times relative to the homogeneous network's mean. `study` is Terasort's figure, if in
    Table 2.
    """

    network: str
    measured: float
    least: float
    most: float
    predicted: float
    study: float | None


def run_study(study: Study, *, say: Callable[[str], None], on_event: OnEvent = lambda _: None) -> list[Measured]:
    """Run the study on one emulated cluster, round by round through all networks, so that a drift affects all alike.

    Raises BadInputError for unknown clouds or where links cannot be capped, ValidationFailedError when a sort's output
    is not its input in order, and whatever `emulated_ray` raises.
    """
    networks = {HOMOGENEOUS: _shaping_of(study, None)} | {cloud: _shaping_of(study, cloud) for cloud in study.clouds}
    draws = {name: shaping.draws(study.nodes) for name, shaping in networks.items()}
    rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in networks}
    with emulated_ray(
        workers=study.nodes, shaping=Shaping(), directory=study.directory, say=say
    ) as cluster, cluster.session() as session:  # fmt: skip
        if not cluster.nodes.is_shaped:
            raise BadInputError(
                "the study caps links, which needs network namespaces: run as root, with ip and tc", code="needs-root"
            )
        folder = cluster.nodes.directory(HEAD)
        machine = measure_machine(folder, sample_bytes=sample_size(study.data_bytes), copies=1)
        trial = try_sort(cluster.nodes, session, data_bytes=study.data_bytes, copies=1)  # also starts processes
        source = session.do({"do": "generate", "records": study.data_bytes // 100}, on_event)
        for number in range(study.repeats):
            for name, drawn in draws.items():
                slowest = _cap_links(cluster, drawn)
                seconds = _sort_seconds(session, source, folder, on_event)
                rounds[name].append((seconds, _predicted_s(study, machine, trial, slowest), slowest))
                say(f"round {number + 1}, {name}: {seconds:.1f} s")
    return [_summarize(name, network_rounds) for name, network_rounds in rounds.items()]


def slowdowns(measured: list[Measured]) -> list[Slowdown]:
    """Return each network's times divided by the mean of the homogeneous network, which comes first."""
    base = measured[0]
    base_s, base_predicted_s = fmean(base.measured_s), fmean(base.predicted_s)
    factor, worst = TABLE_2["Terasort"]
    return [
        Slowdown(
            network=network.network,
            measured=fmean(network.measured_s) / base_s,
            least=min(network.measured_s) / base_s,
            most=max(network.measured_s) / base_s,
            predicted=fmean(network.predicted_s) / base_predicted_s,
            study={worst: factor, HOMOGENEOUS: 1.0}.get(network.network),
        )
        for network in measured
    ]


def document(study: Study, measured: list[Measured]) -> dict[str, Any]:
    """Return the study as JSON-able values."""
    return {
        "nodes": study.nodes,
        "data_bytes": study.data_bytes,
        "rate_factor": study.rate_factor,
        "repeats": study.repeats,
        "networks": [asdict(network) for network in measured],
        "slowdowns": [asdict(network) for network in slowdowns(measured)],
        "study_table_2": {name: {"slowdown": factor, "cloud": at} for name, (factor, at) in TABLE_2.items()},
    }


def _shaping_of(study: Study, cloud: str | None) -> Shaping:
    if cloud is None:
        return Shaping(rates_bytes_per_s=(FULL_RATE_BYTES_PER_S * study.rate_factor,))
    return Shaping(distribution=cloud, rate_factor=study.rate_factor, seed=study.seed)


def _cap_links(cluster: EmulatedRay, drawn: Draws) -> float:
    """Cap the links as drawn and return the slowest cap."""
    caps = drawn.draw()
    cluster.nodes.cap(caps)
    return min(cap.bytes_per_s for cap in caps if isinstance(cap, Cap))


def _sort_seconds(session: Session, source: dict[str, Any], folder: Path, on_event: OnEvent) -> float:
    """Sort and return the seconds of all phases. Raises ValidationFailedError."""
    request = {"source": source["dataset"], "output": "output", "avoid_slow": False}
    done = session.do({"do": "sort", "request": request, "journal": str(folder / "journal")}, on_event)["report"]
    if not done["sorted"] or done["checksum"] != source["checksum"]:
        raise ValidationFailedError(
            f"the output's checksum is {done['checksum']}, the input's {source['checksum']}", code="wrong-content"
        )
    return float(sum(done["phases_s"].values()))


def _predicted_s(study: Study, machine: LocalMachine, trial: Trial | None, slowest_bytes_per_s: float) -> float:
    run = EmulatedRun(
        data_bytes=study.data_bytes, model=_MODEL, nodes=study.nodes, shaping=Shaping(), directory=study.directory
    )
    with TemporaryDirectory() as folder:
        asked = question_for(
            machine, run, Path(folder), network_bytes_per_s=payload_bytes_per_s(slowest_bytes_per_s), trial=trial
        )
        return float(require_best(asked.plan()).time_s.expected)


def _summarize(name: str, rounds: list[tuple[float, float, float]]) -> Measured:
    measured_s, predicted_s, slowest = zip(*rounds, strict=True)
    return Measured(network=name, measured_s=measured_s, predicted_s=predicted_s, slowest_bytes_per_s=slowest)
