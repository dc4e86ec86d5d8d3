"""`mqlab explain`: texts and settings drawn from the releases, every incident and claim, and what is not known."""

from __future__ import annotations

import contextlib
import json
import random
import re
from functools import cache
from pathlib import Path

import pytest

import scenarios
from harness.errors import UsageError
from harness.model.incident import Incident
from harness.model.log_events import WORDINGS
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.class_file import class_names, class_of, texts
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.readers import READERS_MAX, all_readers, read_readers
from harness.releases.settings import releases_with_settings, settings_of
from harness.releases.written import FIT_LETTERS_MIN, GAP, Written, all_written, letters_in, written_in
from mqlab.ask.explain import answers
from mqlab.ask.explain_names import _recorded, _standings
from mqlab.main import COMMANDS, main
from scenarios.answer_codes import ANSWER_CODES
from scenarios.questions import QUESTIONS, Question
from scenarios.setting_meanings import setting_meanings
from scenarios.setting_values import SETTING_VALUES

SEED = 57
DATA = Path(__file__).parents[1] / "data"
DRAWN = random.Random(SEED)
KEYS = sorted(
    {key for release in releases_with_settings() for of in (settings_of(release),) for key in (*of.broker, *of.client)}
)
WRITTEN = DRAWN.sample([one for one in all_written() if one.level and one.letters >= FIT_LETTERS_MIN], 40)
MISTYPED = random.Random(SEED).sample([key for key in KEYS if len(key) > 8], 40)


@pytest.mark.parametrize("one", WRITTEN, ids=lambda one: one.by)
def test_a_warning_is_told_by_the_class_that_writes_it(one: Written) -> None:
    """As it stands in a log: behind a time and a thread, with values in its gaps."""
    line = f"2026-03-05 18:20:00 WARN SendMessageThread_1 - {GAP.sub('value-7', one.text)}"
    about = {one.name for one in QUESTIONS if one.has_line(line)}
    found = answers(line)
    assert all(answer.kind == "line" or answer.name in about for answer in found)
    told = " ".join(text for answer in found for text in answer.happens)
    # Another text of the same words may be what is named.
    same = [other for other in all_written() if other.fits(line) and other.letters >= one.letters]
    assert any(other.by in told for other in same)
    assert all(answer.do and answer.sure for answer in found)


@pytest.mark.parametrize("key", DRAWN.sample(KEYS, 40))
def test_a_setting_is_told_with_its_defaults(key: str) -> None:
    by_release = {
        release: {of.broker.get(key), of.client.get(key)} - {None}
        for release in releases_with_settings()
        for of in (settings_of(release),)
    }
    found = [answer for answer in answers(key) if answer.name.startswith(f"{key} (")]
    assert found
    told = " ".join(text for answer in found for text in (*answer.happens, *answer.concerns))
    for release, defaults in by_release.items():
        assert release in told
        for default in defaults - {""}:
            assert f"{default} on" in told


@pytest.mark.parametrize("one", WRITTEN, ids=lambda one: one.by)
def test_a_warning_is_no_sign_of_an_incident_whose_words_it_has_not(one: Written) -> None:
    line = f"2026-03-05 18:20:00 WARN SendMessageThread_1 - {GAP.sub('value-7', one.text)}"
    whole = [line, *(f"{other.by.split('.')[-2]}: {other.text}" for other in all_written() if other.fits(line))]
    for found in answers(line):
        if found.name.startswith("a sign of "):
            sign = scenarios.incident(found.name.removeprefix("a sign of ")).sign
            words = [wording.words.strip().lower() for wording in WORDINGS if sign and wording.event in sign.events]
            assert any(one in text.lower() for one in words for text in whole), found.name


@pytest.mark.parametrize("one", WRITTEN, ids=lambda one: one.by)
def test_a_text_that_nothing_writes_is_near_at_most(one: Written) -> None:
    """The words of a warning turned round: nothing logs them so, and no incident is told as if it were sure."""
    words = [word for word in re.findall(r"[A-Za-z]+", one.text) if len(word) > 2]
    with contextlib.suppress(UsageError):
        for found in answers(" ".join(reversed(words))):
            # A text of one word is the same from both ends.
            assert found.kind in ("nearest", "question") or len(words) < 3, (found.kind, found.name)
            assert found.kind != "nearest" or "is not known; the nearest that is:" in found.name
            assert (
                any("need not mean the same" in line or "nothing of your cluster" in line for line in found.sure)
                or len(words) < 3
            )


