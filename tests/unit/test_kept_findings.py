"""The findings of the committed record, of which the ledger has to be the one that record and rules make (test_ledger.py)."""

from pathlib import Path

from mqlab.recorded import committed_ledger
from tests.lib.kept_findings import RECORD, of_record, require_kept


def test_the_record_is_found_to_show_what_it_showed(tmp_path: Path) -> None:
    require_kept(RECORD, of_record(committed_ledger()), tmp_path)
