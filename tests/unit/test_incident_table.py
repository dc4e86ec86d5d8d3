"""docs/incidents.md: what the ledger says of what users reported."""

from __future__ import annotations

import dataclasses

import pytest

import scenarios
from harness.audit.exposed import remote_configuration
from harness.audit.reading import NameServerReading, Reading
from harness.model.findings import Finding
from harness.model.incident import Incident
from harness.model.verdicts import VerdictKind
from mqlab.ask.recorded import committed_ledger
from tools.incident_table import DOCUMENT, document

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
ONE = dataclasses.replace(
    scenarios.find("busy-flag-stuck"), name="flag-stuck", symptom="It is busy.", threads=("issues/285", "pull/3460"),
    faces={"": "X-1"}, advice="a restart", cures=("X-2", "X-3"),
)  # fmt: skip
TWO = dataclasses.replace(ONE, faces={"at rest": "X-1", "under load": "X-4"})


@pytest.fixture(scope="module")
def line() -> Finding:
    return next(one for one in committed_ledger() if one.backend == "local")


def _row(line: Finding, reported: Incident = ONE, **verdicts: dict[str, VerdictKind]) -> tuple[list[str], str, str]:
    """The first three cells, and the releases and what avoids it."""
    lines = [
        dataclasses.replace(line, claim=claim.replace("_", "-"), release=release, verdict=verdict)
        for claim, found in verdicts.items()
        for release, verdict in found.items()
    ]
    elsewhere = dataclasses.replace(line, claim="X-1", release="4.6.0", backend="compose", verdict=REFUTED)
    (row,) = [one for one in document([*lines, elsewhere], [reported]).splitlines() if one.startswith("| [flag-stuck]")]
    *first, has, avoided = [cell.strip() for cell in row.strip("|").split("|")]
    return first, has, avoided


def test_the_committed_document_is_the_one_that_the_ledger_makes() -> None:
    assert DOCUMENT.read_text("utf-8") == document(committed_ledger()), "python -m tools.ledger --recompute"


def test_an_incident_that_nobody_has_run_says_so(line: Finding) -> None:
    _, has, avoided = _row(line)
    assert has == "not measured yet"
    assert avoided == "a restart<br>X-2: not measured yet<br>X-3: not measured yet"


def test_a_row_names_the_threads_and_the_releases_by_their_verdicts(line: Finding) -> None:
    happens = {"4.6.0": CONFIRMED, "4.9.7": REFUTED, "5.3.3": CONFIRMED, "5.5.0": REFUTED}
    cure = dict.fromkeys(happens, CONFIRMED)
    first, has, avoided = _row(line, X_1=happens, X_2={"4.6.0": CONFIRMED, "5.3.3": UNDECIDED}, X_3=cure)
    assert first == [
        "[flag-stuck](../scenarios/flag_stuck.py)",
        "It is busy.",
        "285, 3460",
    ]
    assert has == "4.6.0, 5.3.3; gone in 4.9.7, back in 5.3.3, gone in 5.5.0"
    assert avoided == (
        "a restart<br>X-2: confirmed on 4.6.0, undecided on 5.3.3; not run on 4.9.7, 5.5.0<br>X-3: confirmed on all"
    )


def test_what_no_release_has_is_told_apart_from_what_is_undecided_and_what_was_not_run(line: Finding) -> None:
    _, has, _ = _row(line, X_1={"4.6.0": REFUTED, "4.9.7": REFUTED, "5.5.0": UNDECIDED})
    assert has == "none; undecided on 5.5.0; not run on 5.3.3"
    assert _row(line, X_1={"4.6.0": UNDECIDED})[1] == "undecided on 4.6.0; not run on 4.9.7, 5.3.3, 5.5.0"


def test_each_face_has_its_own_releases_and_changes(line: Finding) -> None:
    rest = {"4.6.0": CONFIRMED, "4.9.7": REFUTED, "5.3.3": REFUTED, "5.5.0": REFUTED}
    load = {"4.6.0": REFUTED, "4.9.7": CONFIRMED, "5.3.3": CONFIRMED, "5.5.0": CONFIRMED}
    assert _row(line, TWO, X_1=rest, X_4=load)[1] == (
        "at rest: 4.6.0; gone in 4.9.7<br>under load: 4.9.7, 5.3.3, 5.5.0; new in 4.9.7"
    )
    assert _row(line, TWO, X_1=rest, X_4=dict.fromkeys(load, CONFIRMED))[1].endswith("<br>under load: all")


def test_a_face_is_back_only_after_it_was_there(line: Finding) -> None:
    came_and_went = {"4.6.0": REFUTED, "4.9.7": CONFIRMED, "5.3.3": REFUTED, "5.5.0": CONFIRMED}
    assert _row(line, X_1=came_and_went)[1] == "4.9.7, 5.5.0; new in 4.9.7, gone in 5.3.3, back in 5.5.0"


def test_an_undecided_release_hides_with_which_of_two_a_face_changed(line: Finding) -> None:
    happens = {"4.6.0": CONFIRMED, "4.9.7": UNDECIDED, "5.3.3": REFUTED, "5.5.0": CONFIRMED}
    assert _row(line, X_1=happens)[1] == "4.6.0, 5.5.0; back in 5.5.0; undecided on 4.9.7"


def test_a_cure_says_on_which_releases_nothing_is_to_be_cured_or_a_setting_is_missing() -> None:
    text = document(committed_ledger())
    assert "X-busy-flag-stuck-04: confirmed on 4.6.0, 5.3.3; not applicable on 4.9.7, 5.5.0" in text
    assert "X-sync-master-acknowledges-alone-03: confirmed on 5.3.3, 5.5.0; not applicable on 4.6.0, 4.9.7" in text
    assert "X-delayed-message-fails-once-04: confirmed on 4.6.0, 4.9.7; not run on 5.3.3, 5.5.0" in text


def test_what_the_audit_tells_has_its_releases_from_the_audit() -> None:
    (row,) = [one for one in document([]).splitlines() if one.startswith("| [remote-configuration]")]
    assert "a broker: before 4.9.6, and of 5.x before 5.1.1; 4.6.0 of the measured ones" in row
    assert "a name server: before 4.9.7, and of 5.x before 5.1.2; 4.6.0 of the measured ones" in row
    server = NameServerReading(address="127.0.0.1:9876", version=(4, 6, 0))
    found = remote_configuration(Reading(at_s=0.0, brokers=(), name_servers=(server,)))
    assert {one.kind for one in found} == {scenarios.incident("remote-configuration").audited_as_itself}
