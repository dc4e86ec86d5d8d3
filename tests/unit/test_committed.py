"""Whether a group reads: from each queue, since one may belong for minutes to a member that is gone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import cast

import pytest

from harness.backends import cluster
from harness.backends.cluster import Cluster, has_committed


@pytest.mark.parametrize(
    ("offsets", "has"),
    [
        ({("a", 0): 5, ("a", 1): 3, ("b", 0): 1, ("b", 1): 9}, True),
        ({("a", 0): 5, ("a", 1): 3, ("b", 0): 1, ("b", 1): 0}, False),
        ({("a", 0): 5, ("b", 0): 1, ("b", 1): 9}, False),
        ({}, False),
    ],
)
def test_each_queue_of_each_master_must_have_an_offset_beyond_its_first(
    offsets: dict[tuple[str, int], int], has: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def ask(broker: str, timeout_s: float) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(consumer_offset=lambda group, topic, queue: offsets.get((broker, queue)))

    monkeypatch.setattr(cluster, "ask", ask)
    monkeypatch.setattr(cluster, "masters", lambda _: ["a", "b"])
    assert has_committed(cast(Cluster, None), "T", 2, "g") is has
