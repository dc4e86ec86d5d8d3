"""What docs/run-directory.md says of each file, made from the declarations.

``python -m harness.rundir.describe`` writes it anew.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from harness.paths import PACKAGES
from harness.rundir.events import EVENTS
from harness.rundir.files import replace_file
from harness.rundir.layout import CONVENTIONS, LAYOUT
from harness.rundir.manifest import DeploymentRecord, HostRecord, Manifest, NodeRecord, TrialRecord
from harness.rundir.records import HISTORY, Declared

DOCUMENT = PACKAGES / "docs" / "run-directory.md"
MARK = "<!-- declared: python -m harness.rundir.describe -->\n"

_WORDS = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null"}


def run_directory_document(text: str) -> str:
    """The page with what follows its mark as the declarations make it."""
    return f"{text.partition(MARK)[0]}{MARK}\n{declared()}"


def declared() -> str:
    """What every file has, in Markdown."""
    return "\n".join(
        [
            f"```\n{LAYOUT}```",
            "",
            CONVENTIONS,
            *_values("manifest.json", Manifest),
            *_values("host, in manifest.json", HostRecord),
            *_values("trial.json", TrialRecord),
            *_values("deployment.json", DeploymentRecord),
            *_values("One of the nodes, in deployment.json", NodeRecord),
            "## events.jsonl and hiccups.jsonl",
            "",
            "`hiccups.jsonl` has `hiccup` and `anchor` records alone.",
            "",
            *_records(EVENTS),
            "## history/*.jsonl",
            "",
            "Java's recorder writes them, or the worker of one of Python's clients.",
            "",
            *_records(HISTORY),
        ]
    )


def _values(title: str, kind: Any) -> list[str]:
    hints = get_type_hints(kind, include_extras=True)
    rows = []
    for field in dataclasses.fields(kind):
        stands, says = get_args(hints[field.name])
        is_needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        rows.append((field.name, _words(stands), says, is_needed))
    return [f"## {title}", "", str(kind.__doc__), "", *_table(rows)]


def _records(records: Declared) -> list[str]:
    lines: list[str] = []
    for item in records.values():
        rows = [(field.name, str(field.kind), field.says, not field.optional) for field in item.fields]
        lines += [f"### {item.name}", "", item.says, "", *_table(rows)]
    return lines


def _table(rows: Iterable[tuple[str, str, str, bool]]) -> list[str]:
    cells = [
        f"| `{name}` | {stands}{'' if is_needed else ', optional'} | {says} |" for name, stands, says, is_needed in rows
    ]
    return ["| field | type | meaning |", "| --- | --- | --- |", *cells, ""]


def _words(kind: Any) -> str:
    """A type in words."""
    if kind in _WORDS:
        return _WORDS[kind]
    if dataclasses.is_dataclass(kind):
        return "object"
    origin, members = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _words(members[0])
    if origin is Literal:
        return ", ".join(map(str, members))
    if origin is tuple:
        return f"list of {_words(members[0])}"
    if origin is Mapping:
        return f"object of {_words(members[1])}"
    return " or ".join(map(_words, members))


if __name__ == "__main__":
    replace_file(DOCUMENT, run_directory_document(DOCUMENT.read_text("utf-8")))
