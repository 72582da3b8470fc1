"""EC2 over HTTP for the tests: moto, with additions and corrections.

    python ec2_server.py        prints its port, and serves until it is killed

Added: placement groups, tags on the interfaces of a launch, client tokens, all-or-none launches, capacity per zone,
vCPU quotas, dry runs of every call, instance profiles that the caller must be allowed to pass, machines that take time
to start and to end or that end at boot, dependencies between resources, the price list and the quota service. Besides
AWS's services it answers /control: PUT resets the world (JSON, see World), POST puts text on machines' consoles, GET
returns what really exists, whatever its tags.
"""

from __future__ import annotations

import faulthandler
import json
import os
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

os.environ["MOTO_AMIS_PATH"] = str(Path(__file__).parent / "real_rows" / "ec2_images.json")
os.environ["MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_AMI_VALIDATION"] = "true"
os.environ["MOTO_ENABLE_KEYPAIR_VALIDATION"] = "true"

from ec2_cloud.actions import install
from ec2_cloud.world import State, World, everything, machines, quota_of
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.wrappers import Request, Response

HANGS_S = 30.0


def control(request: Request) -> Response:
    if request.method == "POST":
        State.consoles.update(json.loads(request.get_data()))
    if request.method == "PUT":
        State.begin(World(**json.loads(request.get_data() or b"{}")))
    told = {"left": everything(), "world": asdict(State.world), "machines": machines()}
    return Response(json.dumps(told), mimetype="application/json")


def json_service(request: Request) -> Response:
    """Answer for the price list and the quotas, which moto lacks; no other service uses this protocol."""
    operation, body = request.headers.get("X-Amz-Target", "").rpartition(".")[2], request.get_data()
    if operation == "GetServiceQuota" and not State.world.has_applied_quotas:
        return Response(json.dumps({"__type": "NoSuchResourceException"}), 400, mimetype="application/x-amz-json-1.1")
    if operation in ("GetServiceQuota", "GetAWSDefaultServiceQuota"):
        region = request.headers["Authorization"].split("/")[2]
        is_of_vcpus = json.loads(body)["ServiceCode"] == "ec2"
        value = quota_of(region) if is_of_vcpus else State.world.quota_networks.get(region, 5.0)
        return Response(json.dumps({"Quota": {"Value": value}}), mimetype="application/x-amz-json-1.1")
    if operation == "GetProducts":
        asked = {f["Field"]: f["Value"] for f in json.loads(body)["Filters"]}
        price = State.world.price_usd_per_hour.get(asked["instanceType"])
        dimension = {"unit": "Hrs", "pricePerUnit": {"USD": f"{price}"}}
        product = {"attributes": {name: asked[name] for name in ("instanceType", "regionCode")}}
        offer = {"product": product, "terms": {"OnDemand": {"a": {"priceDimensions": {"b": dimension}}}}}
        offers = [] if price is None else [json.dumps(offer)]
        return Response(json.dumps({"PriceList": offers}), mimetype="application/x-amz-json-1.1")
    return Response(json.dumps({"__type": "UnknownOperationException"}), 400, mimetype="application/x-amz-json-1.1")


def application() -> Any:
    """Return the server: one request after another, because moto's stores may not be changed while they are listed. One
    that hangs prints on standard error where.
    """
    moto, alone = DomainDispatcherApplication(create_backend_app), threading.Lock()

    def serve(environ: Any, start_response: Any) -> Any:
        with alone:
            faulthandler.dump_traceback_later(HANGS_S)
            try:
                return answered(Request(environ))(environ, start_response)
            finally:
                faulthandler.cancel_dump_traceback_later()

    def answered(request: Request) -> Any:
        if request.path == "/control":
            return control(request)
        return json_service(request) if "X-Amz-Target" in request.headers else moto

    return serve


class Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: Any) -> None:
        """Log nothing."""


if __name__ == "__main__":
    install()
    server = make_server("127.0.0.1", 0, application(), threaded=True, request_handler=Quiet)
    print(server.port, flush=True)
    server.serve_forever()
