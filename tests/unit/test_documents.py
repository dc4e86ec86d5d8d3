"""What the documents say of the tree is true of it."""

from __future__ import annotations

import re
import tomllib

import mqlab.incident
from harness.model.loads import LoadValue
from harness.paths import PACKAGES


def test_the_document_of_own_incidents_names_every_load() -> None:
    text = (PACKAGES / "docs" / "own-incident.md").read_text(encoding="utf-8")
    listed = text.partition("**The loads**")[2].partition("|---|---|")[2].partition("\n\n")[0]
    nouns = {name: getattr(mqlab.incident, name) for name in mqlab.incident.__all__}
    loads = [name for name, noun in nouns.items() if isinstance(noun, type) and issubclass(noun, LoadValue)]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(loads)


def test_the_architecture_names_every_file_that_it_explains() -> None:
    text = (PACKAGES / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"^- `([\w/]+\.py)`", text, re.MULTILINE):
        assert any((PACKAGES / top / path.removeprefix(f"{top}/")).is_file() for top in ("harness", "analysis", ".")), (
            path
        )


def test_every_target_that_a_document_names_is_one() -> None:
    targets = set(re.findall(r"^(\w+):", (PACKAGES / "Makefile").read_text(), re.MULTILINE))
    for name in ("README.md", "CONTRIBUTING.md", "docs/architecture.md"):
        named = set(re.findall(r"`make (\w+)", (PACKAGES / name).read_text(encoding="utf-8")))
        assert named <= targets, name


def test_the_license_is_the_one_that_the_distribution_names() -> None:
    project = tomllib.loads((PACKAGES / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
    assert "Apache License" in (PACKAGES / "LICENSE").read_text()[:200]


def test_the_pages_are_few_and_short() -> None:
    pages = [page for page in (PACKAGES / "docs").glob("*.md") if not page.name.endswith(".zh-CN.md")]
    assert len(pages) <= 14, "by task: a note about the lab belongs into a commit, a defect into docs/defects"
    assert sum(page.stat().st_size for page in pages) <= 200 * 1024
