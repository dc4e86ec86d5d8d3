"""An incident of the user's own: the template runs as it is, and each mistake in a file is named with its line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import mqlab.incident
import scenarios
from harness.errors import EXIT_OK, EXIT_USAGE, ConfigurationError, UsageError
from harness.load.sessions import SESSIONS
from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.faults import FAULTS
from harness.model.loads import LoadValue, OpenLoopSends
from harness.model.scenario import Scenario
from harness.model.verdicts import Reason, VerdictKind
from harness.paths import PACKAGES
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases.jars import recorded_releases
from mqlab.main import main
from mqlab.own.mistakes import mistakes
from mqlab.own.own_incident import TEMPLATE, incidents_of, keep_files, read_incident
from mqlab.run.trust import incidents_of_run
from tests.lib.histories import claims_of, said, verdict
from tests.unit.test_plan import TWO_CORES

TEXT = TEMPLATE.read_text("utf-8")
DOCUMENT = PACKAGES / "docs" / "own-incident.md"


@pytest.fixture
def own(tmp_path: Path) -> Scenario:
    return read_incident(_written(tmp_path, TEXT))


def _written(folder: Path, text: str) -> Path:
    path = folder / "my_incident.py"
    path.write_text(text, "utf-8")
    return path


class OurSends(OpenLoopSends):
    """A load of one's own that is sent as the lab's."""


class NoLoad(LoadValue):
    """A load that nothing sends."""

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """None."""
        return 0.0


def test_a_load_that_is_derived_from_one_of_the_labs_is_sent_and_measured_as_that_is(own: Scenario) -> None:
    arms = tuple(dataclasses.replace(arm, load=OurSends()) for arm in own.arms)
    derived = dataclasses.replace(own, arms=arms)
    assert list(mistakes(derived)) == list(mistakes(own)) == []
    assert SESSIONS[arms[0].load.kind] is SESSIONS[OpenLoopSends]


class _Plain(OpenLoopSends):
    body_bytes = 4000


class _Misspelt(OpenLoopSends):
    body_byts = 4000


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Proper(OpenLoopSends):
    body_bytes: int = 4000


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (_Plain, "_Plain.body_bytes = 4000 has no effect"),
        (_Misspelt, "_Misspelt.body_byts is no field of _Misspelt; did you mean body_bytes?"),
        (_Proper, ""),
    ],
)
def test_a_default_that_a_derived_load_would_not_have_is_a_mistake(
    own: Scenario, load: type[OpenLoopSends], says: str
) -> None:
    arms = tuple(dataclasses.replace(arm, load=load()) for arm in own.arms)
    found = " ".join(one.says for one in mistakes(dataclasses.replace(own, arms=arms)))
    assert says in found
    assert bool(says) == ("body_byt" in found)


def test_a_load_that_is_derived_from_none_is_a_mistake(own: Scenario) -> None:
    arms = (dataclasses.replace(own.arms[0], load=NoLoad()), *own.arms[1:])
    (one,) = mistakes(dataclasses.replace(own, arms=arms))
    assert one.says == "load is a NoLoad and has to be a load such as OpenLoopSends()"


# --- the template ---------------------------------------------------------------------------------------------------------


def test_the_template_is_written_under_the_name_of_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "slow_disk_2.py"
    assert main(["new", str(path)]) == EXIT_OK
    assert read_incident(path).name == "slow-disk-2"
    assert len(path.read_text("utf-8").splitlines()) <= 40
    assert f"mqlab verify {path}" in capsys.readouterr().out
    assert main(["new", str(path)]) == EXIT_USAGE
    assert main(["explain", "--record", str(path)]) == EXIT_OK
    listed = capsys.readouterr().out
    assert "claims: MINE-01, MINE-02" in listed
    assert "expectation" not in listed


@pytest.mark.parametrize("name", ["incident.txt", "My.py", "1st.py", "a-b.py", "x" * 41 + ".py"])
def test_a_file_is_named_as_an_incident(tmp_path: Path, name: str) -> None:
    assert main(["new", str(tmp_path / name)]) == EXIT_USAGE
    assert not (tmp_path / name).exists()


def test_no_file_is_written_where_a_link_leads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").symlink_to(tmp_path / "elsewhere.py")
    assert main(["new", str(tmp_path / "mine.py")]) == EXIT_USAGE
    assert "is there already" in capsys.readouterr().err
    assert not (tmp_path / "elsewhere.py").exists()


def test_the_template_is_planned_on_every_release(own: Scenario) -> None:
    plan = make_plan(Request(scenarios=[own], releases=recorded_releases()), TWO_CORES)
    trials = [trial for _, trial in plan.trials()]
    assert len(trials) == len(recorded_releases()) * 3 * 5
    assert len({deployment.id for deployment, _ in plan.trials()}) == len(recorded_releases()) * 5


NONE, EACH = [[0]] * 5, [[120]] * 5
HISTORY = {
    "rejected_count baseline keyword=any": NONE,
    "rejected_count incident keyword=any": EACH,
    "rejected_count fix-wait keyword=any": NONE,
}


@pytest.mark.parametrize(
    ("claim", "changed", "found"),
    [
        ("MINE-01", {}, (VerdictKind.CONFIRMED, "")),
        ("MINE-01", {"rejected_count incident keyword=any": NONE}, (VerdictKind.UNDECIDED, Reason.TOO_FEW_TRIES)),
        ("MINE-01", {"rejected_count incident keyword=any": [[0] * 15] * 5}, (VerdictKind.REFUTED, "")),
        ("MINE-02", {}, (VerdictKind.CONFIRMED, "")),
        ("MINE-02", {"rejected_count fix-wait keyword=any": EACH}, (VerdictKind.REFUTED, "")),
    ],
)
def test_the_template_is_judged(
    own: Scenario, claim: str, changed: dict[str, list[list[float]]], found: tuple[VerdictKind, str]
) -> None:
    assert verdict(claims_of(own)[claim], {**HISTORY, **changed}) == found


def test_a_claim_without_a_sentence_names_its_parts_with_their_numbers(own: Scenario) -> None:
    sentence = " ".join(said(claims_of(own)["MINE-02"], HISTORY).split())
    assert sentence == "still refused: 0 % of stalls (in each of 5 deployments)."


def test_the_document_shows_the_template() -> None:
    shown = re.search(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    assert shown[1] == TEXT


def test_the_nouns_have_every_fault_and_every_load() -> None:
    loads = (load for load in SESSIONS if load.__module__.startswith("harness.model."))
    assert {one.__name__ for one in (*FAULTS, *loads)} <= set(mqlab.incident.__all__)
    assert all(hasattr(mqlab.incident, name) for name in mqlab.incident.__all__)


def test_what_a_noun_is_made_of_is_a_noun() -> None:
    def within(hint: object) -> Iterator[object]:
        yield hint
        for part in hint if isinstance(hint, list) else get_args(hint):
            yield from within(part)

    nouns = {name: getattr(mqlab.incident, name) for name in mqlab.incident.__all__}
    values = [noun for noun in nouns.values() if dataclasses.is_dataclass(noun)]
    parts = {
        one
        for noun in values
        for hint in get_type_hints(noun).values()
        for one in within(hint)
        if isinstance(one, type)
    }
    needed = {one.__name__ for one in parts if isinstance(one, type) and dataclasses.is_dataclass(one)}
    made_otherwise = {
        "Fault",
        "LoadValue",
        "Claim",
        "Step",
        "Sign",
    }  # bases, what claim() makes, and what `mqlab diagnose` knows the lab's own incidents by
    assert needed - made_otherwise <= nouns.keys()
    assert made_otherwise <= needed


# --- mistakes -------------------------------------------------------------------------------------------------------------


def _line(words: str) -> int:
    """The template's line in which these words first are."""
    return next(number for number, line in enumerate(TEXT.splitlines(), 1) if words in line)


