"""Partitions in an object store (s3://, gs://, az://): ranges are read, objects appear atomically.

obstore accesses the store and retries temporary failures. The nodes' environment has the credentials and the address of
an S3-compatible store (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, ...). Credentials are looked for before the library waits
for a metadata server.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from planner.arrays import raw_bytes
from planner.distributed_sort.dataset.dataset import FileVersion
from planner.distributed_sort.node_files.node_environment import job_of_part, node_name, track_request
from planner.errors import BadInputError, InputChangedError, IoFailureError, ProviderRefusedError
from planner.extras import optional


@dataclass(frozen=True, kw_only=True)
class _Provider:
    """A store: its provider, the prefix of its variables, the file that also holds credentials, and how to get some."""

    owner: str
    prefix: str
    hint: str
    file: str = ""
    metadata: tuple[str, ...] = ("169.254.169.254",)


_PROVIDERS: Final = {
    "s3": _Provider(
        owner="AWS",
        prefix="AWS_",
        hint="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; from a profile of the aws command: "
        'eval "$(aws configure export-credentials --format env)"',
        metadata=("169.254.169.254", "169.254.170.2"),
    ),
    "gs": _Provider(
        owner="Google Cloud",
        prefix="GOOGLE_",
        hint="run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file",
        file=".config/gcloud/application_default_credentials.json",
        metadata=("169.254.169.254", "metadata.google.internal"),
    ),
    "az": _Provider(
        owner="Azure",
        prefix="AZURE_",
        hint="set AZURE_STORAGE_ACCOUNT_KEY, or run `az login` and set AZURE_USE_AZURE_CLI=true",
    ),
}
_CREDENTIAL: Final = re.compile(
    r"KEY|TOKEN|CREDENTIAL|SIGNATURE|SAS|CLIENT|SERVICE_ACCOUNT|AZURE_CLI|IDENTITY|MSI|ROLE"
)
"""Part of the name of every variable that gives the store's library credentials, or makes it do without."""
_REFUSED: Final = re.compile(
    r"InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|InvalidToken|token request|TokenRefreshFailed"
    r"|AuthenticationFailed|invalid_grant|Unauthenticated"
)
ACCOUNT: Final = "AZURE_STORAGE_ACCOUNT_NAME"
_LONGEST_LOOK_S: Final = 1.0


def require_credentials(url: str, environ: Mapping[str, str] = os.environ) -> None:
    """Raise ProviderRefusedError, with advice on getting credentials, where a URL's store has none: none in the
    environment, none in a file, and no metadata server that would give some.
    """
    scheme = url.partition("://")[0]
    store = _PROVIDERS[scheme]
    if scheme == "az" and not any(environ.get(name) for name in (ACCOUNT, "AZURE_STORAGE_CONNECTION_STRING")):
        raise ProviderRefusedError(
            f"Azure: no storage account is named for {_cut(url)}", [f"set {ACCOUNT}"], code="no-account"
        )
    if any(value and name.startswith(store.prefix) and _CREDENTIAL.search(name) for name, value in environ.items()):
        return
    if store.file and (Path(environ.get("HOME", "/")) / store.file).exists():
        return
    if not _has_metadata_server(scheme):
        raise _missing(url)


def account_error(url: str, text: str) -> ProviderRefusedError | None:
    """Return the error of a store that nothing here opens, from the library's message; None for another failure."""
    store = _PROVIDERS[url.partition("://")[0]]
    if any(address in text for address in store.metadata):
        return _missing(url)
    if _REFUSED.search(text):
        return ProviderRefusedError(
            f"{store.owner}: the credentials for {_cut(url)} are not valid, or have expired",
            [store.hint, text[:300]],
            code="credentials-invalid",
        )
    return None


def _missing(url: str) -> ProviderRefusedError:
    store = _PROVIDERS[url.partition("://")[0]]
    return ProviderRefusedError(
        f"{store.owner}: no credentials found for {_cut(url)}", [store.hint], code="no-credentials"
    )


def _cut(url: str) -> str:
    """Return the bucket of a URL, cut to fit a line."""
    bucket = "/".join(url.split("/", 3)[:3])
    return bucket if len(bucket) <= 40 else f"{bucket[:37]}..."


