"""A moto server's answers about EC2, split into pages, which moto does not do."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from urllib.parse import parse_qs, urlencode
from urllib.request import Request, urlopen

from servers import Answer, ReceivedRequest

LISTS = {"DescribeInstanceTypes": "instanceTypeSet", "DescribeSpotPriceHistory": "spotPriceHistorySet"}
SOME = ("i3.large", "i4i.4xlarge")
"""Types whose spot prices are listed when those of all types are requested: enough, and quick."""
_AUTHORIZATION = "AWS4-HMAC-SHA256 Credential=test/20261121/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=x"


@cache
def said_by_moto(action: str, names: tuple[str, ...]) -> bytes:
    """Return moto's complete answer to an action, for the types `names` (all types, if empty)."""
    from moto.server import ThreadedMotoServer  # imported where needed: it takes half a second

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        chosen = {f"InstanceType.{number}": name for number, name in enumerate(names, start=1)}
        body = urlencode({"Action": action, "Version": "2016-11-15", **chosen})
        request = Request(f"http://{host}:{port}", body.encode(), {"Authorization": _AUTHORIZATION})
        with urlopen(request) as answer:
            return bytes(answer.read())
    finally:
        server.stop()


@cache
def items(action: str, names: tuple[str, ...]) -> tuple[str, list[str]]:
    """Return an answer's XML namespace and its items."""
    root = ET.fromstring(said_by_moto(action, names))
    space = root.tag.partition("}")[0].strip("{")
    ET.register_namespace("", space)
    listed = root.find(f"{{{space}}}{LISTS[action]}")
    assert listed is not None
    return space, [ET.tostring(item, "unicode") for item in listed]


def ec2(names: tuple[str, ...] = (), *, size: int = 100) -> Callable[[ReceivedRequest], Answer]:
    """Answer as EC2 with the types `names` (all types, if empty), `size` at a time."""

    def answer(received: ReceivedRequest) -> Answer:
        form = parse_qs(received.body)
        action, at = form["Action"][0], int(form.get("NextToken", ["0"])[0])
        space, chosen = items(action, names or SOME if action == "DescribeSpotPriceHistory" else names)
        page, more = "".join(chosen[at : at + size]), at + size < len(chosen)
        token = f"<nextToken>{at + size}</nextToken>" if more else ""
        listed = f"<{LISTS[action]}>{page}</{LISTS[action]}>{token}"
        text = f'<{action}Response xmlns="{space}">{listed}</{action}Response>'
        return Answer(text.encode(), headers={"Content-Type": "text/xml"})

    return answer
