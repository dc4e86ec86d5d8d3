"""Parsers are found from the modules of analysis.logs, so that one is a file and nothing else."""

from __future__ import annotations

import importlib
import pkgutil

from analysis import logs
from analysis.logs import tables

NO_PARSERS = {"files", "lines", "spans", "tables"}


def test_every_module_is_a_parser_or_known_as_none() -> None:
    modules = {found.name for found in pkgutil.iter_modules(logs.__path__)}
    assert {parser.__name__.rpartition(".")[2] for parser in tables.parsers()} == modules - NO_PARSERS


def test_what_makes_a_table_also_says_which_lines_it_asks_for() -> None:
    modules = [
        importlib.import_module(f"{logs.__name__}.{found.name}") for found in pkgutil.iter_modules(logs.__path__)
    ]
    assert [one for one in modules if hasattr(one, "parse") and one not in tables.parsers()] == []
