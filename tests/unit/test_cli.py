from __future__ import annotations

import argparse
import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from setuptools import find_packages

import analysis
import harness
import scenarios
from harness.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, UsageError
from harness.host.abilities import Abilities
from harness.paths import PACKAGES
from mqlab.ask import looking
from mqlab.console import console as lab_console
from mqlab.kinds import NAME_SERVERS
from mqlab.main import COMMANDS, FAMILIES, FIRST, GROUPS, MOVED, _as_called_now, _parser, main
from mqlab.run import clusters
from mqlab.run.verify import injections_asked


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _fails(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    try:
        code = main(arguments)
    except SystemExit as exit_:
        code = int(str(exit_.code))
    assert code == EXIT_USAGE
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return " ".join(captured.err.split())


def test_the_packages_are_those_of_this_repository() -> None:
    for package in (harness, analysis, scenarios):
        assert package.__file__ is not None
        assert Path(package.__file__).is_relative_to(PACKAGES)


def test_every_package_is_found_for_the_distribution() -> None:
    patterns = tomllib.loads((PACKAGES / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]
    listed = set(find_packages(str(PACKAGES), include=patterns["include"]))
    found = {
        ".".join(path.parent.relative_to(PACKAGES).parts)
        for top in ("mqlab", "harness", "analysis", "scenarios")
        for path in (PACKAGES / top).rglob("*.py")
    }
    assert listed == found


def test_an_unknown_incident_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    said = _fails(capsys, "verify", "append-stal")
    assert "unknown incident 'append-stal'" in said
    assert "append-stall" in said


def test_an_unknown_release_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "4.9.7" in _fails(capsys, "verify", "append-stall", "--release", "4.9.x")


@pytest.mark.parametrize("text", [",", "5.3.3,", ",5.3.3", ""])
def test_a_list_with_an_empty_name_is_no_list(capsys: pytest.CaptureFixture[str], text: str) -> None:
    assert f"'{text}' is not a list" in _fails(capsys, "explain", "--record", f"--release={text}")


def test_an_audit_of_an_unknown_release_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    said = _fails(capsys, "audit", "--broker-conf", str(PACKAGES / "docs" / "broker.conf"), "--release", "5.5.0x")
    assert "unknown release '5.5.0x'" in said
    assert "Did you mean 5.5.0" in said


@pytest.mark.parametrize(
    ("module", "words", "says"),
    [
        ("harness.releases.settings", ("4.3.0",), "RocketMQ 4.3.0 is older than 4.4.0"),
        ("harness.releases.settings", (), "usage: python -m harness.releases.settings RELEASE"),
        ("tools.code_changes", ("4.9.7",), "usage: python -m tools.code_changes OLDER NEWER"),
        ("tools.kept_logs", ("/none",), "/none is not a run directory"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_programs_for_maintainers_end_with_a_sentence(module: str, words: tuple[str, ...], says: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", module, *words], capture_output=True, text=True, check=False, cwd=PACKAGES
    )
    assert ended.returncode == EXIT_USAGE
    assert ended.stderr.startswith(says)


def test_an_unknown_arm_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert "baseline" in _fails(capsys, "verify", "append-stall", "--arm", "baselin")


def test_an_unknown_command_or_option_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    _fails(capsys, "verfy")
    _fails(capsys, "verify", "--no-such-option")


def test_without_a_command_the_help_is_printed_and_with_version_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == EXIT_OK
    assert "COMMAND" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == EXIT_OK
    assert capsys.readouterr().out == f"mqlab {version('rocketmq-incident-lab')}\n"


def test_a_defect_of_our_own_is_a_sentence_and_its_traceback_a_file(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("harness.run.doctor.examine", lambda: 1 / 0)
    assert main(["doctor"]) == EXIT_FAILED
    assert "ZeroDivisionError" in capsys.readouterr().err
    (kept,) = tmp_path.glob("mqlab-*.txt")
    assert kept.read_text().startswith("Traceback")


def test_no_trials_are_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--trials" in _fails(capsys, "verify", "append-stall", "--trials", "0")


def test_what_is_no_run_directory_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for command in (["analyze", str(tmp_path)], ["report", str(tmp_path)], ["verify", "--resume", str(tmp_path)]):
        assert str(tmp_path.name) in _fails(capsys, *command)


def test_a_run_directory_of_another_version_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 99}))
    assert "schema" in _fails(capsys, "runs", "analyze", str(tmp_path))


def test_list_as_json_has_every_incident_and_claim(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--record", "--json"]) == EXIT_OK
    listed = json.loads(capsys.readouterr().out)
    assert [one["incident"] for one in listed] == [incident.name for incident in scenarios.INCIDENTS]
    assert [one["incident"] for one in listed if one["replayed"]] == [scenario.name for scenario in scenarios.ALL]
    assert all(one["symptom"] and one["advice"] and (one["in_logs"] or one["not_in_logs"]) for one in listed)
    assert {claim for one in listed for claim in one["claims"]} == {
        claim.id for scenario in scenarios.ALL for claim in scenario.claims
    }


def test_list_says_which_claims_have_no_expectation_for_which_release(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims = [claim.id for claim in scenarios.find("ordered-migration").claims]
    monkeypatch.setattr(looking, "recorded_releases", lambda: ("4.6.0", "9.9.9"))
    assert main(["explain", "--record", "ORDER"]) == EXIT_OK
    assert f"  no expectation for 9.9.9: {', '.join(claims)}\n" in capsys.readouterr().out
    assert main(["explain", "--record", "--json"]) == EXIT_OK
    listed = {one["incident"]: one["no_expectation"] for one in json.loads(capsys.readouterr().out)}
    assert listed["ordered-migration"] == {"9.9.9": claims}
    assert listed["ordered-lock-tuning"] == {}


def test_clean_finds_nothing_in_a_new_state_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "clean", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize(
    "command",
    [
        "explain",
        "doctor",
        "verify",
        *(f"cluster {name}" for name in ("fetch", "image", "up", "down")),
        *(f"runs {name}" for name in ("serve", "analyze", "report", "clean", "model", "spark-packages")),
    ],
)
def test_every_command_has_a_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([*command.split(), "--help"])
    assert caught.value.code == 0
    assert f"mqlab {command}" in capsys.readouterr().out


def test_an_unknown_way_of_injection_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    said = _fails(capsys, "verify", "append-stall", "--injection", "freez")
    assert "unknown injection 'freez'" in said
    assert "freeze" in said


def test_a_way_that_an_incident_does_not_offer_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown injection 'freeze'" in _fails(capsys, "verify", "ordered-lock-handover", "--injection", "freeze")


def test_what_one_of_several_incidents_does_not_offer_is_left_to_the_others_and_said() -> None:
    asked = _parser().parse_args(["verify", "dead-letter", "send-queue-full", "append-stall", "--injection", "byteman"])
    names = ("dead-letter", "send-queue-full", "append-stall")
    found = [scenarios.find(name) for name in names]
    said = "--injection byteman changes nothing of dead-letter"
    assert injections_asked(asked, found, "full") == (("byteman",), (said,))
    asked.injection = ("byteman",)
    assert injections_asked(asked, found[:2], "full")[1] == (said,)


def _without_loop_devices() -> Abilities:
    return Abilities(
        root=True,
        loop_devices=False,
        file_systems=frozenset({"ext4"}),
        tools=frozenset({"mkfs.ext4"}),
        cgroup="v1",
        firewall=False,
        delay=False,
    )


def test_a_freeze_that_was_asked_for_and_cannot_be_done_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Abilities, "of_this_host", _without_loop_devices)
    said = _fails(capsys, "verify", "append-stall", "--injection", "byteman,freeze")
    assert "--injection freeze cannot be done here: there are no loop devices" in said


def test_a_full_run_freezes_where_it_can_and_says_why_where_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _parser().parse_args(["verify", "append-stall"])
    stall = [scenarios.find("append-stall")]
    monkeypatch.setattr(Abilities, "of_this_host", _without_loop_devices)
    assert injections_asked(asked, stall, "full") == (
        ("byteman",),
        ("appends were not stalled by freeze: there are no loop devices (/dev/loop-control cannot be opened)",),
    )
    assert asked.injection == ("byteman",)
    able = dataclasses.replace(_without_loop_devices(), loop_devices=True)
    monkeypatch.setattr(Abilities, "of_this_host", lambda: able)
    asked.injection = ()
    assert injections_asked(asked, stall, "full") == (("byteman", "freeze"), ())
    assert asked.injection == ("byteman", "freeze")
    asked.injection = ()
    assert injections_asked(asked, stall, "quick") == (("byteman",), ())


@pytest.mark.parametrize("command", [("explain",), ("tune", "--rate", "2000", "--stall", "450"), ("--help",)])
def test_a_reader_that_stops_reading_gets_no_traceback(command: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "mqlab", *command],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=PACKAGES,
        )
    assert (ended.returncode, ended.stderr) == (EXIT_OK, "")


@pytest.mark.parametrize("names", [names for names, _ in COMMANDS], ids=lambda names: names[0])
def test_a_command_that_is_named_is_read_by_its_own_module_as_among_all(names: tuple[str, ...]) -> None:
    assert all(
        {name: found.format_help() for name, found in _commands(_parser(one)).items()}
        == {name: _commands(_parser())[name].format_help() for name in names}
        for one in names
    )


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    (found,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(found.choices)


def test_a_line_of_the_users_is_told_as_it_is_whatever_stands_between_its_colons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "markup").write_text("[bold]smiley = :smiley:\n")
    assert (
        main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(tmp_path / "markup"), "--all"])
        == EXIT_OK
    )
    assert "line 1: [bold]smiley: neither release knows it" in capsys.readouterr().out


def test_nothing_changes_from_a_release_to_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert "nothing changes from 5.5.0 to itself" in _fails(capsys, "changes", "5.5.0", "5.5.0")
    same = ("upgrade", "--from", "5.5.0", "--to", "5.5.0")
    assert "nothing changes" in _fails(capsys, *same)
    assert "nothing changes" in _fails(capsys, *same, "--client-from", "4.9.7", "--client-to", "4.9.7")
    assert main([*same, "--client-from", "4.9.7"]) == EXIT_OK, "clients alone are upgraded"


def test_a_measure_and_what_a_try_of_it_is_are_said_in_english(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--measures"]) == EXIT_OK
    said = capsys.readouterr().out
    tries = set(re.findall(r"a try is (.*)", said))
    assert {"an owner", "a trial", "what was asked about"} <= tries
    assert not {one for one in tries if re.match("a [aeiou]|an [^aeiou]|an? what", one)}


def test_every_console_of_a_command_is_made_in_one_place() -> None:
    makers = {
        file.name for file in (PACKAGES / "mqlab").glob("*.py") if re.search(r"\bConsole\(", file.read_text("utf-8"))
    }
    assert makers == {"console.py"}
    assert lab_console().render_str(":x:").plain == ":x:"


def test_a_plan_of_nothing_is_a_mistake_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["verify", "orderly-start-waits", "--arm", "fix-newer-client", "--release", "5.5.0", "--plan"])
        == EXIT_USAGE
    )
    assert "nothing can be run: no arm that is asked for is of these releases" in capsys.readouterr().err


