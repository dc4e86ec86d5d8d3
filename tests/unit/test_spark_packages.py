"""The lab's packages as an archive for executors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import EXIT_OK, EXIT_USAGE
from mqlab.main import main

LOOK = """\
import analysis.evidence.consumption, analysis.logs.tables, harness
print(analysis.evidence.consumption.__file__, harness.__file__, analysis.logs.tables.parsers()[0].__file__, sep="\\n")
"""


def test_the_archive_alone_has_what_an_analysis_imports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "packages of the lab.zip"
    assert main(["runs", "spark-packages", str(file)]) == EXIT_OK
    assert capsys.readouterr().out == f"{file}\n"
    seen = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(file)!r})\n{LOOK}"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    found = seen.stdout.splitlines()
    assert len(found) == 3
    assert all(name.startswith(f"{file}/") for name in found)


def test_the_same_code_makes_the_same_archive(tmp_path: Path) -> None:
    for name in ("one.zip", "two.zip"):
        main(["runs", "spark-packages", str(tmp_path / name)])
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_another_kind_of_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", "spark-packages", str(tmp_path / "packages.tar")])
    assert ended.value.code == EXIT_USAGE
    assert "is not a file.zip that can be written in a folder that exists" in capsys.readouterr().err