PLANTED = {
    "no Python": ("arms=(  #", "arms=(((  #", None, "this is no Python"),
    "an unknown argument": ('what="Stalls."', 'wat="Stalls."', 'what="Stalls."', "Arm takes no wat"),
    "a missing argument": ('what="Stalls.", ', "", 'what="Stalls."', "Arm needs what"),
    "an unknown measure": (
        'of("rejected_count", "incident"', 'of("rejectd_count", "incident"', "happens(of(",
        "unknown measure 'rejectd_count'"),
    "a measure of another load": (
        'of("rejected_count", "incident"', 'of("asked_again_count", "incident"', "happens(of(",
        "MINE-01 asks for asked_again_count, which arm incident has no value of: its load is OpenLoopSends"),
    "no rule": (
        TEXT[TEXT.index("    parts={\"still") : TEXT.index("\n)\n\nSCEN")], "    parts={},", "MINE_02 = claim(",
        "MINE-02 has no rule"),
    "an arm that is not there": (
        '"incident", keyword', '"incidnt", keyword', "happens(of(",
        "unknown arm of MINE-01 'incidnt'"),
    "a name that nothing has": (
        'fault=AppendStall(), load=LOAD, cells=(STALL,), live_conf={WAIT: "800"}', "fault=AppendStal()", 'name="fix-wait"',
        "nothing is called AppendStal"),
    "a noun that is not there": (
        "import claim, happens", "import claims, happens", "import claim, happens",
        "mqlab.incident has no claims"),
    "a class instead of a fault": (
        "fault=AppendWatch()", "fault=AppendWatch", "fault=AppendWatch()",
        "fault is the class AppendWatch and has to be a fault"),
    "one cell without its comma": (
        "cells=(CALM,)", "cells=(CALM)", "cells=(CALM,)",
        "cells is a dict and has to be a tuple"),
    "a cell that lacks what its fault needs": (
        '{"watch_ms": 600, ', "{", 'name="baseline"',
        "arm baseline has a cell without watch_ms"),
    "a cell that lacks what its load needs": (
        ', "rate_hz": 300}  #', "}  #", 'name="incident"',
        "arm incident has a cell without rate_hz"),
    "no role": ('name="fix-wait"', 'name="fixed"', 'name="fix-wait"', "'fixed' is no name of an arm"),
    "a setting that stays": (
        '{WAIT: "800"}', '{WAIT: "800", "fastFailIfNoBufferInStorePool": "true"}', 'name="fix-wait"',
        "arm fix-wait sets fastFailIfNoBufferInStorePool on the running broker"),
    "a setting that no release knows": (
        'WAIT = "waitTimeMillsInSendQueue"', 'WAIT = "waitTimeMillisInSendQueue"',
        "WAIT = ", "unknown setting of a broker 'waitTimeMillisInSendQueue'"),
    "a bound that decides nothing": (
        "side(0, 1,", "side(1, 1,", '"still refused"',
        "MINE-02: the bound of still refused does not lie between"),
    "a fact's words of what is none": (
        'slack_ms=200, noun="stalls")},', 'slack_ms=200, noun="stalls")},\n    summary="It was so {!still refused}.",',
        '"still refused"', "MINE-02: {!still refused} is for facts, and still refused is none"),
    "two claims of one name": ('"MINE-02"', '"MINE-01"', '"MINE-01"', "there are two claims MINE-01"),
    "a claim of the lab's": ('"MINE-02"', '"BUSY-09"', '"MINE-02"', "BUSY-09 is a claim of the lab's append-stall"),
    "another name than the file's": (
        'name="my-incident"', 'name="yours"', 'name="my-incident"',
        "the incident is called yours"),
    "no incident": ("SCENARIO = ", "INCIDENT = ", None, "the file states no SCENARIO"),
    "a comma too many": ("five deployments\n)", "five deployments\n),", "SCENARIO =", "SCENARIO is a tuple"),
    "trials that are no number": (
        "trials=5", 'trials="5"', "budget=", "trials of TrialBudget is '5' and has to be a whole number"),
    "trials that are not finite": (
        "trials=5", "trials=float('nan')", "budget=", "trials of TrialBudget holds nan, which is no number"),
    "more trials than anybody has time for": (
        "trials=5", "trials=10**9", "budget=", "trials of TrialBudget is 1e+09 and has to"),
    "trials that are a truth": (
        "trials=5", "trials=True", "budget=", "trials of TrialBudget is True and has to be a number"),
    "a phase without an end": (
        "steady_s=0.5", 'steady_s=float("inf")', "phases=", "steady_s of Phases holds inf, which is no number"),
    "a phase before it begins": (
        "steady_s=0.5", "steady_s=-1.0", "phases=", "steady_s of Phases is -1 and has to be a time"),
    "more masters than letters": (
        'name="single"', 'name="single", masters=10**9', None, "masters of Topology is 1000000000 and has to be"),
    "fewer name servers than none": (
        'name="single"', 'name="single", name_servers=-1', None, "name_servers of Topology is -1 and has to be"),
    "more cells than anybody has time for": (
        "cells=(CALM,)", "cells=(CALM,) * 100_000", None, "arm baseline has 100,000 cells, and 1,000 at most"),
    "a value of two lines": (
        'live_conf={WAIT: "800"}', 'live_conf={WAIT: "800\\nnamesrvAddr=10.0.0.1:9876"}', None,
        "waitTimeMillsInSendQueue of arm fix-wait is no value of one line"),
    "a topology by its name": (
        'topology=Topology(name="single")', 'topology="x"', "topology=", "topology of Scenario is 'x' and has to be a Topology"),
    "measures that are a number": (
        "    budget=Trial", "    extra_measures=5,\n    budget=Trial", None, "extra_measures of Scenario is '5' and has to be"),
    "a title that answers": (
        "SCENARIO = Scenario(", "class Odd(str):\n    def __str__(self):\n        raise SystemExit(3)\n"
        "    __eq__ = __repr__ = __str__\n"
        "    __hash__ = str.__hash__\n\nSCENARIO = Scenario(\n    summary=Odd('x'),", None, "summary of Scenario holds a Odd"),
    "an error": (
        "LOAD = OpenLoopSends()", "LOAD = OpenLoopSends(); 1 / 0", "LOAD = Open",
        "ZeroDivisionError: division by zero"),
    "the end": ("LOAD = OpenLoopSends()", "LOAD = OpenLoopSends(); raise SystemExit(0)", "LOAD = Open", "SystemExit: 0"),
}  # fmt: skip
"""By mistake: what of the template is replaced, by what, words of the line that is named, and what is said."""


