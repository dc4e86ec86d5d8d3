"""What the judge says of a broker.conf is what the release's own ``MixAll.properties2Object`` does when it is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.model.broker_conf import Fate, JudgedKey
from harness.releases.border import HIDDEN
from harness.releases.jars import ensure_jars, recorded_releases
from harness.releases.judged_conf import OF_THE_START, judge_file
from harness.releases.properties import read_conf
from tests.lib.conf_oracle import Answer, answers, asked, hard_files, is_brokers, stock


def disagreement(judged: JudgedKey, answer: Answer) -> str:
    """Empty where the two say the same."""
    match judged.fate:
        case Fate.UNKNOWN:
            right = not answer.asked
        case Fate.IGNORED:
            right = answer.asked and answer.after == answer.before and judged.value in ("", answer.before)
        case Fate.READ | Fate.DEAD:
            # What is of a secret is not read from the user's file, and so not told.
            same = judged.text == HIDDEN or judged.value == answer.after
            right = (answer.asked and same) or judged.key in OF_THE_START
    return (
        ""
        if right
        else f"{judged.key}={judged.text!r} is {judged.fate} as {judged.value!r}, and the release says {answer}"
    )


@pytest.mark.parametrize("release", recorded_releases())
def test_the_stock_files_of_eight_releases_are_read_as_the_release_reads_them(release: str, tmp_path: Path) -> None:
    files = stock(tmp_path)
    brokers = [path for of_release in files.values() for path in of_release if is_brokers(path)]
    assert len(brokers) == 144
    wrong = []
    for path, answer in asked(release, brokers, ensure_jars(release)).items():
        judged = {one.key: one for one in judge_file(read_conf(path), release).keys}
        assert judged.keys() == answer.keys()
        wrong += [f"{path}: {says}" for key, one in judged.items() if (says := disagreement(one, answer[key]))]
        kept = answers().get(release, {})
        if path in files.get(release, ()):
            assert all(
                kept[key][one.text] == (answer[key].after if answer[key].asked else None) for key, one in judged.items()
            )
    assert not wrong


@pytest.mark.parametrize("release", recorded_releases())
def test_hard_values_and_hard_syntax_are_read_as_the_release_reads_them(release: str, tmp_path: Path) -> None:
    files = hard_files(tmp_path / "hard", release)
    wrong = []
    for path, answer in asked(release, files, ensure_jars(release)).items():
        judged = {one.key: one for one in judge_file(read_conf(path), release).keys}
        assert judged.keys() == answer.keys()
        wrong += [f"{path.name}: {says}" for key, one in judged.items() if (says := disagreement(one, answer[key]))]
    assert not wrong
