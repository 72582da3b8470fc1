"""A Parquet file assembled from parts that threads encode in parallel, each a complete file with some row groups.

The pages of a part are copied as they are. Their offsets in its footer are adjusted, and the row groups of all parts
are listed in one footer. `format.thrift` of Apache Parquet numbers the fields.

Footers are in Thrift's compact protocol (doc/specs/thrift-compact-protocol.md of Apache Thrift). A struct becomes a
dictionary of its fields by number, in order; each field keeps its type, so that it is written as it was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from io import SEEK_END, BytesIO
from typing import Any, Final, NamedTuple

from planner.errors import BadInputError

_MAGIC: Final = b"PAR1"
_TAIL_BYTES: Final = 8
"""The length of the footer, and the magic bytes."""
_FILE_SCHEMA, _FILE_ROWS, _FILE_GROUPS, _FILE_ENCRYPTION = 2, 3, 4, 8
_ELEMENT_TYPE, _ELEMENT_LENGTH, _ELEMENT_NAME, _ELEMENT_CHILDREN = 1, 2, 4, 5
_ELEMENT_ANNOTATIONS: Final = (6, 10)
"""Fields of the converted and the logical type."""
_GROUP_COLUMNS, _GROUP_ROWS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 3, 5, 7
_CHUNK_OFFSET, _CHUNK_METADATA, _CHUNK_OFFSET_INDEX, _CHUNK_COLUMN_INDEX = 2, 3, 4, 6
_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER = 9, 10, 11, 14
_MOST_ORDINAL: Final = 2**15 - 1
_GROUP_BYTES, _CHUNK_FILE, _CHUNK_ENCRYPTION = 2, 1, 8
_CODEC, _VALUES, _DECODED_BYTES, _CHUNK_BYTES, _SIZE_STATISTICS = 4, 5, 6, 7, 16
_CODECS: Final = range(8)
_UNENCODED_BYTES: Final = 1
_HISTOGRAMS: Final = (3, 2)
"""Fields of size statistics: levels of definition and of repetition."""


class JoinedParts:
    """The parts written to a file so far."""

    def __init__(
        self, file: Any, *, footer: bytes = b"", end: int = 0, annotations: Mapping[str, Struct] | None = None
    ) -> None:
        """Continue at the `end` of an earlier write, given its footer. Leaves get `annotations` by their paths, as
        `leaf_elements` of another file returns them.
        """
        self._file = file
        self._annotations = annotations or {}
        self._footer: Struct | None = read_struct(footer) if footer else None
        self._groups: list[Struct] = list(self._footer[_FILE_GROUPS].value.values) if self._footer else []
        self._rows = self._footer[_FILE_ROWS].value if self._footer else 0
        self.end = end
        """Number of bytes written."""

    def add(self, part: Any) -> None:
        """Write a part, a Parquet file in memory, without its footer."""
        view = memoryview(part)
        footer_bytes = int.from_bytes(view[-_TAIL_BYTES:-4], "little")
        past = len(view) - _TAIL_BYTES - footer_bytes
        footer = read_struct(bytes(view[past:-_TAIL_BYTES]))
        if self._footer is None:
            self._footer = footer
            for path, element in leaf_elements(footer) if self._annotations else ():
                _annotate(element, self._annotations.get(path, {}))
            self._write(_MAGIC)
        moved_by = self.end - len(_MAGIC)
        self._write(view[len(_MAGIC) : past])
        self._rows += footer[_FILE_ROWS].value
        for group in footer[_FILE_GROUPS].value.values:
            _move_group(group, moved_by, ordinal=len(self._groups))
            self._groups.append(group)

    def finish(self) -> int:
        """Write the footer, after at least one part; return the size of the file."""
        self._write(_with_length(self.footer()))
        return self.end

    def footer(self) -> bytes:
        """Return the footer of the parts written; empty before the first part."""
        return b"" if self._footer is None else struct_bytes(_listing(self._footer, self._groups, rows=self._rows))

    def _write(self, data: Any) -> None:
        self._file.write(data)
        self.end += len(data)


def require_own_rows(file: Any, metadata: Any, *, name: str) -> None:
    """Raise BadInputError for an open file whose rows pyarrow would not read, or not truly: encrypted columns, a wrong
    footer, one that lists rows of other files, and several files joined.
    """
    if _has_encrypted_columns(file, metadata):
        raise BadInputError(
            f"{name} has encrypted columns", ["decrypt it first: their keys cannot be given"], code="encrypted"
        )
    if fault := _footer_fault(file, metadata):
        raise BadInputError(
            f"{name} is no Parquet file, or is damaged or encrypted: its footer is wrong", [fault], code="not-a-table"
        )
    if other := _place_of_rows(metadata):
        raise BadInputError(
            f"{name} holds no rows: it lists those of other files, as {other}",
            ["name these files, or their folder"],
            code="no-rows",
        )
    if _follows_another_file(file, metadata):
        raise BadInputError(
            f"{name} is several Parquet files, one after the other",
            ["only the last of them says where its rows are, and not truly: give the files that were joined"],
            code="several-tables",
        )


def _place_of_footer(file: Any) -> tuple[int, int]:
    """Return the begin and the end of the footer in an open file, as its last bytes say."""
    end = file.seek(-_TAIL_BYTES, SEEK_END)
    return end - int.from_bytes(file.read(4), "little"), end


def _place_of_rows(metadata: Any) -> str:
    """Return the file that has the rows which a footer lists, '' for its own: `_metadata` of Spark and Dask lists those
    of the files beside it. Not for encrypted columns.
    """
    has_rows = metadata.num_row_groups and metadata.num_columns
    return str(metadata.row_group(0).column(0).file_path or "") if has_rows else ""


_JOINT: Final = b"PAR1PAR1"
_STRETCH_BYTES: Final = 1 << 20


def _follows_another_file(file: Any, metadata: Any) -> bool:
    """Return whether an open file is several, one after the other, as `cat` joins them. The footer is then that of the
    last, and its places lie in the first: pyarrow reads those rows if both are laid out alike. Not for encrypted
    columns.

    Between the end of what such a footer lists and its own place lies at least as much again, and a joint.
    """
    footer, _ = _place_of_footer(file)
    end = max([len(_MAGIC), *map(_end_of_chunk, _last_chunks(metadata))])
    last = footer - end + len(_MAGIC)
    file.seek(end)
    before = b""
    for place in range(end, last, _STRETCH_BYTES):
        stretch = before + file.read(min(_STRETCH_BYTES, last - place))
        if _JOINT in stretch:
            return True
        before = stretch[1 - len(_JOINT) :]
    return False


def _last_chunks(metadata: Any) -> Iterator[Any]:
    """Yield the column chunks of the last row group, which mostly lie behind all others."""
    if metadata.num_row_groups:
        group = metadata.row_group(metadata.num_row_groups - 1)
        yield from map(group.column, range(metadata.num_columns))


def _end_of_chunk(chunk: Any) -> int:
    begins = [place for place in (chunk.dictionary_page_offset, chunk.data_page_offset) if place]
    return int(min(begins, default=0) + chunk.total_compressed_size)


def _has_encrypted_columns(file: Any, metadata: Any) -> bool:
    """Return whether columns of an open file are encrypted though its footer is not: reading them would make pyarrow
    end the process. A signature follows such a footer.
    """
    begin, end = _place_of_footer(file)
    if end - begin == metadata.serialized_size:
        return False
    file.seek(begin)
    with suppress(IndexError, ValueError):  # `_footer_fault` names it
        return _FILE_ENCRYPTION in read_struct(file.read(end - begin))
    return False


def _footer_fault(file: Any, metadata: Any) -> str:
    """Return what is wrong in the footer of an open file, '' if nothing is. pyarrow ends the process when it is asked
    for a column chunk that is described wrongly, so all of them are checked before.
    """
    begin, tail = _place_of_footer(file)
    file.seek(begin)
    leaves = [metadata.schema.column(number) for number in range(metadata.num_columns)]
    rows = 0
    try:
        for number, group in enumerate(_Reader(file.read(tail - begin)).groups()):
            where = f"row group {number}"
            group_rows = stored_count(group, _GROUP_ROWS)
            rows += group_rows
            _require(stored_count(group, _GROUP_BYTES) >= 0, where)
            chunks = _typed(group, _GROUP_COLUMNS, List).values
            _require(len(chunks) == len(leaves), f"{where}: {len(chunks)} columns, not {len(leaves)}")
            for chunk, leaf in zip(chunks, leaves, strict=True):
                _require_sound(chunk, leaf, group_rows, tail, f"{where}, column {leaf.path}")
        _require(rows == metadata.num_rows, f"its row groups have {rows} rows, and the file {metadata.num_rows}")
    except (IndexError, ValueError) as error:
        return str(error)
    return ""


def _require_sound(chunk: Any, leaf: Any, rows: int, end: int, where: str) -> None:
    _require(isinstance(chunk, dict) and _CHUNK_ENCRYPTION not in chunk, f"{where}: encrypted, or no column chunk")
    about: Struct = _typed(chunk, _CHUNK_METADATA, dict)
    codec, sizes = stored_count(about, _CODEC), _typed(about, _SIZE_STATISTICS, dict, {})
    _require(codec in _CODECS, f"{where}: unknown codec {codec}")
    places = [stored_count(about, field) for field in (_DATA_PAGE, _DICTIONARY_PAGE) if field in about]
    size = stored_count(about, _CHUNK_BYTES)
    values = stored_count(about, _VALUES)
    is_right = values >= rows > 0 if leaf.max_repetition_level and values else values == rows
    _require(is_right and stored_count(about, _DECODED_BYTES) >= 0, f"{where}: {values} values of {rows} rows")
    is_within = _DATA_PAGE in about and min(places) + size <= end
    _require(is_within or _CHUNK_FILE in chunk, f"{where}: its {size} bytes lie beyond the end of the file")
    _require(_UNENCODED_BYTES not in sizes or leaf.physical_type == "BYTE_ARRAY", f"{where}: wrong statistics")
    for field, level in zip(_HISTOGRAMS, (leaf.max_definition_level, leaf.max_repetition_level), strict=True):
        counted = len(_typed(sizes, field, List, List(0, [])).values)
        _require(counted in (0, level + 1), f"{where}: a histogram of {counted} levels, not {level + 1}")


def _require(holds: object, what: str) -> None:
    if not holds:
        raise ValueError(what)


def stored_count(struct: Struct, field: int) -> int:
    """Return a field that holds a number from 0 on. Raises ValueError for another."""
    value: int = _typed(struct, field, int)
    _require(value >= 0, f"field {field} is {value}")
    return value


def _typed(struct: Struct, field: int, kind: type, default: Any = None) -> Any:
    value = struct[field].value if field in struct else default
    _require(isinstance(value, kind), f"field {field} is missing, or of another type")
    return value


def read_footer_struct(file: bytes) -> Struct:
    """Return the footer of a file, which may have nothing else."""
    size = int.from_bytes(file[-_TAIL_BYTES:-4], "little")
    return read_struct(file[-_TAIL_BYTES - size : -_TAIL_BYTES])


def footer_of(metadata: Any) -> Struct:
    """Return the footer that pyarrow has read."""
    file = BytesIO()
    metadata.write_metadata_file(file)
    return read_footer_struct(file.getvalue())


def leaf_elements(footer: Struct) -> list[tuple[str, Struct]]:
    """Return the paths of leaves, with their elements in a footer."""
    elements = iter(footer[_FILE_SCHEMA].value.values)

    def leaves(element: Struct, path: tuple[str, ...]) -> Iterator[tuple[str, Struct]]:
        if _ELEMENT_CHILDREN not in element:
            yield ".".join(path), element
            return
        for _ in range(element[_ELEMENT_CHILDREN].value):
            child = next(elements)
            yield from leaves(child, (*path, child[_ELEMENT_NAME].value.decode()))

    return list(leaves(next(elements), ()))


def _annotate(element: Struct, other: Struct) -> None:
    """Give a leaf the annotations of another one, if both are stored in the same way."""
    if any(element.get(field) != other.get(field) for field in (_ELEMENT_TYPE, _ELEMENT_LENGTH)):
        return
    said = {field: other[field] for field in _ELEMENT_ANNOTATIONS if field in other}
    kept = {field: value for field, value in element.items() if field not in _ELEMENT_ANNOTATIONS}
    element.clear()
    element |= dict(sorted((kept | said).items()))


def file_of_groups(footer: Struct, numbers: Sequence[int]) -> bytes:
    """Return a file without rows whose footer lists some of the row groups at their original offsets."""
    groups = [footer[_FILE_GROUPS].value.values[number] for number in numbers]
    rows = sum(group[_GROUP_ROWS].value for group in groups)
    return _MAGIC + _with_length(struct_bytes(_listing(footer, groups, rows=rows)))


def _listing(footer: Struct, groups: Sequence[Struct], *, rows: int) -> Struct:
    """Return a footer with other row groups."""
    listed = Field(footer[_FILE_GROUPS].type_id, List(footer[_FILE_GROUPS].value.type_id, list(groups)))
    return footer | {_FILE_ROWS: footer[_FILE_ROWS]._replace(value=rows), _FILE_GROUPS: listed}


def _with_length(footer: bytes) -> bytes:
    return footer + len(footer).to_bytes(4, "little") + _MAGIC


def _move_group(group: Struct, moved_by: int, *, ordinal: int) -> None:
    _move(group, _GROUP_OFFSET, moved_by)
    if ordinal > _MOST_ORDINAL:
        group.pop(_GROUP_ORDINAL, None)
    elif _GROUP_ORDINAL in group:
        group[_GROUP_ORDINAL] = group[_GROUP_ORDINAL]._replace(value=ordinal)
    for chunk in group[_GROUP_COLUMNS].value.values:
        for field in (_CHUNK_OFFSET, _CHUNK_OFFSET_INDEX, _CHUNK_COLUMN_INDEX):
            _move(chunk, field, moved_by)
        for field in (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE, _BLOOM_FILTER):
            _move(chunk[_CHUNK_METADATA].value, field, moved_by)


def _move(struct: Struct, field: int, moved_by: int) -> None:
    """Shift an offset in the file; 0 means there is none, as the magic bytes are at 0."""
    if field in struct and struct[field].value > 0:
        struct[field] = struct[field]._replace(value=struct[field].value + moved_by)


_TRUE: Final = 1
_FALSE: Final = 2
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_STRUCT: Final = 12
_MOST_DEPTH: Final = 64
_MOST_SHIFT: Final = 63
_LONG_LIST: Final = 15
"""Lists of at least this length store it as a separate number."""


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
    """Return the struct at the start of `data`. Raises ValueError for types that Parquet does not use, and IndexError
    where it extends beyond the data.
    """
    return read_sized_struct(data)[0]


def read_sized_struct(data: bytes) -> tuple[Struct, int]:
    """Return the same, and its size in bytes."""
    reader = _Reader(data)
    return reader.struct(), reader.at


def struct_bytes(struct: Struct) -> bytes:
    """Return a struct in its stored form."""
    out = bytearray()
    _write_struct(out, struct)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._depth = 0
        self.at = 0

    def groups(self) -> Iterator[Struct]:
        """Yield the row groups of a footer; one is in memory at a time."""
        for number, type_id in self._fields():
            if number != _FILE_GROUPS:
                self._field(type_id)
                continue
            item, count = self._list_header()
            if type_id not in _LISTS or item != _STRUCT:
                raise ValueError("the row groups are no list of structs")
            for _ in range(count):
                yield self.struct()

    def struct(self) -> Struct:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise ValueError(f"a footer or page header is nested more than {_MOST_DEPTH} times")
        fields = {number: Field(type_id, self._field(type_id)) for number, type_id in self._fields()}
        self._depth -= 1
        return fields

    def _fields(self) -> Iterator[tuple[int, int]]:
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            yield number, header & 15

    def _field(self, type_id: int) -> Any:
        return type_id == _TRUE if type_id in (_TRUE, _FALSE) else self._value(type_id)

    def _list_header(self) -> tuple[int, int]:
        header = self._byte()
        return header & 15, header >> 4 if header >> 4 < _LONG_LIST else self._read_unsigned()

    def _list(self) -> List:
        self._depth += 1  # lists of lists
        if self._depth > _MOST_DEPTH:
            raise ValueError(f"a footer or page header is nested more than {_MOST_DEPTH} times")
        item, count = self._list_header()
        values = [self._value(item) for _ in range(count)]
        self._depth -= 1
        return List(item, values)

    def _value(self, type_id: int) -> Any:
        if type_id in _INTEGERS:
            return self._integer()
        if type_id == _BINARY:
            return self._bytes(self._read_unsigned())
        if type_id == _STRUCT:
            return self.struct()
        if type_id in _LISTS:
            return self._list()
        if type_id in (_TRUE, _FALSE, _BYTE):  # of a list
            return self._byte()
        if type_id == _DOUBLE:
            return self._bytes(8)
        raise ValueError(f"a footer has a value of the type {type_id}, which Parquet does not have")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _bytes(self, size: int) -> bytes:
        self.at += size
        if self.at > len(self._data):
            raise IndexError(f"a value of {size} bytes extends beyond the data")
        return self._data[self.at - size : self.at]

    def _read_unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) >= 128:
            value |= (byte & 127) << shift
            shift += 7
            if shift > _MOST_SHIFT:
                raise ValueError("a number has more than 64 bits")
        return value | byte << shift

    def _integer(self) -> int:
        coded = self._read_unsigned()
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