@lru_cache(maxsize=len(_PROVIDERS))
def _has_metadata_server(scheme: str) -> bool:
    """Return whether there is a metadata server; Google's identifies itself, and any other gives no Google tokens."""
    connection = HTTPConnection("169.254.169.254", timeout=_LONGEST_LOOK_S)
    try:
        connection.request("GET", "/", headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
    return scheme != "gs" or answer.headers.get("Metadata-Flavor") == "Google"


SCHEMES: Final = ("s3://", "gs://", "az://")
REQUEST_BYTES: Final = 64_000_000
"""Bytes that staging moves by one request."""
RETRIES: Final[Any] = {
    "max_retries": 1_800,
    "retry_timeout": timedelta(minutes=3),
    "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=4), "base": 2},
}
"""A request is tried again for three minutes, which an overloaded store may take. Waits are random and may stay at
0.1 s, of which the three minutes have 1,800: fewer retries would end sooner.
"""
_WORTH_READING_BYTES: Final = 256_000
"""Longest gap between two ranges that is read with them: a separate request takes as long. obstore's usual megabyte
would have all of an object read for its sample.
"""


_SAID: Final = re.compile(r"<(Code|Message)>([^<]+)</")
_ODD_PART: Final = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]")
_ODD_NAME: Final = re.compile(r'Path "(.*?)"(?: contained empty|: Encountered)', re.DOTALL)
"""The name of an object in the library's words."""


def planner_uri(address: str) -> str:
    """Return this program's URI for an address in Hadoop's and Spark's form, s3a:// or
    abfss://container@account.dfs.core.windows.net/...; other addresses are unchanged. Raises BadInputError for a
    storage account other than the environment's.
    """
    scheme, _, rest = address.partition("://")
    if scheme in ("s3a", "s3n"):
        return f"s3://{rest}"
    if scheme not in ("abfs", "abfss", "wasb", "wasbs") or "@" not in rest.partition("/")[0]:
        return address
    place, _, path = rest.partition("/")
    container, _, host = place.partition("@")
    account = host.partition(".")[0]
    if os.environ.get(ACCOUNT) != account:
        raise BadInputError(f"{address}: set {ACCOUNT}={account}, and a key or a login", code="no-account")
    return f"az://{container}/{path}"


def is_object(uri: str) -> bool:
    """Return whether a URI names something in an object store."""
    return uri.startswith(SCHEMES)


def read_range(uri: str, into: NDArray[np.uint8], *, offset: int, version: FileVersion | None = None) -> None:
    """Fill `into` with the bytes of an object from `offset` on. Raises IoFailureError naming node and object, and
    InputChangedError if a `version` is asked for that is no longer there.
    """
    if not len(into):
        return
    store, path = _store_and_path(uri)
    condition = {"if_match": version.e_tag} if version is not None and version.e_tag else {}
    with _store_errors("read", uri):
        options = {"range": (offset, offset + len(into)), **condition}
        content = np.frombuffer(_obstore().get(store, path, options=options).bytes(), np.uint8)
    into[:] = _require_length(uri, content, len(into))


def read_ranges(uri: str, *, starts: Sequence[int], length: int) -> list[NDArray[np.uint8]]:
    """Return `length` bytes of an object from each start on, several requests at a time: each may take tens of
    milliseconds. Raises IoFailureError naming node and object.
    """
    store, path = _store_and_path(uri)
    with _store_errors("read", uri):
        lengths = [length] * len(starts)
        ranges = _obstore().get_ranges(store, path, starts=starts, lengths=lengths, coalesce=_WORTH_READING_BYTES)
    return [_require_length(uri, np.frombuffer(content, np.uint8), length) for content in ranges]


def _require_length(uri: str, content: NDArray[np.uint8], length: int) -> NDArray[np.uint8]:
    if len(content) != length:
        missing = length - len(content)
        raise IoFailureError(
            f"{node_name()}: {uri} ends {missing} bytes too early: it is truncated, or was changed",
            code="input-truncated",
        )
    return content


def write_object(uri: str, content: NDArray[Any]) -> int:
    """Write an object and return its size in bytes; it is visible once all bytes have been taken. One request leaves no
    parts behind when it fails. Raises IoFailureError.
    """
    store, path = _store_and_path(uri)
    with _store_errors("write", uri):
        _obstore().put(store, path, raw_bytes(content), use_multipart=content.nbytes > REQUEST_BYTES)
    return content.nbytes