def test_the_overview_has_each_command_once_and_its_examples_are_taken(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("broker.conf", "store.log", "logs/rocketmqlogs"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    named = [name for _, commands in GROUPS for name in commands]
    assert {*named} == {name.partition(" ")[0] for names, _ in COMMANDS for name in names}
    assert len(named) == len({*named}) == 14
    assert main([]) == EXIT_OK
    overview = capsys.readouterr().out
    assert len(overview.splitlines()) <= 60
    for _, commands in GROUPS:
        for example in filter(None, commands.values()):
            assert f"$ {example}\n" in overview
            words = _as_called_now(shlex.split(example.replace("~", str(tmp_path)))[1:])
            assert _parser(words[0]).parse_args(words).command


@pytest.mark.parametrize("family", FAMILIES)
def test_a_first_word_of_several_commands_lists_them(family: str, capsys: pytest.CaptureFixture[str]) -> None:
    named = [name for names, _ in COMMANDS for name in names if name.startswith(f"{family} ")]
    for words in ([family], [family, "--help"]):
        assert main(words) == EXIT_OK
        told = capsys.readouterr().out
        assert all(name in told and name.partition(" ")[2] in FAMILIES[family] for name in named)
    assert main([family, "nothing"]) == EXIT_USAGE
    assert f"'{family} nothing' is no command" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("list", "explain"),
        ("list ORDER", "explain --record ORDER"),
        ("advise sends --release 5.5.0 --failure killed", "explain sends --release 5.5.0 --failure killed"),
        ("changes 4.6.0 5.5.0 --json", "upgrade --verdicts --from 4.6.0 --to 5.5.0 --json"),
        ("clean --dry-run", "runs clean --dry-run"),
    ],
)
def test_a_command_by_its_earlier_name_says_the_new_one(
    before: str, now: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(before.split()) == EXIT_OK
    earlier = capsys.readouterr()
    assert main(now.split()) == EXIT_OK
    assert earlier.out == capsys.readouterr().out
    named, words = earlier.err.split("`")[1].removeprefix("mqlab ").split(), now.split()
    assert earlier.err.startswith(f"mqlab: {before.split()[0]} is `")
    assert words[: len(named)] == named


@pytest.mark.parametrize("command", [name for names, _ in COMMANDS for name in names])
def test_a_help_fits_a_screen_and_names_each_option(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = {}
    for more in ((), ("all",)):
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), "--help", *more])
        assert ended.value.code == EXIT_OK
        told[more] = capsys.readouterr().out
    assert len(told[()].splitlines()) <= 60
    (choices,) = (one.choices for one in _parser()._actions if isinstance(one, argparse._SubParsersAction))
    options = {option for action in choices[command]._actions for option in action.option_strings[:1]}
    assert {*FIRST.get(command, "").split()} <= options
    for option in options:
        assert all(re.search(rf"{option}(?![\w-])", text) for text in told.values()), option


