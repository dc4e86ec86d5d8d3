"""README and docs: links that lead somewhere, and commands that the parser knows and that answer."""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.errors import EXIT_OK, EXIT_USAGE, LabError
from harness.paths import PACKAGES
from mqlab.main import FAMILIES, _as_called_now, _parser, main
from mqlab.own.own_incident import TEMPLATE
from tests.lib.documents import Example, examples, not_printed

README = PACKAGES / "README.md"
DOCUMENTS = (
    *sorted(PACKAGES.glob("README*.md")),
    PACKAGES / "CONTRIBUTING.md",
    PACKAGES / "compose" / "README.md",
    *sorted((PACKAGES / "docs").glob("*.md")),
    *sorted((PACKAGES / "docs" / "defects").glob("*.md")),
)

RUN = {"cluster", "diagnose", "doctor", "explain", "runs", "runs spark-packages", "tune", "upgrade"}
"""Commands that take seconds and no cluster: every line of theirs is run, as is every line with --plan."""
NOT_RUN = {
    "runs analyze": "judges a run directory by Spark; tests/spark does, and on a cluster; nobody has YARN or Kubernetes",
    "audit": "asks a cluster (tests/cluster/test_documents.py runs docs/audit.md); of a file it is run",
    "bisect": "starts clusters; tests/unit/test_bisect.py chooses the releases",
    "check": "starts clusters; tests/cluster/test_check.py does",
    "runs clean": "ends what is the lab's on this machine",
    "cluster down": "ends the cluster of `up`",
    "cluster fetch": "downloads",
    "cluster image": "needs a Docker engine",
    "load": "starts a cluster or sends to one; tests/cluster/test_load.py and test_documents.py do",
    "runs model": "needs a run directory; tests/spark makes one",
    "new": "writes a file; tests/unit/test_own_incident.py does",
    "runs report": "needs a run directory; tests/spark makes one",
    "reproduce": "starts a cluster; tests/cluster/test_reproduce.py does",
    "runs serve": "serves until Ctrl-C; tests/unit/test_serve.py asks its pages",
    "cluster up": "starts a cluster",
    "verify": "starts clusters; tests/cluster/test_verify.py does",
}
WRITES = {"--add", "--recompute", "--changed", "--withdraw"}
"""Options of ``ledger`` that write the committed record."""

SWEEPS = {"--sweep", "--resume"}
"""Options of ``tune`` that start clusters; tests/unit/test_sweep_command.py gives it some."""

ELSEWHERE = "://"
"""In a path: logs in a file system that is not there; tests/spark has one."""

LOGS = "tests/data/logs/append-stall-5.5.0"
PLACES = {"RUN_DIR": "run", "FILE": "file", "DIR": "run", "LOG...": LOGS, "PATH...": LOGS, "broker-a/": LOGS}
PLACES |= dict.fromkeys(("~/logs/rocketmqlogs", "LOGS-OF-CLIENTS-AND-BROKERS"), LOGS)
VALUES = {
    "FILE.zip": "packages.zip",
    "A,B,C": "127.0.0.1:9876",
    "INCIDENT": "append-stall",
    "INCIDENT...": "append-stall",
    "CLAIM": "BUSY-10",
    "EVENT": "event",
    "TEXT": "a sentence of words",
    "RELEASE": "5.5.0",
    "HZ": "1000",
    "MS,...": "450",
}
"""What stands for a placeholder of the documents."""