def write_file(uri: str, path: Path) -> int:
    """Write a file as an object, in parts if it is large, and return the number of requests; it is visible once all of
    it has been taken. Raises IoFailureError.
    """
    store, name = _store_and_path(uri)
    size = path.stat().st_size
    with _store_errors("write", uri):
        _obstore().put(
            store, name, path, use_multipart=size > REQUEST_BYTES, chunk_size=REQUEST_BYTES, max_concurrency=2
        )
    return 1 if size <= REQUEST_BYTES else math.ceil(size / REQUEST_BYTES) + 2


def size_of(uri: str) -> int:
    """Return the size of an object in bytes. Raises IoFailureError."""
    return version_of(uri).size_bytes


def version_of(uri: str) -> FileVersion:
    """Return the version of an object. Raises IoFailureError."""
    store, path = _store_and_path(uri)
    with _store_errors("read", uri):
        head = _obstore().head(store, path)
    facts = (head.get("e_tag"), head.get("version"), head["last_modified"])
    return FileVersion(size_bytes=int(head["size"]), modified=" ".join(map(str, facts)), e_tag=head.get("e_tag") or "")


def size_if_there(uri: str) -> int | None:
    """Return the size of an object in bytes, None where there is no object. Raises IoFailureError."""
    store, path = _store_and_path(uri)
    with _store_errors("read", uri):
        try:
            return int(_obstore().head(store, path)["size"]) if path else None
        except (FileNotFoundError, _not_found()):
            return None


def list_files(prefix: str) -> dict[str, int]:
    """Return the size of every object below a prefix by its URI, ordered by name. Raises IoFailureError."""
    return {uri: size for uri, (size, _) in list_versions(prefix).items()}


def list_versions(prefix: str) -> dict[str, tuple[int, str]]:
    """Return the size of every object below a prefix by its URI, ordered by name, and a text that differs for another
    object. Raises IoFailureError.
    """
    store, path = _store_and_path(prefix)
    bucket = "/".join(prefix.split("/", 3)[:3])
    with _store_errors("list", prefix):
        entries = _obstore().list(store, prefix=path or None).collect()
    return {
        f"{bucket}/{entry['path']}": (int(entry["size"]), f"{entry.get('e_tag')} {entry['last_modified']}")
        for entry in sorted(entries, key=lambda entry: entry["path"])
        if entry["size"] or entry["path"] != path  # consoles and Hadoop mark a folder by an empty object
    }


def read_file(uri: str, path: Path) -> None:
    """Write an object into a file, piece by piece. Raises IoFailureError."""
    store, name = _store_and_path(uri)
    with _store_errors("read", uri), path.open("wb") as file:
        for chunk in _obstore().get(store, name).stream(min_chunk_size=1 << 20):
            file.write(chunk)


def require_writable(prefix: str) -> None:
    """Write and delete an empty object. Raises IoFailureError when either is refused."""
    uri = f"{prefix.rstrip('/')}/.planner-writable-{uuid4().hex[:8]}"
    write_object(uri, np.empty(0, np.uint8))
    store, path = _store_and_path(uri)
    with _store_errors("delete", uri):
        _obstore().delete(store, path)


def delete_partitions(prefix: str, job: str) -> None:
    """Delete a job's output partitions directly below a prefix, and nothing else there. Raises IoFailureError."""
    store, path = _store_and_path(prefix)
    with _store_errors("delete", prefix):
        listed = _obstore().list_with_delimiter(store, prefix=path or None)["objects"]
        names = [entry["path"] for entry in listed if job_of_part(entry["path"].rpartition("/")[2]) == job]
        if names:
            _obstore().delete(store, names)


def end_uploads(prefix: str, job: str) -> int | None:
    """End a job's unfinished uploads directly below an S3 prefix, whose parts cost as objects do, and return their
    number; None where S3's client is not installed, or the store is another. Raises IoFailureError.
    """
    scheme, _, rest = prefix.rstrip("/").partition("://")
    if scheme != "s3" or find_spec("boto3") is None:
        return None
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    bucket, _, path = rest.partition("/")
    endpoint = (
        os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or os.environ.get("AWS_ENDPOINT")
    )
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    try:
        s3 = boto3.client("s3", endpoint_url=endpoint, region_name=region)
        pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=f"{path}/part-")
        own = [
            {"Key": upload["Key"], "UploadId": upload["UploadId"]}
            for page in pages
            for upload in page.get("Uploads", ())
            if job_of_part(upload["Key"].removeprefix(f"{path}/")) == job
        ]
        for upload in own:
            s3.abort_multipart_upload(Bucket=bucket, **upload)
    except (BotoCoreError, ClientError) as error:
        raise IoFailureError(
            f"{node_name()}: cannot end the unfinished uploads to {prefix}: {error}", code="store-failed"
        ) from error
    return len(own)


