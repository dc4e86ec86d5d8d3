"""What the documents say of the tree is true of it."""

from __future__ import annotations

import re
import tomllib

import pytest

import harness
import mqlab.incident
import scenarios
from harness.model.loads import LoadValue
from harness.paths import PACKAGES

TOPS = ("mqlab", "scenarios", "harness", "analysis")


def _packages(top: str) -> set[str]:
    """Those a level below a top package, and its modules."""
    folder = PACKAGES / top
    found = {path.parent.name for path in folder.glob("*/__init__.py")}
    return found | {path.stem for path in folder.glob("*.py") if not path.stem.startswith("_")}


def test_the_tour_names_every_package_of_the_harness_and_nothing_else() -> None:
    assert harness.__doc__ is not None
    lines = re.findall(r"^- (.*?): ", harness.__doc__, re.MULTILINE)
    assert {name for line in lines for name in re.findall(r"``(\w+)``", line)} == _packages("harness")


@pytest.mark.parametrize("top", ["harness", "analysis"])
def test_the_architecture_lists_every_package(top: str) -> None:
    text = (PACKAGES / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = set(re.findall(rf"^\| `{top}\.(\w+)` \|", text, re.MULTILINE))
    folders = {path.parent.name for path in (PACKAGES / top).glob("*/__init__.py")}
    assert folders <= listed <= _packages(top)


def test_the_document_of_loads_names_the_incidents_whose_rate_locust_makes() -> None:
    text = " ".join((PACKAGES / "docs" / "load.md").read_text(encoding="utf-8").split())
    told = re.search(r"## Locust in incidents (\w+) incidents have their rate made by Locust's users: ([^.]*)\.", text)
    assert told is not None
    steered = [one.name for one in scenarios.ALL if any(getattr(arm.load, "locust", None) for arm in one.arms)]
    assert re.findall(r"`([a-z-]+)`", told[2]) == steered
    assert told[1] == {5: "Five", 6: "Six", 7: "Seven"}[len(steered)]


def test_the_document_of_own_incidents_names_every_load() -> None:
    text = (PACKAGES / "docs" / "own-incident.md").read_text(encoding="utf-8")
    listed = text.partition("**The loads**")[2].partition("|---|---|")[2].partition("\n\n")[0]
    nouns = {name: getattr(mqlab.incident, name) for name in mqlab.incident.__all__}
    loads = [name for name, noun in nouns.items() if isinstance(noun, type) and issubclass(noun, LoadValue)]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(loads)


def test_the_architecture_names_every_file_that_it_explains() -> None:
    text = (PACKAGES / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"^- `([\w/]+\.py)`", text, re.MULTILINE):
        assert any((PACKAGES / top / path.removeprefix(f"{top}/")).is_file() for top in TOPS), path


def test_every_target_that_a_document_names_is_one() -> None:
    targets = set(re.findall(r"^(\w+):", (PACKAGES / "Makefile").read_text(), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md", "docs/architecture.md"):
        named = set(re.findall(r"`make (\w+)", (PACKAGES / name).read_text(encoding="utf-8")))
        assert named <= targets, name


def test_the_license_is_the_one_that_the_distribution_names() -> None:
    project = tomllib.loads((PACKAGES / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (PACKAGES / "LICENSE").read_text()[:200]
