"""An incident of the user's own: a Python file, read with its mistakes by line, and kept in the run that was made of it."""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import inspect
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from rich.console import Console

import scenarios
from harness.bounded import read_whole
from harness.errors import EXIT_OK, ConfigurationError, LabError, UsageError, nearest
from harness.model.incident import Incident
from harness.model.scenario import Scenario
from harness.model.steps import OWN_MODULE
from harness.releases.properties import without_secrets
from mqlab import incident
from mqlab.kinds import NEW_FILE
from mqlab.options import Adder, write_new
from mqlab.own.mistakes import mistakes

SUFFIX = ".py"
FILE_BYTES_MAX = 2**20
"""An incident is some hundred lines."""
FILE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}\.py")
TEMPLATE = Path(__file__).parents[1] / "my_incident.py"
KEPT = "incidents"
"""The folder of a run that has the files of incidents that are not the lab's own."""
KEPT_CONF = "broker.conf"
"""The file of a run that is the user's."""
SAID_CHARACTERS_MAX = 500
"""Of an exception of a user's file."""


def add_command(add: Adder) -> None:
    """``new``."""
    command = add("new", write_template, "write a file with an incident of your own, which `mqlab verify FILE` runs")
    command.add_argument("file", type=NEW_FILE, metavar="FILE.py", help="a new file, such as my_incident.py")


def write_template(options: argparse.Namespace, console: Console) -> int:
    """Write the template, named as its file is."""
    path: Path = options.file
    require_name(path)
    write_new(path, TEMPLATE.read_text("utf-8").replace(name_of(TEMPLATE), name_of(path)))
    print(f"{path}\nLook at it: mqlab explain {path}\nRun it: mqlab verify {path} --release 5.5.0")
    return EXIT_OK


_NAMING = "Small letters, digits and _, at most 40 of them, beginning with a letter and ending in .py."


_RENAME = "Rename the file, and change name= of its Scenario to the same."


def require_name(path: Path) -> None:
    """Raises UsageError: it is no name for a new file of an incident, or one is there."""
    if not FILE_NAME.fullmatch(path.name):
        raise UsageError(f"{path.name} is no name for an incident's file", advice=_NAMING)
    # What a link leads to is another file, also where there is none yet.
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} is there already", advice="Choose a new name.")


def name_of(path: Path) -> str:
    """What the incident of a file is called."""
    return path.stem.replace("_", "-")


# --- which incidents are meant --------------------------------------------------------------------------------------------


def known_incidents(words: Sequence[str]) -> list[Incident]:
    """The same, and those that nothing replays."""
    found: dict[str, Incident] = {}
    for word in dict.fromkeys(words):
        named = [one for one in scenarios.INCIDENTS if one.name == word and not one.is_replayed]
        found |= {one.name: one for one in named or incidents_of([word])}
    return list(found.values())


def incidents_of(words: Sequence[str], read_before: Mapping[str, Scenario] | None = None) -> list[Scenario]:
    """The lab's incidents by their names and their claims' families, and those of files, which are executed.

    ``read_before`` are incidents of files that were read already, by their words.

    Raises UsageError and ConfigurationError.
    """
    by_name: dict[str, Scenario] = {}
    for word in dict.fromkeys(words):
        if not word.endswith(SUFFIX):
            by_name |= {lab.name: lab for lab in scenarios.of_family(word) or (scenarios.find(word),)}
            continue
        own = (read_before or {}).get(word) or read_incident(Path(word))
        if own.name in by_name:
            raise UsageError(f"two files are of the incident {own.name}", advice="Give one of them another name.")
        by_name[own.name] = own
    return list(by_name.values())


def is_of_the_lab(incident: str) -> bool:
    """Whether the lab has an incident of that name, which no file takes its place of."""
    return any(lab.name == incident for lab in scenarios.INCIDENTS)


def keep_files(run: Path, words: Sequence[str], broker_conf: Path | None = None) -> None:
    """Copy the files that a run is made of into it, so that it can be judged and gone on with by what it was.

    Of a broker.conf the copy lacks the secrets, which no node is started with.
    """
    if broker_conf is not None:
        (run / KEPT_CONF).write_bytes(without_secrets(broker_conf))
    for word in words:
        if word.endswith(SUFFIX):
            (run / KEPT).mkdir(exist_ok=True)
            shutil.copyfile(word, run / KEPT / Path(word).name)


# --- a file ---------------------------------------------------------------------------------------------------------------


def read_incident(path: Path, content: bytes | None = None) -> Scenario:
    """The incident that a file states, which is executed for it; ``content`` is what was read of the file already.

    Raises:
        UsageError: its name or its claims' are taken, or no names.
        ConfigurationError: a mistake in the file, with its line.
    """
    if not FILE_NAME.fullmatch(path.name):
        raise UsageError(f"{path.name} is no name for an incident's file", advice=_NAMING)
    if is_of_the_lab(name_of(path)):
        raise UsageError(f"{path}: {name_of(path)} is an incident of the lab", advice=_RENAME)
    file = _File(path, content)
    scenario = file.run()
    for one in mistakes(scenario):
        raise file.mistake(file.line_near(one.near, one.within), one.says, one.advice)
    if scenario.name != name_of(path):
        raise file.mistake(
            file.line_near(scenario.name), f"the incident is called {scenario.name} and its file {path.name}",
            f"Call it {name_of(path)}.",
        )  # fmt: skip
    for lab in scenarios.ALL:
        for claim in {claim.id for claim in lab.claims} & {claim.id for claim in scenario.claims}:
            raise file.mistake(
                file.line_near(claim), f"{claim} is a claim of the lab's {lab.name}", "Give yours another name."
            )
    return scenario


