"""The gRPC client against a proxy of our own that knows four requests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.clients.python.install import ensure_python_client
from harness.errors import ReleaseError
from harness.paths import PACKAGES

PROXY = """
import json, sys
from concurrent import futures
from pathlib import Path
import grpc
from rocketmq.grpc_protocol import definition_pb2 as d, service_pb2 as s, service_pb2_grpc
from harness.clients.commands import SendSettings
from harness.clients.python.proxied import open_client
from harness.clients.python.client import Message, Opening

got = []
OK = d.Status(code=d.Code.OK)

class Proxy(service_pb2_grpc.MessagingServiceServicer):
    def QueryRoute(self, request, context):
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
        if message.body == b"refused":
            return s.SendMessageResponse(status=d.Status(code=d.Code.INTERNAL_SERVER_ERROR, message="no"))
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
client = open_client(Opening(namesrv=f"127.0.0.1:{port}", group="g", instance="i", sends=sends, logs=Path(".")))
answers = [vars(client.send(Message(key="k1", body=b"one", slot=1))), vars(client.send(Message(key="", body=b"two", slot=None)))]
try:
    client.send(Message(key="k1", body=b"refused", slot=1))
    error = ""
except Exception as problem:
    error = type(problem).__name__ + ": " + str(problem)
print(json.dumps({"got": got, "answers": answers, "error": error}), flush=True)
import os; os._exit(0)
"""


def test_a_send_is_one_request_with_its_key_as_its_group(tmp_path: Path) -> None:
    try:
        folder = ensure_python_client("grpc")
    except ReleaseError as error:
        pytest.skip(str(error))
    run = subprocess.run(
        [sys.executable, "-c", PROXY],
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{PACKAGES}", "HOME": str(tmp_path)},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    told = json.loads(run.stdout.splitlines()[-1])
    # The client names queue 3 of broker-a in its receipt, which is its own thought: the proxy picks the queue.
    assert [(answer["queue"], answer["offset"]) for answer in told["answers"]] == [(None, 7), (None, 7)]
    assert told["got"] == [["T", "one", ["k1"], "k1"], ["T", "two", [], ""], ["T", "refused", ["k1"], "k1"]]
    assert "no" in told["error"]
