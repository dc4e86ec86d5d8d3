"""A recorded run in one small file: JSON lines as columns, then xz.

A record's times are most of what is left of a run once xz has seen it, so those after the first are kept as differences
within their record, and whole numbers as differences from the record before. Nothing is lost: what comes out is what
went in, byte by byte; a file that is no JSON lines as the lab writes them is kept as text.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_line = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def pack_run(folder: Path, file: Path) -> None:
    """Write all of ``folder`` into ``file``."""
    files = {
        str(path.relative_to(folder)): _packed(path.read_bytes().decode(), path.suffix)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    file.write_bytes(lzma.compress(json.dumps(files, ensure_ascii=False, separators=(",", ":")).encode(), preset=6))


def unpack_run(file: Path, folder: Path, *, keep: Callable[[str], bool] = lambda name: True) -> None:
    """Make ``folder`` of what ``pack_run`` wrote, of trials and deployments those whose name is to be kept."""
    for name, content in packed_files(file).items():
        kind, _, rest = name.partition("/")
        if kind in ("trials", "deployments") and not keep(rest):
            continue
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text_of(content).encode())


def packed_files(file: Path) -> dict[str, object]:
    """What ``pack_run`` wrote by the files' names, for ``text_of``."""
    files: dict[str, object] = json.loads(lzma.decompress(file.read_bytes()))
    return files


def text_of(content: object) -> str:
    """What a file held."""
    return content if isinstance(content, str) else "".join(_lines(content))


def _packed(text: str, suffix: str) -> object:
    lines = text.split("\n")[:-1]
    if not text.endswith("\n") or suffix != ".jsonl" or not all(_is_whole(line) for line in lines):
        return text
    shapes: list[list[str]] = []
    columns: list[list[list[object]]] = []
    order: list[int] = []
    for number, line in enumerate(lines, start=1):
        record = json.loads(line)
        if record.get("n") == number:
            record["n"] = None
        keys = list(record)
        if keys not in shapes:
            shapes.append(keys)
            columns.append([[] for _ in keys])
        shape = shapes.index(keys)
        order.append(shape)
        times = [key for key in keys if key.endswith("_ns") and isinstance(record[key], int)]
        for key in times[1:]:
            record[key] -= record[times[0]]
        for column, key in zip(columns[shape], keys, strict=True):
            column.append(record[key])
    return {
        "shapes": shapes,
        "order": order,
        "columns": [[_differences(column) for column in of_shape] for of_shape in columns],
    }


def _is_whole(line: str) -> bool:
    try:
        return _line(json.loads(line)) == line
    except ValueError:
        return False


def _differences(column: list[object]) -> dict[str, object]:
    if all(type(value) is int for value in column):
        numbers = [value for value in column if isinstance(value, int)]
        return {"d": [after - before for before, after in zip([0, *numbers], numbers, strict=False)]}
    return {"v": column}


def _lines(packed: Any) -> Iterator[str]:
    rows = [zip(*map(_values, of_shape), strict=True) for of_shape in packed["columns"]]
    stamps = [[key for key in keys if key.endswith("_ns")] for keys in packed["shapes"]]
    for number, shape in enumerate(packed["order"], start=1):
        record = dict(zip(packed["shapes"][shape], next(rows[shape]), strict=True))
        times = [key for key in stamps[shape] if isinstance(record[key], int)]
        for key in times[1:]:
            record[key] += record[times[0]]
        if record.get("n", 0) is None:
            record["n"] = number
        yield _line(record) + "\n"


def _values(column: dict[str, Any]) -> list[object]:
    if "v" in column:
        return list(column["v"])
    total = 0
    values: list[object] = []
    for difference in column["d"]:
        total += difference
        values.append(total)
    return values
