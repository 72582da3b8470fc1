"""Reader of a cost model's TOML file: returns a `CostModel`, or reports all errors in the file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

from planner.config.paths import engine_names, read_engine_file, read_model_file
from planner.cost_model.engine import IDEAL, RATES, Amount, Engine
from planner.cost_model.model import CPU_WORK, CostModel, Groups, Phase, Recovery, Software
from planner.errors import BadInputError, bad_input
from planner.schemas.door import Between
from planner.schemas.json_values import Reader


@dataclass(frozen=True, kw_only=True)
class _Storage:
    data: Literal["local", "volumes", "object-store"]
    intermediate: Literal["local", "volumes", "memory"]
    in_memory: bool = True


@dataclass(frozen=True, kw_only=True)
class _Requests:
    read_bytes: Annotated[float, Between(0, above=True)]
    write_bytes: Annotated[float, Between(0, above=True)]


@dataclass(frozen=True, kw_only=True)
class _Software:
    partition_bytes_per_s_per_vcpu: Amount | None = None
    sort_bytes_per_s_per_vcpu: Amount | None = None
    one_stream_bytes_per_s: Amount | None = None
    shared_sigma: Annotated[float, Between(0, 2)]
    evidence: Literal["measured", "extrapolated", "recalled", "assumed"] = "measured"
    source: str
    vcpu_bytes_per_s: Amount = 0.0


@dataclass(frozen=True, kw_only=True)
class _File:
    title: str
    source: str
    durability: str
    recovery: Recovery = "reload"
    start_and_end_s: Amount = 0.0
    storage: _Storage
    capacity: Groups = field(default_factory=dict)
    requests: _Requests | None = None
    software: _Software | None = None
    phase: tuple[Phase, ...] = ()


def load_model(name: str) -> CostModel:
    """Return the model called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), and for all errors in the file together.
    """
    path, text = read_model_file(name)
    return _model_of(path.stem, str(path), text)


@lru_cache(maxsize=64)
def _model_of(name: str, path: str, text: str) -> CostModel:
    return parse_model(name, _toml(text, where=f"model {path}"), where=path)


@lru_cache(maxsize=64)
def _engine_of(name: str, path: str, text: str) -> Engine:
    return parse_engine(name, _toml(text, where=f"engine {path}"), where=path)


def _toml(text: str, *, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInputError(f"{where} is not TOML: {error}", code="not-toml") from error


def parse_model(name: str, document: Mapping[str, Any], *, where: str) -> CostModel:
    """Build a model from its parsed TOML; `where` names the file in the error that lists all findings."""
    reader = Reader(is_strict=True)
    file: _File | None = reader.read(_File, document)
    if not document.get("phase"):
        reader.note("phase", "missing-argument", "is missing: a model needs at least one phase, written [[phase]]")
    if file and file.storage.data == "object-store" and file.requests is None:
        reader.note("requests", "missing-argument", "is missing: the bytes of a request, read_bytes and write_bytes")
    if file is None or reader.findings:
        raise bad_input(f"model {where}", reader.findings)
    is_in_store, storage = file.storage.data == "object-store", file.storage
    return CostModel(
        name=name,
        title=file.title,
        source=file.source,
        durability=file.durability,
        storage={"data": storage.data, "intermediate": storage.intermediate},
        capacity=file.capacity,
        phases=file.phase,
        requests=vars(file.requests) if file.requests and is_in_store else {},
        in_memory=storage.in_memory,
        recovery=file.recovery,
        start_and_end_s=file.start_and_end_s,
        software=_software(file.software) if file.software else None,
    )


def _software(table: _Software) -> Software:
    stated = {work: getattr(table, f"{work}_bytes_per_s_per_vcpu") for work in CPU_WORK}
    stated["one_stream"] = table.one_stream_bytes_per_s
    return Software(
        bytes_per_s={work: rate for work, rate in stated.items() if rate is not None},
        shared_sigma=table.shared_sigma,
        evidence=table.evidence,
        source=table.source,
        vcpu_bytes_per_s=table.vcpu_bytes_per_s,
    )


def engine_choices() -> tuple[str, ...]:
    """Return the names that `--engine` accepts, the papers' first."""
    return (IDEAL.name, *engine_names())


def load_engine(name: str) -> Engine:
    """Return the engine called `name`, or the one in the TOML file at that path.

    Raises BadInputError for an unknown name (with the nearest ones), and for all errors in the file together.
    """
    if name == IDEAL.name:
        return IDEAL
    path, text = read_engine_file(name)
    return _engine_of(path.stem, str(path), text)


def parse_engine(name: str, document: Mapping[str, Any], *, where: str) -> Engine:
    """Build an engine from its parsed TOML; `where` names the file in the error that lists all findings."""
    reader = Reader(is_strict=True)
    engine: Engine | None = reader.read(Engine, {**document, "name": name})
    for key in ("name", "shares_processors"):
        if key in document:
            reader.note(key, "unknown-argument", "no file states this; leave it out")
    for key in ("source", "cpu_s_per_byte"):
        if key not in document:
            reader.note(key, "missing-argument", "is missing")
    if engine and engine.sizes is not None and set(engine.tasks) != set(RATES):
        text = f"is missing a part: what has sizes needs the costs of {' and '.join(RATES)}"
        reader.note("tasks", "missing-argument", text)
    if engine and engine.decode_s_per_byte.keys() != engine.encode_s_per_byte.keys():
        text = "decode_s_per_byte and encode_s_per_byte need the same formats"
        reader.note("decode_s_per_byte", "out-of-range", text)
    if engine is None or reader.findings:
        raise bad_input(f"engine {where}", reader.findings)
    return replace(engine, cpu_s_per_byte={**dict.fromkeys(RATES, 0.0), **engine.cpu_s_per_byte})