@pytest.mark.parametrize("planted", PLANTED)
def test_a_mistake_is_named_with_its_line(planted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, near, says = PLANTED[planted]
    assert old in TEXT
    path = _written(tmp_path, TEXT.replace(old, new, 1))
    assert main(["explain", "--record", str(path)]) == EXIT_USAGE
    told = capsys.readouterr().err.splitlines()
    (sentence,) = [line for line in told if line.startswith("mqlab: ")]
    line, _, rest = sentence.removeprefix(f"mqlab: {path}:").partition(": ")
    assert rest.startswith(says), sentence
    if near is not None:
        assert int(line) == _line(near), sentence
    assert "Traceback" not in "".join(told)


def test_the_mistakes_of_the_document_are_said_as_it_shows_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    told = ""
    for old, new in (
        ('of("rejected_count", "incident"', 'of("asked_again_count", "incident"'),
        ('cells=(STALL,), live_conf={WAIT: "800"}', 'cell=(STALL,), live_conf={WAIT: "800"}'),
        ('of("rejected_count", "incident"', 'of("rejectd_count", "incident"'),
        ('of("rejected_count", "fix-wait"', 'of("rejected_count", "fix-waits"'),
        ('{"watch_ms": 600, ', "{"),
        ("five deployments\n)", "five deployments\n"),
    ):
        assert main(["explain", "--record", _written(Path(), TEXT.replace(old, new, 1)).as_posix()]) == EXIT_USAGE
        told += capsys.readouterr().err
    assert f"```\n{told}```" in DOCUMENT.read_text("utf-8")


def test_a_mistyped_name_has_the_nearest_beside_it(tmp_path: Path) -> None:
    for old, new, near in (
        ('wait", what=', 'wait", whatt=', "what"),
        ('of("rejected_count", "incident"', 'of("rejectd_count", "incident"', "rejected_count"),
        ('"incident", keyword', '"incidnt", keyword', "incident"),
        ("import claim, happens", "import claims, happens", "claim"),
    ):
        with pytest.raises((ConfigurationError, UsageError)) as caught:
            read_incident(_written(tmp_path, TEXT.replace(old, new, 1)))
        assert f"Did you mean {near}" in caught.value.advice


@pytest.mark.parametrize("text", [b"\0", b"\xff\xfe", b"", b"(" * 5000, b"x = " + b"-" * 100_000 + b"1"])
def test_what_is_no_text_of_python_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "my_incident.py"
    path.write_bytes(text)
    with pytest.raises(ConfigurationError, match=r"my_incident\.py:\d+: \S[^:]*(?:: \S.*)?$"):
        read_incident(path)


@pytest.mark.parametrize("raised", [
    "ImportError('no word of it', name='mqlab.incident')", "Odd()", "TypeError(\"odd() got an unexpected keyword argument 'x'\")",
    "ValueError('long\\n' * 9999)", "Ending()",
])  # fmt: skip
def test_whatever_a_file_raises_is_one_short_sentence(tmp_path: Path, raised: str) -> None:
    path = tmp_path / "odd.py"
    path.write_text(
        "class Odd(Exception):\n    __signature__ = 3\n    def __str__(self):\n        raise ValueError\n"
        "    def __call__(self):\n        pass\nodd = Odd()\n"
        "class Ending(BaseException):\n    def __str__(self):\n        raise Ending()\n"
        f"raise {raised}\n"
    )
    with pytest.raises(ConfigurationError) as caught:
        read_incident(path)
    assert caught.value.message.startswith(f"{path}:")
    assert len(caught.value.message) < len(str(path)) + 520


def test_a_class_of_the_files_own_is_no_incident(tmp_path: Path) -> None:
    path = tmp_path / "odd.py"
    path.write_text(
        "from mqlab.incident import Scenario\nclass Odd(Scenario):\n    def __getattribute__(self, name):\n"
        "        raise ValueError(name)\nSCENARIO = Odd.__new__(Odd)\n"
    )
    with pytest.raises(ConfigurationError, match=r"SCENARIO is a Odd and has to be a Scenario\(\.\.\.\)"):
        read_incident(path)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda one: one.name)
