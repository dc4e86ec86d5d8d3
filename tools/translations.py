"""The catalogues of other languages: which texts a reader may see, and what is said of each.

``python -m tools.translations`` writes ``harness/languages/zh_CN.po`` anew, with every text of the code and of the scenarios, and
keeps what is translated. ``--take FILE...`` takes in translations first: JSON lines with ``en`` and ``zh``. ``--missing`` prints
what has none, as such lines with ``where``.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import polib
from jinja2 import nodes

import scenarios
from analysis.diagnosis.found import Sure
from analysis.report.html import environment
from analysis.verdicts.anew import NOTHING, TEMPLATES
from analysis.verdicts.words import STANDINGS
from harness.language import CHINESE, names_in
from harness.model.alert_lines import ALERT_LINES
from harness.model.incident import Incident
from harness.model.log_events import Logged
from harness.model.rules import Claim, Kind, Weight
from harness.model.scenario import Scenario
from harness.model.verdicts import HOLDS_IN_PART, REFUTED_IN_PART, Reason, VerdictKind
from harness.paths import PACKAGES
from scenarios.answer_codes import ANSWER_CODES
from scenarios.questions import QUESTIONS
from scenarios.send_advice import FAILURES, Tried
from scenarios.setting_meanings import setting_meanings
from scenarios.setting_values import SETTING_VALUES

CATALOGUE = PACKAGES / "harness" / "languages" / f"{CHINESE}.po"
FOLDERS = ("harness", "analysis", "mqlab", "scenarios")
SAID_BY = ("phrase", "translated", "joined", "_")
"""Functions whose first argument is a text of the catalogue."""
COUNTED_BY = {"counted": "harness.printable", "counted_in": "analysis.diagnosis.found"}
"""Functions that make texts of a number and a noun, with their modules: others have the name, too."""
HEAD = {
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Language": CHINESE,
    "MIME-Version": "1.0",
    "Plural-Forms": "nplurals=1; plural=0;",
}

SETTING = re.compile(r"\b[a-z]+[A-Z]\w+|\b[A-Z]+_[A-Z]+\b")
"""What `mqlab explain` looks for in the words of an arm."""

Texts = Mapping[str, str]
"""Where each text is from, by the text."""


def texts() -> Texts:
    """Every text that is shown in the reader's language; of the same text the first place is told."""
    found: dict[str, str] = {}
    for where, text in itertools.chain(of_code(), of_data()):
        if any(map(str.isalpha, text)) or text in SEPARATORS:
            found.setdefault(text, where)
    return found


SEPARATORS = ("; ", ": ", ". ", ".", ", ")
"""What stands between sentences is another thing in Chinese."""


# --- code ---------------------------------------------------------------------------------------------------------------


def of_code() -> Iterator[tuple[str, str]]:
    """Literals that are given to the functions that translate, in modules and templates, with the file of each."""
    for folder in FOLDERS:
        for path in sorted((PACKAGES / folder).rglob("*.py")):
            where = str(path.relative_to(PACKAGES))
            yield from ((where, text) for text in _of_module(ast.parse(path.read_text(encoding="utf-8"))))
    for name in sorted(environment().list_templates(extensions=["j2"])):
        assert environment().loader is not None
        source, _, _ = environment().loader.get_source(environment(), name)  # type: ignore[union-attr]
        for call in environment().parse(source).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in SAID_BY:
                yield from ((name, one.value) for one in call.args[:1] if isinstance(one, nodes.Const))


