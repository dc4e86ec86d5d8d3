"""Commands of mqadmin that answers and documents name: each is one that the releases' own parsers take."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from harness.paths import PACKAGES
from harness.releases.jars import ensure_jars
from harness.releases.java import find_java
from tests.lib import mqadmin

RELEASES = ("4.6.0", "4.9.7", "5.3.3", "5.5.0")
LATER: Mapping[str, tuple[str, ...]] = {
    # What says such a command says of which releases it is.
    "deleteExpiredCommitLog": ("4.9.7", "5.3.3", "5.5.0"),
    "haStatus": ("5.3.3", "5.5.0"),
    "getSyncStateSet": ("5.3.3", "5.5.0"),
    "getUser": ("5.3.3", "5.5.0"),
    "updateAclConfig": ("4.6.0", "4.9.7"),
    "skipAccumulatedMessage": ("4.9.7", "5.3.3", "5.5.0"),
}
_VALUE = r"(?:[\w%{'][\w%{}:;#.'-]*|-\d+)"
_COMMAND = re.compile(rf"mqadmin ([a-z][A-Za-z]+)((?: -[a-z](?: {_VALUE})?)*)")
_NO_COMMANDS = {"for", "of", "is", "prints"}


def named() -> Iterator[tuple[str, ...]]:
    """Each command line once, in words; a name alone where a text has no options with it."""
    files = [*PACKAGES.glob("scenarios/*.py"), *PACKAGES.glob("mqlab/**/*.py"), *PACKAGES.glob("docs/*.md")]
    texts = [path.read_text("utf-8") for path in (*files, PACKAGES / "README.md")]
    # A sentence goes on in the next line, of the code as another text.
    texts = [re.sub(r"\s+", " ", re.sub(r"""["']\s*\n\s*f?["']""", "", text)) for text in texts]
    found = {(name, *options.split()) for text in texts for name, options in _COMMAND.findall(text)}
    return (words for words in sorted(found) if words[0] not in _NO_COMMANDS)


@pytest.mark.parametrize("release", RELEASES)
def test_each_command_is_one_that_the_release_takes(release: str) -> None:
    java = find_java()
    asked = [words for words in named() if release in LATER.get(words[0], RELEASES)]
    assert len(asked) > 30
    answered = subprocess.run(
        [sys.executable, mqadmin.__file__, os.pathsep.join(map(str, ensure_jars(release)))],
        input=json.dumps([*asked, ["queryMsgById", "-t", "TOPIC", "-q"]]),
        env={**os.environ, "JAVA_HOME": str(java.home)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    *wrong, planted = json.loads(answered.stdout.splitlines()[-1])
    assert planted, "what no release takes is refused"
    said = {" ".join(words): what for words, what in zip(asked, wrong, strict=True) if what}
    assert said == {}
