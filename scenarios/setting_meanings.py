"""What settings do, in a sentence each, and the class of RocketMQ that does it: told where the lab knows, of other keys nothing.

That the class reads the key a test looks up in what is kept of the releases' class files (``harness.releases.readers``).
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_suffix(".jsonl")


class Meaning(NamedTuple):
    """``by`` is the class without RocketMQ's prefix, empty where the value is handed on as the key is set."""

    by: str
    does: str


@cache
def setting_meanings() -> Mapping[tuple[str, str], Meaning]:
    """By ``broker`` or ``client`` and the key."""
    rows = map(json.loads, FILE.read_text("utf-8").splitlines())
    return {(whose, key): Meaning(by=by, does=does) for whose, key, by, does in rows}
