"""Terminals of another encoding, and standard streams, folders and limits of which a command has to say what they are."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE
from harness.paths import PACKAGES
from mqlab.machine import of_this_machine
from mqlab.terminal import FALLBACK

LOCALE_C = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
"""The encoding ASCII, which Python takes for UTF-8 unless it is told not to."""

UPGRADE = ("upgrade", "--from", "4.9.7", "--to", "5.5.0")


def _run(shell: str, *words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """``mqlab WORDS`` as a shell starts it, with what stands behind it there."""
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-m", "mqlab", *words],
        capture_output=True, check=False, cwd=PACKAGES, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("gbk", UPGRADE),
        ("ascii", UPGRADE),
        ("latin-1", UPGRADE),
        ("gbk", ("explain", "append-stall", "--release", "4.9.7")),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value[0]),
)
def test_a_terminal_of_any_encoding_is_written_to(encoding: str, words: tuple[str, ...]) -> None:
    done = _run("", *words, environment={"PYTHONIOENCODING": encoding})
    assert (done.returncode, done.stderr) == (EXIT_OK, b"")
    assert "4.9.7" in done.stdout.decode(encoding)


def test_a_diagnosis_and_an_audit_speak_to_a_terminal_in_gbk(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    lines = [f"2026-11-26 02:44:{second:02} WARN SendMessageThread_1 - [NOTIFYME]putMessage in lock cost time(ms)=1{second}00"
             for second in range(10, 40)]  # fmt: skip
    log.write_text("\n".join(lines) + "\n")
    conf = tmp_path / "broker.conf"
    conf.write_text("brokerName=brök\nwaitTimeMillsInSendQueue=400\n", encoding="utf-8")
    gbk = {"PYTHONIOENCODING": "gbk"}
    for words in (("diagnose", str(log)), ("audit", "--broker-conf", str(conf), "--release", "5.5.0")):
        done = _run("", *words, environment=gbk)
        assert b"defect" not in done.stderr, done.stderr
        assert done.stdout.decode("gbk")


def test_files_are_utf_8_where_the_locale_is_not(tmp_path: Path) -> None:
    incident = tmp_path / "own.py"
    incident.write_text("# \N{CJK UNIFIED IDEOGRAPH-5EF6}\nSCENARIO = 1\n", encoding="utf-8")
    done = _run("", "explain", str(incident), environment=LOCALE_C)
    assert b"own.py:2: SCENARIO is a int" in done.stderr


def test_what_an_encoding_lacks_is_written_plainly() -> None:
    text = "24.4\N{NARROW NO-BREAK SPACE}% (22.9\N{EN DASH}26.2), \N{MICRO SIGN}s, br\N{LATIN SMALL LETTER O WITH DIAERESIS}k"
    assert text.encode("ascii", FALLBACK) == b"24.4 % (22.9-26.2), us, brok"
    assert "\N{CJK UNIFIED IDEOGRAPH-5EF6}\udcff".encode("ascii", FALLBACK) == b"\\u5ef6\\udcff"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", FALLBACK)


@pytest.mark.parametrize(
    ("words", "where"), [("explain", ">/dev/full"), ("explain", ">&-"), ("--help", ">/dev/full"), ("--version", ">&-")]
)
def test_an_output_that_takes_nothing_is_said(words: str, where: str) -> None:
    done = _run(where, words)
    told = done.stderr.decode().splitlines()
    assert done.returncode == EXIT_FAILED
    assert [line.partition(":")[0] for line in told] == [
        "mqlab",
        "Send it to a terminal, or to a file on a disk that has room.",
    ]
    assert told[0].startswith("mqlab: standard output takes nothing more: ")


@pytest.mark.parametrize("where", ["2>/dev/full", "<&- 2>&-"])
def test_a_command_prints_whatever_becomes_of_its_other_streams(where: str) -> None:
    done = _run(where, "tune", "--rate", "2000", "--stall", "450")
    assert done.returncode == EXIT_OK
    assert b"waitTimeMillsInSendQueue" in done.stdout


FETCH, DOWN = ("cluster", "fetch"), ("cluster", "down")


@pytest.mark.parametrize(
    ("environment", "words", "says"),
    [
        ({"MQLAB_CACHE": "/dev/null"}, FETCH, "the cache cannot be made at /dev/null: it is no folder"),
        ({"HOME": "/dev/null", "MQLAB_CACHE": "", "XDG_CACHE_HOME": ""}, FETCH, "the cache cannot be made at /dev/null/"),
        ({"HOME": "/dev/null", "XDG_STATE_HOME": "", "MQLAB_HOME": ""}, DOWN, "cannot make the state folder /dev/null/"),
        ({"MQLAB_HOME": "/proc/none"}, ("runs", "clean"), "cannot make the state folder /proc/none/state: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else None,
)  # fmt: skip
def test_a_folder_that_cannot_be_used_is_named_with_the_variable_that_gives_another(
    environment: Mapping[str, str], words: tuple[str, ...], says: str
) -> None:
    done = _run("", *words, environment=environment)
    told = done.stderr.decode().splitlines()
    assert done.returncode in {EXIT_USAGE, EXIT_FAILED}
    assert told[0].startswith(f"mqlab: {says}"), told
    variable = "MQLAB_CACHE" if "cache" in says else "MQLAB_HOME"
    assert told[1:] == [f"Set {variable} to a folder that you can write to."]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (MemoryError(), "no more memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "no more memory"),
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "no more memory or processes"),
        (RuntimeError("can't start new thread"), "no more threads"),
        (OSError(errno.EMFILE, "Too many open files", "x"), "too many files are open to open x"),
        (OSError(errno.ENOSPC, "No space left on device"), "a disk has no room left"),
        (PermissionError(errno.EACCES, "Permission denied", "runs/x"), "runs/x cannot be used: Permission denied"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_limit_of_the_machine_is_no_defect(error: Exception, says: str) -> None:
    known = of_this_machine(error)
    assert known is not None
    assert says in str(known)


@pytest.mark.parametrize(
    "error", [ValueError("x"), RuntimeError("x"), FileNotFoundError(errno.ENOENT, "none", "x")], ids=str
)
def test_all_else_may_be_a_defect(error: Exception) -> None:
    assert of_this_machine(error) is None
