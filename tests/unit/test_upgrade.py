"""What an upgrade changes: sorted by which way is better for an operator, with what nobody has measured named."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import scenarios
from analysis.ledger.lines import in_order, load_lines
from analysis.report.upgrade import (
    BETTER,
    CHANCE,
    OTHER,
    SIGN,
    TRADE,
    WORSE,
    Known,
    Rolled,
    Upgrade,
    lines_known,
    sort_of,
    upgrade,
    words_changed,
)
from analysis.report.upgrade_screen import ADVISED, LINES_MAX, Point, _has_cure, all_lines, screen
from analysis.report.upgrade_settings import RENAMED, ConfChanged, SettingsChanged, settings_changed
from analysis.report.upgrade_words import page
from analysis.verdicts.kinds import judge_part
from harness.audit.conf import OF_KEYS
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_USAGE
from harness.model.alert_lines import ALERT_LINES
from harness.model.broker_conf import Fate, JudgedConf, JudgedKey, conf_of
from harness.model.findings import CarriedFinding, Finding, PartResult
from harness.model.log_events import WORDINGS
from harness.model.measures import MEASURES, Better
from harness.model.rules import Claim, Fold, Kind, Part, Role, Weight
from harness.model.verdicts import VerdictKind
from harness.paths import PACKAGES
from harness.releases.central import version_key
from harness.releases.jars import recorded_releases
from harness.releases.judged_conf import judge_file
from harness.releases.settings import settings_of
from mqlab.main import main
from scenarios import rolling_upgrade
from scenarios.rules import claim, each, exists, fact, happens, law, median, of, ratio, share, side, slope
from tests.lib.tries import tries_of

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

WEIGHTS = [str(weight) for weight in Weight]

LESS, MORE = of("handover_s", "incident"), of("throughput_per_s", "incident")
UP, DOWN = side(3, 1, "for the test"), side(1, 3, "for the test")


@pytest.mark.parametrize(
    ("part", "rises", "sort"),
    [
        (median(LESS, UP), True, WORSE),
        (median(LESS, DOWN), False, BETTER),
        (median(MORE, UP), True, BETTER),
        (ratio(LESS, of("handover_s", "baseline"), DOWN), True, WORSE),
        (share(of("rejected_count", "incident"), (1, None), UP), True, WORSE),
        (share(LESS, (None, 3), UP), True, BETTER),
        (share(LESS, (1, 3), UP), True, OTHER),
        # More tries of "at most 3 s" that break it; fewer of "at least 3 s".
        (each(LESS, DOWN), True, WORSE),
        (each(LESS, UP), True, BETTER),
        (happens(of("lost_count", "incident"), 3, "for the test"), True, WORSE),
        (exists(LESS, DOWN), True, BETTER),
        (fact(of("foreign_lock_granted", "incident"), UP), False, BETTER),
        (law(LESS, 3, 1, 2, "for the test"), True, OTHER),
        (slope(LESS, "rate_hz", UP), True, OTHER),
        (median(of("locked_mb", "incident"), UP), True, OTHER),
        (fact(of("lock_lines_waiting", "incident"), UP), True, SIGN),
        (fact(of("refusal_code", "incident"), UP), False, SIGN),
    ],
)
def test_which_way_is_better_is_said_by_the_measure_and_by_what_the_part_counts(
    part: Part, rises: bool, sort: str
) -> None:
    assert sort_of(part, rises) == sort


# --- a ledger -------------------------------------------------------------------------------------------------------------


def _line(release: str, claim: str, verdict: VerdictKind, part: PartResult, backend: str = "local") -> Finding:
    return Finding(
        claim=claim, incident="ordered-lock-handover", article="", says="the article's words", release=release,
        backend=backend, injection="signal", client=f"java {release}", verdict=verdict, reason="", summary="", expected=None,
        expected_from_code="", parts=(part,),
    )  # fmt: skip


def _part(verdict: VerdictKind, value: float) -> PartResult:
    values = tuple(value * (1 + place / 100) for place in range(5))
    return PartResult(name="it", verdict=verdict, kind="Q", values=values, estimate=value, words=f"{value:g} s")


def _claims(*names: str, **arms: str) -> dict[str, Claim]:
    """Each of the arm that is named for it, or of one that all others share."""
    return {
        name: claim(
            name, "", "s", reading="r", parts={"it": median(of("handover_s", arms.get(name, "incident")), DOWN)}
        )
        for name in names
    }


LEDGER = [
    _line("4.9.7", "ORDER-01", CONFIRMED, _part(CONFIRMED, 60)),
    _line("5.5.0", "ORDER-01", REFUTED, _part(REFUTED, 20)),
    _line("4.9.7", "ORDER-02", CONFIRMED, _part(CONFIRMED, 1)),
    _line("5.5.0", "ORDER-02", CONFIRMED, _part(CONFIRMED, 2)),
    _line("4.9.7", "ORDER-03", CONFIRMED, _part(CONFIRMED, 7)),
    _line("5.5.0", "ORDER-03", CONFIRMED, _part(CONFIRMED, 7)),
    _line("4.9.7", "ORDER-04", CONFIRMED, _part(CONFIRMED, 7)),
    _line("5.5.0", "ORDER-04", UNDECIDED, PartResult(name="it", verdict=UNDECIDED, kind="Q")),
    _line("4.9.7", "ORDER-05", CONFIRMED, _part(CONFIRMED, 7)),
    _line("4.9.7", "ORDER-01", CONFIRMED, _part(CONFIRMED, 60), backend="compose"),
    _line("5.5.0", "ORDER-01", CONFIRMED, _part(CONFIRMED, 90), backend="compose"),
]
NAMES = [f"ORDER-0{number}" for number in range(1, 6)]
RULES = _claims(*NAMES, **{"ORDER-02": "baseline"})


def lines(found: Upgrade, ledger: Sequence[Finding] = LEDGER) -> list[str]:
    return all_lines(found, screen(found, ledger, RULES))


def test_what_moved_is_better_or_worse_and_what_is_not_decided_is_named() -> None:
    found = upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0")
    assert [(one.claim, one.sort, one.before, one.after) for one in found.changes] == [
        ("ORDER-01", BETTER, "60 s", "20 s"),
        ("ORDER-02", WORSE, "1 s", "2 s"),
    ]
    assert found.undecided == {"ordered-lock-handover": ("ORDER-04", "ORDER-05")}
    told = "\n".join(lines(found))
    assert told.startswith("Upgrade 4.9.7 -> 5.5.0: 3 findings are decided on both, 2 differ")
    assert "ordered-lock-handover: ORDER-04, ORDER-05" in told
    assert "-> mqlab verify INCIDENT --plan" in told
    back = upgrade(LEDGER, RULES, SettingsChanged(), "5.5.0", "4.9.7")
    assert [one.sort for one in back.changes] == [WORSE, BETTER]


def test_what_moves_both_ways_in_one_arm_is_neither_better_nor_worse() -> None:
    found = upgrade(LEDGER, _claims(*NAMES), SettingsChanged(), "4.9.7", "5.5.0")
    assert [(one.claim, one.sort) for one in found.changes] == [("ORDER-01", TRADE), ("ORDER-02", TRADE)]
    told = lines(found)
    title = told.index("ALSO: different, and neither better nor worse by itself")
    assert [line.split()[0] for line in told[title:] if line.startswith("        ORDER")] == ["ORDER-01", "ORDER-02"]


def test_a_counterexample_that_may_be_chance_is_no_change_for_the_worse() -> None:
    def part(verdict: VerdictKind, events: int, high: float) -> PartResult:
        return PartResult(name="it", verdict=verdict, kind="U", tries=36, estimate=events / 36, low=0, high=high)

    rules = {"ORDER-01": claim("ORDER-01", "", "s", reading="r", parts={"it": each(LESS, DOWN)})}
    for events, high, sort in ((1, 0.15, CHANCE), (30, 0.95, WORSE)):
        after = dataclasses.replace(part(REFUTED, events, high), low=0.0007 if events == 1 else 0.67)
        ledger = [
            _line("4.9.7", "ORDER-01", CONFIRMED, part(CONFIRMED, 0, 0.098)),
            _line("5.5.0", "ORDER-01", REFUTED, after),
        ]
        (change,) = upgrade(ledger, rules, SettingsChanged(), "4.9.7", "5.5.0").changes
        assert (change.sort, change.counts) == (sort, "counterexamples: ")


# --- both ways, over all that is judged -----------------------------------------------------------------------------------

CLAIMS = {claim.id: claim for scenario in scenarios.ALL for claim in scenario.claims}
JUDGED = [
    pytest.param(claim, part, id=f"{claim.id} {part.name}")
    for claim in CLAIMS.values()
    for part in claim.parts
    if part.role is Role.CLAIM
]
OTHER_WAY = {BETTER: WORSE, WORSE: BETTER, SIGN: SIGN, OTHER: OTHER}
_OF_TRIES = ({"tries": 40, "events": 0, "low": 0, "high": 0.09}, {"tries": 40, "events": 40, "low": 0.91, "high": 1})


def _found(part: Part, *, high: bool) -> PartResult:
    """A finding whose number is high, or low: beyond what chance explains, and decided."""
    counted: dict[str, Any] = {
        "unit": part.unit,
        "tries": 6,
        "words": "in none of 6",
        "right": 6 * high,
        "wrong": 6 * (not high),
        "line": 0,
        "deployments": 6,
    }
    if part.kind in (Kind.UNIVERSAL, Kind.EXISTENCE):
        counted |= _OF_TRIES[high]
    values = tuple(10.0 * (1 + 9 * high) + place for place in range(6))
    return PartResult(
        name=part.name, kind=part.kind, verdict=CONFIRMED if high else REFUTED, values=values, estimate=values[0] if
        part.kind not in (Kind.FACT, Kind.UNIVERSAL, Kind.EXISTENCE) else float(high), **counted,
    )  # fmt: skip


def _sorts(claim: Claim, part: Part, *, rises: bool) -> list[str]:
    """What an upgrade says whose only difference is that one number."""
    ledger = [
        _line(release, claim.id, found.verdict, found)
        for release, found in (("4.9.7", _found(part, high=not rises)), ("5.5.0", _found(part, high=rises)))
    ]
    return [one.sort for one in upgrade(ledger, {claim.id: claim}, SettingsChanged(), "4.9.7", "5.5.0").changes]


@pytest.mark.parametrize(("claim", "part"), JUDGED)
def test_from_and_to_the_other_way_round_turn_better_into_worse(claim: Claim, part: Part) -> None:
    (up,), (down,) = (_sorts(claim, part, rises=rises) for rises in (True, False))
    assert down == OTHER_WAY[up]
    # Neither is said only where the measure has no way that is good, or the part's number is no size of it.
    sizeless = part.kind is Kind.LAW or part.fold is Fold.SLOPE or (part.fold is Fold.SHARE and None not in part.within)
    assert (up == OTHER) == (MEASURES[part.of.measure].better is Better.NEITHER or sizeless)
    assert (up == SIGN) == (MEASURES[part.of.measure].better is Better.SIGN)


EVENTS = [
    ("X-dispatch-thread-dies-01", "none consumed", 1.0, "what was sent after it waited unconsumed"),
    ("X-disk-ratio-counts-differently-04", "none refused", 1.0, "sends were refused at 0.94"),
    ("X-disk-ratio-counts-differently-06", "none deleted", 4.0, "files were deleted at 0.88"),
    ("X-slave-serves-no-reads-01", "none read", 1.0, "consumed while the master was dead"),
    ("X-last-offset-reads-history-03", "no history", 1.0, "a new group consumed the history"),
    ("X-name-server-restart-hides-topics-01", "old topic hidden", 1.0, "the old topic had a route"),
    ("X-recreated-topic-keeps-offsets-02", "none read", 1.0, "it consumed some"),
    ("TOPICS-15", "none OK while refused", 3.0, "and while it was refused"),
    ("POOL-12", "busy queue", 300.0, "where one got 98 % they did"),
    ("ORDER-06", "every queue within 3 s", 9.0, "After a graceful shutdown,"),
]


@pytest.mark.parametrize(("name", "part", "happened", "event"), EVENTS)
def test_what_happened_is_counted_and_not_what_spoke_against_it(
    name: str, part: str, happened: float, event: str
) -> None:
    rule = CLAIMS[name]

    def line(release: str, value: float) -> Finding:
        parts = tuple(
            judge_part(one, tries_of(one.of.measure, one.of.arm, [[value]] * 8, **_cell(one))) for one in rule.parts
        )
        found = next(one for one in parts if one.name == part)
        return dataclasses.replace(_line(release, name, found.verdict, found), parts=parts)

    ledger = [line("4.9.7", 0.0), line("5.5.0", happened)]
    told = {one.part: one for one in upgrade(ledger, {name: rule}, SettingsChanged(), "4.9.7", "5.5.0").changes}[part]
    assert told.counts == ""
    for said, many in ((told.before, "none of 8"), (told.after, "(8 of 8|all 8)")):
        assert re.search(rf"{re.escape(event)} (in )?{many}", said), said


def _cell(part: Part) -> dict[str, Any]:
    return {name: allowed[0] for name, allowed in part.of.where.items()}


def test_a_loss_that_one_release_has_shown_is_worse_though_the_other_was_tried_as_seldom() -> None:
    part = next(one for one in CLAIMS["POOL-12"].parts if one.name == "busy queue")

    def line(release: str, events: int, tries: int) -> Finding:
        found = PartResult(
            name=part.name, kind="U", verdict=REFUTED if events else UNDECIDED, tries=tries, events=events,
            estimate=events / tries, low=0.0, high=0.9,
        )  # fmt: skip
        return _line(release, "POOL-12", found.verdict, found)

    def sort(*events: int, tries: int) -> list[str]:
        ledger = [line(release, count, tries) for release, count in zip(("4.9.7", "5.5.0"), events, strict=True)]
        rules = {"POOL-12": CLAIMS["POOL-12"]}
        return [one.sort for one in upgrade(ledger, rules, SettingsChanged(), "4.9.7", "5.5.0").changes]

    assert sort(0, 4, tries=8) == [WORSE]
    assert sort(4, 0, tries=8) == [BETTER]
    assert sort(0, 1, tries=8) == [CHANCE]
    assert sort(0, 0, tries=8) == []


def test_clients_of_another_release_have_no_recorded_run() -> None:
    assert "clients of" not in "\n".join(lines(upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0")))
    told = "\n".join(lines(upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0", "4.9.7", "4.9.7")))
    assert "clients of 4.9.7 on brokers of 5.5.0: every recorded run has both of one release" in told


ROLLED = Rolled(incident="rolling-upgrade", to=("5.5.0",))


def _rolling(release: str, verdict: VerdictKind) -> Finding:
    line = _line(release, "X-rolling-upgrade-01", verdict, _part(verdict, 0.0))
    return dataclasses.replace(line, incident="rolling-upgrade", summary=f"None was lost from {release}.")


def test_what_was_measured_of_upgrading_node_by_node_stands_under_the_release_that_it_began_with() -> None:
    ledger = [*LEDGER, _rolling("4.9.7", CONFIRMED), _rolling("5.5.0", REFUTED)]
    found = upgrade(ledger, RULES, SettingsChanged(), "4.9.7", "5.5.0", rolled=ROLLED)
    assert found.rolled.findings == (("X-rolling-upgrade-01", "confirmed", "None was lost from 4.9.7."),)
    assert found.changes == upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0").changes
    said = lines(found)
    at = said.index("THE UPGRADE ITSELF, node by node from 4.9.7")
    assert said[at + 1 : at + 3] == [
        "   None was lost from 4.9.7.",
        "        X-rolling-upgrade-01 confirmed: None was lost from 4.9.7.",
    ]


def test_an_upgrade_node_by_node_that_nobody_measured_says_how_to_run_it() -> None:
    said = lines(upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0", rolled=ROLLED))
    assert "   not measured: mqlab verify rolling-upgrade --release 4.9.7" in said
    ledger = [*LEDGER, _rolling("5.5.0", CONFIRMED)]
    back = lines(upgrade(ledger, RULES, SettingsChanged(), "5.5.0", "4.9.7", rolled=ROLLED))
    assert "   not measured; one to 5.5.0 is" in back


def test_what_is_carried_over_says_so_in_each_row_and_what_is_unknown_has_a_command() -> None:
    values = {one.name: getattr(LEDGER[1], one.name) for one in dataclasses.fields(Finding)}
    carried = CarriedFinding(**(values | {"release": "5.4.0"}), carried_from="5.5.0")
    known = Known(
        release="5.4.0",
        carried={"5.5.0": 1},
        unknown=("ORDER-02",),
        command="mqlab verify x --release 5.4.0",
        minutes=3,
    )
    said = lines(upgrade([*LEDGER, carried], RULES, SettingsChanged(), "4.9.7", "5.4.0", known=(known,)))
    assert said[0] == "Upgrade 4.9.7 -> 5.4.0: 1 findings are decided on both, 1 differ"
    assert "          4.9.7: 60 s" in said
    assert "          5.4.0: 20 s (carried over from 5.5.0, not measured on 5.4.0)" in said
    (at,) = (number for number, line in enumerate(said) if line.startswith("NOT KNOWN"))
    assert said[at + 1 : at + 3] == [
        "   5.4.0 is not recorded: findings are carried over where the code is the same (1 from 5.5.0), 1 are unknown",
        "     -> mqlab verify x --release 5.4.0  # about 3 min",
    ]


def test_the_page_has_what_the_terminal_has() -> None:
    found = upgrade(LEDGER, RULES, SettingsChanged(), "4.9.7", "5.5.0")
    html = page(found, screen(found, LEDGER, RULES))
    for line in (
        "NOT KNOWN",
        "ORDER-01 it (ordered-lock-handover; better)",
        "4.9.7: 60 s",
        "5.5.0: 20 s",
        "ALSO: different",
    ):
        assert line in html
    assert "<script" not in html


# --- words and settings ---------------------------------------------------------------------------------------------------


def test_the_words_of_logs_that_differ_are_those_of_the_two_releases_classes() -> None:
    words = {one.event: one for one in words_changed("4.9.7", "5.5.0")}
    assert words["lock held by another client"].before == ("message queue locked by other client",)
    assert words["slow put"].before == ("not in lock elapsed time(ms)=",)
    assert words["slow put"].after == ("CommitLog#putMessage cost", "not in lock eclipse time(ms)=")
    assert "slow append" not in words
    # Within 4.x it is three: classes of 4.9.7 hold neither a slave's late copy nor a client that has no time left, and spell
    # "writable" otherwise.
    gone = {one.event: set(one.before) - set(one.after) for one in words_changed("4.6.0", "4.9.7")}
    lines = {one.tells for one in ALERT_LINES}
    assert set(gone) - lines == {
        "slave had not copied in time", "request without time for an answer", "store takes no messages, not writable",
        "message too long",
    }  # fmt: skip
    assert all(gone[event] for event in gone.keys() - lines - {"message too long"})
    assert not list(words_changed("5.4.0", "5.5.0"))


@pytest.mark.parametrize(
    ("before", "after", "old", "new"),
    [
        ("4.9.7", "5.5.0", "physic disk maybe full soon, so reclaim space,",
         "commitLog disk maybe full soon, so reclaim space,"),
        ("4.6.0", "5.3.3", "logics disk maybe full soon, so reclaim space,",
         "consumeQueue disk maybe full soon, so reclaim space,"),
        ("4.9.7", "5.5.0", "Lock failed,MQ already started", "Lock failed, MQ already started, lock status:"),
        ("5.3.3", "5.5.0", "Lock failed,MQ already started", "Lock failed, MQ already started, lock status:"),
        ("4.6.0", "4.9.7", "message store is slave mode, so putMessage is forbidden",
         "broke role is slave, so putMessage is forbidden"),
        ("4.6.0", "5.5.0", "transfer messsage to slave timeout", "transfer message to slave timeout"),
        ("4.9.7", "5.3.3", "Check signature failed for accessKey=", "check signature failed."),
        ("4.4.0", "4.6.0", "not in lock eclipse time(ms)=", "not in lock elapsed time(ms)="),
    ],
)  # fmt: skip
def test_a_line_that_an_alarm_may_hang_on_is_told_with_its_words_in_both(
    before: str, after: str, old: str, new: str
) -> None:
    pairs = [(one.before, one.after) for one in words_changed(before, after)]
    assert ((old,), (new,)) in pairs
    assert ((new,), (old,)) in [(one.before, one.after) for one in words_changed(after, before)]


def test_no_line_is_the_same_in_two_releases_that_it_is_said_to_differ_in() -> None:
    for before, after in itertools.permutations(recorded_releases(), 2):
        for one in words_changed(before, after):
            assert set(one.before) != set(one.after)
            assert one.before or one.after
    assert len({one.tells for one in ALERT_LINES} | {str(one.event) for one in WORDINGS}) == lines_known()


OLD = {"a": "1", "b": "2", "gone": "4", "untold": "?", "set": "1", "old": "1"}
NEW = {"a": "1", "b": "9", "new": "5", "untold": "6", "set": "2", "old": "1"}


def test_defaults_that_are_others_are_told_apart() -> None:
    yours = tuple(
        JudgedConf(release=release, keys=(JudgedKey(key="set", text="7", line=1, fate=Fate.READ, value="7"),))
        for release in ("4.9.7", "5.5.0")
    )
    found = settings_changed(
        (OLD, {}, {"X": "1"}), (NEW, {}, {"Y": "2"}), (yours[0], yours[1]), dead=([], ["old", "new"])
    )
    assert (found.broker_gone, found.broker_new, found.broker_dead) == (("gone",), 1, ("old",))
    assert [(one.name, one.before, one.after, one.yours) for one in found.broker] == [
        ("b", "2", "9", None),
        ("set", "1", "2", "7"),
    ]
    assert (found.codes_new, found.codes_gone) == ({"Y": "2"}, {"X": "1"})


def test_each_key_of_a_broker_conf_is_told_apart() -> None:
    conf = conf_of(
        {"brokerName": "a", "haSlaveFallbehindMax": "1000", "commercialEnable": "true", "timerWheelEnable": "false", "typo": "1",
         "aclEnable": "true", "diskSpaceWarningLevelRatio": "0.95", "flushDiskType": "SYNC_FLUSH ", "deleteWhen": "04 "}
    )  # fmt: skip
    old, new = judge_file(conf, "4.9.7"), judge_file(conf, "5.5.0")
    found = settings_changed(({}, {}, {}), ({}, {}, {}), (old, new)).conf
    assert found is not None
    said = {one.at: one.says for one in found.keys}
    assert said == {
        "haSlaveFallbehindMax": "is haMaxGapNotInSync in 5.5.0, which ignores the old name without a word",
        "commercialEnable": "5.5.0 does not know it, and ignores it without a word",
        "timerWheelEnable": "4.9.7 ignored it, and it comes into force with 5.5.0",
        "typo": "neither release knows it in a broker.conf",
        "aclEnable": "5.5.0 takes it and does nothing with it: the access control lists of 4.x are gone, and the broker "
        "asks nobody who sends a request, while 4.9.7 goes by it",
        "diskSpaceWarningLevelRatio": '"0.95" is not an int, and 5.5.0 keeps its default of 90 without a word',
        "flushDiskType": "4.9.7 ignored the value, and it comes into force with 5.5.0",
        "deleteWhen": "4.9.7 reads 04 , 5.5.0 reads 04",
    }
    back = settings_changed(({}, {}, {}), ({}, {}, {}), (new, old)).conf
    assert back is not None
    assert {one.at: one.says for one in back.keys}[
        "aclEnable"
    ] == "5.5.0 ignored it, and it comes into force with 4.9.7"


@pytest.mark.parametrize(("before", "after"), [("4.6.0", "4.9.7"), ("4.9.7", "5.5.0"), ("5.5.0", "4.9.7")])
def test_audit_and_upgrade_say_the_same_of_a_file(
    before: str, after: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broker.conf"
    path.write_text(
        "brokerName=a\ntransientStorePoolEnable=true\nflushDiskType=SYNC_FLUSH\ndiskSpaceWarningLevelRatio=0.95\n"
        "aclEnable=true\nautoCreateTopicEnable=true # no\nbrokerRole=SLAVE\nnonsense=1\n"
    )
    main(["audit", "--broker-conf", str(path), "--release", f"{before},{after}", "--json"])
    old, new = ({one["kind"]: one["says"] for one in said["findings"]} for said in json.loads(capsys.readouterr().out))
    assert main(["upgrade", "--from", before, "--to", after, "--broker-conf", str(path), "--json"]) == EXIT_OK
    conf = json.loads(capsys.readouterr().out)["settings"]["conf"]
    of_broker = {kind: says for kind, says in new.items() if kind not in OF_KEYS}
    assert {says for says, _ in (*conf["comes"], *conf["stays"])} == {*of_broker.values()}
    assert {says for says, _ in conf["goes"]} == {
        says for kind, says in old.items() if kind not in OF_KEYS and kind not in new
    }
    for one in conf["keys"]:
        assert not ("comes into force" in one["says"] and f"{one['at']}: " in " ".join(new.values()))


def test_a_renamed_setting_is_gone_and_its_new_name_has_the_old_default() -> None:
    old, new = settings_of("4.9.7").broker, settings_of("5.5.0").broker
    for name, now in RENAMED.items():
        assert name in old.keys() - new.keys()
        assert now in new.keys() - old.keys()
        assert old[name] == new[now]


@pytest.mark.parametrize("release", recorded_releases())
def test_every_release_has_its_settings(release: str) -> None:
    kept = settings_of(release)
    assert kept.broker["waitTimeMillsInSendQueue"] == "200"
    assert kept.broker["brokerIP1"] == ""
    assert kept.client["pollNameServerInterval"] == "30000"
    assert kept.codes["SYSTEM_BUSY"] == "2"


# --- the command ----------------------------------------------------------------------------------------------------------


def test_the_command_says_what_becomes_of_a_broker_conf(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf, html = tmp_path / "broker.conf", tmp_path / "upgrade.html"
    conf.write_text(
        "flushDiskType=SYNC_FLUSH\nhaSlaveFallbehindMax=1000\nregisterBrokerTimeoutMills=6000\nnonsense=1\n"
    )
    assert (
        main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf), "--page", str(html), "--all"])
        == EXIT_OK
    )
    told = capsys.readouterr().out
    assert "line 2: haSlaveFallbehindMax: is haMaxGapNotInSync in 5.5.0" in told
    assert "line 4: nonsense: neither release knows it in a broker.conf" in told
    assert "registerBrokerTimeoutMills=6000: stays as you set it, while the default goes 6000 -> 24000" in told
    assert "transactionCheckInterval 60000 -> 30000" in told
    assert "haSlaveFallbehindMax" in html.read_text("utf-8")


@pytest.mark.parametrize(
    ("before", "after"), [*itertools.pairwise(recorded_releases()), ("4.9.7", "5.5.0"), ("5.5.0", "4.9.7")]
)
def test_the_screen_has_at_most_fifty_lines_and_names_a_cure_where_one_is_measured(
    before: str, after: str, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = str(PACKAGES / "docs" / "broker.conf")
    words = ["upgrade", "--from", before, "--to", after, "--broker-conf", conf]
    assert main(words) == EXIT_OK
    shown = capsys.readouterr().out.splitlines()
    is_back = version_key(after) < version_key(before)
    assert any("another question" in line for line in shown) is is_back
    assert len(shown) <= LINES_MAX + is_back
    assert main([*words, "--json"]) == EXIT_OK
    told = json.loads(capsys.readouterr().out)["screen"]
    claims = {claim.id: claim for scenario in scenarios.ALL for claim in scenario.claims}
    line_of = {
        (line.claim, line.release): line
        for line in load_lines(Path(scenarios.__file__).with_name("ledger.jsonl"))
        if line.backend == "local" and line.injection != "freeze"
    }
    for point in (*told["prepare"], *told["of_file"]):
        (failure,) = point["claims"]
        helps = [
            claim.told.do
            for claim in claims.values()
            if claim.cure_of == failure and claim.told and claim.told.do
            and (line := line_of.get((claim.id, after))) and line.status == VerdictKind.CONFIRMED
        ]  # fmt: skip
        assert {f"{one}  [measured on {after}]" for one in helps} <= {*point["do"]}
    assert all(weight == sorted(weight) for weight in [[WEIGHTS.index(one["weight"]) for one in told["prepare"]]])


def test_what_is_to_be_prepared_for_an_upgrade_to_5x_is_told_with_its_cure(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(PACKAGES / "docs" / "broker.conf")]
    assert main([*words, "--strict"]) == EXIT_MISMATCH
    shown = capsys.readouterr().out.splitlines()
    first = next(number for number, line in enumerate(shown) if line.startswith(" 1 "))
    assert shown[first - 1].startswith("PREPARE BEFORE YOU START: ")
    assert "things that get worse, the worst first; behind -> what helps (your file: 1, lost" in shown[first - 1]
    assert shown[first].startswith(
        " 1 YOUR FILE  transientStorePoolEnable is on with SYNC_FLUSH, too, which leaves it off on 4.6.0 and 4.9.7"
    )
    assert "measured with ASYNC_FLUSH alone" in shown[first], "the record has no kill of such a broker"
    assert any(
        "your file has others: flushDiskType, transientStorePoolEnable, waitTimeMillsInSendQueue" in line
        for line in shown
    )
    told = {line: shown[number + 1] for number, line in enumerate(shown[:-1])}
    cures = {
        "backlog cannot be read from its": "slaveReadEnable=true",
    }
    for harm, cure in cures.items():
        (after,) = [below for line, below in told.items() if harm in line]
        assert cure in after
        assert "[measured on 5.5.0]" in after


def test_alerts_are_all_that_alarms_hang_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--alerts"]) == EXIT_OK
    shown = capsys.readouterr().out
    assert "'registerBroker Exception,' -> 'Failed to register current broker to name server'" in shown
    assert "209 was UPDATE_AND_CREATE_ACL_CONFIG_FAILED, is POLLING_FULL" in shown
    assert "log, reset of a group's offsets asked for: also 'Reset offset, topic='; its 1 other wording stays" in shown
    (covers,) = [line for line in shown.splitlines() if line.startswith("of logs this covers")]
    assert f"the lines that the lab knows, of {lines_known()} kinds" in covers
    assert f": {shown.count(chr(10) + 'log, ')} kinds read differently. Other lines may, too" in covers


def test_an_alarm_on_a_slave_that_is_late_is_still_needed_with_more_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text("brokerName=a\nbrokerRole=SYNC_MASTER\n")
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]
    assert main(words) == EXIT_OK
    alarms = capsys.readouterr().out.partition("CHANGE YOUR ALARMS")[2].splitlines()
    assert alarms[1].startswith(
        "   with inSyncReplicas=1, the default, FLUSH_SLAVE_TIMEOUT and SLAVE_NOT_AVAILABLE do not come"
    )
    assert "with 2 and more FLUSH_SLAVE_TIMEOUT comes after slaveTimeout" in alarms[1]
    assert alarms[2].startswith("     -> keep the alarm on FLUSH_SLAVE_TIMEOUT if you set inSyncReplicas above 1")


def test_what_the_record_has_of_a_line_of_the_file_is_told_once_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text("brokerName=a\nbrokerRole=SYNC_MASTER\n")
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]
    for told in (words, [*words, "--all"]):
        assert main(told) == EXIT_OK
        shown = capsys.readouterr().out
        assert "SYNC_MASTER answers SEND_OK while its slave" not in shown
        (item,) = [line for line in shown.splitlines() if "YOUR FILE  SYNC_MASTER with inSyncReplicas=1" in line]
        assert item.endswith("[4.9.7: in none of 8 clusters; 5.5.0: in 8 of 8 clusters]")
        assert "     -> inSyncReplicas=2: sends wait for the slave  [measured on 5.5.0]" in shown


def test_all_lines_of_the_users_own_file_are_told_and_what_is_folded_is_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "mine.conf"
    own = [f"mistyped{number}=1" for number in range(12)]
    conf.write_text("\n".join(("brokerName=a", "haSlaveFallbehindMax=1", "registerBrokerTimeoutMills=6000", *own)))
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]
    assert main(words) == EXIT_OK
    shown = capsys.readouterr().out
    file = shown.partition("CHANGE YOUR FILE")[2].partition("WATCH")[0]
    assert all(f"{one.partition('=')[0]}: neither release knows it" in file for one in own)
    assert "registerBrokerTimeoutMills=6000: stays as you set it" in file
    assert re.search(r"and \d more, of settings that your file does not have: --all", file)
    assert main([*words, "--all"]) == EXIT_OK
    file = capsys.readouterr().out.partition("CHANGE YOUR FILE")[2].partition("WATCH")[0]
    assert file.count("haSlaveFallbehindMax") == 1, "it is among the file's own lines, and not among the others as well"
    assert "not known any more, and not in your file: commercialBigCount" in file


def test_the_order_of_the_nodes_and_what_is_not_settled_of_it_are_on_the_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    conf = str(PACKAGES / "docs" / "broker.conf")
    assert main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", conf]) == EXIT_OK
    itself = capsys.readouterr().out.partition("THE UPGRADE ITSELF")[2].partition("NOT KNOWN")[0].splitlines()
    assert itself[1].endswith(
        "one node after another: the name servers, the slaves, the masters, the consumers, the producers"
    )
    assert "mqadmin wipeWritePerm -n 'NAMESRV;NAMESRV' -b BROKERNAME, and wait for 35 s" in itself[2]
    assert itself[3].strip() == "not settled from 4.9.7: whether no send fails where the permission is taken so"
    assert len(rolling_upgrade.ORDER) == len((*rolling_upgrade.NODES, *rolling_upgrade.CLIENTS))


def test_a_cure_that_a_part_of_the_claim_measured_is_told_with_its_figure(capsys: pytest.CaptureFixture[str]) -> None:
    conf = str(PACKAGES / "docs" / "broker.conf")
    assert main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", conf]) == EXIT_OK
    shown = capsys.readouterr().out.splitlines()
    below = {line[3:]: shown[number + 1].strip() for number, line in enumerate(shown[:-1])}
    (flush,) = [after for line, after in below.items() if line.startswith("SYNC_FLUSH loses acknowledged messages")]
    assert flush.startswith("-> flushConsumeQueueLeastPages=0")
    assert flush.endswith("[5.5.0, with it: in none of 8 deaths]")
    (files,) = [after for line, after in below.items() if line.startswith("a higher diskSpaceCleanForciblyRatio")]
    assert files.startswith("-> a file system that reserves nothing")
    (slow,) = [after for line, after in below.items() if line.endswith("slow: 0.222 of them remain (0.0348 before)")]
    assert slow.startswith("-> leave sendLatencyFaultEnable=true")


def test_a_part_that_measured_a_cure_is_one_of_its_claim() -> None:
    for one in CLAIMS.values():
        if one.told and one.told.do_part:
            assert one.told.do
            assert one.told.do_part in {part.name for part in one.parts}


def test_every_claim_that_differs_between_releases_and_harms_is_told_in_an_operators_words() -> None:
    """Where a verdict differs between recorded releases, its claim says what happens on either."""
    standing: dict[str, set[str]] = {}
    for line in load_lines(Path(scenarios.__file__).with_name("ledger.jsonl")):
        if (
            line.backend == "local"
            and line.injection != "freeze"
            and line.status in (VerdictKind.CONFIRMED, VerdictKind.REFUTED)
        ):
            standing.setdefault(line.claim, set()).add(line.status)
    differ = {claim for claim, verdicts in standing.items() if len(verdicts) > 1}
    untold = {
        claim.id
        for scenario in scenarios.ALL
        for claim in scenario.claims
        if claim.id in differ and not (claim.told and (claim.told.holds or claim.told.parts))
    }
    assert untold == set()


def test_what_is_said_agrees_with_the_ledger(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", "--from", "4.6.0", "--to", "5.5.0", "--json"]) == EXIT_OK
    found = json.loads(capsys.readouterr().out)
    recorded = load_lines(Path(scenarios.__file__).with_name("ledger.jsonl"))
    words = {
        (line.claim, line.release, in_order(line.injection), part.name): (part.words, line.summary)
        for line in recorded
        for part in line.parts
        if line.backend == "local"
    }
    for one in found["changes"]:
        for release, said in (("4.6.0", one["before"]), ("5.5.0", one["after"])):
            of_part, sentences = words[one["claim"], release, one["injection"], one["part"]]
            assert said in sentences or (said == of_part and one["counts"])
    named = {claim for claims in found["undecided"].values() for claim in claims}
    undecided = {
        line.claim
        for line in recorded
        if line.backend == "local" and line.release in ("4.6.0", "5.5.0") and line.verdict is UNDECIDED
    }
    # What was measured of the upgrade itself stands by itself, decided or not.
    told = {tuple(one) for one in found["rolled"]["findings"]}
    of_rolls = [line for line in recorded if (line.incident, line.release) == ("rolling-upgrade", "4.6.0")]
    assert told == {(line.claim, line.verdict, line.summary) for line in of_rolls}
    assert undecided <= named | {claim for claim, *_ in told}


def test_a_release_has_a_name_and_both_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["upgrade", "--from", "4.6", "--to", "5.5.0"]) == EXIT_USAGE
    assert "unknown release '4.6'" in capsys.readouterr().err
    with pytest.raises(SystemExit) as caught:
        main(["upgrade", "--from", "4.6.0"])
    assert caught.value.code == EXIT_USAGE


def test_what_is_urgent_in_a_file_is_prepared_first_and_what_it_has_cured_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text(
        "aclEnable=true\nslaveReadEnable=true\nmessageDelayLevel=1s,5s\nbrokerRole=SYNC_MASTER\ninSyncReplicas=2\n"
    )
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]
    assert main(words) == EXIT_OK
    shown = capsys.readouterr().out
    prepare = shown.partition("PREPARE")[2].partition("CHANGE YOUR ALARMS")[0]
    file = shown.partition("CHANGE YOUR FILE")[2].partition("WATCH")[0]
    assert re.search(r"^ 1 YOUR FILE  line 1: aclEnable: 5.5.0 takes it and does nothing", prepare, re.MULTILINE)
    assert re.search(r"^ 2 YOUR FILE  messageDelayLevel=1s,5s: the broker does not start", prepare, re.MULTILINE)
    assert "aclEnable: " not in file
    assert "slaveReadEnable" not in prepare, "a cure that the file has"
    assert "inSyncReplicas=2" not in prepare
    assert "(your file: 3, lost messages: " in prepare.partition("\n")[0]
    conf.write_text("aclEnable=true\n")
    assert main(words) == EXIT_OK
    assert "-> slaveReadEnable=true" in capsys.readouterr().out


@pytest.mark.parametrize(("do", "is_left_out"), [
    ("slaveReadEnable=true  [measured on 5.5.0]", True), ("slaveReadEnable=true  [carried over from 5.5.0]", True),
    (f"slaveReadEnable=true{ADVISED}", False), ("slaveReadEnable=false  [measured on 5.5.0]", False), ("restart it", False),
])  # fmt: skip
def test_only_what_is_measured_to_help_takes_a_point_off_the_list(do: str, is_left_out: bool) -> None:
    conf = ConfChanged(in_force={"slaveReadEnable": "true"})
    found = upgrade(LEDGER, RULES, SettingsChanged(conf=conf), "4.9.7", "5.5.0")
    assert _has_cure(Point(weight=Weight.LOSS, says="it", do=(do,)), found) is is_left_out


@pytest.mark.parametrize(("settings", "yours", "not_yours"), [
    ("", set(), {"SYNC_FLUSH loses", "SYNC_MASTER answers"}),
    ("flushDiskType=SYNC_FLUSH", {"SYNC_FLUSH loses"}, {"SYNC_MASTER answers"}),
    ("brokerRole=SYNC_MASTER", {"SYNC_MASTER with inSyncReplicas=1"}, {"SYNC_FLUSH loses"}),
    ("brokerRole=SYNC_MASTER\nenableDLegerCommitLog=true\ndLegerGroup=g\ndLegerPeers=n0-a:1;n1-b:1;n2-c:1\ndLegerSelfId=n0", set(),
     {"SYNC_MASTER answers", "SYNC_FLUSH loses"}),
    # Whether its master is one of them is not in the file.
    ("brokerRole=SLAVE\nbrokerId=1", {"SYNC_MASTER answers"}, {"SYNC_FLUSH loses"}),
])  # fmt: skip
def test_what_a_file_has_not_turned_on_is_counted_and_not_told(
    settings: str, yours: set[str], not_yours: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "mine.conf"
    conf.write_text(f"brokerName=a\n{settings}\n")
    words = ["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]
    assert main(words) == EXIT_OK
    shown = capsys.readouterr().out
    prepare = shown.partition("PREPARE")[2].partition("CHANGE YOUR ALARMS")[0]
    assert all(one in prepare for one in yours)
    assert not any(one in shown for one in not_yours)
    assert re.search(r"MORE WITH --all: .*\d looked at and not yours, since your file has no [\w=]+", shown)
    assert main([*words, "--all"]) == EXIT_OK
    everything = capsys.readouterr().out
    apart = everything.partition("ALSO: looked at and not yours")[2].partition("ALSO:")[0]
    assert all(one in apart for one in not_yours), "--all has the screen's form, and its points are all there"
    assert [line.partition(":")[0] for line in everything.splitlines() if line[0].isalpha()][:3] == [
        line.partition(":")[0] for line in shown.splitlines() if line[0].isalpha()
    ][:3]


def test_a_member_of_a_dledger_group_is_told_that_nothing_was_measured_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "broker.conf"
    group = "dLegerGroup=b\ndLegerPeers=n0-h:40911;n1-h:40912;n2-h:40913\ndLegerSelfId=n0\n"
    for mode, is_told in (("true", True), ("false", False)):
        conf.write_text(f"brokerName=b\nenableDLegerCommitLog={mode}\n{group}", "utf-8")
        assert main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", str(conf)]) == EXIT_OK
        told = capsys.readouterr().out
        assert ("YOUR FILE  it is a member of a DLedger group" in told) == is_told
        assert len(told.splitlines()) <= 50
