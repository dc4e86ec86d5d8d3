"""What an analysis leaves in the temporary folder: nothing, even when it is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.scratch import PREFIX, scratch_folder
from harness.leases.healing import clean
from harness.paths import PACKAGES

HOLDS = "import time; from analysis.scratch import scratch_folder; print(scratch_folder(), flush=True); time.sleep(600)"
ENDS = "from analysis.scratch import scratch_folder; (scratch_folder() / 'shuffle').write_text('x')"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def _start(code: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code], cwd=PACKAGES, stdout=subprocess.PIPE, text=True)


def test_a_folder_goes_with_its_process(tmp_path: Path) -> None:
    with _start(ENDS) as process:
        assert process.wait(60) == 0
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_start_and_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "somebody-else").mkdir()
    with _start(HOLDS) as killed, _start(HOLDS) as lives:
        assert killed.stdout is not None
        assert lives.stdout is not None
        left, kept = Path(killed.stdout.readline().strip()), Path(lives.stdout.readline().strip())
        (left / "shuffle").write_text("x")
        killed.send_signal(signal.SIGKILL)
        killed.wait(60)
        assert left.is_dir()
        own = scratch_folder()
        assert {path.name for path in tmp_path.iterdir()} == {"somebody-else", kept.name, own.name}
        assert own.name.startswith(PREFIX)
        lives.kill()


KEEPS = """
import sys, time
from pathlib import Path
from harness.leases.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "unpacked").write_text("x")
    print(folder, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def _keep(state: Path, seconds: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", KEEPS, str(state), str(seconds)]
    return subprocess.Popen(argv, cwd=PACKAGES, stdout=subprocess.PIPE, text=True)


def test_a_folder_of_a_command_goes_with_it(tmp_path: Path) -> None:
    with _keep(tmp_path, 0) as process:
        assert process.wait(60) == 0
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_killed_command_left_is_cleaned_and_a_living_ones_is_not(tmp_path: Path) -> None:
    with _keep(tmp_path, 600) as killed, _keep(tmp_path, 600) as lives:
        assert killed.stdout is not None
        assert lives.stdout is not None
        left, kept = Path(killed.stdout.readline().strip()), Path(lives.stdout.readline().strip())
        killed.kill()
        killed.wait(60)
        clean(tmp_path, dry_run=True)
        assert (left / "unpacked").exists()
        clean(tmp_path)
        assert list((tmp_path / "scratch").iterdir()) == [kept]
        lives.kill()
