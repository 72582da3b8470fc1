"""Thrift's compact protocol, in which the footers of Parquet files are written: structs to Python's values and back.

The protocol is described in doc/specs/thrift-compact-protocol.md of Apache Thrift. A struct becomes a dictionary of its
fields by number, in the order in which they came; each keeps its type, so that what is written again is what was read.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

_TRUE: Final = 1
_FALSE: Final = 2
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_STRUCT: Final = 12
_LONG_LIST: Final = 15
"""The lengths of lists from here on follow in a number of their own."""


class Field(NamedTuple):
    """A value with the protocol's number for its type."""

    type_id: int
    value: Any


class List(NamedTuple):
    """Values of one type."""

    type_id: int
    values: list[Any]


Struct = dict[int, Field]


def read_struct(data: bytes) -> Struct:
    """Return the struct that `data` begins with. Raises ValueError for what is none that Parquet has."""
    return _Reader(data).struct()


def written(struct: Struct) -> bytes:
    """Return a struct as it is stored."""
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while header := self._byte():
            type_id, step = header & 15, header >> 4
            number = number + step if step else self._integer()
            fields[number] = Field(type_id, type_id == _TRUE if type_id in (_TRUE, _FALSE) else self._value(type_id))
        return fields

    def _value(self, type_id: int) -> Any:
        if type_id in _INTEGERS:
            return self._integer()
        if type_id == _BINARY:
            return self._bytes(self._unsigned())
        if type_id == _STRUCT:
            return self.struct()
        if type_id in _LISTS:
            header = self._byte()
            count = header >> 4 if header >> 4 < _LONG_LIST else self._unsigned()
            return List(header & 15, [self._value(header & 15) for _ in range(count)])
        if type_id in (_TRUE, _FALSE, _BYTE):  # of a list
            return self._byte()
        if type_id == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"a footer has a value of the type {type_id}, which Parquet does not have")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        coded = self._unsigned()
        return coded >> 1 ^ -(coded & 1)


def _write_struct(out: bytearray, struct: Struct) -> None:
    before = 0
    for number, (type_id, value) in struct.items():
        stored = (_TRUE if value else _FALSE) if type_id in (_TRUE, _FALSE) else type_id
        if 0 < number - before <= 15:
            out.append((number - before) << 4 | stored)
        else:
            out.append(stored)
            _write_integer(out, number)
        if type_id not in (_TRUE, _FALSE):
            _write_value(out, type_id, value)
        before = number
    out.append(0)


def _write_value(out: bytearray, type_id: int, value: Any) -> None:
    if type_id in _INTEGERS:
        _write_integer(out, value)
    elif type_id == _BINARY:
        _write_unsigned(out, len(value))
        out += value
    elif type_id == _STRUCT:
        _write_struct(out, value)
    elif type_id in _LISTS:
        count = len(value.values)
        out.append(min(count, _LONG_LIST) << 4 | value.type_id)
        if count >= _LONG_LIST:
            _write_unsigned(out, count)
        for item in value.values:
            _write_value(out, value.type_id, item)
    elif type_id == _DOUBLE:
        out += value
    else:
        out.append(value)


def _write_integer(out: bytearray, value: int) -> None:
    _write_unsigned(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _write_unsigned(out: bytearray, value: int) -> None:
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