def test_the_incidents_of_the_lab_have_no_mistake(scenario: Scenario) -> None:
    # Claims of arms that no load or fault can make yet are told apart in test_scenarios.
    arms = {arm.name for arm in scenario.arms}
    claims = [claim for claim in scenario.claims if {one.arm for one in claim.quantities()} <= arms]
    assert not list(mistakes(dataclasses.replace(scenario, claims=tuple(claims))))


# --- a run ----------------------------------------------------------------------------------------------------------------


def test_a_run_keeps_the_file_that_it_was_made_of(tmp_path: Path) -> None:
    path, run = _written(tmp_path, TEXT), tmp_path / "run"
    run.mkdir()
    keep_files(run, ["append-stall", str(path)])
    path.write_text(TEXT.replace("side(0, 1,", "side(0.2, 1,"), "utf-8")
    stall, kept = incidents_of_run(run, ["append-stall", "my-incident"], trust=True).known
    assert stall is scenarios.find("append-stall")
    assert kept.claims[1].parts[0].if_true == 0
    assert read_incident(path).claims[1].parts[0].if_true == 0.2


def test_two_files_of_one_incident_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    paths = [_written(tmp_path, TEXT), _written(tmp_path / "other", TEXT)]
    with pytest.raises(UsageError, match="two files are of the incident my-incident"):
        incidents_of([str(path) for path in paths])


def test_the_record_takes_no_run_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(_written(tmp_path, TEXT)), "--register"]) == EXIT_USAGE
    assert "the record is of the lab's own incidents" in capsys.readouterr().err
