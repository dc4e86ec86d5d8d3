"""Damage to run directories, drawn by a seed: bytes, lines, values of fields, files. It knows nothing of what the damage means."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

HOSTILE_VALUES: tuple[bytes, ...] = (
    b"9223372036854775808", b"-9223372036854775809", b"9223372036854775807", b"-9223372036854775808", b"4611686018427387904",
    b"4611686018427387903", b"2147483648", b"-2147483648", b"-1", b"0", b"1.5", b"1e400", b"-1e400", b"NaN", b"Infinity",
    b"1" + b"0" * 5000, b'""', b'"x"', b'"\\ud800"', b'"\\u0000"', b'"\xff\xfe"', b'"\x80"', b'"\xe4\xbd"', b"null", b"true",
    b"[]", b"{}", b"[[1]]", b"[" * 3000, b"[" * 3000 + b"]" * 3000, b'{"a":' * 2000 + b"1" + b"}" * 2000,
)  # fmt: skip
"""What may stand in the place of any value: numbers that no column has, texts that are none, and depths that no parser follows."""

_FIELD = re.compile(rb'"(\w+)": ?("(?:[^"\\]|\\.)*"|\[[^\]]*\]|[^,}\]]+)')


def damaged_line(line: bytes, draw: random.Random) -> bytes:
    """The line with some of its bytes, one of its values, or its end changed."""
    if not line:
        return bytes([draw.randrange(256)])
    field = draw.choice(list(_FIELD.finditer(line)) or [None])
    kind = draw.randrange(5)
    if kind == 0 or field is None:
        changed = bytearray(line)
        for _ in range(draw.choice((1, 1, 4))):
            changed[draw.randrange(len(line))] = draw.choice((draw.randrange(256), 128 + draw.randrange(128), 0))
        return bytes(changed)
    if kind == 1:
        return line[: draw.randrange(len(line))]
    if kind == 2:
        return line[: field.start()] + line[field.end() :].removeprefix(b",")
    return line[: field.start(2)] + draw.choice(HOSTILE_VALUES) + line[field.end(2) :]


def damaged_lines(data: bytes, draw: random.Random) -> tuple[bytes, list[bytes]]:
    """The data with one to four of its lines damaged, gone, doubled or joined, and the lines that are as they were."""
    lines = data.split(b"\n")
    touched: set[int] = set()
    for _ in range(draw.choice((1, 1, 2, 4))):
        at, other = draw.randrange(len(lines)), draw.randrange(len(lines))
        touched.add(at)
        lines[at] = draw.choice(
            (b"", lines[at] + b"\n" + lines[other], lines[at] + lines[other], *[damaged_line(lines[at], draw)] * 4)
        )
    return b"\n".join(lines), [line for at, line in enumerate(lines) if at not in touched and line]


def damage(run: Path, draw: random.Random) -> None:
    """Change some files of the run, empty them, fill them with zeros, or take them or their folder away."""
    for _ in range(draw.choice((1, 1, 2, 3))):
        files = sorted(path for path in run.rglob("*") if path.is_file())
        if not files:
            return
        path = draw.choice(files)
        kind = draw.randrange(10)
        if kind == 0:
            path.unlink()
        elif kind == 1:
            path.write_bytes(b"")
        elif kind == 2:
            path.write_bytes(bytes(path.stat().st_size))
        elif kind == 3 and path.parent != run:
            shutil.rmtree(path.parent)
        else:
            path.write_bytes(damaged_lines(path.read_bytes(), draw)[0])
