"""``mqlab audit``: its exit codes, formats and files."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from pathlib import Path

import pytest
from rich.console import Console

from harness.errors import EXIT_USAGE, LabError, UsageError
from mqlab.ask.audit import add_options, audit
from tests.lib.audited import WRITES, cluster
from tests.lib.prometheus_text import read_exposition


def _run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_options(parser)
    return audit(parser.parse_args(arguments), Console(stderr=True))


def test_the_exit_code_is_the_worst_severity(serving: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    broker, _, addresses = cluster(serving, {"orders": (4, 4)})
    namesrv = ",".join(addresses)
    assert _run("--namesrv", namesrv) == 0
    assert "nothing is wrong" in capsys.readouterr().out
    broker.conf["transientStorePoolEnable"] = "true"
    assert _run("--namesrv", namesrv) == 1
    broker.topics["orders"] = (8, 4)
    assert _run("--namesrv", namesrv) == 2


def test_an_earlier_json_output_tells_the_growth(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broker, servers, addresses = cluster(serving, {"orders": (4, 4)})
    arguments = ("--namesrv", ",".join(addresses), "--json", "--frame-limit", "100000")
    assert _run(*arguments) == 0
    earlier = capsys.readouterr().out
    (tmp_path / "earlier.json").write_text(earlier)
    for node in (broker, *servers):
        node.topics.update({f"%RETRY%g{index:03d}": (1, 1) for index in range(20)})
    assert _run(*arguments, "--since", str(tmp_path / "earlier.json")) == 1
    now = json.loads(capsys.readouterr().out)
    assert [one["kind"] for one in now["findings"]] == ["registration-growing"]
    assert now["brokers"][0]["topics"] == {"normal": 1, "retry": 20, "dead letter": 0, "system": 0}
    assert now["brokers"][0]["full_at_s"] > now["at_s"]


BROKER = {"where": "a", "name": "a", "id": 0, "address": "127.0.0.1:1", "frame_bytes": 1}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "nested too deeply"),
        ("7", "is 7"),
        ('{"at_s": 1}', "lacks brokers"),
        ('{"at_s": 1e999, "brokers": []}', "at_s is inf"),
        ('{"at_s": -1e999, "brokers": []}', "at_s is -inf"),
        ('{"at_s": 1, "brokers": [7]}', "brokers[0]"),
        (json.dumps({"at_s": 1, "brokers": [{**BROKER, "address": 7}]}), "brokers[0].address"),
        (json.dumps({"at_s": 1, "brokers": [{**BROKER, "name": {"x": 1}}]}), "brokers[0].name"),
        (json.dumps({"at_s": 1, "brokers": [{**BROKER, "frame_bytes": 10**40}]}), "brokers[0].frame_bytes"),
        (json.dumps({"at_s": 1, "brokers": [BROKER]}).replace(": 1}", ": 1e999}"), "brokers[0].frame_bytes"),
        (json.dumps({"at_s": 1, "brokers": [BROKER]}).replace("127.0.0.1", "198.51.100.7"), "not an allowed target"),
    ],
)
def test_an_earlier_output_of_somebody_else_s_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "earlier.json").write_text(text)
    with pytest.raises(LabError) as refused:
        _run("--namesrv", "127.0.0.1:1", "--since", str(tmp_path / "earlier.json"))
    assert says in str(refused.value)
    assert refused.value.exit_code == EXIT_USAGE


def test_a_watch_prints_one_line_a_reading(serving: ExitStack, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, addresses = cluster(serving, {"orders": (4, 4)})
    assert _run("--namesrv", addresses[0], "--json", "--watch", "0.05", "--times", "3") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([json.loads(line) for line in lines]) == 3


def test_a_file_for_prometheus_is_replaced_as_a_whole_and_nothing_is_printed(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    broker, _, addresses = cluster(serving, {"orders": (4, 4)})
    out = tmp_path / "mqlab.prom"
    arguments = ("--namesrv", addresses[0], "--format", "prometheus", "--out", str(out))
    assert _run(*arguments) == 0
    sound = read_exposition(out.read_text())
    broker.topics["orders"] = (8, 4)
    assert _run(*arguments) == 2
    sick = read_exposition(out.read_text())
    severity = ("mqlab_audit_severity", frozenset[tuple[str, str]]())
    assert (sound[severity], sick[severity]) == (0, 2)
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--json", "--format", "prometheus"), "two formats"),
        (("--format", "prometheus", "--watch", "1"), "one text at a time"),
    ],
)
def test_formats_that_contradict_each_other_are_refused(arguments: tuple[str, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        _run("--namesrv", "127.0.0.1:1", *arguments)


def test_a_dry_run_lists_what_apply_deletes_and_writes_nothing(
    serving: ExitStack, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    topics = {f"%RETRY%{name}": (1, 1) for name in ("gone", "pending", "again")}
    broker, servers, addresses = cluster(serving, topics)
    broker.ends["%RETRY%pending"] = 3
    journal = tmp_path / "j"
    arguments = ("--namesrv", ",".join(addresses), "--offline-for", "0", "--journal", str(journal))
    for asked in (("--dry-run",), ("--dry-run", "--apply")):
        _run(*arguments, *asked)
        said = capsys.readouterr().err
        assert "to be deleted: %RETRY%gone\n" in said
        assert "kept: %RETRY%pending" in said
        assert "nothing is deleted" in said
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}
    assert not journal.exists()
    journal.write_text(json.dumps({"topic": "%RETRY%again", "outcome": "deleted"}) + "\n")
    _run(*arguments, "--apply")
    assert "kept: %RETRY%again, which the journal says was deleted before\n" in capsys.readouterr().err
    assert set(broker.topics) == {"%RETRY%pending", "%RETRY%again"}
