"""Readers of the machine lists that clouds, platforms and schedulers print: one for each format, chosen by content."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import BadInputError
from planner.extras import optional
from planner.units import count_text


@dataclass(frozen=True, kw_only=True)
class Group:
    """A number of machines of one type. The `instance_type` is '' where the format has none; `size` then describes
    them.

    `idle` is the reason why they do not work on the data, such as 'the master'; '' for those that do.
    """

    nodes: int
    instance_type: str
    size: str = ""
    idle: str = ""

    def __str__(self) -> str:
        return f"{self.nodes} x {self.instance_type or 'machines'}{f' ({self.idle})' if self.idle else ''}"


@dataclass(frozen=True, kw_only=True)
class MachineList:
    """The machines of a cluster that work on the data: those of the most frequent type. `unused` names all others;
    `source` is the command or file from which they were read.
    """

    source: str
    nodes: int
    instance_type: str
    unused: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Where the list comes from, in words."""
        return self.source if self.source == SPREADSHEET else f"the output of `{self.source}`"


SPREADSHEET: Final = "CSV with columns instance_type and count"


@dataclass(frozen=True, kw_only=True)
class Format:
    """The output of one command: how to recognise and how to read it."""

    source: str
    recognises: Callable[[Any], bool]
    groups: Callable[[Any], Iterator[Group]]


def read_machine_list(text: str, *, where: str, option: str = "--own") -> MachineList:
    """Return the machines that a text lists.

    Raises BadInputError for an unknown format, and where type or number is missing; its advice names the `option` that
    takes them in words.
    """
    document = read_document(text, where=where)
    form = _format_of(document)
    if form is None:
        known = [form.source for form in FORMATS]
        known += ["facts of machines, such as their processors, are for `planner catalog new mine FILE.csv`"]
        raise BadInputError(
            f"{where}: lists no machines in a known format; it can be the output of:", known, code="unknown-format"
        )
    try:
        groups = _merged(form.groups(document))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        printed = f"not what `{form.source}` prints ({type(error).__name__}: {error}); print it again"
        raise BadInputError(f"{where}: {error if form.source == SPREADSHEET else printed}", code="malformed") from error
    return _chosen(groups, source=form.source, where=where, option=option)


def lists_machines(text: str) -> bool:
    """Return whether a text is in one of the formats that list machines."""
    return _format_of(read_document(text, where="the file")) is not None


def _format_of(document: Any) -> Format | None:
    return next((form for form in FORMATS if form.recognises(document)), None)


_YAML: Final = re.compile(r"(?:#.*\n|---\s*\n)*(?:-\s+)?[A-Za-z_]+:(?:\s|$)")


def read_document(text: str, *, where: str) -> Any:
    """Return the value of a text in JSON or YAML, or the text itself if it is neither. Raises BadInputError for broken
    YAML.
    """
    try:
        return json.loads(text)
    except ValueError:
        if not _YAML.match(text) or any(form.recognises(text) for form in FORMATS):
            return text
    yaml = optional("yaml", extra="yaml", purpose=f"{where}: to read YAML")
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInputError(
            f"{where}: broken YAML; print it again, or as JSON", str(error).splitlines(), code="not-yaml"
        ) from error


def _merged(groups: Iterator[Group]) -> list[Group]:
    """Merge groups that differ only in their number; empty ones are left out."""
    nodes: Counter[tuple[str, str, str]] = Counter()
    for group in groups:
        nodes[group.instance_type, group.size, group.idle] += group.nodes
    return [Group(nodes=n, instance_type=kind, size=size, idle=idle) for (kind, size, idle), n in nodes.items() if n]


