"""Damage done to a sealed run by a seed: bytes, lines, files, trials, arms exchanged, deployments copied, power cuts.

A mutation works on a copy whose files are hard links, so that what it does not touch costs nothing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.rundir.documents import SUM, document_text

BLOCK_BYTES = 4096

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Mutation:
    """What was done, and to which files and folders of the run: each of them, or a folder of it, has to be named."""

    kind: str
    touched: tuple[str, ...]


class Mutable:
    """A copy of a run, and how it is damaged."""

    def __init__(self, run: Path, copy: Path, rng: random.Random) -> None:
        shutil.copytree(run, copy, copy_function=os.link)
        self.path = copy
        self.rng = rng
        self.trials = sorted(path.name for path in (copy / "trials").iterdir())
        self.deployments = sorted(path.name for path in (copy / "deployments").iterdir())

    def mutate(self, kind: str) -> Mutation:
        """Do it; what it was."""
        return Mutation(kind=kind, touched=tuple(KINDS[kind](self)))

    # --- what is there ------------------------------------------------------------------------------------------------

    def document(self, file: str) -> Document:
        document: Document = json.loads((self.path / file).read_text())
        return document

    def write(self, file: str, data: bytes) -> None:
        """Replace a file; the run that it was linked from keeps its own."""
        (self.path / file).unlink(missing_ok=True)
        (self.path / file).write_bytes(data)

    def rewrite(self, file: str, document: Document) -> None:
        """Replace a document as the lab itself would write it."""
        content = {name: value for name, value in document.items() if name != SUM}
        self.write(file, document_text(content).encode())

    def any_file(self, *, lines: int = 0) -> str:
        """A file of evidence or a document, of any trial or deployment, with at least one byte and so many lines."""
        for _ in range(1000):
            folder = self.rng.choice(self.folders())
            files = sorted(path for path in (self.path / folder).rglob("*") if path.is_file() and path.stat().st_size)
            path = self.rng.choice(files)
            if not lines or path.read_bytes().count(b"\n") >= lines:
                return str(path.relative_to(self.path))
        raise AssertionError("no file of the run has as many lines")

    def folders(self) -> list[str]:
        """Of trials and deployments."""
        return [*(f"trials/{one}" for one in self.trials), *(f"deployments/{one}" for one in self.deployments)]

    def two_trials(self) -> tuple[str, str]:
        one, other = self.rng.sample(self.trials, 2)
        return one, other


# --- bytes ------------------------------------------------------------------------------------------------------------


def _byte_changed(run: Mutable) -> list[str]:
    file = run.any_file()
    data = bytearray((run.path / file).read_bytes())
    place = run.rng.randrange(len(data))
    data[place] = run.rng.choice([byte for byte in range(256) if byte != data[place]])
    run.write(file, bytes(data))
    return [file]


def _bit_flipped(run: Mutable) -> list[str]:
    file = run.any_file()
    data = bytearray((run.path / file).read_bytes())
    data[run.rng.randrange(len(data))] ^= 1 << run.rng.randrange(8)
    run.write(file, bytes(data))
    return [file]


def _digit_changed(run: Mutable) -> list[str]:
    """A number becomes another one, which every parser takes."""
    file = run.any_file()
    data = bytearray((run.path / file).read_bytes())
    digits = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    if not digits:
        return _byte_changed(run)
    place = run.rng.choice(digits)
    data[place] = ord(run.rng.choice([one for one in "0123456789" if ord(one) != data[place]]))
    run.write(file, bytes(data))
    return [file]


def _byte_of_the_manifest(run: Mutable) -> list[str]:
    data = bytearray((run.path / "manifest.json").read_bytes())
    place = run.rng.randrange(len(data))
    data[place] = run.rng.choice([byte for byte in range(32, 127) if byte != data[place]])
    run.write("manifest.json", bytes(data))
    return ["manifest.json"]


# --- lines ------------------------------------------------------------------------------------------------------------


def _line_removed(run: Mutable) -> list[str]:
    file = run.any_file(lines=2)
    lines = (run.path / file).read_bytes().splitlines(keepends=True)
    del lines[run.rng.randrange(len(lines))]
    run.write(file, b"".join(lines))
    return [file]


def _line_doubled(run: Mutable) -> list[str]:
    file = run.any_file(lines=1)
    lines = (run.path / file).read_bytes().splitlines(keepends=True)
    place = run.rng.randrange(len(lines))
    lines.insert(place, lines[place])
    run.write(file, b"".join(lines))
    return [file]


def _lines_exchanged(run: Mutable) -> list[str]:
    file = run.any_file(lines=2)
    data = (run.path / file).read_bytes()
    lines = data.splitlines(keepends=True)
    one, other = run.rng.sample(range(len(lines)), 2)
    lines[one], lines[other] = lines[other], lines[one]
    if b"".join(lines) == data:
        return _line_removed(run)
    run.write(file, b"".join(lines))
    return [file]


def _cut_at_a_line(run: Mutable) -> list[str]:
    file = run.any_file(lines=2)
    lines = (run.path / file).read_bytes().splitlines(keepends=True)
    run.write(file, b"".join(lines[: run.rng.randrange(1, len(lines))]))
    return [file]


# --- files ------------------------------------------------------------------------------------------------------------


def _cut(run: Mutable) -> list[str]:
    file = run.any_file()
    data = (run.path / file).read_bytes()
    run.write(file, data[: run.rng.randrange(len(data))])
    return [file]


def _removed(run: Mutable) -> list[str]:
    file = run.any_file()
    (run.path / file).unlink()
    return [file]


def _emptied(run: Mutable) -> list[str]:
    file = run.any_file()
    run.write(file, b"")
    return [file]


def _copied_beside(run: Mutable) -> list[str]:
    """A history, or events, once more under another name."""
    trial = run.rng.choice(run.trials)
    files = sorted((run.path / "trials" / trial).rglob("*.jsonl"))
    file = run.rng.choice(files)
    copy = file.with_name(f"copy-of-{file.name}")
    shutil.copy(file, copy)
    return [str(copy.relative_to(run.path))]


def _files_exchanged(run: Mutable) -> list[str]:
    """Histories of two arms, or events."""
    for _ in range(1000):
        one, other = run.two_trials()
        names = sorted(
            str(path.relative_to(run.path / "trials" / one)) for path in (run.path / "trials" / one).rglob("*.jsonl")
        )
        name = run.rng.choice(names)
        files = f"trials/{one}/{name}", f"trials/{other}/{name}"
        if not (run.path / files[1]).is_file():
            continue
        first, second = ((run.path / file).read_bytes() for file in files)
        if first != second:
            run.write(files[0], second)
            run.write(files[1], first)
            return list(files)
    raise AssertionError("no two trials have the same file")


def _log_removed(run: Mutable) -> list[str]:
    logs = sorted(run.path.glob("deployments/*/nodes/*/logs/*.log"))
    file = run.rng.choice(logs)
    file.unlink()
    return [str(file.relative_to(run.path))]


# --- trials -----------------------------------------------------------------------------------------------------------


def _trial_removed(run: Mutable) -> list[str]:
    trial = run.rng.choice(run.trials)
    shutil.rmtree(run.path / "trials" / trial)
    return [f"trials/{trial}"]


def _every_second_trial_removed(run: Mutable) -> list[str]:
    gone = run.trials[::2]
    for trial in gone:
        shutil.rmtree(run.path / "trials" / trial)
    return [f"trials/{trial}" for trial in gone]


def _trials_exchanged(run: Mutable) -> list[str]:
    one, other = run.two_trials()
    aside = run.path / "aside"
    (run.path / "trials" / one).rename(aside)
    (run.path / "trials" / other).rename(run.path / "trials" / one)
    aside.rename(run.path / "trials" / other)
    return [f"trials/{one}", f"trials/{other}"]


def _trial_copied(run: Mutable) -> list[str]:
    trial, name = run.rng.choice(run.trials), "copied-trial"
    shutil.copytree(run.path / "trials" / trial, run.path / "trials" / name)
    if run.rng.random() < 0.5:
        file = f"trials/{name}/trial.json"
        run.rewrite(file, {**run.document(file), "trial": name})
    return [f"trials/{name}"]


def _arms_exchanged(run: Mutable) -> list[str]:
    """Each of two trials says that it is one of the other's arm, as somebody's script would write it."""
    by_arm: dict[str, list[str]] = {}
    for trial in run.trials:
        by_arm.setdefault(run.document(f"trials/{trial}/trial.json")["arm"], []).append(trial)
    if len(by_arm) < 2:
        return _trials_exchanged(run)
    files = [f"trials/{run.rng.choice(by_arm[arm])}/trial.json" for arm in run.rng.sample(sorted(by_arm), 2)]
    one, other = map(run.document, files)
    for file, own, theirs in ((files[0], one, other), (files[1], other, one)):
        changed = {**own, **{name: theirs[name] for name in ("arm", "params", "live_conf")}}
        if run.rng.random() < 0.5:
            run.rewrite(file, changed)
        else:
            run.write(file, json.dumps(changed).encode())
    return files


def _stale_record(run: Mutable) -> list[str]:
    """The trial's last record is gone, and the one before it is there again."""
    file = f"trials/{run.rng.choice(run.trials)}/trial.json"
    run.rewrite(file, {**run.document(file), "status": "running", "files": {}, "took": {}})
    return [file]