def delete_file(uri: str) -> None:
    """Delete an object; a missing one is no error. Raises IoFailureError."""
    store, path = _store_and_path(uri)
    with _store_errors("delete", uri), suppress(FileNotFoundError, _not_found()):
        _obstore().delete(store, path)


def read_version(uri: str) -> tuple[bytes, Any] | None:
    """Return an object's content, and its version for `put_if`; None where there is no object. Raises
    IoFailureError.
    """
    store, path = _store_and_path(uri)
    with _store_errors("read", uri):
        try:
            there = _obstore().get(store, path)
            version = {name: value for name in ("e_tag", "version") if (value := there.meta[name]) is not None}
            return bytes(there.bytes()), version
        except (FileNotFoundError, _not_found()):
            return None


def put_if(uri: str, content: bytes, *, expected_version: Any) -> bool:
    """Write an object if `expected_version` is still there, or no object where it is None; return whether it was
    written. Raises IoFailureError.
    """
    from obstore.exceptions import AlreadyExistsError, PreconditionError

    store, path = _store_and_path(uri)
    with _store_errors("write", uri):
        try:
            _obstore().put(
                store,
                path,
                content,
                mode="create" if expected_version is None else expected_version,
                use_multipart=False,
            )
        except (AlreadyExistsError, PreconditionError, FileExistsError):
            return False
    return True


def _not_found() -> type[Exception]:
    from obstore.exceptions import NotFoundError

    return NotFoundError


def require_plain_name(uri: str) -> None:
    """Raise BadInputError for an object or a prefix whose name the store's library cannot use, or would change."""
    path = uri.partition("://")[2].partition("/")[2].removesuffix("/")
    if path and _ODD_PART.search(path):
        raise BadInputError(
            f"{uri!r}: names with an empty part (a//b), a part . or .., or a control character cannot be used",
            ["rename it with the store's own tools, or name other objects or prefixes"],
            code="odd-name",
        )


def _store_and_path(uri: str) -> tuple[Any, str]:
    require_plain_name(uri)
    scheme, _, rest = uri.partition("://")
    bucket, _, path = rest.partition("/")
    return _store(f"{scheme}://{bucket}"), path.rstrip("/")


@lru_cache(maxsize=8)
def _store(url: str) -> Any:
    """Return the store of a bucket. Raises IoFailureError when the environment has too little to reach it, and
    ProviderRefusedError without credentials.
    """
    _obstore()
    require_credentials(url)
    from obstore.store import from_url

    with _store_errors("reach", url):
        return from_url(url, retry_config=RETRIES)


def _obstore() -> Any:
    return optional("obstore", extra="objects", purpose=f"reading an object store from {node_name()}")


@contextmanager
def _store_errors(doing: str, uri: str) -> Iterator[None]:
    """Turn errors of the store or the library into an IoFailureError that names node, object and reason, an
    InputChangedError if another version was asked for. A long wait, as the library retries, is noted for the node's
    service.
    """
    from obstore.exceptions import BaseError, InvalidPathError, PreconditionError

    try:
        with track_request(f"the store has yet to let it {doing} {uri}"):
            yield
    except PreconditionError as error:
        raise InputChangedError.of(uri, "its ETag is another") from error
    except InvalidPathError as error:  # of one of the objects listed
        if found := _ODD_NAME.search(str(error)):
            require_plain_name(f"{'/'.join(uri.split('/', 3)[:3])}/{found[1]}")
        raise BadInputError(f"cannot {doing} {uri}: {error}", code="odd-name") from error
    except (BaseError, OSError) as error:
        if refused := account_error(uri, str(error)):
            raise refused from error
        said = dict(_SAID.findall(str(error)))  # the store's own words, if any
        reason = ": ".join(said.values()) or next(iter(str(error).splitlines()), "") or type(error).__name__
        raise IoFailureError(f"{node_name()}: cannot {doing} {uri}: {reason}", code="store-failed") from error
