"""The steps of an arm: their order, what they leave as readings, what ends a trial, and that all is set back."""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import Node
from harness.errors import ClientError, Interrupted, NodeStartError
from harness.model.cluster import Topology
from harness.model.faults import AppendStall, JavaRule, NoFault, PauseNode
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.steps import OWN_MODULE, Do, GroupLeaves, Heal, Read, SetLive, StartNode, Stay, Step, StopNode, Until
from harness.model.timed_faults import Inject
from harness.paths import PACKAGES
from harness.run import here, steps
from harness.run.script import Script
from harness.trial import Healed, Injected, Injection, LoadSession, TrialContext
from mqlab.own.mistakes import mistakes
from mqlab.own.own_incident import read_incident

FILES = sorted((PACKAGES / "docs" / "own").glob("*.py"))
LINES_MAX = 60


class Cluster:
    """One broker that starts unless ``sick``, and remembers what was done to it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = (Node(name="broker-a", kind="broker", address="127.0.0.1:1", release="5.5.0"),)
        self.done: list[str] = []
        self.sick = False
        self._is_up = True

    def pid(self, node: str) -> int | None:
        return 1 if self._is_up else None

    def stop_node(self, node: str, grace_s: float) -> None:
        self._is_up = False
        self.done.append("stop")

    def kill_node(self, node: str) -> None:
        self._is_up = False
        self.done.append("kill")

    def start_node(self, node: str, **conf: Any) -> None:
        self.done.append("start")
        if self.sick:
            log = self.folder / "nodes" / node / "logs" / "broker.log"
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text("first\nAddress already in use\n")
            raise NodeStartError("it did not come up")
        self._is_up = True


class Load:
    """One whose consumers can leave."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def leave(self) -> None:
        self.done.append("leave")

    def come_back(self) -> None:
        self.done.append("come back")


@dataclasses.dataclass
class Trial:
    arm: Any
    events: Any
    cluster: Any
    cancel: threading.Event
    record: Record
    note: Any


@dataclasses.dataclass
class Record:
    params: Any = dataclasses.field(default_factory=dict)
    live_conf: Any = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Tried:
    """What a script did."""

    cluster: Cluster
    load: Load
    stamped: list[tuple[int, str]]
    probes: dict[str, float]
    error: Exception | None = None


def _tried(
    tmp_path: Path,
    *taken: Step,
    hold: Callable[[], None] = lambda: None,
    sick: bool = False,
    cancel: threading.Event | None = None,
) -> Tried:
    tried = Tried(cluster=Cluster(tmp_path), load=Load(), stamped=[], probes={})
    tried.cluster.sick = sick

    class Events:
        def record(self, kind: str, *, number: int, state: str, **values: object) -> None:
            tried.stamped.append((number, state))

        def probe(self, measure: str, value: float, *, of: str, **values: object) -> None:
            tried.probes[of] = value

        def fault(self, kind: str, state: str, *, number: int | None = None, **values: object) -> None:
            tried.stamped.append((number or 0, f"fault {state}"))

    trial = Trial(
        arm=SimpleNamespace(steps=taken, every_s=0.0), events=Events(), cluster=tried.cluster, cancel=cancel or threading.Event(),
        record=Record(), note=lambda text: None,
    )  # fmt: skip
    try:
        Script(cast(TrialContext, trial), cast(LoadSession, tried.load)).during(hold)
    except ClientError as error:
        tried.error = error
    return tried


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Settings of the one broker, which answers here."""
    settings = {"osPageCacheBusyTimeOutMills": "1000"}

    class Connection:
        def broker_config(self) -> dict[str, str]:
            return dict(settings)

    @contextmanager
    def ask(node: Node, **values: object) -> Iterator[Connection]:
        yield Connection()

    monkeypatch.setattr(steps, "ask", ask)
    monkeypatch.setattr(here, "ask", ask)
    monkeypatch.setattr(steps, "masters", lambda cluster: cluster.nodes)
    monkeypatch.setattr(steps, "wait_registered", lambda cluster: None)
    monkeypatch.setattr(steps, "change_live", lambda node, changed: settings.update(changed))
    return settings


def test_steps_come_one_after_another_and_the_hold_lasts_until_the_last(tmp_path: Path) -> None:
    order: list[str] = []
    done = _tried(
        tmp_path,
        GroupLeaves(),
        Do(what="first", by=lambda here: order.append("first")),
        Stay(stay_s=0.05),
        Do(what="second", by=lambda here: order.append("second")),
        hold=lambda: order.append("hold is over"),
    )
    assert done.load.done == ["leave"]
    assert [one for one in order if one != "hold is over"] == ["first", "second"]
    assert done.stamped == [(number, state) for number in (1, 2, 3, 4) for state in ("begun", "done")]


def test_a_step_that_fails_ends_the_trial_and_says_which_and_why(tmp_path: Path) -> None:
    done = _tried(tmp_path, Read(reading="x", by=lambda here: here.readings["y"]), Do(what="never", by=pytest.fail))
    assert str(done.error) == "step 1 (read x): KeyError: 'y'"
    assert done.stamped == [(1, "begun"), (1, "failed")]


OF_A_USER = """
def deeper(here):
    return here.size("store") + "x"