# --- deployments ------------------------------------------------------------------------------------------------------


def _deployment_removed(run: Mutable) -> list[str]:
    deployment = run.rng.choice(run.deployments)
    shutil.rmtree(run.path / "deployments" / deployment)
    return [f"deployments/{deployment}"]


def _deployment_copied(run: Mutable) -> list[str]:
    """Copies that the documents know, by their own names: nothing but the cluster's identity tells them."""
    deployment = run.rng.choice(run.deployments)
    manifest = run.document("manifest.json")
    copied = []
    for number in range(run.rng.randint(1, 5)):
        name = f"{deployment}-copy-{number}"
        copied.append(f"deployments/{name}")
        shutil.copytree(run.path / "deployments" / deployment, run.path / "deployments" / name)
        file = f"deployments/{name}/deployment.json"
        run.rewrite(file, {**run.document(file), "deployment": name})
        for trial in run.trials:
            record = run.document(f"trials/{trial}/trial.json")
            if record["deployment"] != deployment:
                continue
            again = f"{trial}-copy-{number}"
            shutil.copytree(run.path / "trials" / trial, run.path / "trials" / again)
            run.rewrite(f"trials/{again}/trial.json", {**record, "trial": again, "deployment": name})
            manifest["trials"].append(again)
            manifest["begun"][again] = {**manifest["begun"][trial], "deployment": name}
    run.rewrite("manifest.json", {**manifest, "documents": {}})
    return copied


