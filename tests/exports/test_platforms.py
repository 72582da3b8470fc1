"""Each platform's file fits the platform's own schema, whatever the plan: botocore's models, Google's discovery
documents, SkyPilot's JSON Schema, and the fields of the others from their sources (`data/`).
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import tomllib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import botocore.session
import googleapiclient
import jsonschema
import pytest
import yaml
from botocore.validate import ParamValidator
from hypothesis import given, settings
from refusals import refused
from spark_events import lines, small_job
from typer.testing import CliRunner

from planner.cli.app import build
from planner.config.paths import catalogs_directory
from planner.errors import BadInputError
from planner.exports.filling import TEMPLATES
from planner.exports.platform import PLACEHOLDER, PLATFORMS, export_plan, platform_of
from planner.schemas.plan import Candidate, Plan
from planner.spark.model.platforms import platform_called
from tests.exports.orders import planned, plans
from tests.marks import QUICK_SOAK

DATA = Path(__file__).with_name("data")
GOOGLE = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents" / "dataproc.v1.json"


def documents(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


@cache
def fields(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


@cache
def json_schema(name: str, part: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(fields(name)[part])


KINDS = {"string": str, "integer": int, "number": (int, float), "boolean": bool}


def require_fields(value: Any, form: Any, at: str = "") -> None:
    """Fail where a value has a field that its form lacks, or of another kind."""
    if isinstance(form, dict):
        assert isinstance(value, dict), at
        for name, item in value.items():
            assert name in form or "*" in form, f"{at}/{name}: no such field"
            require_fields(item, form.get(name, form.get("*")), f"{at}/{name}")
    elif isinstance(form, list):
        assert isinstance(value, list), at
        for number, item in enumerate(value):
            require_fields(item, form[0], f"{at}/{number}")
    elif form in KINDS:
        assert isinstance(value, KINDS[form]) and (form == "boolean" or not isinstance(value, bool)), f"{at}: {value!r}"
    elif form != "any":
        assert value in form.split("|"), f"{at}: {value!r} is none of {form}"


def require_botocore(value: Any, *, service: str, operation: str) -> None:
    shape = input_shape(service, operation)
    report = ParamValidator().validate(value, shape)
    assert not report.has_errors(), report.generate_report()
    require_enums(value, shape)


@cache
def input_shape(service: str, operation: str) -> Any:
    return botocore.session.get_session().get_service_model(service).operation_model(operation).input_shape


def require_enums(value: Any, shape: Any) -> None:
    """Check the words that a field may hold; botocore checks names and types."""
    if shape.type_name == "structure":
        for name, item in value.items():
            require_enums(item, shape.members[name])
    elif shape.type_name == "list":
        for item in value:
            require_enums(item, shape.member)
    elif getattr(shape, "enum", None):
        assert value in shape.enum, f"{shape.name}: {value}"
    elif (pattern := shape.metadata.get("pattern")) and "\\uD" not in pattern:  # halves of characters, which re rejects
        assert re.fullmatch(pattern, value), f"{shape.name}: {value} is not {pattern}"


def require_google(value: Any, schema: str) -> None:
    require_google_fields(value, {"$ref": schema}, google_schemas())


@cache
def google_schemas() -> Any:
    return json.loads(GOOGLE.read_text(encoding="utf-8"))["schemas"]


def require_google_fields(value: Any, form: Any, schemas: Any, at: str = "") -> None:
    form = schemas[form["$ref"]] if "$ref" in form else form
    if form["type"] == "object" and "properties" in form:
        for name, item in value.items():
            assert name in form["properties"], f"{at}/{name}: no such field"
            require_google_fields(item, form["properties"][name], schemas, f"{at}/{name}")
    elif form["type"] == "object":
        for name, item in value.items():
            require_google_fields(item, form["additionalProperties"], schemas, f"{at}/{name}")
    elif form["type"] == "array":
        for item in value:
            require_google_fields(item, form["items"], schemas, at)
    else:
        assert isinstance(value, KINDS[form["type"]]), f"{at}: {value!r}"
        assert "enum" not in form or value in form["enum"], f"{at}: {value!r}"


def require_terraform(document: Any) -> None:
    """Check each resource and data source against the provider's schema, and each reference against existing names."""
    known, there = fields("terraform"), set()
    for kind, blocks in (*document["resource"].items(), *document.get("data", {}).items()):
        for label, block in blocks.items():
            settings = {name: value for name, value in block.items() if name != "count"}  # Terraform's own
            require_fields(settings, known["fields"][kind], kind)
            assert set(known["required"][kind]) <= set(settings), f"{kind} lacks {known['required'][kind]}"
            there |= {f"{kind}.{label}", f"data.{kind}.{label}"}
    there |= {f"var.{name}" for name in document["variable"]} | {"count.index"}
    named = re.findall(r"\$\{((?:data\.)?\w+\.\w+)", json.dumps({**document, "//": ""}))
    assert set(named) <= there, set(named) - there