def _chosen(groups: Sequence[Group], *, source: str, where: str, option: str) -> MachineList:
    """Return the largest group that works on the data, and the names of the others."""
    working = sorted((group for group in groups if not group.idle), key=lambda group: -group.nodes)
    if not working:
        others = f"; it has {', '.join(map(str, groups))}" if groups else ""
        raise BadInputError(f"{where}: `{source}` lists no machine that works on data{others}", code="no-machines")
    most = working[0]
    if not most.instance_type:
        sized = f" with {most.size}" if most.size else ""
        said = f"{where}: `{source}` names no machine type"
        raise BadInputError(
            f"{said}; write {option} '{most.nodes} x TYPE', the type of the {most.nodes}{sized}", code="type-unknown"
        )
    rivals = dict.fromkeys(str(group) for group in working if group.nodes == most.nodes)
    if len(rivals) > 1:
        either = " or ".join(f"{option} '{rival}'" for rival in rivals)
        raise BadInputError(
            f"{where}: as many machines of one type as of another; ask with {either}", code="ambiguous-machines"
        )
    unused = [str(group) for group in groups if group is not most]
    return MachineList(source=source, nodes=most.nodes, instance_type=most.instance_type, unused=tuple(unused))


def _has_fields(*names: str) -> Callable[[Any], bool]:
    """Return a test of whether a value is an object with all the given fields."""
    return lambda document: isinstance(document, dict) and all(name in document for name in names)


def _lists(*names: str) -> Callable[[Any], bool]:
    """Return a test of whether a value is a list of such objects."""
    has = _has_fields(*names)
    return lambda document: isinstance(document, list) and bool(document) and has(document[0])


# -- Amazon ------------------------------------------------------------------------------------------------------------


def _emr_cluster(document: Any) -> Iterator[Group]:
    cluster = document["Cluster"]
    for group in cluster.get("InstanceGroups", ()):
        count = group.get("RunningInstanceCount") or group["RequestedInstanceCount"]
        yield Group(nodes=count, instance_type=group["InstanceType"], idle=_master(group["InstanceGroupType"]))
    for fleet in cluster.get("InstanceFleets", ()):
        yield _fleet(fleet)


def _master(role: str) -> str:
    return "the master" if role == "MASTER" else ""