def reads(here):
    return deeper(here)


def asks(here):
    return here.node("broker-z")
"""


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("reads", "mine.py:3: TypeError: unsupported operand type(s) for +: 'int' and 'str'"),
        ("asks", "mine.py:11: unknown node 'broker-z'"),
    ],
)
def test_what_a_function_of_a_user_raises_is_told_with_its_line(tmp_path: Path, function: str, says: str) -> None:
    module: dict[str, Any] = {"__name__": f"{OWN_MODULE}mine"}
    exec(compile(OF_A_USER, str(tmp_path / "mine.py"), "exec"), module)
    done = _tried(tmp_path, Read(reading="x", by=module[function]))
    assert str(done.error) == f"step 1 (read x): {says}"


def test_the_document_has_each_method_of_what_a_function_is_given() -> None:
    document = (PACKAGES / "docs" / "own-incident.md").read_text(encoding="utf-8")
    names = {name for name in vars(here.Here) if not name.startswith("_")} - {"begin"} | {"readings"}
    assert names == set(re.findall(r"here\.(\w+)(?=[(,:]| ->)", document[document.index("is given one argument") :]))


@pytest.mark.parametrize(("value", "kept"), [(True, 1.0), (7, 7.0), (2.5, 2.5), (None, None)])
def test_a_reading_is_a_number_or_whether_something_is_so(tmp_path: Path, value: object, kept: float | None) -> None:
    done = _tried(tmp_path, Read(reading="x", by=lambda here: value))
    assert (done.error, done.probes.get("x")) == (None, kept)


@pytest.mark.parametrize("value", ["7", float("nan"), float("inf"), [1]])
def test_what_is_no_number_is_no_reading(tmp_path: Path, value: object) -> None:
    done = _tried(tmp_path, Read(reading="x", by=lambda here: value))
    assert "which is no number" in str(done.error)
    assert not done.probes


def test_what_is_waited_for_without_an_outcome_has_to_come(tmp_path: Path) -> None:
    missed = _tried(tmp_path, Until(what="nothing", is_so=lambda here: False, wait_s_max=0.1))
    assert "nothing" in str(missed.error)
    result = _tried(tmp_path, Until(what="nothing", is_so=lambda here: False, wait_s_max=0.1, outcome="came"))
    assert (result.error, result.probes) == (None, {"came": 0.0})
    came = _tried(tmp_path, Until(what="all", is_so=lambda here: True, outcome="came"))
    assert came.probes["came"] == 1.0
    assert 0.0 <= came.probes["came-s"] < 5.0


def test_how_long_a_step_took_is_a_reading_where_it_is_asked_for(tmp_path: Path) -> None:
    done = _tried(
        tmp_path, Stay(stay_s=0.05, took="stayed"), Read(reading="x", by=lambda here: here.readings["stayed"])
    )
    assert 0.05 <= done.probes["stayed"] < 5.0
    assert done.probes["x"] == done.probes["stayed"]
    assert Until(what="it", is_so=bool, outcome="came", took="waited").all_readings() == ("came", "came-s", "waited")


def test_a_node_that_does_not_start_is_an_outcome_with_the_lines_that_it_left(tmp_path: Path) -> None:
    start = StartNode(node="broker-a", outcome="up", says="already in use")
    done = _tried(tmp_path, StopNode(node="broker-a", kill=True), start, sick=True)
    assert done.probes == {"up": 0.0, "up-lines": 1.0}
    assert done.cluster.done == ["kill", "start", "start"]
    assert str(done.error) == "broker-a, which a step had stopped, does not start again: it did not come up"
    without = _tried(tmp_path, StopNode(node="broker-a"), StartNode(node="broker-a"), sick=True)
    assert "step 2 (start broker-a): it did not come up" in str(without.error)


def test_a_node_that_no_step_started_again_is_up_at_the_end(tmp_path: Path) -> None:
    done = _tried(tmp_path, StopNode(node="broker-a"))
    assert done.error is None
    assert done.cluster.done == ["stop", "start"]


def test_settings_are_set_back(tmp_path: Path, nobody_is_asked: dict[str, str]) -> None:
    seen = {}
    done = _tried(
        tmp_path,
        SetLive(settings={"osPageCacheBusyTimeOutMills": "7"}),
        Do(what="look", by=lambda here: seen.update(nobody_is_asked)),
    )
    assert done.error is None
    assert seen == {"osPageCacheBusyTimeOutMills": "7"}
    assert nobody_is_asked == {"osPageCacheBusyTimeOutMills": "1000"}


def test_a_user_s_address_does_not_enter_by_a_step(tmp_path: Path) -> None:
    done = _tried(tmp_path, SetLive(settings={"namesrvAddr": "192.0.2.1:9876"}))
    assert "namesrvAddr" in str(done.error)


def test_a_fault_left_on_ends_by_a_heal_or_with_the_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healed: list[str] = []

    def heal(*asked: Any) -> Healed:
        healed.append(asked[0].kind)
        return Healed()

    injection: Injection[Any] = Injection(name="test", inject=lambda *_: Injected(), heal=heal)
    monkeypatch.setattr(steps, "injection_of", lambda fault, name: injection)
    left = Inject(fault=PauseNode(node="broker-a"), stays_s=float("inf"))
    seen: list[int] = []
    count = Do(what="count", by=lambda here: seen.append(len(healed)))
    assert _tried(tmp_path, left, count, Heal(fault="pause-node"), count).error is None
    assert (seen, healed) == ([0, 1], ["pause-node"])
    assert _tried(tmp_path, left, count).error is None
    assert (seen, healed) == ([0, 1, 1], ["pause-node", "pause-node"])
    assert "no step has left pause-node on" in str(_tried(tmp_path, Heal(fault="pause-node")).error)


def test_the_hold_is_not_waited_for_where_a_step_has_failed(tmp_path: Path) -> None:
    begun = time.monotonic()
    done = _tried(tmp_path, Read(reading="x", by=lambda here: 1 / 0), hold=lambda: time.sleep(0.1))
    assert "ZeroDivisionError" in str(done.error)
    assert time.monotonic() - begun < 5.0


def test_a_stop_by_the_user_is_no_failure_of_the_step_that_it_ended(tmp_path: Path) -> None:
    stopped = threading.Event()

    def stop() -> None:
        stopped.set()
        raise Interrupted("stopped by the user")

    with pytest.raises(Interrupted):
        _tried(tmp_path, Until(what="nothing", is_so=lambda here: False), hold=stop, cancel=stopped)


# --- the examples -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_an_example_is_short_and_has_no_mistake(file: Path) -> None:
    assert len(file.read_text(encoding="utf-8").splitlines()) <= LINES_MAX
    scenario = read_incident(file)
    assert not [*mistakes(scenario)]
    assert any(arm.steps or isinstance(arm.fault, JavaRule) for arm in scenario.arms)


def test_the_examples_take_every_step_that_the_document_names() -> None:
    document = (PACKAGES / "docs" / "own-incident.md").read_text(encoding="utf-8")
    rows = [line for line in document.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert {one.__name__ for one in Step.__subclasses__()} | {"TimedFault"} <= named


@pytest.mark.parametrize(
    ("step", "says"),
    [
        (StopNode(node="broker-z"), "broker-z"),
        (SetLive(settings={"flushDiskTyp": "SYNC_FLUSH"}), "flushDiskTyp"),
        (StartNode(node="broker-a", outcome="up", says="("), "no regular expression"),
        (
            StartNode(node="broker-a", conf={"haListenPort": "7"}, outcome="up"),
            "cannot be '7': the lab itself",
        ),
        (SetLive(settings={"waitTimeMillsInSendQueue": "abc"}), "cannot be 'abc': it takes a number"),
        (Inject(fault=AppendStall()), "stall_ms"),
        (GroupLeaves(), "a step GroupLeaves, which is of DelayedMessages, and its load is OpenLoopSends"),
    ],
    ids=["node", "setting", "expression", "the lab's", "no number", "parameter", "load"],
)
def test_a_step_s_mistake_is_said_before_the_start(step: Step, says: str) -> None:
    found = [f"{one.says} {one.advice}" for one in mistakes(_scenario(step))]
    assert [one for one in found if says in one], found


def test_two_steps_give_no_reading_of_one_name() -> None:
    twice = (Read(reading="x", by=bool), Read(reading="x", by=bool))
    assert [one for one in mistakes(_scenario(*twice)) if "readings" in one.says]


def _scenario(*taken: Step) -> Scenario:
    arm = Arm(name="incident", what="", fault=NoFault(), load=OpenLoopSends(), cells=({"rate_hz": 1},), steps=taken)
    return Scenario(
        name="own", title="Own", topology=Topology(name="single"), arms=(arm,), claims=(),
        phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1), budget=TrialBudget(trials=1, deployments=1),
    )  # fmt: skip
