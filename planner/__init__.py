"""The cluster to rent to sort or shuffle terabytes, for how long and for how much.

>>> import planner
>>> answer = planner.recommend("100TB")
>>> answer.best.model
'daytona'
"""

from __future__ import annotations

TYPE_CHECKING = False
"""True for type checkers. Ctrl-C while `typing` loads, before any code can handle it, would print a traceback."""
if TYPE_CHECKING:
    from planner import errors as errors
    from planner.api.arguments.request_file import read_request as read_request
    from planner.api.clusters import Confirm as Confirm
    from planner.api.clusters import RaisedCluster as RaisedCluster
    from planner.api.clusters import down as down
    from planner.api.clusters import examine_account as examine_account
    from planner.api.clusters import up as up
    from planner.api.generate import generate as generate
    from planner.api.measure import DiskLayout as DiskLayout
    from planner.api.measure import DiskMode as DiskMode
    from planner.api.measure import measure as measure
    from planner.api.progress import Step as Step
    from planner.api.progress import TimedStep as TimedStep
    from planner.api.receipts.receipt import Receipt as Receipt
    from planner.api.receipts.receipt import receipt as receipt
    from planner.api.recommend import Recommendation as Recommendation
    from planner.api.recommend import calibrate as calibrate
    from planner.api.recommend import own as own
    from planner.api.recommend import recommend as plan
    from planner.api.recommend import recommend as recommend
    from planner.api.recommend_each import DataSizes as DataSizes
    from planner.api.recommend_each import recommend_each as recommend_each
    from planner.api.rental_options import RentalOptions as RentalOptions
    from planner.api.run import run as run
    from planner.api.run_job import Listeners as Listeners
    from planner.api.run_job import Work as Work
    from planner.api.sort import find_disorder as find_disorder
    from planner.api.sort import sort as sort
    from planner.api.sort_on_ray import abandon_sort as abandon_sort
    from planner.api.sort_result import Disorder as Disorder
    from planner.api.sort_result import SortResult as SortResult
    from planner.api.tables.table import Table as Table
    from planner.api.tables.table import TableSort as TableSort
    from planner.api.tables.table import table as table
    from planner.api.validate import DatasetValidation as DatasetValidation
    from planner.api.validate import RowsValidation as RowsValidation
    from planner.api.validate import Validation as Validation
    from planner.api.validate import validate as validate
    from planner.api.validate import validate_on_ray as validate_on_ray
    from planner.api.validate import validate_rows as validate_rows
    from planner.calibration import Profile as Profile
    from planner.clouds.order import Order as Order
    from planner.clusters.emulated.shaping import Shaping as Shaping
    from planner.clusters.runs.node_benchmarks import Effort as Effort
    from planner.distributed_sort.abandoning import AbandonedSort as AbandonedSort
    from planner.errors import BadInputError as BadInputError
    from planner.errors import InfeasibleError as InfeasibleError
    from planner.errors import InterruptedRunError as InterruptedRunError
    from planner.errors import IoFailureError as IoFailureError
    from planner.errors import LeftBehindError as LeftBehindError
    from planner.errors import PlannerError as PlannerError
    from planner.errors import ProviderRefusedError as ProviderRefusedError
    from planner.errors import ValidationFailedError as ValidationFailedError
    from planner.exports.platform import Export as Export
    from planner.measurement.instruments.disk import DiskBench as DiskBench
    from planner.measurement.instruments.net import NetBench as NetBench
    from planner.measurement.instruments.small_io import SmallIo as SmallIo
    from planner.measurement.instruments.sort_rate import SortRate as SortRate
    from planner.planning.what_if.own_cluster import OwnCluster as OwnCluster
    from planner.planning.what_if.what_if import Contrast as Contrast
    from planner.planning.what_if.why_not import WhyNot as WhyNot
    from planner.schemas.machine_lists import MachineList as MachineList
    from planner.schemas.plan import Candidate as Candidate
    from planner.schemas.plan import Plan as Plan
    from planner.schemas.receipt import ReceiptMonth as ReceiptMonth
    from planner.schemas.receipt import ReceiptRow as ReceiptRow
    from planner.schemas.request import Request as Request
    from planner.schemas.request_forms import NetworkView as NetworkView
    from planner.schemas.request_forms import NodeLimit as NodeLimit
    from planner.schemas.request_forms import Objective as Objective
    from planner.schemas.request_forms import OwnPrice as OwnPrice
    from planner.schemas.run_report import RunReport as RunReport
    from planner.simulation.result import Simulation as Simulation
    from planner.sorting.records.generate import GenerateLinesReport as GenerateLinesReport
    from planner.sorting.records.generate import GenerateReport as GenerateReport
    from planner.sorting.sort_job import Compress as Compress
    from planner.sorting.sort_job import Format as Format
    from planner.sorting.sort_job import InputFormat as InputFormat
    from planner.sorting.sort_job import Spill as Spill
    from planner.sorting.tables.table import sort_table as sort_table
    from planner.tables.check import TableCheck as TableCheck
    from planner.tables.price import TablePrice as TablePrice

    __version__: str

