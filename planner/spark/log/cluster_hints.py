"""The cluster as far as a log shows it: hosts and cores seen, and for the rest Spark's properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from planner.spark.application.application import Cluster
from planner.spark.application.executors import Executor, cores_over_time, hosts_at_once

_DATABRICKS: Final = "spark.databricks.clusterUsageTags."
_HINTS: Final = {
    "instance_type": (f"{_DATABRICKS}clusterNodeType", "spark.databricks.workerNodeTypeId"),
    "driver_type": (f"{_DATABRICKS}driverNodeType", "spark.databricks.driverNodeTypeId"),
    "region": (f"{_DATABRICKS}region", f"{_DATABRICKS}dataPlaneRegion"),
    "cloud": (f"{_DATABRICKS}cloudProvider", "spark.databricks.cloudProvider"),
}
"""Properties that state a fact directly, in the order they are tried."""
_CLOUDS: Final = {"AWS": "aws", "AZURE": "azure", "GCP": "gcp"}
_CLOUD_OF: Final = {
    "EMR": "aws", "Glue": "aws", "Dataproc": "gcp", "Synapse": "azure", "Fabric": "azure", "HDInsight": "azure",
}  # fmt: skip
_SIZES: Final = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
_SIZE: Final = re.compile(r"(\d+)\s*([bkmgtp]?)b?", re.IGNORECASE)


def cluster_of(
    executors: Iterable[Executor],
    *,
    properties: Mapping[str, str],
    version: str,
    driver_host: str,
    photon: bool = False,
    from_s: float | None = None,
    until_s: float | None = None,
) -> Cluster:
    """Return the cluster of a run from its executors and properties (Spark's, Hadoop's and the system's together).
    `photon` is whether a plan has a step of Databricks' engine Photon.
    """
    there = tuple(executors)
    steps = cores_over_time(there)
    cores_each = {executor.cores for executor in there}
    hints, origins = _hints(properties)
    seen = [driver_host, properties.get("spark.driver.host", ""), *(executor.host for executor in there)]
    platform = _platform(properties, version=version, hosts=seen, photon=photon)
    cloud = _CLOUDS.get(hints.pop("cloud", "").upper(), "")
    return Cluster(
        platform=platform,
        cloud=cloud or next((cloud for name, cloud in _CLOUD_OF.items() if platform.startswith(name)), ""),
        hosts=tuple(sorted({executor.host for executor in there if executor.host})),
        hosts_at_once=hosts_at_once(there, from_s=from_s, until_s=until_s),
        executors=max((step.executors for step in steps), default=None),
        cores=(max((step.cores for step in steps), default=0) or None) if None not in cores_each else None,
        cores_per_executor=cores_each.pop() if len(cores_each) == 1 else None,
        # Stages may request executors with other memory than the properties state, through resource profiles.
        memory_per_executor_bytes=(
            None if any(executor.resource_profile for executor in there) else _executor_memory(properties)
        ),
        dynamic=_is_true(properties, "spark.dynamicAllocation.enabled")
        or properties.get(f"{_DATABRICKS}clusterScalingType", "") == "autoscaling",
        origins=origins,
        **hints,
    )


def _hints(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    values, origins = {}, {}
    for name, keys in _HINTS.items():
        key = next((key for key in keys if properties.get(key)), None)
        if key is not None:
            values[name], origins[name] = properties[key], key
    return values, origins


_SIGNS: Final = (
    ("Glue", ("spark.glue",)),
    ("Synapse", ("spark.synapse.",)),
    ("Fabric", ("spark.trident.", "spark.fabric.")),
    ("EMR Serverless", ("spark.emr-serverless.",)),
    ("EMR on EKS", ("spark.kubernetes.driver.label.emr-containers.",)),
    ("EMR", ("EMR_CLUSTER_ID", "spark.emr.default.executor.memory")),
    (
        "Dataproc Serverless",
        (
            "spark.dataproc.driver.compute.",
            "spark.dataproc.executor.compute.",
            "spark.dataproc.driver.disk.",
            "spark.dataproc.executor.disk.",
            "spark.dataproc.scaling.version",
            "spark.dataproc.runtimeEngine",
        ),
    ),
    ("Dataproc", ("spark.dataproc.", "DATAPROC_IMAGE_VERSION")),
)
"""Platforms by the prefixes of properties they set; the first match wins, since EMR's variants also set EMR's own."""
_HOSTS: Final = {
    "Dataproc Serverless": r"^gdpic-srvls-",
    "Dataproc": r"-(m|s?w)(-\d+)?\.([\w-]+\.)?c\.[^ ]*internal$",
    "HDInsight": r"^(hn|wn|ed)\d+-",
}
_PATHS: Final = {"EMR": ("/usr/share/aws/emr/", "com.amazon.ws.emr."), "HDInsight": ("-Dhdp.version=", "/usr/hdp/")}
"""Substrings of property values; HDInsight's also occur on other Hortonworks clusters, so its storage must be Azure's.
"""
_OPEN_DELTA: Final = "spark.databricks.delta."
"""Prefix of Delta Lake's properties, which every platform may have."""


def _platform(properties: Mapping[str, str], *, version: str, hosts: Iterable[str], photon: bool) -> str:
    if any(key.startswith("spark.databricks.") and not key.startswith(_OPEN_DELTA) for key in properties):
        return "Databricks with Photon" if photon or _asks_photon(properties) else "Databricks"
    if any(re.search(_HOSTS["Dataproc Serverless"], host) for host in hosts):
        return "Dataproc Serverless"
    for platform, beginnings in _SIGNS:
        if any(key.startswith(beginnings) for key in properties):
            return platform
    if "amzn" in version:
        return "EMR"
    named = (name for name, pattern in _HOSTS.items() if any(re.search(pattern, host) for host in hosts))
    return next(named, "") or _by_paths(properties)


def _by_paths(properties: Mapping[str, str]) -> str:
    text = "\n".join(f"{key}={value}" for key, value in properties.items())
    for platform, parts in _PATHS.items():
        if any(part in text for part in parts) and (
            platform != "HDInsight" or re.search(r"\b(wasbs?|abfss?)://", text)
        ):
            return platform
    return ""


def _asks_photon(properties: Mapping[str, str]) -> bool:
    engine = properties.get(f"{_DATABRICKS}runtimeEngine", "").upper() == "PHOTON"
    return engine or "photon" in properties.get(f"{_DATABRICKS}sparkVersion", "").lower()


def _executor_memory(properties: Mapping[str, str]) -> float | None:
    """Return heap, off-heap, Python's memory and overhead. Spark's default overhead is 10%, on Kubernetes 40% for
    Python (`spark.kubernetes.resource.type`), at least 384 MiB. YARN and Kubernetes used their own property names for
    it.
    """
    heap = size_bytes(properties.get("spark.executor.memory", ""))
    if heap is None:
        return None
    overhead = size_bytes(_first(properties, "spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead"))
    usual = "0.4" if properties.get("spark.kubernetes.resource.type", "java") != "java" else ""
    factors = _first(properties, "spark.executor.memoryOverheadFactor", "spark.kubernetes.memoryOverheadFactor")
    factor = _share(factors or usual)
    least = size_bytes(properties.get("spark.executor.minMemoryOverhead", "")) or float(384 << 20)
    python = size_bytes(properties.get("spark.executor.pyspark.memory", "")) or 0.0
    off_heap = size_bytes(properties.get("spark.memory.offHeap.size", ""), bare=1) or 0.0
    off_heap *= _is_true(properties, "spark.memory.offHeap.enabled")
    return heap + off_heap + python + (max(least, factor * heap) if overhead is None else overhead)


def _first(properties: Mapping[str, str], *names: str) -> str:
    return next((properties[name] for name in names if properties.get(name)), "")


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.1


def size_bytes(text: str, *, bare: int = 1 << 20) -> float | None:
    """Return the bytes of a size in Spark's properties, `931M` or `4g`; a bare number counts in `bare`, mostly MiB.
    None if the text is not a size.
    """
    match = _SIZE.fullmatch(text.strip())
    return None if match is None else float(match[1]) * (_SIZES[match[2].lower()] if match[2] else bare)
