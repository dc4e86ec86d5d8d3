"""What commands and analyses leave: nothing in the temporary folder, and nothing at all once the next one has begun."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from harness.leases.healing import clean
from harness.paths import PACKAGES
from harness.scratch import scratch_of_process

HOLDS = """
import sys, time
from pathlib import Path
from harness.scratch import scratch_of_process
print(scratch_of_process(Path(sys.argv[1])), flush=True)
time.sleep(float(sys.argv[2]))
"""


def _start(code: str, state: Path, seconds: int) -> subprocess.Popen[str]:
    argv = [sys.executable, "-c", code, str(state), str(seconds)]
    return subprocess.Popen(argv, cwd=PACKAGES, stdout=subprocess.PIPE, text=True)


def test_a_folder_goes_with_its_process(tmp_path: Path) -> None:
    with _start(HOLDS, tmp_path, 0) as process:
        assert process.wait(60) == 0
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_killed_process_left_goes_with_the_next_start_and_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "somebody-else").mkdir()
    with _start(HOLDS, tmp_path, 600) as killed, _start(HOLDS, tmp_path, 600) as lives:
        assert killed.stdout is not None
        assert lives.stdout is not None
        left, kept = Path(killed.stdout.readline().strip()), Path(lives.stdout.readline().strip())
        (left / "shuffle").write_text("x")
        killed.send_signal(signal.SIGKILL)
        killed.wait(60)
        assert left.is_dir()
        own = scratch_of_process(tmp_path)
        assert {path.name for path in (tmp_path / "scratch").iterdir()} == {kept.name, own.name}
        assert [path.name for path in tmp_path.iterdir() if path.name != "scratch"] == ["somebody-else"]
        lives.kill()


KEEPS = """
import sys, time
from pathlib import Path
from harness.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "unpacked").write_text("x")
    print(folder, flush=True)
    time.sleep(float(sys.argv[2]))
"""


def test_a_folder_of_a_command_goes_with_it(tmp_path: Path) -> None:
    with _start(KEEPS, tmp_path, 0) as process:
        assert process.wait(60) == 0
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_killed_command_left_is_cleaned_and_a_living_ones_is_not(tmp_path: Path) -> None:
    with _start(KEEPS, tmp_path, 600) as killed, _start(KEEPS, tmp_path, 600) as lives:
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