COMMANDS = {
    name for action in _parser()._actions if isinstance(action, argparse._SubParsersAction) for name in action.choices
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command line of a document; the words are without ``mqlab``."""

    document: str
    words: tuple[str, ...]

    @property
    def command(self) -> str:
        return self.words[0]

    def __str__(self) -> str:
        return f"{self.document}: mqlab {' '.join(self.words)}"


def _lines(document: Path) -> Iterator[Line]:
    text = document.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    typed = [
        re.sub(r"\s+# .*", "", found)
        for block in blocks
        for found in re.findall(
            rf"^{_prompt(block)}mqlab (?!up --wait|cluster up --wait)([a-z].*)",
            block.replace("\\\n", " "),
            re.MULTILINE,
        )
    ]
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    typed += re.findall(r"`mqlab\s([a-z][^`]*)`", prose)
    for one in typed:
        if "..." not in one.split() and "|" not in one.split() and "A B" not in one:
            line = Line(
                document=document.relative_to(PACKAGES).as_posix(), words=tuple(_as_called_now(shlex.split(one)))
            )
            # A command that needs arguments may be named without them.
            if len(line.words) > 1 or line.command not in {*COMMANDS, *FAMILIES} or _parses(line):
                yield line


def _prompt(block: str) -> str:
    """Where a block has prompts, its other lines are printed."""
    prompt = r"[\w-]*\$ "
    return prompt if re.search(f"^{prompt}", block, re.MULTILINE) else ""


def _filled(line: Line) -> tuple[str, ...]:
    return tuple(PLACES.get(word) or VALUES.get(word) or word for word in line.words)


def _parses(line: Line) -> bool:
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            _parser().parse_args(_filled(line))
        except SystemExit as ended:
            return ended.code == EXIT_OK
        except LabError:
            return False
    return True


LINES = tuple(dict.fromkeys(line for document in DOCUMENTS for line in _lines(document)))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that has what the documents' lines name: their placeholders, and the checkout's own files."""
    for name in ("run", "master", "part-2", "part-3", "runs"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").write_text("")
    for name in ("docs", "tests", "compose"):
        (tmp_path / name).symlink_to(PACKAGES / name)
    for name in ("broker.conf", "nodes.toml", "history.jsonl", "store.log", "stall.tar.gz", "FILE.tar.gz"):
        (tmp_path / name).write_text("")
    shutil.copy(TEMPLATE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(PACKAGES).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        path = document.parent / name if name else document
        assert path.exists(), target
        if anchor:
            assert anchor in _anchors(path), target


def _anchors(document: Path) -> set[str]:
    """Of its titles, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_command_of_the_documents_is_run_or_named_as_not_run() -> None:
    named = {line.command for line in LINES if not line.command.startswith("-")}
    assert named <= RUN | set(NOT_RUN)
    assert not RUN & set(NOT_RUN)
    assert set(NOT_RUN) <= named, "a command that no document names"
    assert {"explain", "verify", "upgrade", "tune", "audit", "load", "diagnose"} <= named


def test_every_command_line_of_the_documents_is_one(here: Path) -> None:
    shown = {str(line) for line in _shown_as_refused()}
    assert [str(line) for line in LINES if not _parses(line) and str(line) not in shown] == []


def _shown_as_refused() -> Iterator[Line]:
    for document in DOCUMENTS:
        for example in examples(document):
            if example.exits == EXIT_USAGE:
                yield Line(document=document.relative_to(PACKAGES).as_posix(), words=example.command[1:])


def _is_quick(words: tuple[str, ...]) -> bool:
    if "--plan" in words:
        return True
    of_file = words[0] == "audit" and "--broker-conf" in words
    return (words[0] in RUN or of_file) and not _sweeps(words) and not WRITES & set(words) and not _is_elsewhere(words)


def _sweeps(words: tuple[str, ...]) -> bool:
    """A prediction names no incident, and a sweep that brings its own lists nothing else."""
    return words[0] == "tune" and (not words[1].startswith("--") or bool(SWEEPS & set(words)))


def _is_elsewhere(words: tuple[str, ...]) -> bool:
    """Logs in another file system, or a cluster that is read: tests/cluster/test_preflight.py reads one."""
    return (words[0] == "diagnose" and any(ELSEWHERE in word for word in words)) or words[:2] == (
        "upgrade",
        "--namesrv",
    )


def test_what_is_not_run_is_named() -> None:
    others = [line for line in LINES if not _is_quick(line.words)]
    assert all(
        line.command in NOT_RUN or WRITES & set(line.words) or _sweeps(line.words) or _is_elsewhere(line.words)
        for line in others
    )


SHOWN = {example.command[1:] for document in DOCUMENTS for example in examples(document)}
QUICK = tuple(dict.fromkeys(_filled(line) for line in LINES if _is_quick(line.words) and line.words not in SHOWN))


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_command_lines_that_take_seconds_are_run(words: tuple[str, ...], here: Path) -> None:
    # The code of an audit is its worst finding's, and the doctor of a host that lacks something says so by its own.
    codes = {"audit": {0, 1, 2}, "doctor": {EXIT_OK, EXIT_USAGE}}
    assert _exit_code(words) in codes.get(words[0], {EXIT_OK})


def _exit_code(words: tuple[str, ...]) -> int:
    try:
        return main(list(words))
    except SystemExit as ended:
        return int(str(ended.code))


EXAMPLES = [
    pytest.param(document, example, id=f"{document.relative_to(PACKAGES)}: {example}")
    for document in DOCUMENTS
    for example in examples(document)
    if not example.asks_a_cluster
]
"""tests/cluster/test_documents.py runs the others."""


@pytest.mark.parametrize(("document", "example"), EXAMPLES)
def test_examples_print_what_the_documents_show(
    document: Path, example: Example, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MQLAB_LANG", "zh" if document.name.endswith(".zh-CN.md") else "en")
    assert _exit_code(example.command[1:]) == example.exits
    said = capsys.readouterr()
    assert example.prints
    assert not not_printed(example, said.out + said.err, _as_shown), said.out + said.err


def _as_shown(line: str) -> str:
    """To the digit, but for what a plan expects of this very host."""
    return "expected: ..." if line.startswith("expected: about ") else " ".join(line.split())
