"""A trial of values on which one fault is made, to see what it says of itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from harness.backends.cluster import Node
from harness.faults.injections import injection_of
from harness.model.faults import Fault
from harness.trial import Healed, Injected

NODES = (
    Node(name="namesrv-1", kind="namesrv", address="127.0.0.1:1"),
    Node(name="namesrv-2", kind="namesrv", address="127.0.0.1:2"),
    Node(name="broker-a", kind="broker", address="127.0.0.1:3", broker_name="broker-a"),
    Node(name="broker-b", kind="broker", address="127.0.0.1:4", broker_name="broker-b"),
)


def trial_of_values(**more: Any) -> Any:
    """Two name servers and two masters, on which nothing stays and nothing is recorded."""
    events = SimpleNamespace(probe=lambda *of, **more: None, reading=lambda *of, **more: None)
    facts: dict[str, Any] = {
        "cluster": SimpleNamespace(nodes=NODES, pid=lambda name: None),
        "record": SimpleNamespace(topic="T", groups=["g0"], repetition=1),
        "events": events,
        "leases": None,
        "until_s": 60.0,
        "cancel": threading.Event(),
        "stay": lambda seconds: None,
        "params": {},
        "clients": [],
    }
    return SimpleNamespace(**(facts | more))


def made(fault: Fault, trial: Any = None, load: Any = None) -> Injected:
    """The fault as its usual injection makes it."""
    return injection_of(fault).inject(fault, trial or trial_of_values(), load)


def ended(done: Injected) -> Healed:
    """The end of one that is on."""
    assert done.end is not None
    return done.end()


@contextmanager
def asked(**answers: Any) -> Iterator[Any]:
    """A connection on which there are these answers."""
    yield SimpleNamespace(**answers)