@pytest.mark.parametrize("key", MISTYPED, ids=str)
def test_a_key_that_is_mistyped_gets_the_nearest_and_is_told_so(key: str) -> None:
    typed = key[: len(key) // 2] + key[len(key) // 2 + 1 :]
    (found,) = answers(typed)
    assert (found.kind, "is not known" in found.name) == ("nearest", True)
    assert key in found.happens
    assert found.sure == ["near by its words alone: it need not mean the same"]


@pytest.mark.parametrize("incident", scenarios.INCIDENTS, ids=lambda incident: incident.name)
def test_each_incident_has_an_answer_with_its_one_advice(incident: Incident) -> None:
    (told,) = answers(incident.name)
    assert (told.kind, told.name, told.happens[0]) == ("incident", incident.name, incident.symptom)
    assert told.do[0].startswith(incident.advice)
    assert told.sure
    assert ("nothing replays it" in told.sure) == (not incident.is_replayed)
    assert any("mqlab reproduce" in line for line in told.see) == incident.is_replayed


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_each_claim_has_an_answer(scenario: Scenario) -> None:
    for claim in scenario.claims:
        (told,) = answers(claim.id.lower())
        assert (told.kind, told.name) == ("claim", claim.id)
        assert told.happens == [claim.says]
        assert told.concerns


@pytest.mark.parametrize(
    ("line", "incident"),
    [
        ("CODE: 2  DESC: [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 231ms", "append-stall"),
        ("[REJECTREQUEST]system busy, start flow control for a while", "append-lock-over-1s"),
        ("WARN - tryLockBatch, message queue locked by other client. Group: g OtherClientId: c", "ordered-lock-handover"),
    ],
)  # fmt: skip
def test_a_line_that_is_a_sign_leads_to_its_incident_and_what_helps(line: str, incident: str) -> None:
    first = answers(line)[0]
    assert first.name == f"a sign of {incident}"
    assert "measured claims about it: " in first.do[0]


@pytest.mark.parametrize(
    ("part", "of"),
    [
        ("No route info of this topic", "DefaultMQProducerImpl"),
        ("CODE: 14  DESC: service not available now, maybe disk full, CL: 0.95 CQ: 0.95", "SendMessageProcessor"),
        ("the consumer's group info not exist", "PullMessageProcessor"),
    ],
)
def test_a_piece_of_a_text_is_enough(part: str, of: str) -> None:
    assert any(of in told for answer in answers(part) for told in answer.happens)


def test_a_code_that_was_given_another_meaning_is_told() -> None:
    told = {answer.name: answer.concerns for answer in answers("CODE: 209")}
    assert set(told) == {"code 209, UPDATE_AND_CREATE_ACL_CONFIG_FAILED", "code 209, POLLING_FULL"}
    assert "reused" in told["code 209, POLLING_FULL"][0]


def test_what_is_not_known_gets_the_nearest_and_is_told_so() -> None:
    (near,) = answers("waitTimeMillInSendQueue")
    assert near.kind == "nearest"
    assert near.happens[0] == "waitTimeMillsInSendQueue"
    assert "not known" in near.name
    with pytest.raises(UsageError, match="nothing like"):
        answers("\u4f60\u597d 12345")
    with pytest.raises(UsageError, match="nothing is asked"):
        answers("   ")


def test_the_command_prints_for_people_and_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "append-stall"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^ +DO  See in the store log", shown, re.MULTILINE)
    assert main(["explain", "--json", "append-stall"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert set(told) == {"asked", "kind", "name", "happens", "concerns", "do", "sure", "see"}


def test_texts_are_read_from_class_files_as_they_were_written() -> None:
    """What is kept is what the jars say, of one release; texts put together of pieces have a gap for each value."""
    kept = {(one.text, one.level, one.by) for one in all_written() if "4.9.7" in one.releases}
    read = {(one.text, one.level, one.by) for one in written_in(ensure_jars("4.9.7"), "4.9.7")}
    assert read == kept
    assert ("logics disk maybe full soon {}, so mark disk full", "error") in {key[:2] for key in read}
    assert all(letters_in(text) for text, _, _ in kept)


@pytest.mark.parametrize("name", ANSWER_CODES)
def test_a_code_is_told_by_what_it_means_what_decides_it_and_what_shows_it(name: str) -> None:
    known = ANSWER_CODES[name]
    releases = [settings_of(release) for release in releases_with_settings()]
    (number,) = {of.codes[name] for of in releases if name in of.codes}
    for asked in (name, f"CODE: {number}"):
        (told,) = (one for one in answers(asked) if one.name == f"code {number}, {name}")
        assert known.means in told.happens
        assert known.do in told.do
        assert [line for line in told.see if line.startswith("mqlab explain ")] == list(told.see)
        assert len(told.see) == len(known.incidents)
    keys = {key for of in releases for key in (*of.broker, *of.client)}
    assert set(known.settings) <= keys
    for command in re.findall(r"`mqlab explain '([^']*)'`", known.do):
        assert answers(command)[0].kind == "line"


def test_a_line_that_is_no_sign_leads_to_the_incident_that_tells_of_it() -> None:
    (told,) = answers("service not available now. It may be caused by one of the following reasons:")[:1]
    assert "store-not-writable" in " ".join((told.name, *told.do))


@pytest.mark.parametrize("incident", [one for one in scenarios.INCIDENTS if one.sign], ids=lambda one: one.name)
def test_every_wording_of_a_sign_leads_to_its_incident(incident: Incident) -> None:
    assert incident.sign is not None
    for wording in WORDINGS:
        if wording.event in incident.sign.events:
            port = "10.0.0.1:9876" if incident.sign.words else ""
            line = f"2026-03-05 18:20:00 WARN SendMessageThread_1 - {wording.words}{port} and more"
            assert f"a sign of {incident.name}" in {one.name for one in answers(line)}, wording.words


@pytest.mark.parametrize(
    ("line", "incidents"),
    [
        ("create mapped file failed", {"page-cache-stress", "map-failed"}),
        ("Create mapped file failed, server is busy or broken.", {"page-cache-stress", "map-failed"}),
        ("the message store is not writable. It may be caused by", {"store-not-writable", "map-failed"}),
        ("message store is not writeable, so putMessage is forbidden 16", {"store-not-writable", "map-failed"}),
    ],
)
def test_a_line_about_a_store_that_takes_no_messages_is_a_sign(line: str, incidents: set[str]) -> None:
    assert {one.name for one in answers(line)} == {f"a sign of {name}" for name in incidents}
    words = next(one.words for one in WORDINGS if one.words.lower() in line.lower())
    assert any(words in one.text for one in all_written())


@pytest.mark.parametrize("code", ["SLAVE_NOT_AVAILABLE", "FLUSH_DISK_TIMEOUT", "CODE: 2", "SYSTEM_BUSY"])
def test_a_code_says_what_the_record_measured(code: str) -> None:
    told = " ".join(line for one in answers(code) for line in one.sure)
    assert re.search(r"measured in [\w-]+: [\w-]+, .+ (holds|does not hold|is not settled)", told), told


def test_the_nearest_are_found_by_words_misspelt_and_are_told_with_what_people_see() -> None:
    (near,) = answers("brokr refuses sends, not writabel")
    assert near.kind == "nearest"
    assert near.sure == ["near by its words alone: it need not mean the same"]
    symptoms = {f"{one.name}: {one.symptom}" for one in scenarios.INCIDENTS}
    assert symptoms & set(near.happens)
    with pytest.raises(UsageError, match="nothing like"):
        answers("quarterly invoice of the kitchen")


@pytest.mark.parametrize(("asked", "incident"), [
    ("REJECTREQUEST", "append-lock-over-1s"), ("TIMEOUT_CLEAN_QUEUE", "append-stall"), ("PC_SYNCHRONIZED", "append-lock-over-1s"),
    ("connect to 10.0.0.1:10911 failed", "broker-address-unreachable"),
])  # fmt: skip
def test_a_piece_of_an_error_leads_to_its_incident(asked: str, incident: str) -> None:
    assert f"a sign of {incident}" in [one.name for one in answers(asked)]


def test_a_sentence_of_a_person_is_no_text_with_a_gap_for_most_of_it() -> None:
    assert answers("the consumer group does not exist")[0].name == "Group {} does not exist"


def test_a_send_status_is_the_code_that_it_stands_for() -> None:
    assert [one.name for one in answers("SEND_OK")] == ["code 0, SUCCESS"]


@pytest.mark.parametrize("name", SETTING_VALUES)
def test_a_value_is_told_and_is_in_the_classes_of_each_release(name: str) -> None:
    (found,) = answers(name)
    assert (found.kind, found.happens) == ("value", [SETTING_VALUES[name].means])
    for release in recorded_releases():
        assert name in texts(class_of(release, SETTING_VALUES[name].classes[release[0]]))
    assert all(scenarios.incident(one) for one in SETTING_VALUES[name].incidents)


def _asked() -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / "questions.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("one", [one for one in _asked() if one["incident"]], ids=lambda one: one["asked"])
def test_a_question_is_answered_by_causes_that_are_told_apart_and_the_next_command(one: dict[str, str]) -> None:
    found = answers(one["asked"])
    told = "\n".join(line for answer in found for line in (answer.name, *answer.happens, *answer.see))
    assert one["incident"] in told
    assert one["cause"] in told
    assert one["next"] in "\n".join(line for answer in found for line in (*answer.do, *answer.see))
    assert found[0].sure


@pytest.mark.parametrize("one", [one for one in _asked() if not one["incident"]], ids=lambda one: one["asked"])
def test_what_no_cause_is_known_of_is_said_to_be_unknown(one: dict[str, str]) -> None:
    with contextlib.suppress(UsageError):
        (found,) = answers(one["asked"])
        assert found.kind == "nearest"
        assert "is not known" in found.name
        assert "need not mean the same" in found.sure[0]


def test_twenty_questions_are_asked() -> None:
    assert len([one for one in _asked() if one["incident"]]) >= 20
    assert [one for one in _asked() if not one["incident"]]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda one: one.name)
def test_a_question_names_what_is_there(question: Question) -> None:
    """Incidents, commands of mqadmin of a recorded release, commands of the lab."""
    for name in question.causes:
        assert scenarios.incident(name)
    commands = [one.split()[:2] for one in question.do]
    assert {name for tool, name in commands if tool == "mqadmin"} <= _mqadmin()
    assert {name for tool, name in commands if tool == "mqlab"} <= {name for names, _ in COMMANDS for name in names}


@cache
def _mqadmin() -> frozenset[str]:
    """What each ``commandName`` of the newest release's tools gives."""
    release = recorded_releases()[-1]
    names = [one for one in class_names(release) if one.startswith("org.apache.rocketmq.tools.command.")]
    return frozenset(text for one in names for text in texts(class_of(release, one)) if text.isalnum())


@pytest.mark.parametrize("asked", ["system busy", "broker busy", "the broker says system busy all the time"])
def test_of_a_busy_broker_the_words_in_brackets_are_told_apart(asked: str) -> None:
    (found,) = answers(asked)
    told = "\n".join(found.happens)
    for words in (
        "[TIMEOUT_CLEAN_QUEUE]",
        "[REJECTREQUEST]",
        "[PCBUSY_CLEAN_QUEUE]",
        "[PC_SYNCHRONIZED]",
        "[OVERLOAD]",
    ):
        assert words in told


def test_an_incident_is_told_with_a_message_of_its_own() -> None:
    """Not with another one's that the same piece is in."""
    for asked in ("busy, start flow control for a while, period in queue", "[OVERLOAD]system busy"):
        signs = [one for one in answers(asked) if one.kind == "line"]
        assert signs
        for found in signs:
            told = [line for line in found.happens if " throws or answers " in line]
            incident = scenarios.incident(found.name.removeprefix("a sign of "))
            words = [one.words.strip() for one in WORDINGS if incident.sign and one.event in incident.sign.events]
            assert all(any(one in line for one in words) for line in told)


def test_what_a_setting_does_is_told_by_a_class_that_reads_it() -> None:
    assert len(setting_meanings()) > 100
    for (whose, key), meaning in setting_meanings().items():
        readers = all_readers().get((whose, key), {})
        assert not meaning.by or meaning.by in readers, key
        (found,) = (one for one in answers(key) if one.name.startswith(f"{key} (of a {whose}"))
        assert found.happens[0] == meaning.does


@pytest.mark.parametrize(("whose", "key", "reader"), [
    ("broker", "waitTimeMillsInSendQueue", "broker.latency.BrokerFastFailure"),
    ("broker", "timerCongestNumEachSlot", "store.timer.TimerMessageStore"),
    ("client", "sendMsgTimeout", "client.impl.producer.DefaultMQProducerImpl"),
])  # fmt: skip
def test_who_reads_a_setting_is_what_the_classes_of_a_release_say(whose: str, key: str, reader: str) -> None:
    assert reader in read_readers("5.5.0", whose)[key]
    kept = {
        key for (of, key), names in all_readers().items() if of == whose and any("5.5.0" in on for on in names.values())
    }
    assert kept == {key for key, names in read_readers("5.5.0", whose).items() if 0 < len(names) <= READERS_MAX}
    if (whose, key) not in setting_meanings():
        (found,) = answers(key)
        assert found.happens[0].startswith("What it does the lab does not tell; what reads it: ")
        assert reader in found.happens[0]


@pytest.mark.parametrize(("asked", "word"), [
    ("what is REJECTREQUEST?", "REJECTREQUEST"), ("what does waitTimeMillsInSendQueue mean", "waitTimeMillsInSendQueue"),
    ("What is the SYNC_FLUSH setting", "SYNC_FLUSH"), ("meaning of BUSY-12", "BUSY-12"),
])  # fmt: skip
def test_a_question_about_a_word_is_answered_as_the_word(asked: str, word: str) -> None:
    assert answers(asked) == answers(word)


def test_a_code_in_words_is_the_code() -> None:
    assert [one.name for one in answers("slave not available")] == ["code 11, SLAVE_NOT_AVAILABLE"]
    assert not any("broker-slow" in line for one in answers("FLUSH_SLAVE_TIMEOUT") for line in (*one.sure, *one.see))


@pytest.mark.parametrize(("line", "by"), [
    ("Please set the ROCKETMQ_HOME variable in your environment to match the location of the RocketMQ installation", "Startup"),
    ("Slave's brokerId must be > 0", "BrokerStartup"),
    ("The config enableControllerMode and enableDLegerCommitLog cannot both be true.", "BrokerStartup"),
    ('The Name Server Address[a:b] illegal, please set it as follows, "127.0.0.1:9876;192.168.0.1:9876"', "BrokerStartup"),
    ("slave fall behind master", "BrokerController"),
])  # fmt: skip
def test_what_a_node_prints_as_it_ends_its_start_is_told(line: str, by: str) -> None:
    told = " ".join(text for found in answers(line) for text in found.happens)
    assert by in told


def test_where_a_claim_does_not_hold_it_is_told_what_is_so() -> None:
    refuted = {line.claim for lines in _recorded("en").values() for line in lines if line.status == VerdictKind.REFUTED}
    assert refuted
    for claim in refuted:
        (standing,) = [one for one in _standings(claim) if one.startswith("does not hold on")]
        instead = standing.partition("; instead: ")[2]
        assert len(instead.split()) > 3
    (busy,) = _standings("BUSY-10")
    assert "; instead: the task is scheduled every 10 milliseconds; measured: Requests were refused in" in busy


DISK = "the disk is full, or is said to be"
TIMEOUT = "sends time out"


@pytest.mark.parametrize(("line", "names"), [
    ("physic disk maybe full soon 0.91, so mark disk full, storePathPhysic=/data", ["a sign of disk-is-full", DISK]),
    ("2026-03-05 18:20:00 ERROR x - logics disk maybe full soon 0.91, so mark disk full", ["a sign of disk-is-full", DISK]),
    ("disk space will be full soon, but delete file failed.", [DISK, "disk space will be full soon, but delete file failed."]),
    ("RemotingTooMuchRequestException: sendDefaultImpl call timeout", [TIMEOUT, "sendDefaultImpl call timeout"]),
    ("wait response on the channel <10.0.0.1:10911> timeout, 3000(ms)", [TIMEOUT]),
    ("Send [3] times, still failed, cost [9012]ms", [TIMEOUT]),
    ("invokeAsync call the addr[10.0.0.1:10911] timeout", [TIMEOUT]),
    ("wait response from 10.0.0.1:10911 timeout :3000ms. Request: x", [TIMEOUT]),
    ("topic[T] not exist, apply first please!", ["a topic has no route, or does not exist"]),
    ("the consumer group[g] not online", ["a group is not online, or its offsets are to be reset"]),
    ("2026-03-05 18:20:00 ERROR x - the message queue locked Failed, Group: g", ["a queue cannot be locked"]),
    ("msgContentCheck: message topic length is too long, topic=t, topic length=300, threshold=127", ["a message is too long"]),
    ("Lock failed,MQ already started", ["a sign of store-locked", "a broker does not start"]),
    ("the cached message count exceeds the threshold 1000", ["a sign of consumer-too-slow", "a sign of one-message-holds-offset"]),
    ("connect to 10.0.0.1:9876 failed", ["a sign of name-server-unreachable"]),
    ("connect to <10.0.0.1:19876> failed", ["a sign of name-server-unreachable"]),
    ("physic disk space OK 0.5, so mark disk ok, storePathPhysic=/data", ["the end of disk-is-full"]),
    ("physic disk space OK0.5, so mark disk ok", ["the end of disk-is-full"]),
    ("physic disk space of commitLog OK 0.5, so mark disk ok", ["the end of disk-is-full"]),
])  # fmt: skip
def test_a_line_whose_topic_is_known_comes_with_the_answer_for_it(line: str, names: list[str]) -> None:
    """In this order; other answers may stand between, of which none is of another topic."""
    told = [one.name for one in answers(line)]
    assert [name for name in told if name in names] == names
    assert {name for name in told if name in {one.name for one in QUESTIONS}} <= set(names)
    assert told[0] == names[0]


@pytest.mark.parametrize("line", ["reviveQueueId=3, everything is fine", "reviveQueueId=3, ok", "Proxy startup failed"])
def test_a_line_that_goes_on_otherwise_than_what_is_written_is_near_at_most(line: str) -> None:
    (told,) = answers(line)
    assert told.kind == "nearest"
    assert "is not known; the nearest that is:" in told.name
    assert told.sure == ["near by its words alone: it need not mean the same"]


def test_a_line_that_was_cut_where_a_value_stands_is_the_line() -> None:
    for cut in ("physic disk maybe full soon 0.91", "physic disk maybe full soon 0.91, so mark"):
        assert answers(cut)[0].name == "a sign of disk-is-full"


def test_too_few_replicas_are_explained_with_the_keys_that_decide() -> None:
    (told,) = answers("CODE: 1 DESC: in-sync replicas not enough")[:1]
    assert told.name == "a sign of in-sync-replicas-short"
    assert all(key in " ".join(told.do) for key in ("inSyncReplicas", "minInSyncReplicas", "enableSlaveActingMaster"))


def test_a_slave_that_is_late_is_answered_on_newer_releases_with_more_copies_alone() -> None:
    (told,) = answers("FLUSH_SLAVE_TIMEOUT")[:1]
    assert "with inSyncReplicas above 1 alone" in " ".join(told.happens)
    assert "still needed on 5.3.3 and 5.5.0 with inSyncReplicas above 1" in " ".join(told.do)
    assert "do not come any more" not in " ".join((*told.happens, *told.sure))


@pytest.mark.parametrize("text", ["transientStorePoolEnable 要不要开", "should I set transientStorePoolEnable here"])
def test_a_question_that_names_one_setting_gets_the_setting(text: str) -> None:
    (answer,) = answers(text)
    assert (answer.kind, answer.name.split()[0]) == ("setting", "transientStorePoolEnable")


def test_a_question_that_names_two_settings_is_near_at_most() -> None:
    assert {one.kind for one in answers("transientStorePoolEnable osPageCacheBusyTimeOutMills 哪个")} == {"nearest"}