def _of_module(tree: ast.AST) -> Iterator[str]:
    imported = {
        name.name
        for one in ast.walk(tree)
        if isinstance(one, ast.ImportFrom)
        for name in one.names
        if COUNTED_BY.get(name.name) == one.module
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or not call.args:
            continue
        if call.func.id in SAID_BY:
            yield from _literals(call.args[0])
        elif call.func.id in imported and len(call.args) > 1:
            were = any(one.arg == "were" for one in call.keywords)
            for noun in _literals(call.args[1]):
                yield from (f"{{count:,}} {noun}{' was' * were}", f"{{count:,}} {noun}s{' were' * were}")


def _literals(node: ast.AST) -> Iterator[str]:
    """Of a choice between several all of them."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)


# --- data ---------------------------------------------------------------------------------------------------------------


def of_data() -> Iterator[tuple[str, str]]:
    """What the scenarios say, and the words of a verdict, a finding or an event."""
    for incident in scenarios.INCIDENTS:
        yield from ((incident.name, text) for text in _of_incident(incident))
    for question in QUESTIONS:
        yield from (
            (f"question {question.name}", one)
            for one in (question.name, question.says, *question.do, *question.causes.values())
        )
    for failure, told in FAILURES.items():
        yield from (
            (f"failure {failure}", one)
            for one in (told.what, *(text for tried in told.tried for text in _of_tried(tried)))
        )
    for name, code in ANSWER_CODES.items():
        yield from ((f"code {name}", one) for one in (code.means, code.do))
    for name, value in SETTING_VALUES.items():
        yield from ((f"value {name}", one) for one in (value.of, value.means, value.do))
    for (_, key), meaning in setting_meanings().items():
        yield f"setting {key}", meaning.does
    yield from (("standings", one) for one in (*STANDINGS.values(), HOLDS_IN_PART, REFUTED_IN_PART))
    for kinds in (Weight, Reason, Logged, VerdictKind, Sure):
        yield from ((kinds.__name__, str(one)) for one in kinds)
    yield from (("alarms", one.tells) for one in ALERT_LINES)
    yield from (("figures", one) for one in (*TEMPLATES, *NOTHING))
    yield from (("tries", one) for one in _nouns())


def _of_tried(tried: Tried) -> Iterator[str]:
    yield tried.setting
    yield from (text for shown in (*tried.helps, *tried.costs) for text in (shown.says, shown.otherwise))


def _of_incident(incident: Incident) -> Iterator[str]:
    yield from (incident.title, incident.summary, incident.symptom, incident.advice, incident.no_sign, *incident.faces)
    if incident.sign:
        yield from (incident.sign.because, incident.sign.against, incident.sign.over_because)
    if isinstance(incident, Scenario):
        shown = incident.to_show()
        arms = {arm.name for arm in incident.arms}
        yield from (shown.says, shown.caption, *(label for label in shown.rows if label not in arms))
        yield from (arm.what for arm in incident.arms if SETTING.search(arm.what))
        yield from itertools.chain.from_iterable(map(_of_claim, incident.claims))


def _of_claim(claim: Claim) -> Iterator[str]:
    yield from (claim.says, claim.summary)
    yield from (part.scope for part in claim.parts)
    if claim.told:
        told = dataclasses.asdict(claim.told)
        yield from (text for name, text in told.items() if name in ("holds", "fails", "do", "asks"))
        yield from claim.told.parts.values()
    if not claim.told or not claim.told.fails:
        # What is told instead where the claim does not hold.
        yield from (one.because for one in claim.expected.values() if one.verdict is VerdictKind.REFUTED)


def _nouns() -> Iterator[str]:
    """What tries are called, alone and counted."""
    parts = [part for scenario in scenarios.ALL for claim in scenario.claims for part in (*claim.parts, *claim.beside)]
    tries = {part.tries_are for part in parts if part.kind is not Kind.THIS_RUN}
    for noun in sorted({*tries, "deployments", "clusters", "pairs"}):
        yield from (noun, f"{{count}} {noun}", f"{{count}} {noun.removesuffix('s')}")


# --- the catalogue --------------------------------------------------------------------------------------------------------


def catalogue(path: Path = CATALOGUE) -> polib.POFile:
    """What is translated; of one that is not there nothing."""
    return polib.pofile(str(path), wrapwidth=100) if path.exists() else polib.POFile(wrapwidth=100)


def written_anew(known: polib.POFile, taken: Mapping[str, str], found: Texts) -> polib.POFile:
    """The texts that there are now, each with its translation, the newest before what was known."""
    said = {one.msgid: one.msgstr for one in known} | {**taken}
    anew = polib.POFile(wrapwidth=100)
    anew.metadata = HEAD
    anew.extend(
        polib.POEntry(msgid=text, msgstr=said.get(text, ""), occurrences=[(where.replace(" ", "_"), "")])
        for text, where in found.items()
    )
    return anew


def lacking(known: polib.POFile, found: Texts) -> list[str]:
    """The texts that have no translation, or one with other figures."""
    said = {one.msgid: one.msgstr for one in known}
    return [text for text in found if not said.get(text) or names_in(text) != names_in(said[text])]


def _taken(paths: Iterable[Path]) -> dict[str, str]:
    lines = (json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines() if line)
    return {line["en"]: line["zh"] for line in lines}


def main() -> None:
    """Write it anew, or print what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--take", type=Path, nargs="*", default=[])
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    found = texts()
    if options.missing:
        for text in lacking(catalogue(), found):
            print(json.dumps({"where": found[text], "en": text}, ensure_ascii=False))
        return
    anew = written_anew(catalogue(), _taken(options.take), found)
    CATALOGUE.parent.mkdir(exist_ok=True)
    anew.save(str(CATALOGUE))
    print(f"{len(anew)} texts, {len(lacking(anew, found))} without a translation")


if __name__ == "__main__":
    main()
