"""The cache, and that nothing but a cache of the lab's is removed as one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import EXIT_OK, EXIT_USAGE
from harness.releases.cache import FOLDERS, MARK, cache_folder, is_marked
from mqlab.main import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("MQLAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def _files(*places: str) -> Callable[[Path], None]:
    def make(home: Path) -> None:
        for place in places:
            (home / place).parent.mkdir(parents=True, exist_ok=True)
            (home / place).write_text("x")

    return make


def _linked(home: Path) -> None:
    home.mkdir()
    (home.parent / "elsewhere").mkdir()
    (home / "maven").symlink_to(home.parent / "elsewhere")


SOMEBODY_ELSES: dict[str, Callable[[Path], None]] = {
    "a home": _files(".bashrc", "letters/one.txt"),
    "a project": _files("classes/Main.class"),
    "environments": _files("python/bin/python"),
    "a repository of Maven": _files("maven/org/one.jar"),
    "a cache with something beside": _files("maven/.5.5.0.verified.json", "letter.txt"),
    "a file called as a folder": _files("maven/.5.5.0.verified.json", "spark"),
    "a link": _linked,
}


@pytest.mark.parametrize("kind", SOMEBODY_ELSES)
def test_what_is_not_a_cache_of_the_labs_is_not_removed_and_gets_no_mark(
    home: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    SOMEBODY_ELSES[kind](home)
    before = sorted(home.rglob("*"))
    for used in (False, True):
        if used and not (home / "spark").is_file():
            cache_folder("spark")
            assert not is_marked(home)
            (home / "spark").rmdir()
        for more in ((), ("--dry-run",)):
            assert main(["runs", "clean", "--cache", *more]) == EXIT_USAGE
            captured = capsys.readouterr()
            assert f"{home} (MQLAB_CACHE) is not removed: it lacks {MARK}" in " ".join(captured.err.split())
            assert not captured.out
        assert sorted(home.rglob("*")) == before


def test_a_cache_that_the_lab_has_made_is_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in sorted(FOLDERS):
        (cache_folder(name) / "file").write_text("x")
    (home / "image-abc.tar").write_text("a layer of an image whose building was killed")
    assert main(["runs", "clean", "--cache", "--dry-run"]) == EXIT_OK
    assert (home / "maven" / "file").exists()
    assert main(["runs", "clean", "--cache"]) == EXIT_OK
    assert not home.exists()
    assert f"removed {home}" in capsys.readouterr().out.splitlines()
    assert main(["runs", "clean", "--cache"]) == EXIT_OK, "there is none any more"


def test_what_somebody_has_put_beside_it_stays(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (cache_folder("maven") / "file").write_text("x")
    (home / "letter.txt").write_text("x")
    (home.parent / "elsewhere").mkdir()
    (home.parent / "elsewhere" / "kept").write_text("x")
    (home / "python").symlink_to(home.parent / "elsewhere")
    assert main(["runs", "clean", "--cache"]) == EXIT_OK
    assert sorted(path.name for path in home.iterdir()) == [MARK, "letter.txt"]
    assert f"removed {home} but for what is not the lab's: letter.txt" in capsys.readouterr().out
    assert (home.parent / "elsewhere" / "kept").exists()


def test_a_cache_of_before_there_was_a_mark_gets_it_when_it_is_used(home: Path) -> None:
    _files("maven/.tools.verified.json", "classes/recorder-1/A.class", "image-x.tar")(home)
    assert main(["runs", "clean", "--cache"]) == EXIT_USAGE
    assert not is_marked(home)
    cache_folder("spark")
    assert is_marked(home)
    assert main(["runs", "clean", "--cache"]) == EXIT_OK
    assert not home.exists()


def test_a_link_to_a_cache_is_emptied_and_stays(home: Path) -> None:
    (home.parent / "large disk").mkdir()
    home.symlink_to(home.parent / "large disk")
    (cache_folder("maven") / "file").write_text("x")
    assert main(["runs", "clean", "--cache"]) == EXIT_OK
    assert home.is_symlink()
    assert not list((home.parent / "large disk").iterdir())


def test_a_cache_that_cannot_be_written_to_is_used_without_a_mark(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "maven").mkdir(parents=True)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    assert cache_folder("maven") == home / "maven"
    assert not is_marked(home)
