"""Which client sends a load, and what its process is started with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.clients.java import JAVA_WORKER, LOAD_JVM_OPTIONS, PUNCTUAL_JVM_OPTIONS, jvm_properties, worker_spec
from harness.clients.python.clients import CLIENTS
from harness.clients.python.install import PYTHON_WORKER, ensure_python_client
from harness.generator.options import DriverSpec
from harness.generator.target import Target
from harness.releases.java import Java

RETRIES = frozenset({"retryTimesWhenSendFailed", "retryTimesWhenSendAsyncFailed"})


def java_driver(
    release: str, java: Java, target: Target, *, is_punctual: bool = False, user: Mapping[str, str] | None = None
) -> DriverSpec:
    """The official Java client of a release. It does not try a send again, since a second try hides the first.

    ``is_punctual`` is for an open loop. ``user`` are the user's own settings (``UserSettings.client``); one who asks for
    another number of tries has it.
    """
    own = user or {}
    spec = worker_spec(
        name="producer",
        release=release,
        java=java,
        folder=Path("{folder}"),
        jvm_options=(*LOAD_JVM_OPTIONS, *(PUNCTUAL_JVM_OPTIONS if is_punctual else ()), *jvm_properties(own)),
        allowed=target.allowed,
        user=own,
        access=target.access,
    )
    return DriverSpec(
        module=JAVA_WORKER,
        search_path=(),
        first_line=spec,
        namesrv=target.namesrv_list,
        queues=sum(target.queues.values()),
        settings=dict.fromkeys(RETRIES - own.keys(), 0),
        java_release=release,
    )


def python_driver(kind: str, target: Target, proxy: str = "") -> DriverSpec:
    """One of Python's own clients. If the topic is on a single broker, records of ordered sends name their queue.

    ``proxy`` is the address that a gRPC client speaks to, instead of name servers and brokers.
    """
    return DriverSpec(
        module=PYTHON_WORKER,
        search_path=(str(ensure_python_client(kind)),),
        first_line={
            "client": CLIENTS[kind].can.name,
            "kind": kind,
            "logs": "{folder}",
            "only_broker": next(iter(target.brokers)) if len(target.brokers) == 1 else "",
        },
        namesrv=proxy or target.namesrv_list,
        queues=0,
    )
