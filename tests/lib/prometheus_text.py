"""A strict reader of Prometheus' text format, by https://prometheus.io/docs/instrumenting/exposition_formats/, version 0.0.4.

Stricter than Prometheus where node_exporter's textfile collector is: no sample has a time of its own, and each metric has help and
type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r"[a-zA-Z_][a-zA-Z0-9_]*"
_HELP = re.compile(rf"# HELP ({NAME}) ((?:[^\\]|\\\\|\\n)*)")
_TYPE = re.compile(rf"# TYPE ({NAME}) (counter|gauge|histogram|summary|untyped)")
_PAIR = rf'{LABEL}="(?:[^"\\]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({NAME})(?:\{{((?:{_PAIR})(?:,{_PAIR})*)\}})? (\S+)")
_VALUE = re.compile(r"[+-]?(\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|Inf)|NaN")
_ESCAPES = {r"\\": "\\", r"\n": "\n", r"\"": '"'}

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read_exposition(text: str) -> Samples:
    """Every sample by its name and labels. Raises ValueError, which names the line, where the text is none of that format."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no line feed")
    found: Samples = {}
    helped: set[str] = set()
    typed: list[str] = []
    for line in text[:-1].split("\n"):
        if match := _HELP.fullmatch(line):
            if match[1] in helped:
                raise ValueError(f"a second help: {line}")
            helped.add(match[1])
        elif match := _TYPE.fullmatch(line):
            if match[1] in typed:
                raise ValueError(f"a second type: {line}")
            typed.append(match[1])
        elif (match := _SAMPLE.fullmatch(line)) and _VALUE.fullmatch(match[3]):
            # All lines of a metric are one group, behind its help and its type.
            if match[1] not in helped or typed[-1:] != [match[1]]:
                raise ValueError(f"outside of its group: {line}")
            _add(found, match[1], _labels(match[2] or "", line), float(match[3]))
        else:
            raise ValueError(f"no line of the format: {line!r}")
    return found


def _add(found: Samples, name: str, labels: Mapping[str, str], value: float) -> None:
    key = (name, frozenset(labels.items()))
    if key in found:
        raise ValueError(f"a second sample of {key}")
    found[key] = value


def _labels(text: str, line: str) -> dict[str, str]:
    pairs = re.findall(rf'({LABEL})="((?:[^"\\]|\\["\\n])*)"', text)
    labels = {name: re.sub(r'\\["\\n]', lambda match: _ESCAPES[match[0]], value) for name, value in pairs}
    if len(labels) < len(pairs):
        raise ValueError(f"a label is given twice: {line}")
    return labels