def require_blueprint(document: Any) -> None:
    """Check the modules' settings against their Terraform variables, and each `use` against the modules before it."""
    (group,) = document["deployment_groups"]
    there: list[str] = []
    for module in group["modules"]:
        require_fields(module.get("settings", {}), fields("cluster-toolkit")["fields"][module["source"]], module["id"])
        assert set(module.get("use", ())) <= set(there), module["id"]
        there.append(module["id"])


def require_valid(name: str, text: str) -> None:
    if name == "slurm":
        subprocess.run(["bash", "-n"], input=text, text=True, check=True)
        return
    first, *rest = documents(text)
    if name == "emr":
        require_botocore(first, service="emr", operation="RunJobFlow")
    elif name == "emr-serverless":
        require_botocore(first | {"clientToken": "x"}, service="emr-serverless", operation="CreateApplication")
    elif name == "dataproc":
        require_google(first, "Cluster")
    elif name == "dataproc-serverless":
        require_google(first, "Batch")
    elif name == "skypilot":
        json_schema(name, "task").validate(first)
        json_schema(name, "resources").validate(first["resources"])
        subprocess.run(["bash", "-n"], input=first["setup"] + first["run"], text=True, check=True)
    elif name == "karpenter":
        for document in (first, *rest):
            require_fields(document, fields(name)["fields"][document["kind"]])
    elif name in ("databricks", "kuberay", "spark-operator", "parallelcluster"):
        require_fields(first, fields(name)["fields"])
    elif name == "terraform":
        require_terraform(first)
    elif name == "cluster-toolkit":
        require_blueprint(first)
    else:
        raise AssertionError(f"nothing checks {name}")


@pytest.mark.parametrize("name", PLATFORMS)
def test_a_real_plan_is_a_valid_file(name: str) -> None:
    clouds = platform_of(name).clouds or {"aws", "gcp", "azure"}
    for cloud in sorted(clouds & {"aws", "gcp", "azure"}):
        exported = export_plan(planned(cloud), name)
        require_valid(name, exported.text)
        assert exported.lost, "a platform that expresses all is none that we know"
        assert all(str(lost.what) in exported.text for lost in exported.lost)
        assert set(exported.placeholders) == set(PLACEHOLDER.findall(exported.text))


