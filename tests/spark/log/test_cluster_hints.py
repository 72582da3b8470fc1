"""The cluster, as far as a log describes it."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_events import environment, lines, small_job

from planner.spark import log as spark_log
from planner.spark.application.application import Cluster
from planner.spark.log.cluster_hints import size_bytes


def cluster(tmp_path: Path, properties: dict[str, str], **groups: dict[str, str]) -> Cluster:
    events = small_job(properties=properties)
    path = tmp_path / "log"
    path.write_bytes(lines([*events[:2], environment({}, **groups), *events[2:]]))
    return spark_log.read(path).only().cluster


def test_databricks_says_its_types(tmp_path: Path) -> None:
    tags = "spark.databricks.clusterUsageTags."
    told = cluster(
        tmp_path,
        {
            f"{tags}clusterNodeType": "m5.4xlarge",
            f"{tags}driverNodeType": "m5.xlarge",
            f"{tags}region": "us-east-1",
            f"{tags}cloudProvider": "AWS",
        },
    )
    assert (told.platform, told.cloud, told.region) == ("Databricks", "aws", "us-east-1")
    assert (told.instance_type, told.driver_type) == ("m5.4xlarge", "m5.xlarge")
    assert told.origins["instance_type"] == f"{tags}clusterNodeType"
    assert (told.hosts, told.executors, told.cores, told.cores_per_executor) == (("a", "b"), 2, 8, 4)
    assert told.unknown == ()


def test_emr_is_told_by_its_properties_and_its_type_is_unknown(tmp_path: Path) -> None:
    told = cluster(tmp_path, {}, **{"System Properties": {"EMR_CLUSTER_ID": "j-1"}})
    assert (told.platform, told.cloud, told.instance_type) == ("EMR", "aws", "")
    assert told.unknown == ("region", "instance_type", "driver_type")


@pytest.mark.parametrize(
    ("key", "platform", "cloud"),
    [
        ("spark.emr-serverless.driver.disk", "EMR Serverless", "aws"),
        ("spark.kubernetes.driver.label.emr-containers.amazonaws.com/job.id", "EMR on EKS", "aws"),
        ("spark.glue.GLUE_VERSION", "Glue", "aws"),
        ("spark.dataproc.sql.joinConditionReorder.enabled", "Dataproc", "gcp"),
        ("spark.synapse.workspace.name", "Synapse", "azure"),
        ("spark.databricks.clusterUsageTags.clusterId", "Databricks", ""),
        ("spark.hadoop.hive.metastore.glue.catalogid", "", ""),
        ("spark.databricks.delta.retentionDurationCheck.enabled", "", ""),
        ("spark.dataproc.executor.compute.tier", "Dataproc Serverless", "gcp"),
        ("spark.glueJobName", "Glue", "aws"),
    ],
)
def test_platforms_are_known_by_what_they_set(tmp_path: Path, key: str, platform: str, cloud: str) -> None:
    told = cluster(tmp_path, {key: "1"})
    assert (told.platform, told.cloud) == (platform, cloud)


def test_photon_is_named_by_a_step_of_a_plan(tmp_path: Path) -> None:
    events = small_job(properties={"spark.databricks.clusterUsageTags.clusterId": "1"})
    for event in events:
        if event["Event"] == "SparkListenerStageCompleted":
            event["Stage Info"]["RDD Info"] = [{"Name": "x", "Scope": '{"id":"1","name":"PhotonGroupingAgg"}'}]
    path = tmp_path / "log"
    path.write_bytes(lines(events))
    assert spark_log.read(path).only().cluster.platform == "Databricks with Photon"


def test_off_heap_memory_counts_in_bytes_and_where_it_is_enabled(tmp_path: Path) -> None:
    size = {"spark.memory.offHeap.size": str(4 * 2**30)}
    without = cluster(tmp_path, size).memory_per_executor_bytes
    there = cluster(tmp_path, {**size, "spark.memory.offHeap.enabled": "true"}).memory_per_executor_bytes
    assert without is not None and there == without + 4 * 2**30


def test_an_executor_has_its_heap_and_its_overhead(tmp_path: Path) -> None:
    assert cluster(tmp_path, {}).memory_per_executor_bytes == pytest.approx(1.1 * 4 * 2**30)  # Spark adds 10%
    assert cluster(tmp_path, {"spark.executor.memory": "1g"}).memory_per_executor_bytes == (1024 + 384) * 2**20


@pytest.mark.parametrize(
    ("text", "size"), [("931M", 931 * 2**20), ("4g", 4 * 2**30), ("512", 512 * 2**20), ("2GB", 2**31), ("many", None)]
)
def test_sizes_as_spark_writes_them(text: str, size: float | None) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    ("properties", "platform"),
    [
        ({"spark.driver.host": "gdpic-srvls-batch-1-m.us-central1-a.c.p.internal"}, "Dataproc Serverless"),
        ({"spark.driver.host": "logs-w-3.us-central1-a.c.p.internal"}, "Dataproc"),
        ({"spark.driver.host": "wn0-logs.abc.ax.internal.cloudapp.net"}, "HDInsight"),
        ({"spark.driver.extraClassPath": "/usr/share/aws/emr/emrfs/lib/*"}, "EMR"),
        ({"spark.driver.extraJavaOptions": "-Dhdp.version=3.1"}, ""),
        ({"spark.databricks.delta.preview.enabled": "true", "spark.synapse.workspace.name": "x"}, "Synapse"),
    ],
)
def test_platforms_are_known_by_hosts_and_paths(tmp_path: Path, properties: dict[str, str], platform: str) -> None:
    """Delta Lake names its properties after Databricks on every platform."""
    assert cluster(tmp_path, properties).platform == platform


GIB = 2**30


@pytest.mark.parametrize(
    ("properties", "beside_bytes"),
    [
        ({"spark.yarn.executor.memoryOverhead": "2048"}, 2 * GIB),
        ({"spark.kubernetes.memoryOverheadFactor": "0.5"}, 2 * GIB),
        ({"spark.kubernetes.resource.type": "python"}, 1.6 * GIB),
        ({"spark.kubernetes.resource.type": "java"}, 0.4 * GIB),
        ({"spark.executor.pyspark.memory": "1g"}, 1.4 * GIB),
        ({"spark.executor.minMemoryOverhead": "1g"}, 1 * GIB),
        ({"spark.memory.offHeap.enabled": "TRUE", "spark.memory.offHeap.size": "1g"}, 1.4 * GIB),
    ],
)
def test_all_that_an_executor_may_take_beside_its_heap(
    tmp_path: Path, properties: dict[str, str], beside_bytes: float
) -> None:
    assert cluster(tmp_path, properties).memory_per_executor_bytes == pytest.approx(4 * GIB + beside_bytes)


def test_executors_of_other_profiles_have_memory_of_their_own(tmp_path: Path) -> None:
    events = small_job()
    for event in events:
        if event["Event"] == "SparkListenerExecutorAdded":
            event["Executor Info"]["Resource Profile Id"] = 1
    path = tmp_path / "log"
    path.write_bytes(lines(events))
    assert spark_log.read(path).only().cluster.memory_per_executor_bytes is None


@pytest.mark.parametrize(
    "properties",
    [
        {"spark.dynamicAllocation.enabled": "True"},
        {"spark.databricks.clusterUsageTags.clusterScalingType": "autoscaling"},
    ],
)
def test_clusters_that_grow(tmp_path: Path, properties: dict[str, str]) -> None:
    assert cluster(tmp_path, properties).dynamic
