"""The name that a release gives a client in a container: its own one, with the process id that a container has."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from harness.clients.worker import name_in_a_container


def _client(by_itself: str) -> Any:
    client = SimpleNamespace(name="DEFAULT")
    client.changeInstanceNameToPID = lambda: setattr(client, "name", by_itself)
    client.getInstanceName = lambda: client.name
    return client


@pytest.mark.parametrize(("by_itself", "named"), [("{pid}", "1"), ("{pid}#17398949282500", "1#17398949282500")])
def test_the_process_id_is_1_and_the_rest_is_the_releases_own(by_itself: str, named: str) -> None:
    assert name_in_a_container(_client(by_itself.format(pid=os.getpid()))) == named


def test_a_name_without_the_process_id_is_an_error() -> None:
    with pytest.raises(ValueError, match="does not begin with its process's id"):
        name_in_a_container(_client("orders"))