def _fleet(fleet: Mapping[str, Any]) -> Group:
    """Return the machines of a fleet. Their type is known only if it has one, as it counts capacity, not machines."""
    units = sum(
        fleet.get(f"Provisioned{way}Capacity") or fleet.get(f"Target{way}Capacity") or 0 for way in ("OnDemand", "Spot")
    )
    role = _master(fleet["InstanceFleetType"])
    types = fleet["InstanceTypeSpecifications"]
    if len(types) == 1:
        nodes = -(-units // (types[0].get("WeightedCapacity") or 1))
        return Group(nodes=nodes, instance_type=types[0]["InstanceType"], idle=role)
    names = ", ".join(of["InstanceType"] for of in types)
    return Group(
        nodes=1, instance_type=f"fleet of {names}", idle=role or "`aws emr list-instances` prints how many of each"
    )


def _emr_instances(document: Any) -> Iterator[Group]:
    for instance in document["Instances"]:
        state = instance["Status"]["State"]
        kind = instance.get("InstanceType", "")  # older clusters of instance groups have none
        yield Group(nodes=1, instance_type=kind, idle="" if state == "RUNNING" else state.lower())


def _ec2_instances(document: Any) -> Iterator[Group]:
    for reservation in document["Reservations"]:
        for instance in reservation["Instances"]:
            state = instance["State"]["Name"]
            yield Group(nodes=1, instance_type=instance["InstanceType"], idle="" if state == "running" else state)


# -- Google ------------------------------------------------------------------------------------------------------------


def _dataproc(document: Any) -> Iterator[Group]:
    config = document["config"]
    for name, idle in (("masterConfig", "the master"), ("workerConfig", ""), ("secondaryWorkerConfig", "")):
        group = config.get(name)
        if group and (nodes := int(group.get("numInstances", 0))):
            disks = int(group.get("diskConfig", {}).get("numLocalSsds", 0))
            yield Group(nodes=nodes, instance_type=_google_type(group["machineTypeUri"], disks), idle=idle)


def _google_instances(document: Any) -> Iterator[Group]:
    for instance in document:
        disks = sum(disk.get("type") == "SCRATCH" for disk in instance.get("disks", ()))
        state = instance["status"]
        kind = _google_type(instance["machineType"], disks)
        yield Group(nodes=1, instance_type=kind, idle="" if state == "RUNNING" else state.lower())


def _google_type(uri: str, local_ssds: int) -> str:
    """Return a type as the catalog names it, including its added local disks."""
    name = uri.rpartition("/")[2]
    return f"{name}+{local_ssds}x375GB" if local_ssds and "lssd" not in name else name


# -- Databricks, Terraform ---------------------------------------------------------------------------------------------


def _databricks(document: Any) -> Iterator[Group]:
    workers = document["node_type_id"]
    yield Group(nodes=1, instance_type=document.get("driver_node_type_id") or workers, idle="the driver")
    if document.get("executors") or "autoscale" not in document:
        yield Group(nodes=len(document.get("executors", ())) or document["num_workers"], instance_type=workers)
        return
    limits = document["autoscale"]
    scales = f"{limits['min_workers']} to {limits['max_workers']} workers, by load: say how many"
    yield Group(nodes=limits["max_workers"], instance_type=workers, idle=scales)


_TERRAFORM: Final[Mapping[str, tuple[str, str]]] = {
    "aws_instance": ("instance_type", ""),
    "google_compute_instance": ("machine_type", ""),
    "azurerm_linux_virtual_machine": ("size", ""),
    "azurerm_virtual_machine": ("vm_size", ""),
    "azurerm_linux_virtual_machine_scale_set": ("sku", "instances"),
    "oci_core_instance": ("shape", ""),
}
"""For each resource that is one or more machines: the attributes with their type and number."""


def _terraform(document: Any) -> Iterator[Group]:
    for kind, attributes in _resources(document):
        if kind in _TERRAFORM:
            type_in, count_in = _TERRAFORM[kind]
            nodes = attributes[count_in] if count_in else 1
            disks = len(attributes.get("scratch_disk") or ())
            yield Group(nodes=nodes, instance_type=_google_type(attributes[type_in], disks))
        elif "autoscaling_group" in kind or "node_group" in kind or "node_pool" in kind:
            yield Group(nodes=1, instance_type=kind, idle="the state does not have its machines")


def _resources(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield type and attributes of each resource of a state file, or of the output of `terraform show -json`."""
    for resource in document.get("resources", ()):
        if resource["mode"] == "managed":
            yield from ((resource["type"], instance["attributes"]) for instance in resource["instances"])
    modules = [document["values"]["root_module"]] if "values" in document else []
    for module in modules:
        modules.extend(module.get("child_modules", ()))
        yield from ((of["type"], of["values"]) for of in module.get("resources", ()) if of["mode"] == "managed")


# -- Kubernetes, Ray, Slurm --------------------------------------------------------------------------------------------

_TYPE_LABELS: Final = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")
_CONTROL: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")


def _kubernetes(document: Any) -> Iterator[Group]:
    for node in document.get("items", [document]):
        labels = node["metadata"].get("labels", {})
        kind = next((labels[name] for name in _TYPE_LABELS if name in labels), "")
        room = node["status"].get("capacity", {})
        size = f"{room['cpu']} vCPUs and {room['memory']} of memory" if {"cpu", "memory"} <= set(room) else ""
        yield Group(nodes=1, instance_type=kind, size=size, idle=_not_ready(node, labels))


def _not_ready(node: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    if any(name in labels for name in _CONTROL):
        return "control plane"
    if node.get("spec", {}).get("unschedulable"):
        return "cordoned"
    conditions = {of["type"]: of["status"] for of in node["status"].get("conditions", ())}
    return "" if conditions.get("Ready", "True") == "True" else "not ready"


def _is_kubernetes(document: Any) -> bool:
    if not _has_fields("kind", "apiVersion")(document):
        return False
    items = document.get("items") if str(document["kind"]).endswith("List") else [document]
    return bool(items) and all(item.get("kind", "Node") == "Node" for item in items)


def _ray_nodes(document: Any) -> Iterator[Group]:
    several = len(document) > 1
    for node in document:
        room, labels = node.get("resources_total") or {}, node.get("labels") or {}
        memory = f" and {_ray_memory(room['memory'])} for tasks" if "memory" in room else ""
        size = f"{count_text(room['CPU'], 'CPU')}{memory}" if "CPU" in room else ""
        idle = "the head" if several and node.get("is_head_node") else ""
        state = node["state"]
        kind = next((labels[name] for name in ("ray.io/instance-type", *_TYPE_LABELS) if name in labels), "")
        yield Group(nodes=1, instance_type=kind, size=size, idle=idle if state == "ALIVE" else state.lower())


def _ray_memory(amount: float | str) -> str:
    """Return memory in words; Ray prints bytes, or, with --detail, '22.400 GiB'."""
    return amount if isinstance(amount, str) else f"{amount / 1e9:.0f} GB"


_RAY_ACTIVE: Final = re.compile(r"^(?:Active|Healthy):[ \t]*\n", re.MULTILINE)
"""Ray of 2023 printed `Healthy:`."""


def _ray_status(text: Any) -> Iterator[Group]:
    """Read the lines under `Active:`: ` 12 ray.worker.default` with an autoscaler, ` 1 node_1f3c...` without one. Idle
    nodes, which some versions list below it, count too.
    """
    active = _RAY_ACTIVE.split(text)[1].partition("Pending:")[0]
    for line in active.splitlines():
        count, _, name = line.strip().partition(" ")
        if count.isdecimal() and name:
            yield Group(nodes=int(count), instance_type="", idle="the head" if "head" in name else "")


_SKY_HEAD: Final = re.compile(r"^NAME +.*\bRESOURCES +STATUS\b.*$", re.MULTILINE)
_SKY_RESOURCES: Final = re.compile(r"(?P<nodes>\d+)x ?(?:[A-Za-z]+)?\((?P<parts>.*)$")
_SKY_TYPE: Final = re.compile(r"(?:type=)?(?P<type>[A-Za-z][\w-]*\.[\w.-]+|[a-z]\w*-[a-z]+[\w-]*-\d+\w*|Standard_\w+)")


def _is_sky_status(text: Any) -> bool:
    return isinstance(text, str) and bool(_SKY_HEAD.search(text))


def _sky_status(text: Any) -> Iterator[Group]:
    """Read a row for each cluster: `2x AWS(m4.2xlarge)`, or `2x(cpus=8, mem=32, m4.2xlarge, ...)` with the cloud in a
    column of its own. The type may be cut off by `...`; `sky status -v` prints it.
    """
    head = next(line for line in text.splitlines() if _SKY_HEAD.match(line))
    resources_at, status_at = head.index("RESOURCES"), head.index("STATUS")
    for line in text.partition(head)[2].splitlines()[1:]:
        if not line.strip():
            return
        name, said = line.split(maxsplit=1)[0], _SKY_RESOURCES.match(line[resources_at:status_at].rstrip())
        if said is None:
            raise ValueError(f"no resources in the row of {name}")
        parts = re.split(r",\s*", said["parts"].rstrip(")"))
        kind = next((found["type"] for part in parts if (found := _SKY_TYPE.fullmatch(part.strip()))), "")
        state = line[status_at:].split(maxsplit=1)[0]
        yield Group(
            nodes=int(said["nodes"]),
            instance_type=kind,
            size=f"{name}: {said['parts'].rstrip(')')}",
            idle="" if state == "UP" else state.lower(),
        )


def _slurm(document: Any) -> Iterator[Group]:
    """Read `sinfo --json`, which lists a node once per partition; `scontrol show nodes --json` lists it once.

    ParallelCluster and others put the machine type among the features: 'dynamic,c5.xlarge,queue1'.
    """
    seen: set[str] = set()
    for entry in document["sinfo"] if "sinfo" in document else document["nodes"]:
        names = set(entry["nodes"]["nodes"] if "sinfo" in document else [entry["name"]]) - seen
        seen |= names
        yield _slurm_group(entry, nodes=len(names))


_DOWN: Final = ("DOWN", "DRAIN", "DRAINED", "FAIL", "NOT_RESPONDING")


def _slurm_group(entry: Mapping[str, Any], *, nodes: int) -> Group:
    cpus, features = entry["cpus"], entry.get("features") or []
    states = entry["node"]["state"] if "node" in entry else entry["state"]
    states = [*([states] if isinstance(states, str) else states), *entry.get("state_flags", ())]
    features = features["total"] if isinstance(features, dict) else features
    listed = features.split(",") if isinstance(features, str) else features  # a text in Slurm 21.08 and 22.05
    kind = next((name.strip() for name in listed if "." in name or name.startswith("Standard_")), "")
    size = count_text(cpus["maximum"] if isinstance(cpus, dict) else cpus, "CPU")
    down = [state for state in states if state.upper() in _DOWN]
    return Group(nodes=nodes, instance_type=kind, size=size, idle=down[0].lower() if down else "")


# -- Spreadsheets ------------------------------------------------------------------------------------------------------

_TYPE_HEADINGS: Final = ("instancetype", "machinetype", "vmsize", "instance", "machine", "type", "flavor", "flavour")
_COUNT_HEADINGS: Final = ("count", "nodes", "machines", "instances", "quantity", "number", "hosts")


def _csv_columns(text: Any) -> tuple[list[list[str]], list[str]] | None:
    """Return the rows of CSV below a heading with a column of types, and the heading in small letters alone."""
    if not isinstance(text, str) or not (head := text.partition("\n")[0]):
        return None
    mark = max(",;\t", key=head.count)
    first, *rows = csv.reader(text.splitlines(), delimiter=mark, strict=False)
    names = [re.sub("[^a-z]", "", name.casefold()) for name in first]
    return (rows, names) if {*names} & {*_TYPE_HEADINGS} else None


def _spreadsheet(text: Any) -> Iterator[Group]:
    """Yield the machines of each row: as many as its count says, else one. Raises ValueError for a row without them."""
    rows, names = _csv_columns(text) or ([], [])
    kind = next(names.index(name) for name in _TYPE_HEADINGS if name in names)
    count = next((names.index(name) for name in _COUNT_HEADINGS if name in names), None)
    for line, row in enumerate(rows, start=2):
        if not any(row):
            continue
        if len(row) < len(names) or not row[kind].strip() or not (count is None or row[count].strip().isdecimal()):
            raise ValueError(f"line {line} has no type, or no number of machines")
        yield Group(nodes=1 if count is None else int(row[count]), instance_type=row[kind].strip())


FORMATS: Final = (
    Format(source="aws emr describe-cluster", recognises=_has_fields("Cluster"), groups=_emr_cluster),
    Format(source="aws emr list-instances", recognises=_has_fields("Instances"), groups=_emr_instances),
    Format(source="aws ec2 describe-instances", recognises=_has_fields("Reservations"), groups=_ec2_instances),
    Format(
        source="gcloud dataproc clusters describe", recognises=_has_fields("clusterName", "config"), groups=_dataproc
    ),
    Format(
        source="gcloud compute instances list --format json",
        recognises=_lists("machineType", "status"),
        groups=_google_instances,
    ),
    Format(
        source="databricks clusters get", recognises=_has_fields("spark_version", "node_type_id"), groups=_databricks
    ),
    Format(source="kubectl get nodes -o json", recognises=_is_kubernetes, groups=_kubernetes),
    Format(source="ray list nodes --format json", recognises=_lists("node_id", "state"), groups=_ray_nodes),
    Format(
        source="ray status",
        recognises=lambda text: isinstance(text, str) and bool(_RAY_ACTIVE.search(text)),
        groups=_ray_status,
    ),
    Format(source="sky status", recognises=_is_sky_status, groups=_sky_status),
    Format(
        source="sinfo --json",
        recognises=lambda of: _has_fields("sinfo")(of) or _has_fields("nodes", "meta")(of),
        groups=_slurm,
    ),
    Format(
        source="terraform show -json",
        recognises=lambda of: (
            _has_fields("terraform_version", "resources")(of) or _has_fields("terraform_version", "values")(of)
        ),
        groups=_terraform,
    ),
    Format(source=SPREADSHEET, recognises=lambda text: _csv_columns(text) is not None, groups=_spreadsheet),
)
"""Known formats. Terraform's state file itself is read like the output of `terraform show -json`."""