# --- power cuts -------------------------------------------------------------------------------------------------------


def _power_cut(run: Mutable) -> list[str]:
    """What had not reached the disk is NUL bytes, or is not there: of some files, of one trial or of several."""
    folders, touched = run.folders(), []
    for folder in run.rng.sample(folders, run.rng.randint(1, min(6, len(folders)))):
        files = sorted(path for path in (run.path / folder).rglob("*") if path.is_file() and path.stat().st_size)
        for path in run.rng.sample(files, run.rng.randint(1, len(files))):
            file = str(path.relative_to(run.path))
            data = path.read_bytes()
            kept = BLOCK_BYTES * run.rng.randrange(len(data) // BLOCK_BYTES + 1)
            if run.rng.random() < 0.2:
                path.unlink()
            elif run.rng.random() < 0.3:
                run.write(file, data[:kept])
                if kept == len(data):
                    continue
            else:
                run.write(file, data[:kept] + bytes(len(data) - kept))
                if kept == len(data):
                    continue
            touched.append(file)
    return touched or _removed(run)


KINDS: Mapping[str, Callable[[Mutable], list[str]]] = {
    function.__name__.strip("_").replace("_", " "): function
    for function in (
        _byte_changed, _bit_flipped, _digit_changed, _byte_of_the_manifest, _line_removed, _line_doubled, _lines_exchanged,
        _cut_at_a_line, _cut, _removed, _emptied, _copied_beside, _files_exchanged, _log_removed, _trial_removed,
        _every_second_trial_removed, _trials_exchanged, _trial_copied, _arms_exchanged, _stale_record, _deployment_removed,
        _deployment_copied, _power_cut,
    )
}  # fmt: skip
"""Each kind by its name, as often as every other one."""
