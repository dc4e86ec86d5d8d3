"""A document of a run: one JSON object in a file, with the schema's number and the SHA-256 of its content.

A document is as it was written when its bytes are those that the writer makes of its content, and its sum is the content's.
Documents of schema 1 have no sum: nothing vouches for them.
"""

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.rundir.files import json_text, replace_file
from harness.rundir.layout import RUN_SCHEMA, RUN_SCHEMAS, UNSEALED_SCHEMA

SUM = "sum"


def write_document(path: Path, record: Any) -> None:
    """Replace the file by a dataclass's fields, on the disk when this returns. Raises DiskFullError or LabError."""
    replace_file(path, document_text({"schema": RUN_SCHEMA, **dataclasses.asdict(record)}))


def document_text(content: Mapping[str, object]) -> str:
    """The text of a document with that content, its sum at its end."""
    return json_text({**content, SUM: _sum(content)})


def damage_of_document(text: str, document: Mapping[str, object]) -> str:
    """How ``document``, which is the object that ``text`` holds, differs from what was written; empty where it does not."""
    content = {name: value for name, value in document.items() if name != SUM}
    if content.get("schema") == UNSEALED_SCHEMA and SUM not in document:
        return ""
    if content.get("schema") not in RUN_SCHEMAS:
        # A reader refuses it for its schema.
        return ""
    if SUM not in document:
        return "lacks its sum"
    try:
        is_as_written = document_text(content) == text
    except (ValueError, RecursionError):
        is_as_written = False
    return "" if is_as_written else "was changed after it had been written"


def _sum(content: Mapping[str, object]) -> str:
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
