"""Our few Java classes, compiled by Janino against a release's jars, since a user may have a runtime without javac.

Janino ships a command line of its own (``CompilerDemo``), so that compiling needs nothing but ``java`` and two jars.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness.errors import ReleaseError
from harness.paths import PACKAGES
from harness.releases.cache import cache_folder
from harness.releases.jars import TOOLS, ensure_jars
from harness.releases.java import Java, ended

RECORDER_SOURCES = PACKAGES / "harness" / "clients" / "recorder"
RULE_SOURCES = PACKAGES / "harness" / "faults"
"""Faults that are made inside a broker have rules for Byteman, and classes that these call, in a folder below this one."""
COMPILE_S_MAX = 180


def compiled_classes(sources: Path, classpath: Sequence[Path], java: Java, cache: Path | None = None) -> Path:
    """A folder of classes made from every ``*.java`` in and below ``sources``; compiled once per content and classpath.

    Raises ReleaseError with Janino's complaint when it refused the source against this classpath.
    """
    files = sorted(sources.rglob("*.java"))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    for jar in classpath:
        digest.update(jar.name.encode())
    target = cache_folder("classes", cache) / f"{sources.name}-{digest.hexdigest()[:16]}"
    if target.exists():
        return target
    building = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        _compile(files, classpath, building, java)
        building.rename(target)
    except OSError:
        if not target.exists():  # another run may have published the same classes first, which is as good
            raise
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return target


def _compile(files: Sequence[Path], classpath: Sequence[Path], target: Path, java: Java) -> None:
    tools = ensure_jars(TOOLS)
    command = [
        str(java.executable),
        "-cp", os.pathsep.join(map(str, tools)),
        "org.codehaus.commons.compiler.samples.CompilerDemo",
        "-d", str(target),
        "-classpath", os.pathsep.join(map(str, classpath)),
        *map(str, files),
    ]  # fmt: skip
    run = ended(command, f"the compilation of the Java classes in {files[0].parent.name}", seconds=COMPILE_S_MAX)
    complaint = (run.stdout + run.stderr).strip()
    if run.returncode != 0 or not any(target.rglob("*.class")):
        raise ReleaseError(
            f"the Java classes in {files[0].parent.name} did not compile: {complaint[-2000:]}",
            advice="This release's client API is not one that the recorder knows.",
        )
