"""The language of what a person reads: which one, what is looked up, and that data stay English."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import re

import pytest

from analysis.verdicts.anew import anew, line_anew, without
from harness.language import CHINESE, ENGLISH, Phrase, joined, language, names_in, phrase, tag, translated
from harness.printable import counted
from mqlab.ask.recorded import committed_ledger

ASKED_BY = ("MQLAB_LANG", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    for name in ASKED_BY:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.fixture
def chinese(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("MQLAB_LANG", "zh")


@pytest.mark.parametrize(
    "value", ["zh", "zh_CN", "zh-CN", "zh_CN.UTF-8", "zh_CN.GBK", "zh_CN.utf8@pinyin", "zh_SG", "zh-Hans"]
)
@pytest.mark.parametrize("name", ASKED_BY)
def test_a_locale_that_names_simplified_chinese_is_chinese(
    environment: pytest.MonkeyPatch, name: str, value: str
) -> None:
    environment.setenv(name, value)
    assert (language(), tag()) == (CHINESE, "zh-CN")


@pytest.mark.parametrize(
    "value", ["", "C", "POSIX", "C.UTF-8", "en_US.UTF-8", "de_DE", "zh_TW.UTF-8", "zhx", "ja_JP.eucJP"]
)
def test_any_other_locale_is_english(environment: pytest.MonkeyPatch, value: str) -> None:
    environment.setenv("LC_ALL", value)
    assert (language(), tag()) == (ENGLISH, "en")


def test_the_first_variable_that_is_set_decides(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("LANG", "zh_CN.UTF-8")
    assert language() == CHINESE
    environment.setenv("LC_MESSAGES", "en_US.UTF-8")
    assert language() == ENGLISH
    environment.setenv("LC_ALL", "zh_CN.UTF-8")
    assert language() == CHINESE
    environment.setenv("MQLAB_LANG", "en")
    assert language() == ENGLISH


def test_a_phrase_is_english_wherever_it_is_kept() -> None:
    told = phrase("{count:,} of {all} at {share:.2f}", count=1200, all=3000, share=0.5)
    assert told == "1,200 of 3000 at 0.50"
    assert json.dumps({told: [told]}) == '{"1,200 of 3000 at 0.50": ["1,200 of 3000 at 0.50"]}'
    for again in (copy.deepcopy(told), pickle.loads(pickle.dumps(told))):
        assert isinstance(again, Phrase)
        assert (again, again.template, again.figures) == (told, told.template, told.figures)


def test_braces_that_are_no_figure_stay() -> None:
    assert phrase("in place of {} and {a}") == "in place of {} and {a}"
    assert phrase("{a} {b} {}", a=1) == "1 {b} {}"
    assert names_in("{a} {b:,} {} {a}") == ("a", "a", "b:,")


@pytest.mark.usefixtures("chinese")
def test_a_phrase_is_said_with_its_figures_in_chinese() -> None:
    assert translated("{start} to {end}", start=1, end=2) == "1 至 2"
    assert translated(phrase("none")) == "无"
    inner = phrase("{name}: {says}", name="x", says=counted(2, "append"))
    assert translated(inner) == "x：2 次追加写"
    assert translated(joined("; ", ("a", phrase("none")))) == "a；无"
    assert translated(phrase("what no catalogue has, {what}", what=phrase("none"))) == "what no catalogue has, 无"
    assert translated("what no catalogue has") == "what no catalogue has"


@pytest.mark.usefixtures("chinese")
def test_a_sentence_within_another_one_loses_its_full_stop() -> None:
    said = phrase(
        "{name}: {says}", name="x", says=joined("; ", (phrase("Nothing of it was measured."), phrase("none")))
    )
    assert translated(said) == "x：其中没有一项测到；无"
    assert translated(joined("； ", (phrase("none"), phrase("none")))) == "无；无"


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("in none of 40 deaths (below 8.8 %, in 20 deployments)", "40 次死亡中无一例（低于 8.8 %，20 个集群）"),
        ("in 2 of 36 stalls", "36 次停顿中有 2 例"),
        ("All 36 owners (above 92 %, in 4 deployments)", "全部 36 个持有者（高于 92 %，4 个集群）"),
        ("61.5 s (in each of 5 deployments of 9 owners)", "61.5 s（5 个集群共 9 个持有者都相同）"),
        ("61.5 s (60.8–62.3 s in 5 deployments)", "61.5 s（60.8–62.3 s，5 个集群）"),
        ("38 % of owners (30 to 40 in 3 deployments; not measured in 2 more)",
         "持有者的 38 %（30 至 40，3 个集群；另有 2 例未测）"),
        ("in 3 of 8 deployments (not measured in 2, undecided in 1)", "8 个集群中有 3 例（2 例未测，1 例未定）"),
        ("an unknown number of stalls [not measured]", "数量未知的停顿（未测）"),
        ("other than claimed in 1 of 40 owners (below 9 %, in 5 deployments)",
         "与论断不符：40 个持有者中有 1 例（低于 9 %，5 个集群）"),
        ("30.2 s in 12 deployments", "30.2 s（12 个集群）"),
        ("1.2 s", "1.2 s"),
    ],
)  # fmt: skip
def test_what_was_found_of_a_part_is_read_back(words: str, said: str) -> None:
    made = anew(words)
    assert (str(made), translated(made)) == (words, said)


@pytest.mark.usefixtures("chinese")
def test_the_ledgers_sentences_are_read_back_and_stay_what_they_are() -> None:
    found = committed_ledger()
    sentences = [line.summary for line in found]
    assert sum(isinstance(one, Phrase) for one in sentences) > 0.95 * len(found)
    kept = [json.loads(json.dumps(dataclasses.asdict(line), default=str))["summary"] for line in found]
    assert kept == list(map(str, sentences))


def test_in_english_nothing_is_read_back(environment: pytest.MonkeyPatch) -> None:
    import scenarios

    line = committed_ledger()[0]
    claim = next(claim for scenario in scenarios.ALL for claim in scenario.claims if claim.id == line.claim)
    assert line_anew(claim, line) is line


@pytest.mark.usefixtures("chinese")
def test_what_is_left_out_of_a_sentence_is_left_out_of_its_figures() -> None:
    figures = {"name": "x", "says": anew("in 2 of 36 stalls (below 18 %)")}
    sentence = Phrase("x: in 2 of 36 stalls (below 18 %)", "{name}: {says}", figures)
    told = joined("", (sentence, phrase(". ")))
    left = without(re.compile(r" \([^()]*\)"), told)
    assert (str(left), translated(left)) == ("x: in 2 of 36 stalls. ", "x：36 次停顿中有 2 例。")
    assert without(re.compile("x"), "axb") == "ab"
