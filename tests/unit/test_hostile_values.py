"""No value of any option of any command ends in a traceback. The options are found from the parser itself."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import EXIT_OK, EXIT_USAGE, UsageError
from mqlab.main import _parser, main

NEVER_GOOD = ("", " ", "\0", "a\0b", "\x1b[2J", "a\nb", "x" * 5000, "\udcff", "../" * 2000)
NO_NUMBERS = ("nan", "-inf", "1e308", "-1", "9" * 30, "9" * 5000, "0x10", "ten", "1,nan", "½", "💥", "--")
NO_PATHS = ("missing", "folder", "unreadable", "file/below", "/dev/zero", "/proc/self/mem", "folder/" + "x" * 300)
NO_URLS = ("hdfs://", "hdfs://h/\x1b[2J", "hdfs:///a\nb", "s3a:/bucket", "://x", "s3a://" + "x" * 2000)
NAMES = ("--arm", "--image", "--injection", "--run-name", "--topic")
"""Options whose values may be nearly any word; what of it exists is asked later."""
MADE = ("--out", "--journal", "--page")
"""Options that name what is made."""


@dataclass(frozen=True)
class Place:
    """An option or positional of a command; ``before`` makes the rest of the command complete."""

    command: tuple[str, ...]
    action: argparse.Action
    before: tuple[str, ...]

    @property
    def name(self) -> str:
        return (*self.action.option_strings, self.action.dest)[0]

    def with_value(self, value: str) -> list[str]:
        last = [f"{self.name}={value}"] if self.action.option_strings else ["--", value]
        return [*self.command, *self.before, *last]


def _places(parser: argparse.ArgumentParser, command: tuple[str, ...] = ()) -> Iterator[Place]:
    needed = {one.dest: one for one in parser._actions if one.required and one.nargs != argparse.ZERO_OR_MORE}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _places(below, (*command, name))
            continue
        others = [other for dest, other in needed.items() if dest != action.dest]
        yield Place(command, action, tuple(word for other in others for word in _good(other)))


def _good(action: argparse.Action) -> tuple[str, ...]:
    """A value that a required option or positional takes."""
    values = {"namesrv": "127.0.0.1:9876", "rate": "1000", "run": "folder", "logs": "file", "before": "4.6.0"}
    values |= {"incidents": "append-stall", "archive": "new.zip", "claim": "BUSY-10"}
    value = values.get(action.dest) or next(iter(action.choices or ("5.3.3",)))
    return (f"{action.option_strings[0]}={value}",) if action.option_strings else (value,)


CPU_S_MAX = 5.0
"""A command that ends at all needs some hundredths; elapsed time would tell of the machine."""

SWEEP = ("append-stall", "--sweep=broker.pullBatchSize=1,2")
"""With them `tune` measures, without it predicts: each of its options is tried on both."""

_FOUND = tuple(_places(_parser()))
PLACES = (*_FOUND, *(replace(one, before=(*SWEEP, *one.before)) for one in _FOUND if one.command == ("tune",)))


class _Accepted(BaseException):
    """The value was accepted: what starts or asks something was reached."""


@pytest.fixture(scope="module", autouse=True)
def _nothing_starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever starts a process, speaks to a cluster or starts Spark ends the command instead."""

    def accepted(*_: object, **__: object) -> Any:
        raise _Accepted

    here = tmp_path_factory.mktemp("hostile")
    (here / "folder").mkdir()
    (here / "file").write_text("neither a conf nor a log\n")
    (here / "unreadable").write_text("")
    (here / "unreadable").chmod(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        for home in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
            patch.setenv(home, str(here / "homes"))
        for started in (
            "harness.leases.leases.Leases.open",
            "harness.backends.docker.engine.find_engine",
            "mqlab.ask.audit.read_cluster",
            "mqlab.run.judging.spark_place",
            "analysis.logs_elsewhere.copied_logs",
            "mqlab.run.serve.make_server",
        ):
            patch.setattr(started, accepted)
        # A quick run's Spark starts, and a release's jars are fetched, before its settings can be known.
        patch.setattr("mqlab.run.verify.place_of_analyst", lambda *_: None)
        patch.setattr("mqlab.run.verify.analyst_at", contextlib.nullcontext)
        patch.setattr("mqlab.run.bisect.releases_between", lambda *_: [])
        patch.setattr("mqlab.ask.looking.ensure_jars", lambda *_, **__: ())
        patch.setattr("mqlab.ask.looking.compiled_classes", lambda *_, **__: None)
        patch.setattr("harness.releases.user_settings.system_properties", lambda _: frozenset())
        yield


def _outcome(arguments: list[str]) -> tuple[int | None, str]:
    """The exit code, None where the value was accepted, and what was said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            code: int | None = main(arguments)
        except SystemExit as ended:
            code = int(str(ended.code))
        except _Accepted:
            code = None
    return code, said.getvalue()


def _assert_refused(arguments: list[str]) -> None:
    code, said = _outcome(arguments)
    assert code == EXIT_USAGE, (code, said)
    sentences = [line for line in said.splitlines() if line.startswith("mqlab: ")]
    assert len(sentences) == 1, said
    assert "Traceback" not in said
    assert all(one.isprintable() or one == "\n" for one in said), said


def test_the_parser_gives_every_option_of_every_command() -> None:
    commands = {place.command for place in PLACES}
    assert {("verify",), ("load",), ("cluster up",), ("audit",), ("tune",), ("diagnose",)} <= commands
    assert sum(place.command == ("load",) for place in PLACES) > 30
    for place in PLACES:
        if not place.action.required:
            _parser().parse_args([*place.command, *place.before])


FREE_TEXT = {("explain",)}
"""Commands that take any words, and say of unknown ones what is near."""


@pytest.mark.parametrize("command", sorted({place.command for place in PLACES} - FREE_TEXT), ids=" ".join)
def test_hostile_values_are_refused_with_one_sentence(command: tuple[str, ...]) -> None:
    for place in PLACES:
        if place.command != command or isinstance(place.action, (argparse._HelpAction, argparse._VersionAction)):
            continue
        values = [*NEVER_GOOD]
        if place.name not in (*NAMES, *MADE):
            values += [*NO_NUMBERS, *NO_URLS]
        if place.name in MADE:
            values += ["file/below", "/proc/self/mem/x", "folder/" + "x" * 300]
        elif place.name not in NAMES:
            values += [one for one in NO_PATHS if _is_no(one, place)]
        for value in values:
            _assert_refused(place.with_value(value))


def test_hostile_words_are_explained_or_refused_with_one_sentence() -> None:
    for value in (*NEVER_GOOD, *NO_NUMBERS, *NO_URLS, *NO_PATHS):
        code, said = _outcome(["explain", value])
        assert code in (EXIT_OK, EXIT_USAGE), (value, said)
        assert "Traceback" not in said
        assert all(one.isprintable() or one == "\n" for one in said), said


def _is_no(path: str, place: Place) -> bool:
    """Whether this path is nothing that the option takes; root reads whatever it likes."""
    takes_folder = "folder" in getattr(place.action.type, "noun", "")
    takes_file = "file" in getattr(place.action.type, "noun", "")
    return not (path == "folder" and takes_folder) and not (path == "unreadable" and takes_file and not os.geteuid())


REPEATABLE = argparse._AppendAction


@pytest.mark.parametrize(
    "place",
    [
        one
        for one in PLACES
        if one.action.option_strings and one.action.nargs is None and not isinstance(one.action, REPEATABLE)
    ],
    ids=lambda one: f"{one.command[0]}{one.name}",
)
def test_an_option_that_is_given_twice_is_refused_unless_it_may_be_repeated(place: Place) -> None:
    words = (*(place.action.choices or ()), *MANY_KINDS)
    value = next(word for word in words if _takes(place.action, word))
    twice = [*place.with_value(value), f"{place.name}={value}"]
    assert "is given twice" in _outcome(twice)[1]
    _assert_refused(twice)


MANY_KINDS = (
    "2",
    "1/2",
    "4.6.0",
    "append-stall",
    "file",
    "folder",
    "127.0.0.1:9876",
    "127.0.0.1",
    "local",
    "b=127.0.0.1:9876",
    "+08:00",
    "new.tar.gz",
    "spark.executor.memory=1g",
    "killed",
    "rejected_count",
    "30",
)


def _takes(action: argparse.Action, word: str) -> bool:
    try:
        return action.type is None or action.type(word) is not None  # type: ignore[operator]
    except (argparse.ArgumentTypeError, UsageError):
        return False


hostile = st.one_of(
    st.sampled_from((*NEVER_GOOD, *NO_NUMBERS, *NO_PATHS, *NO_URLS, "hdfs://127.0.0.1:1/x", "file:///")),
    st.text(max_size=40),
    st.floats().map(repr),
    st.integers().map(str),
    st.tuples(st.integers(0, 70000), st.sampled_from(",:=./%;"), st.text(max_size=5)).map(
        lambda p: f"{p[0]}{p[1]}{p[2]}"
    ),
    st.lists(st.sampled_from(("1", "nan", "", "a", "127.0.0.1:1")), max_size=4).map(",".join),
)


@settings(max_examples=400, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.sampled_from(PLACES), value=hostile, second=st.none() | hostile)
def test_whatever_the_value_nothing_ends_in_a_traceback(place: Place, value: str, second: str | None) -> None:
    if isinstance(place.action, (argparse._HelpAction, argparse._VersionAction)):
        return
    arguments = place.with_value(value) + ([] if second is None else [f"{place.name}={second}"])
    started = time.process_time()
    code, said = _outcome(arguments)
    assert time.process_time() - started < CPU_S_MAX
    assert code in (None, EXIT_OK, EXIT_USAGE), said
    if code == EXIT_USAGE:
        _assert_refused(arguments)