_HOMES = {
    "AbandonedSort": "distributed_sort.abandoning",
    "BadInputError": "errors",
    "Candidate": "schemas.plan",
    "Compress": "sorting.sort_job",
    "Confirm": "api.clusters",
    "Contrast": "planning.what_if.what_if",
    "DataSizes": "api.recommend_each",
    "DatasetValidation": "api.validate",
    "DiskBench": "measurement.instruments.disk",
    "DiskLayout": "api.measure",
    "DiskMode": "api.measure",
    "Disorder": "api.sort_result",
    "Effort": "clusters.runs.node_benchmarks",
    "Export": "exports.platform",
    "Format": "sorting.sort_job",
    "GenerateLinesReport": "sorting.records.generate",
    "GenerateReport": "sorting.records.generate",
    "InfeasibleError": "errors",
    "InputFormat": "sorting.sort_job",
    "InterruptedRunError": "errors",
    "IoFailureError": "errors",
    "LeftBehindError": "errors",
    "Listeners": "api.run_job",
    "MachineList": "schemas.machine_lists",
    "NetBench": "measurement.instruments.net",
    "NetworkView": "schemas.request_forms",
    "NodeLimit": "schemas.request_forms",
    "Objective": "schemas.request_forms",
    "Order": "clouds.order",
    "OwnCluster": "planning.what_if.own_cluster",
    "OwnPrice": "schemas.request_forms",
    "Plan": "schemas.plan",
    "PlannerError": "errors",
    "Profile": "calibration",
    "ProviderRefusedError": "errors",
    "RaisedCluster": "api.clusters",
    "Receipt": "api.receipts.receipt",
    "ReceiptMonth": "schemas.receipt",
    "ReceiptRow": "schemas.receipt",
    "Recommendation": "api.recommend",
    "RentalOptions": "api.rental_options",
    "Request": "schemas.request",
    "RowsValidation": "api.validate",
    "RunReport": "schemas.run_report",
    "Shaping": "clusters.emulated.shaping",
    "Simulation": "simulation.result",
    "SmallIo": "measurement.instruments.small_io",
    "SortRate": "measurement.instruments.sort_rate",
    "SortResult": "api.sort_result",
    "Spill": "sorting.sort_job",
    "Step": "api.progress",
    "Table": "api.tables.table",
    "TableCheck": "tables.check",
    "TablePrice": "tables.price",
    "TableSort": "api.tables.table",
    "TimedStep": "api.progress",
    "Validation": "api.validate",
    "ValidationFailedError": "errors",
    "WhyNot": "planning.what_if.why_not",
    "Work": "api.run_job",
    "abandon_sort": "api.sort_on_ray",
    "calibrate": "api.recommend",
    "down": "api.clusters",
    "examine_account": "api.clusters",
    "find_disorder": "api.sort",
    "generate": "api.generate",
    "measure": "api.measure",
    "own": "api.recommend",
    "read_request": "api.arguments.request_file",
    "receipt": "api.receipts.receipt",
    "recommend": "api.recommend",
    "recommend_each": "api.recommend_each",
    "run": "api.run",
    "sort": "api.sort",
    "sort_table": "sorting.tables.table",
    "table": "api.tables.table",
    "up": "api.clusters",
    "validate": "api.validate",
    "validate_on_ray": "api.validate",
    "validate_rows": "api.validate",
}
"""The module of each public name, which loads on first use, so importing the package costs nothing."""

__all__ = ["errors", "plan", *_HOMES]  # noqa: PLE0604  # texts, all of them

if not TYPE_CHECKING:  # a type checker would take every misspelt name for one of these

    def __getattr__(name: str) -> object:
        """Load the API, or look up the version, on first use."""
        from importlib import import_module

        if name == "__version__":
            return import_module("importlib.metadata").version("sortplanner")
        if name == "errors":
            return import_module("planner.errors")
        name = "recommend" if name == "plan" else name
        if name not in _HOMES:
            if name.startswith("_"):
                raise AttributeError(f"module 'planner' has no attribute {name!r}")
            raise import_module("planner.schemas.wrong_words").name_error(name, __all__)
        return getattr(import_module(f"planner.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, for completion, without internals."""
    return sorted(__all__)
