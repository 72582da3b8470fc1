"""Cloud answers that fail on reading a field that the cloud does not send.

A field missing from an SDK's model of an answer never comes, so code that reads it always reads nothing. Here such a
read raises AssertionError, which is not a PlannerError, and which the commands under test do not survive.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Iterable
from types import UnionType
from typing import Any

import pytest

Wrapped = Callable[[Any], Any]


class Answer(dict[str, Any]):
    """The fields of an answer that came. Reading one that `name` does not have raises AssertionError."""

    def __init__(self, content: dict[str, Any], *, name: str, fields: Iterable[str]) -> None:
        super().__init__(content)
        self._name, self._fields = name, frozenset(fields)

    def _require(self, key: object) -> None:
        if key not in self._fields:
            raise AssertionError(f"{self._name} has no field {key}: the cloud never sends it")

    def __getitem__(self, key: str) -> Any:
        self._require(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self._require(key)
        return super().get(key, default)


def of_aws(value: Any, shape: Any) -> Any:
    """Return an answer of boto3 as strict as its shape."""
    if shape is None or value is None:
        return value
    if shape.type_name == "list":
        return [of_aws(item, shape.member) for item in value]
    if shape.type_name != "structure":
        return value
    members = shape.members
    content = {key: of_aws(item, members.get(key)) for key, item in value.items()}
    return Answer(content, name=shape.name, fields=(*members, "ResponseMetadata"))


def of_gcp(value: Any, schema: dict[str, Any]) -> Any:
    """Return an answer of Compute Engine as strict as its schema in the discovery document."""
    schema = compute().resolved(schema)
    if isinstance(value, list):
        return [of_gcp(item, schema["items"]) for item in value]
    if not isinstance(value, dict):
        return value
    rules, more = schema.get("properties", {}), schema.get("additionalProperties")
    content = {key: of_gcp(item, rules.get(key, more or {})) for key, item in value.items()}
    return content if more else Answer(content, name=str(schema.get("id")), fields=rules)


def of_azure(value: Any, hint: Any) -> Any:
    """Return an answer of Azure's SDK as strict as the model of its type."""
    from sdk_models import fields_of, is_model

    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, UnionType) else (hint,)
    model = next((option for option in options if is_model(option)), None)
    if isinstance(value, dict) and model is not None:
        fields = fields_of(model)
        content = {key: of_azure(item, fields.get(key)) for key, item in value.items()}
        return Answer(content, name=model.__name__, fields=fields)
    if isinstance(value, list):
        inner = [typing.get_args(option)[0] for option in options if typing.get_origin(option) is list]
        return [of_azure(item, inner[0]) for item in value] if inner else value
    return value


@functools.cache
def compute() -> Any:
    from discovery import Discovery

    return Discovery("compute.v1")


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make all answers that the providers' clients return strict."""
    from planner.clouds.aws.client import LiveService
    from planner.clouds.azure import client as azure
    from planner.clouds.gcp.client import LiveCompute

    aws_once, gcp_once, azure_dict = LiveService._once, LiveCompute._once, azure._as_dict

    def once_on_aws(self: LiveService, operation: str, request: dict[str, Any], *, repeatable: bool) -> Any:
        answer, client = aws_once(self, operation, request, repeatable=repeatable), self._client
        name = client.meta.method_to_api_mapping[operation]
        return of_aws(answer, client.meta.service_model.operation_model(name).output_shape)

    def once_on_gcp(self: LiveCompute, method: str, request: dict[str, Any]) -> Any:
        return of_gcp(gcp_once(self, method, request), compute().answer_of(method))

    monkeypatch.setattr(LiveService, "_once", once_on_aws)
    monkeypatch.setattr(LiveCompute, "_once", once_on_gcp)

    def strict_dict(item: Any) -> Any:
        return azure_dict(item) if isinstance(item, dict) else of_azure(azure_dict(item), type(item))

    monkeypatch.setattr(azure, "_as_dict", strict_dict)
