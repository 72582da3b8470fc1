"""Memory that decompression takes, however well the text was compressed."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import pyarrow as pa
import pytest
import zstandard

from planner.compression.decoding import TEXT_BYTES, decode_stream
from planner.compression.text_codecs import decompress_text, open_source
from planner.errors import BadInputError
from planner.native import Progress
from planner.sorting.text.text_files import sort_text_files
from planner.sorting.text.text_job import TextJob

BLOCK = b"a\n" * (1 << 19)
BLOCKS = 24


def repeated_blocks() -> bytes:
    """zstd blocks of 4 bytes, each of which holds 128 KiB."""
    header = ((1 << 17) << 3 | 1 << 1).to_bytes(3, "little") + b"\n"
    return b"\x28\xb5\x2f\xfd\x00\x38" + header * 300 + b"\x01\x00\x00"


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda text: zlib.compress(text, 9, 31),
    "bz2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zst": zstandard.compress,
    "lz4": lambda text: pa.compress(text, codec="lz4", asbytes=True),
    "sz": lambda text: bytes(cramjam.snappy.compress(text)),
}


def _windowed(log: int) -> bytes:
    parameters = zstandard.ZstdCompressionParameters(window_log=log)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return packer.compress(BLOCK) + packer.flush()


OF_DICTIONARY: dict[str, Callable[[int], bytes]] = {
    "xz": lambda log: lzma.compress(BLOCK, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << log}]),
    "zst": _windowed,
}


@pytest.mark.parametrize("form", COMPRESSED)
@pytest.mark.parametrize("joined", [False, True])
def test_a_decoder_returns_little_at_a_time(form: str, joined: bool) -> None:
    data = COMPRESSED[form](BLOCK) * BLOCKS if joined else COMPRESSED[form](BLOCK * BLOCKS)
    sizes = [len(chunk) for chunk in decompress_text([data], form)]
    assert (sum(sizes), max(sizes) <= 4 * TEXT_BYTES) == (len(BLOCK) * BLOCKS, True)


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", "zst"])
def test_logs_too_are_decoded_little_by_little(form: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(COMPRESSED[form](COMPRESSED["gz"](BLOCK * BLOCKS)))
    with path.open("rb") as stream:
        sizes = [len(chunk) for chunk in decode_stream(stream)]
    assert (sum(sizes), max(sizes) <= TEXT_BYTES) == (len(BLOCK) * BLOCKS, True)


def test_repeated_blocks_of_zstd_are_decoded_a_few_at_a_time() -> None:
    sizes = [len(chunk) for chunk in decompress_text([repeated_blocks()], "zst")]
    assert (sum(sizes), max(sizes)) == (300 << 17, TEXT_BYTES)


@pytest.mark.parametrize("form", OF_DICTIONARY)
def test_a_window_above_the_memory_is_refused_and_the_advice_suffices(form: str, tmp_path: Path) -> None:
    check_refusal(OF_DICTIONARY[form](26), tmp_path)


@pytest.mark.parametrize("form", OF_DICTIONARY)
def test_a_longer_window_of_a_later_stream_is_refused_too(form: str, tmp_path: Path) -> None:
    check_refusal(OF_DICTIONARY[form](20) + OF_DICTIONARY[form](26), tmp_path)


def check_refusal(data: bytes, folder: Path) -> None:
    (folder / "in").write_bytes(data)
    job = TextJob(inputs=(str(folder / "in"),), output=str(folder / "out"), force=True, temp_dirs=(str(folder),))
    with pytest.raises(BadInputError, match="--memory") as caught:
        sort_text_files(TextJob(**vars(job) | {"memory_bytes": 64 << 20}), Progress())
    assert str(folder / "in") in str(caught.value)
    least_mb = int(str(caught.value).rsplit("at least ", 1)[1].split("MB")[0])
    sort_text_files(TextJob(**vars(job) | {"memory_bytes": least_mb * 1_000_000}), Progress())
    assert (folder / "out").stat().st_size % len(BLOCK) == 0


def test_decoders_of_a_merge_count_together(tmp_path: Path) -> None:
    names = [str(tmp_path / str(number)) for number in range(20)]
    for name in names:
        Path(name).write_bytes(OF_DICTIONARY["xz"](23))
    assert open_source(names[0], Progress()).window_bytes >= 1 << 23
    job = TextJob(inputs=tuple(names), output=str(tmp_path / "out"), force=True, merge=True, memory_bytes=64 << 20)
    with pytest.raises(BadInputError, match="--memory"):
        sort_text_files(job, Progress())