def test_all_earlier_names_are_commands_still() -> None:
    known = {name for names, _ in COMMANDS for name in names}
    assert all(_as_called_now([name])[0] in known for name in MOVED)


def test_a_command_without_what_it_needs_is_told_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["upgrade"])
    assert "For example: mqlab upgrade --from 4.9.7 --to 5.5.0" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "says"), [("upgarde", "Did you mean `mqlab upgrade`?"), ("zzz", "lists them by what they are for")]
)
def test_a_word_that_is_no_command_is_told_the_nearest(
    word: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([word, "--from", "1"]) == EXIT_USAGE
    told = capsys.readouterr().err
    assert f"'{word}' is no command" in told
    assert says in told


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("127.0.0.1:9876;127.0.0.2:9876", ("127.0.0.1:9876", "127.0.0.2:9876")),
        ("127.0.0.1:1, 127.0.0.1:2;127.0.0.1:1", ("127.0.0.1:1", "127.0.0.1:2")),
        ("localhost:9876", ("127.0.0.1:9876",)),
        ("[::1]:9876", ("[::1]:9876",)),
    ],
)
def test_name_servers_are_taken_as_rocketmq_writes_them_and_a_name_is_asked_once(
    text: str, held: tuple[str, ...]
) -> None:
    assert NAME_SERVERS(text) == held


def test_a_name_that_nobody_knows_is_said_to_be_one() -> None:
    with pytest.raises(UsageError, match=r"broker\.invalid is a name that this machine does not know"):
        NAME_SERVERS("broker.invalid:9876")


def test_a_cluster_that_is_not_up_is_told_beside_those_that_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(clusters, "_clusters_folder", lambda: tmp_path / "up")
    for name in ("up-1", "up-2"):
        (tmp_path / "up" / name).mkdir(parents=True)
    assert main(["cluster", "down", "up-3"]) == EXIT_USAGE
    assert "Up: up-1, up-2." in capsys.readouterr().err
    assert main(["cluster", "down", "up-1"]) == EXIT_OK
    assert [path.name for path in (tmp_path / "up").iterdir()] == ["up-2"]
