"""The findings of the committed record, of which the ledger has to be the one that record and rules make (test_ledger.py)."""

from pathlib import Path

from harness.model.verdicts import VerdictKind
from mqlab.ask.recorded import committed_ledger
from scenarios.releases import RELEASES
from tests.lib.kept_findings import RECORD, of_record, require_kept


def test_the_record_is_found_to_show_what_it_showed(tmp_path: Path) -> None:
    require_kept(RECORD, of_record(committed_ledger()), tmp_path)


def test_a_sentence_tells_of_arms_that_decide_nothing_and_a_line_of_what_another_experiment_showed() -> None:
    lines = {(one.claim, one.release, one.backend): one for one in committed_ledger()}
    for release in RELEASES:
        for claim in ("BUSY-19", "ORDER-08"):
            assert "not measured" not in lines[claim, release, "local"].summary
    assert VerdictKind.REFUTED in {one.verdict for one in lines["BUSY-19", "4.6.0", "compose"].earlier}
