"""Which client sends a load, and what its process is started with."""

from __future__ import annotations

from pathlib import Path

from harness.clients.java import JAVA_WORKER, LOAD_JVM_OPTIONS, PUNCTUAL_JVM_OPTIONS, worker_spec
from harness.clients.python.install import NAMES, PYTHON_WORKER, ensure_python_client
from harness.generator.options import DriverSpec
from harness.generator.target import Target
from harness.releases.java import Java


def java_driver(release: str, java: Java, target: Target, *, is_punctual: bool = False) -> DriverSpec:
    """The official Java client of a release. It does not try a send again, since a second try hides the first.

    ``is_punctual`` is for an open loop.
    """
    spec = worker_spec(
        name="producer",
        release=release,
        java=java,
        folder=Path("{folder}"),
        jvm_options=(*LOAD_JVM_OPTIONS, *(PUNCTUAL_JVM_OPTIONS if is_punctual else ())),
        allowed=target.allowed,
    )
    return DriverSpec(
        module=JAVA_WORKER,
        search_path=(),
        first_line=spec,
        namesrv=target.namesrv_list,
        queues=sum(target.queues.values()),
        settings={"retryTimesWhenSendFailed": 0, "retryTimesWhenSendAsyncFailed": 0},
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
            "client": NAMES[kind],
            "kind": kind,
            "logs": "{folder}",
            "only_broker": next(iter(target.brokers)) if len(target.brokers) == 1 else "",
        },
        namesrv=proxy or target.namesrv_list,
        queues=0,
    )
