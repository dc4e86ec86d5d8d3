"""A module is read in a few screens, or it is a table."""

from __future__ import annotations

import ast

import pytest

from harness.paths import PACKAGES

LINES_MAX = 400
TABLES = {
    "harness/model/faults.py": "one value for each kind of fault, with what it does, for how long, and by what it is proved",
    "harness/model/measures.py": "one row for each measure, with its unit, its checkers and what a try of it is",
}
"""Longer ones, and of what they are tables. A row beside the others is easier to find than one in a file of its own."""
FUNCTION_LINES_MAX = 16
"""Of a table's functions: what they say about a row is a formula, and no way through the program."""


@pytest.mark.parametrize("top", ["mqlab", "harness", "analysis"])
def test_a_module_has_at_most_four_hundred_lines_unless_it_is_a_table(top: str) -> None:
    paths = sorted((PACKAGES / top).rglob("*.py"))
    lines = {path.relative_to(PACKAGES).as_posix(): len(path.read_text("utf-8").splitlines()) for path in paths}
    assert len(lines) > 30
    longer = {name for name, count in lines.items() if count > LINES_MAX}
    assert longer == {name for name in TABLES if name.startswith(f"{top}/")}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_no_function_of_more_than_a_few_lines(name: str) -> None:
    tree = ast.parse((PACKAGES / name).read_text("utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert max((node.end_lineno or 0) - node.lineno + 1 for node in functions) <= FUNCTION_LINES_MAX
