"""Packages of runs: which are missing, how they are brought, and what is said where they cannot be."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from typing import Any

import pytest

from harness.errors import ConfigurationError
from mqlab import needs
from mqlab.console import console
from mqlab.main import COMMANDS


def test_nothing_is_missing_where_the_tests_run() -> None:
    assert needs.missing() == []
    assert needs.what_is_missing() == ""


def test_every_command_either_begins_without_them_or_is_known_to_need_them() -> None:
    names = {name for names, _ in COMMANDS for name in names}
    assert names >= needs.WITHOUT_RUN
    assert {"verify", "load", "check", "up", "analyze"}.isdisjoint(needs.WITHOUT_RUN)


def test_each_package_of_the_extra_is_imported_by_a_name_that_is_known() -> None:
    wanted = importlib.metadata.requires(needs.DISTRIBUTION) or []
    of_run = {re.split(r"[<>]", one)[0] for one in wanted if 'extra == "run"' in one.replace("'", '"')}
    provided = importlib.metadata.packages_distributions()
    imported = {name for name, found in provided.items() if of_run & set(found) and not name.startswith("_")}
    assert len(of_run) > 5
    assert of_run <= {distribution for name in needs.MODULES for distribution in provided.get(name, ())}
    assert imported


@pytest.fixture
def without_some(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    commands: list[list[str]] = []
    version = importlib.metadata.version

    def lacks(name: str) -> str:
        if name in ("pyspark", "locust"):
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, len(commands) - 1)

    monkeypatch.setattr(importlib.metadata, "version", lacks)
    monkeypatch.setattr(subprocess, "run", run)
    return commands


def test_what_is_missing_alone_is_brought_after_its_size_was_said(
    without_some: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    needs.bring(console())
    (command,) = without_some
    assert command[:4] == [sys.executable, "-m", "pip", "install"]
    assert {one.partition(">")[0] for one in command if ">" in one} == {"pyspark", "locust"}
    assert "2 packages" in capsys.readouterr().out
    with pytest.raises(ConfigurationError, match="could not be installed") as failed:
        needs.bring(console())
    assert "pip install" in failed.value.advice


def test_without_pip_it_is_said_how_to_bring_them(
    without_some: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match="no pip here") as failed:
        needs.bring(console())
    assert not without_some
    assert "'pyspark>=" in failed.value.advice