class _File:
    """A user's file: what it states, and where in it something stands."""

    def __init__(self, path: Path, content: bytes | None) -> None:
        self._path = path
        try:
            self._source = read_whole(path, FILE_BYTES_MAX) if content is None else content
            self._tree = ast.parse(self._source, str(path))
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}") from error
        except SyntaxError as error:
            raise self.mistake(error.lineno or 1, f"this is no Python: {error.msg}") from error
        except (ValueError, RecursionError, MemoryError) as error:
            # Python's own parser gives up without a word.
            raise self.mistake(1, f"this is no Python: {str(error) or 'it is nested too deeply'}") from error

    def run(self) -> Scenario:
        """Execute it, and return its ``SCENARIO``."""
        module = ModuleType(f"{OWN_MODULE}{self._path.stem}")
        module.__file__ = str(self._path)
        # Python's dataclasses look their module up there.
        sys.modules[module.__name__] = module
        try:
            # What it prints must not come between what the command prints.
            with contextlib.redirect_stdout(sys.stderr):
                exec(compile(self._source, str(self._path), "exec"), module.__dict__)  # noqa: S102 - the user's own code
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise self._told(error, vars(module)) from error
        found = vars(module).get("SCENARIO")
        if found is None:
            raise self.mistake(
                len(self._source.splitlines()) or 1, "the file states no SCENARIO",
                "End it with SCENARIO = Scenario(...), as `mqlab new` writes it.",
            )  # fmt: skip
        # A class of the file's own could answer otherwise each time that it is asked.
        if type(found) is not Scenario:
            says = f"SCENARIO is a {type(found).__name__} and has to be a Scenario(...)"
            raise self.mistake(
                self.line_near("SCENARIO"),
                says,
                "Is there a comma behind it?" if issubclass(type(found), tuple) else "",
            )
        return found

    def mistake(self, line: int, says: str, advice: str = "") -> ConfigurationError:
        """The error that names file and line."""
        return ConfigurationError(f"{self._path}:{line}: {' '.join(says.split())}", advice=advice)

    def line_near(self, text: str, within: str = "") -> int:
        """Where a call of ``within`` has a text, else where it stands first, else where an argument or a name is called so."""
        calls = [
            call for call in self._calls() if within in (getattr(call.func, "id", ""), getattr(call.func, "attr", ""))
        ]
        given = [one for call in calls for one in (*call.args, *(word.value for word in call.keywords))]
        texts = [one for one in ast.walk(self._tree) if isinstance(one, ast.Constant) and one.value == text]
        places = (
            [one.lineno for one in texts if one in given],
            [one.lineno for one in texts],
            [word.value.lineno for call in self._calls() for word in call.keywords if word.arg == text],
            [one.lineno for one in ast.walk(self._tree) if isinstance(one, ast.Name) and one.id == text],
        )
        found = next((min(lines) for lines in places if lines), None)
        return found or (1 if text == "SCENARIO" else self.line_near("SCENARIO"))

    def _calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self._tree) if isinstance(node, ast.Call))

    def _told(self, error: BaseException, names: Mapping[str, object]) -> ConfigurationError:
        """What a file raised, also where its exception or what it has defined raises when it is looked at."""
        try:
            return self._said(error, names)
        except KeyboardInterrupt:
            raise
        except BaseException:
            return self.mistake(1, f"{type(error).__name__}, of which nothing more can be told")

    def _said(self, error: BaseException, names: Mapping[str, object]) -> ConfigurationError:
        line = 1
        trace = error.__traceback__
        while trace is not None:
            line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == str(self._path) else line
            trace = trace.tb_next
        if isinstance(error, LabError):
            return self.mistake(line, error.message, error.advice)
        known = {**vars(incident), **names}
        if isinstance(error, NameError) and error.name:
            return self.mistake(line, f"nothing is called {error.name}", _did_you_mean(error.name, known))
        if isinstance(error, ImportError) and error.name == incident.__name__:
            word = getattr(error, "name_from", None) or str(error).split("'")[1]
            return self.mistake(line, f"{incident.__name__} has no {word}", _did_you_mean(word, incident.__all__))
        if isinstance(error, TypeError) and (given := _UNEXPECTED.search(str(error))):
            called, word = given.groups()
            at = [one.value.lineno for call in self._calls() if call.lineno <= line <= (call.end_lineno or line)
                  for one in call.keywords if one.arg == word]  # fmt: skip
            return self.mistake(
                (at or [line])[0], f"{called} takes no {word}", _did_you_mean(word, _arguments(known.get(called)))
            )
        if isinstance(error, TypeError) and (lacking := _MISSING.search(str(error))):
            called, words = lacking.groups()
            return self.mistake(line, f"{called} needs {words.replace(chr(39), '')}")
        return self.mistake(line, f"{type(error).__name__}: {error}"[:SAID_CHARACTERS_MAX])


_UNEXPECTED = re.compile(r"(\w+?)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")
_MISSING = re.compile(r"(\w+?)(?:\.__init__)?\(\) missing \d+ required (?:positional|keyword-only) arguments?: (.*)")


def _arguments(called: object) -> list[str]:
    if dataclasses.is_dataclass(called):
        return [field.name for field in dataclasses.fields(called)]
    return list(inspect.signature(called).parameters) if callable(called) else []


def _did_you_mean(word: str, known: Sequence[str] | Mapping[str, object]) -> str:
    near = nearest(word, (name for name in known if not name.startswith("_")))
    return f"Did you mean {' or '.join(near)}?" if near else ""
