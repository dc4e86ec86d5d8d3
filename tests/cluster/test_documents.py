"""What the documents tell a reader to type does what they show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.paths import PACKAGES
from tests.lib.documents import examples, shape

SHOWN = "127.0.0.1:9876"
"""The name server of the documents; a test's own has a free port."""
COMMAND_S_MAX = 300.0


def _run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mqlab", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False,
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
    )  # fmt: skip


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """That of a cluster of two masters, as ``mqlab up`` leaves it."""
    folder = tmp_path_factory.mktemp("up")
    started = _run("up", "--release", "5.3.3", "--topology", "two-masters", cwd=folder)
    try:
        found = re.search(r"NAMESRV_ADDR=(\S+)", started.stdout)
        assert found, started.stderr
        yield found[1]
    finally:
        _run("down", cwd=folder)


@pytest.mark.parametrize("document", ["audit.md"])
def test_the_examples_of_a_document_do_what_it_shows(document: str, name_server: str, tmp_path: Path) -> None:
    shown = examples(PACKAGES / "docs" / document)
    assert shown
    for example in shown:
        assert example.command[0] == "mqlab"
        done = _run(*[word.replace(SHOWN, name_server) for word in example.command[1:]], cwd=tmp_path)
        assert done.returncode == example.exits, done.stderr
        printed = {shape(line) for line in (done.stdout + done.stderr).splitlines()}
        for line in example.prints:
            assert line.strip() == "..." or shape(line) in printed, (
                f"{' '.join(example.command)} did not print {line!r}"
            )