BESIDE = {
    "emr": "the primary node, one more",
    "dataproc": "the primary node, one more",
    "databricks": "the node of the driver, one more",
    "kuberay": "the pod of the head, 4 CPUs and 16 GiB",
    "spark-operator": "the pod of the driver, 4 cores and 8 GB",
    "emr-serverless": "the driver, 4 vCPUs and 16 GB",
    "dataproc-serverless": "the driver",
    "parallelcluster": "the head node",
    "cluster-toolkit": "the controller and the login node",
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_what_a_file_starts_beside_the_planned_machines_is_told(name: str) -> None:
    platform = platform_of(name)
    order = export_plan(planned(min(platform.clouds or {"aws"})), name)
    words = " ".join(order.text.replace("\n#", "").split())
    assert (f"Not in the costs: {BESIDE[name]}" in words) if name in BESIDE else ("Not in the costs" not in words)


@given(plans())
@settings(max_examples=20)
def test_any_plan_is_a_valid_file_or_is_refused(plan: Plan) -> None:
    require_each(plan)


@pytest.mark.parametrize("nothing", [pytest.param(None, marks=QUICK_SOAK)])
@given(plan=plans())
@settings(max_examples=500)
def test_500_plans_are_valid_files_or_refused(nothing: None, plan: Plan) -> None:
    require_each(plan)


def require_each(plan: Plan) -> None:
    assert plan.best is not None
    for name in PLATFORMS:
        platform = platform_of(name)
        try:
            exported = export_plan(plan, name)
        except BadInputError as error:
            assert (
                (platform.clouds and plan.best.cloud not in platform.clouds)
                or not platform.spark.accepts(plan.best.cloud_type, cloud=plan.best.cloud)
                or (error.code == "too-small" and room_mib(name, plan.best) < 2048)
                or (error.code == "too-few-nodes" and (name, plan.best.nodes) == ("dataproc", 1))
            )
            continue
        require_valid(name, exported.text)
        require_placed(name, plan, exported.text)
        assert plan.best.cloud_type in exported.text


def room_mib(name: str, cluster: Candidate) -> float:
    """Return what a platform's scheduler hands out of a node's memory, by the platform's own documents."""
    mib = ((cluster.machine and cluster.machine.memory_bytes) or math.nan) / 2**20
    if name == "emr":
        return mib - min(mib / 4, 8192)  # 12288 of 16384, 24576 of 32768, 57344 of 65536, 122880 of 131072
    if name == "dataproc":
        return 0.8 * mib  # 12 of 15 GB
    if name == "databricks":
        return 0.97 * mib - 4800
    bands = ((0, 4, 0.25), (4, 8, 0.2), (8, 16, 0.1), (16, 128, 0.06), (128, math.inf, 0.02))  # GKE's
    return mib - 100 - sum(share * min(max(mib / 1024 - low, 0), high - low) * 1024 for low, high, share in bands)


def require_placed(name: str, plan: Plan, text: str) -> None:
    """Place every executor, or pod, on the nodes that the file asks for; YARN rounds up, and its master takes 1 GiB."""
    if name not in ("emr", "dataproc", "databricks", "spark-operator", "kuberay"):
        return
    best, first = plan.best, documents(text)[0]
    assert best is not None and best.machine is not None
    if best.machine.memory_bytes is None:
        return
    if name == "kuberay":
        resources = first["spec"]["rayClusterSpec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]
        asked = resources["resources"]["requests"]
        assert int(asked["memory"].removesuffix("Gi")) * 1024 <= room_mib(name, best)
        cpu = asked["cpu"]
        assert (float(cpu[:-1]) / 1000 if cpu.endswith("m") else float(cpu)) < (best.machine.vcpus or 1)
        return
    spark = spark_properties(name, first)
    mib = -(-(int(spark["memory"][:-1]) + int(spark["memoryOverhead"][:-1])) // 1024) * 1024
    cores, count = int(spark["cores"]), int(spark["instances"])
    nodes = {best.cloud_type: best.nodes}
    if name == "emr":
        fleet = first["Instances"]["InstanceFleets"][1]
        units = fleet.get("TargetOnDemandCapacity") or fleet["TargetSpotCapacity"]
        nodes = {each["InstanceType"]: -(-units // each["WeightedCapacity"]) for each in fleet["InstanceTypeConfigs"]}
    for cluster in ranked_once(plan):
        if cluster.cloud_type in nodes:
            machine = cluster.machine
            assert machine is not None and machine.memory_bytes is not None
            in_memory = (room_mib(name, cluster) - (1024 if name in ("emr", "dataproc") else 0)) // mib
            assert nodes[cluster.cloud_type] * min(int(machine.vcpus or 1) // cores, in_memory) >= count, name


def spark_properties(name: str, document: Any) -> dict[str, str]:
    if name == "spark-operator":
        return {key: str(value) for key, value in document["spec"]["executor"].items()}
    if name == "emr":
        found = document["Configurations"][0]["Properties"]
    elif name == "dataproc":
        found = document["config"]["softwareConfig"]["properties"]
    else:
        found = document["resources"]["jobs"]["sort"]["job_clusters"][0]["new_cluster"]["spark_conf"]
    return {key.partition("spark.executor.")[2]: str(value) for key, value in found.items()}


def ranked_once(plan: Plan) -> list[Candidate]:
    """Return the cluster of each type that a file is of: the chosen one, and of the others the first of a type."""
    assert plan.best is not None
    best = plan.best
    alike = [c for c in plan.candidates if (c.cloud, c.region, c.pricing) == (best.cloud, best.region, best.pricing)]
    return list({each.cloud_type: each for each in (*reversed(alike), best)}.values())


def test_an_executor_of_a_log_fits_what_emr_leaves_of_a_node(tmp_path: Path) -> None:
    log = tmp_path / "app-1"
    log.write_bytes(lines(small_job()))
    for kind, yarn_mib in (("m6g.xlarge", 12288), ("m6g.2xlarge", 24576), ("m6g.4xlarge", 57344)):
        words = ["plan-log", str(log), "--ran-on", "m5.xlarge x 2", "--instance", kind, "--nodes", "3", "--to", "emr"]
        (document,) = documents(CliRunner().invoke(build(only="plan-log"), [*words, "--deadline", "1h"]).stdout)
        spark = spark_properties("emr", document)
        asked = int(spark["memory"][:-1]) + int(spark["memoryOverhead"][:-1])
        assert int(spark["instances"]) * asked <= 3 * yarn_mib - 1024, kind


def test_a_machine_without_room_for_an_executor_is_refused() -> None:
    plan = planned("aws")
    assert plan.best is not None and plan.best.machine is not None
    small = replace(plan.best, machine=replace(plan.best.machine, memory_bytes=2e9))
    with refused("too-small", "plan with another --instance"):
        export_plan(replace(plan, best=small, candidates=(small,)), "databricks")


def test_dataproc_takes_two_workers_at_least() -> None:
    """A cluster of Dataproc's kind STANDARD has two primary workers at least."""
    plan = planned("gcp")
    assert plan.best is not None
    one = replace(plan.best, nodes=1)
    with refused("too-few-nodes", "plan with --nodes 2"):
        export_plan(replace(plan, best=one, candidates=(one,)), "dataproc")


def test_a_worker_of_emr_serverless_is_one_executor() -> None:
    (document,) = documents(export_plan(planned("aws"), "emr-serverless").text)
    worker = document["initialCapacity"]["EXECUTOR"]
    spark = {k.partition("spark.executor.")[2]: v for k, v in document["runtimeConfiguration"][0]["properties"].items()}
    assert int(spark["instances"]) == worker["workerCount"] and int(spark["cores"]) == 16
    assert int(spark["memory"][:-1]) * 1.1 <= int(worker["workerConfiguration"]["memory"].split()[0])


def test_the_next_choices_of_a_fleet_weigh_what_they_do() -> None:
    plan = planned("aws")
    (document,) = documents(export_plan(plan, "emr").text)
    workers = document["Instances"]["InstanceFleets"][1]
    weights = {each["InstanceType"]: each["WeightedCapacity"] for each in workers["InstanceTypeConfigs"]}
    assert plan.best is not None
    assert workers["TargetOnDemandCapacity"] == plan.best.nodes * weights[plan.best.instance_type]
    for other in plan.candidates:
        if other.instance_type in weights:
            does = plan.best.nodes * plan.best.time_s.expected / (other.nodes * other.time_s.expected)
            assert weights[other.instance_type] == pytest.approx(weights[plan.best.instance_type] * does, abs=0.5)
    assert [each["Priority"] for each in workers["InstanceTypeConfigs"]] == sorted(map(float, range(len(weights))))


def test_a_cloud_that_a_platform_is_not_on_is_refused() -> None:
    with refused("other-cloud", "dataproc", "--cloud gcp"):
        export_plan(planned("aws"), "dataproc")


def test_a_type_that_a_platform_has_not_is_refused_with_one_that_it_has() -> None:
    plan = planned("gcp")
    with refused("unknown-type", "dataproc", "z3-highmem-88") as caught:
        export_plan(with_type(plan, "z3-highmem-88"), "dataproc")
    assert "plan with --instance" in str(caught.value)


def test_next_choices_that_a_platform_has_not_are_left_out() -> None:
    plan = planned("aws")
    lacking = replace(plan.candidates[1], instance_type="i8ge.24xlarge", cloud_type="i8ge.24xlarge")
    plan = replace(plan, candidates=(plan.candidates[0], lacking, *plan.candidates[2:]))
    assert "i8ge.24xlarge" not in export_plan(plan, "emr").text
    assert not platform_of("emr").spark.accepts("i8ge.24xlarge", cloud="aws")


def test_each_list_of_types_is_a_platform_s_and_names_source_and_date() -> None:
    for name, table in tomllib.loads((catalogs_directory() / "platform_types.toml").read_text("utf-8")).items():
        assert not platform_called(name).accepts("no-such.type", cloud=platform_called(name).cloud)
        assert re.search(r"read \d{4}-\d\d-\d\d$", table["source"])


def with_type(plan: Plan, machine_type: str) -> Plan:
    assert plan.best is not None
    best = replace(plan.best, cloud_type=machine_type)
    return replace(plan, best=best, candidates=(best, *plan.candidates[1:]))


def test_a_logged_application_is_exported_with_its_configuration(tmp_path: Path) -> None:
    log = tmp_path / "app-1"
    log.write_bytes(lines(small_job()))
    words = ["plan-log", str(log), "--ran-on", "m5.4xlarge x 4", "--to"]
    for name in ("emr", "databricks", "spark-operator", "karpenter"):
        done = CliRunner().invoke(build(only="plan-log"), [*words, name])
        assert done.exit_code == 0, done.stderr
        require_valid(name, done.stdout)
    (document,) = documents(CliRunner().invoke(build(only="plan-log"), [*words, "emr"]).stdout)
    assert document["Configurations"][0]["Properties"]["spark.executor.instances"]


def test_cluster_toolkit_mounts_the_disks_that_it_adds_and_those_of_the_type() -> None:
    plan = planned("gcp")
    assert plan.best is not None and plan.best.machine is not None and plan.best.machine.local_disks
    for kind, added in ((plan.best.cloud_type, False), (f"{plan.best.cloud_type}+2x375GB", True)):
        best = replace(plan.best, instance_type=kind)
        (document,) = documents(export_plan(replace(plan, best=best, candidates=(best,)), "cluster-toolkit").text)
        modules = {module["id"]: module for module in document["deployment_groups"][0]["modules"]}
        assert modules["disks"]["settings"]["local_ssd_filesystem"]["mountpoint"] == "/mnt/localssd"
        assert modules["nodes"]["use"] == ["network", "disks"]
        assert ("additional_disks" in modules["nodes"]["settings"]) == added


def test_disks_to_add_are_no_part_of_a_logged_job_s_machine_type(tmp_path: Path) -> None:
    log = tmp_path / "app-1"
    log.write_bytes(lines(small_job()))
    machine = "n2-standard-8+2x375GB"
    words = [
        "plan-log",
        str(log),
        "--ran-on",
        f"{machine} x 2",
        "--instance",
        machine,
        "--to",
        "dataproc",
        "--nodes",
        "2",
    ]
    (document,) = documents(CliRunner().invoke(build(only="plan-log"), [*words, "--deadline", "1h"]).stdout)
    workers = document["config"]["workerConfig"]
    assert (workers["machineTypeUri"], workers["diskConfig"]["numLocalSsds"]) == ("n2-standard-8", 2)


def test_photon_stays_photon(tmp_path: Path) -> None:
    log = tmp_path / "app-1"
    log.write_bytes(lines(small_job(properties={"spark.databricks.clusterUsageTags.runtimeEngine": "PHOTON"})))
    words = ["plan-log", str(log), "--ran-on", "m5.4xlarge x 4", "--to", "databricks"]
    (document,) = documents(CliRunner().invoke(build(only="plan-log"), words).stdout)
    (cluster,) = document["resources"]["jobs"]["sort"]["job_clusters"]
    assert cluster["new_cluster"]["runtime_engine"] == "PHOTON"
    words[1] = str(tmp_path / "app-2")
    Path(words[1]).write_bytes(lines(small_job("app-2")))
    assert "PHOTON" not in CliRunner().invoke(build(only="plan-log"), words).stdout


def test_a_known_fee_stands_in_the_file() -> None:
    plan = planned("gcp")
    assert plan.best is not None and plan.best.machine is not None and plan.best.machine.vcpus is not None
    by_documents = 0.01 * plan.best.nodes * plan.best.machine.vcpus  # cloud.google.com/dataproc/pricing
    assert f"Dataproc's fee of ${by_documents:.2f} an hour" in export_plan(plan, "dataproc").text


def test_an_unknown_platform_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInputError, match="kuberay"):
        export_plan(planned("aws"), "kubray")


def test_no_template_takes_more_than_120_lines() -> None:
    assert max(len(path.read_text("utf-8").splitlines()) for path in TEMPLATES.iterdir()) <= 120
