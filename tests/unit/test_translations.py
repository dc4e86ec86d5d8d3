"""The catalogues: every text that a reader may see is in them, with the same figures, and what is printed has no English left."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from harness.paths import PACKAGES
from mqlab.main import main
from tools.translations import CATALOGUE, catalogue, lacking, texts, written_anew

HAN = re.compile("[\u4e00-\u9fff]")
NAMES = re.compile(
    r"https?://\S+|[\w.%@:/,+-]*[\d_.:/@-][\w.%@:/,()+-]*|[A-Z][\w.-]*|[a-z]+[A-Z]\w*|[\d.,:x%#-]+|ms|s|min|MiB|GiB|=|#+"
)
"""What is the same in any language: names of settings, classes, commands, releases, figures."""
LOGS = PACKAGES / "tests" / "data" / "logs"
ASKED = (
    "[REJECTREQUEST]system busy", "[TIMEOUT_CLEAN_QUEUE]broker busy", "No route info of this topic: X",
    "service not available now, maybe disk full", "FLUSH_SLAVE_TIMEOUT", "the consumer's group info not exist",
    "sendDefaultImpl call timeout", "waitTimeMillsInSendQueue", "transientStorePoolEnable", "code 14", "SYNC_FLUSH", "ORDER-06",
    "BUSY-12", "sync-master-acknowledges-alone", "ordered-lock-handover", "why is my group behind", "messages consumed twice",
    "disk is full", "brokr-gone", "consume message failed, too slow",
)  # fmt: skip
DIAGNOSED = (
    "append-stall-5.5.0", "ordered-lock-handover-5.5.0", "busy-flag-stuck-5.3.3", "delayed-message-fails-once-4.9.7",
    "retry-topic-flood-full-size-5.5.0", "idle-broker-burns-cpu-baseline-5.5.0",
)  # fmt: skip
UPGRADES = (("4.9.7", "5.5.0"), ("4.6.0", "4.9.7"), ("5.5.0", "4.9.7"))
CONF = str(PACKAGES / "docs" / "broker.conf")


def test_every_text_has_a_translation_with_the_same_figures() -> None:
    assert lacking(catalogue(), texts()) == []


def test_the_catalogue_is_what_the_tool_writes(tmp_path: Path) -> None:
    written_anew(catalogue(), {}, texts()).save(str(tmp_path / "again.po"))
    assert (tmp_path / "again.po").read_text(encoding="utf-8") == CATALOGUE.read_text(encoding="utf-8")


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_LANG", "zh")


def _printed(*words: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out):
        main(words)
    return out.getvalue()


def _untold(text: str) -> list[str]:
    """Lines without a Chinese letter that are more than names and figures."""
    return [line for line in text.splitlines() if line.strip() and not HAN.search(line) and not _is_names(line)]


def _is_names(line: str) -> bool:
    words = re.sub(r"[\[\]()'\";,\uff0c\uff1b\uff1a]|-> ", " ", line.strip()).split()
    return line.strip().startswith(("mqlab ", "$ ", "-> mqlab")) or all(NAMES.fullmatch(word) for word in words)


def test_an_answer_is_chinese_after_one_in_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_LANG", "en")
    assert "400 ms in place of 200 ms" in _printed("explain", "BUSY-12")
    monkeypatch.setenv("MQLAB_LANG", "zh")
    assert "400 ms in place of 200 ms" not in _printed("explain", "BUSY-12")


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_is_chinese(asked: str) -> None:
    # What RocketMQ writes is the name of its own answer.
    assert [line for line in _untold(_printed("explain", asked)) if line != asked] == []


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("name", DIAGNOSED)
def test_a_diagnosis_is_chinese(name: str) -> None:
    told = _printed("diagnose", str(LOGS / name), "--appends")
    # What is left are lines of the logs, exceptions below them, and bars.
    own = [line for line in told.splitlines() if not re.search(r"\.log\S*:\d+  |^ {6}\S|  #+$", line)]
    assert _untold("\n".join(own)) == []


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize("more", [(), ("--broker-conf", CONF), ("--all",), ("--alerts",)], ids=str)
@pytest.mark.parametrize(("before", "after"), UPGRADES)
def test_an_upgrade_is_chinese(before: str, after: str, more: Sequence[str]) -> None:
    assert _untold(_printed("upgrade", "--from", before, "--to", after, *more)) == []


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "ORDER-06", "--json"),
        ("diagnose", str(LOGS / "append-stall-5.5.0"), "--json"),
        ("upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", CONF, "--json"),
    ],
    ids=lambda words: str(words[0]),
)
def test_json_is_the_same_in_every_language(words: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_LANG", "en")
    english = json.loads(_printed(*words))
    monkeypatch.setenv("MQLAB_LANG", "zh")
    assert json.loads(_printed(*words)) == english


@pytest.mark.parametrize("encoding", ["GBK", "UTF-8"])
def test_a_terminal_gets_chinese_in_the_encoding_of_its_locale(encoding: str, tmp_path: Path) -> None:
    if not Path("/usr/share/i18n/locales/zh_CN").exists() or shutil.which("localedef") is None:
        pytest.skip("no localedef, or no /usr/share/i18n (Debian: apt-get install locales)")
    named = f"zh_CN.{encoding}"
    subprocess.run(
        ["localedef", "-i", "zh_CN", "-f", encoding, str(tmp_path / named)], check=False, capture_output=True
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("LC_", "MQLAB_", "PYTHON"))
    }
    for locale_path in ({"LOCPATH": str(tmp_path)}, {}):
        done = subprocess.run(
            [sys.executable, "-m", "mqlab", "explain", "code 14"], capture_output=True, check=True, cwd=PACKAGES,
            env={**environment, "LC_ALL": named, "LANG": "C", "PYTHONPATH": str(PACKAGES), **locale_path},
        )  # fmt: skip
        assert "错误码 14" in done.stdout.decode(encoding)
        assert done.stderr == b""


def test_what_gbk_has_no_letter_for_does_not_end_a_command(tmp_path: Path) -> None:
    log = tmp_path / "store.log"
    log.write_text("2026-11-26 02:44:10 WARN Thread_1 - [NOTIFYME]putMessage in lock cost time(ms)=1200 \U0001f600\n")
    done = subprocess.run(
        [sys.executable, "-m", "mqlab", "diagnose", str(log)], capture_output=True, check=True, cwd=PACKAGES,
        env={**os.environ, "MQLAB_LANG": "zh", "PYTHONIOENCODING": "gbk", "PYTHONPATH": str(PACKAGES)},
    )  # fmt: skip
    assert "做法" in done.stdout.decode("gbk")
