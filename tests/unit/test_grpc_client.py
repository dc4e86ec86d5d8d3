"""The gRPC client against a proxy of our own that knows four requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from harness.clients.python.install import ensure_python_client
from harness.errors import ReleaseError
from harness.model.rocketmq import STORED_UNSURE
from harness.paths import PACKAGES

PROXY = """
import json, sys, time
from concurrent import futures
from concurrent.futures import Future
from pathlib import Path
import grpc
from rocketmq.grpc_protocol import definition_pb2 as d, service_pb2 as s, service_pb2_grpc
from harness.clients.commands import SendSettings
from harness.clients.python.grpc import Grpc
from harness.clients.python.client import Message, Opening

got = []
OK = d.Status(code=d.Code.OK)
CODES = {
    b"refused": d.Code.INTERNAL_SERVER_ERROR, b"disk": d.Code.MASTER_PERSISTENCE_TIMEOUT,
    b"slave": d.Code.SLAVE_PERSISTENCE_TIMEOUT, b"none": d.Code.HA_NOT_AVAILABLE,
}

asked = []

class Proxy(service_pb2_grpc.MessagingServiceServicer):
    def QueryRoute(self, request, context):
        asked.append(request.topic.name)
        if len(asked) == 1:
            time.sleep(4)  # a proxy that has just started: longer than the client's patience
        broker = d.Broker(name="broker-a", endpoints=request.endpoints)
        queue = d.MessageQueue(topic=request.topic, id=3, permission=d.Permission.READ_WRITE, broker=broker,
                               accept_message_types=[d.MessageType.NORMAL])
        return s.QueryRouteResponse(status=OK, message_queues=[queue])
    def Heartbeat(self, request, context):
        return s.HeartbeatResponse(status=OK)
    def SendMessage(self, request, context):
        message = request.messages[0]
        properties = message.system_properties
        got.append([message.topic.name, message.body.decode(), list(properties.keys), properties.message_group])
        if code := CODES.get(message.body):
            return s.SendMessageResponse(status=d.Status(code=code, message="no"))
        entry = s.SendResultEntry(status=OK, message_id="id", offset=7)
        return s.SendMessageResponse(status=OK, entries=[entry])
    def Telemetry(self, requests, context):
        for request in requests:
            settings = request.settings
            settings.publishing.validate_message_type = False
            settings.backoff_policy.max_attempts = 1
            settings.backoff_policy.exponential_backoff.multiplier = 2
            yield s.TelemetryCommand(status=OK, settings=settings)

server = grpc.server(futures.ThreadPoolExecutor(8))
service_pb2_grpc.add_MessagingServiceServicer_to_server(Proxy(), server)
port = server.add_insecure_port("127.0.0.1:0")
server.start()
sends = SendSettings(topic="T", mode="sync", route="selector", timeout_ms=1500)
client = Grpc(Opening(namesrv=f"127.0.0.1:{port}", group="g", instance="i", sends=sends, logs=Path(".")))

def said(answer, error=None):
    return vars(answer) if error is None else type(error).__name__ + ": " + str(error)

def sync(key, body, slot):
    try:
        return said(client.send(Message(key=key, body=body, slot=slot)))
    except Exception as error:
        return said(None, error)

def later(body):
    told = Future()
    client.send_async(Message(key="", body=body, slot=None), lambda answer, error: told.set_result(said(answer, error)))
    return told.result(30)

answers = [sync("k1", b"one", 1), sync("", b"two", None), later(b"three")]
statuses = [send(body) for body in (b"disk", b"slave", b"none") for send in (lambda body: sync("k1", body, 1), later)]
errors = [sync("k1", b"refused", 1), later(b"refused")]
client.shutdown()
print(json.dumps({"got": got, "answers": answers, "statuses": statuses, "errors": errors}), flush=True)
import os; os._exit(0)
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Any]]:
    """What the client said, and what the proxy got."""
    try:
        folder = ensure_python_client("grpc")
    except ReleaseError as error:
        pytest.skip(str(error))
    scratch = tmp_path_factory.mktemp("grpc")
    run = subprocess.run(
        [sys.executable, "-c", PROXY],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{PACKAGES}", "HOME": str(scratch)},
        cwd=scratch, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    found: Mapping[str, list[Any]] = json.loads(run.stdout.splitlines()[-1])
    return found


def test_a_send_is_one_request_with_its_key_as_its_group(told: Mapping[str, list[Any]]) -> None:
    # The client names queue 3 of broker-a in its receipt, which is its own thought: the proxy picks the queue.
    assert [(answer["queue"], answer["offset"]) for answer in told["answers"]] == [(None, 7)] * 3
    assert told["got"][:3] == [["T", "one", ["k1"], "k1"], ["T", "two", [], ""], ["T", "three", [], ""]]
    assert len(told["got"]) == 11


def test_a_brokers_status_comes_as_a_code_and_any_other_failure_is_raised(told: Mapping[str, list[Any]]) -> None:
    assert [answer["status"] for answer in told["answers"]] == ["SEND_OK"] * 3
    assert [answer["status"] for answer in told["statuses"]] == [one for one in STORED_UNSURE for _ in range(2)]
    assert [error.split(":")[0] for error in told["errors"]] == ["InternalErrorException"] * 2
    assert all("no" in error for error in told["errors"])
