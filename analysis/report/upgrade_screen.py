"""What an upgrade changes, on one screen: what to prepare, what alarms and files hang on, what is gained, what is not known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from analysis.ledger.since import Bisected, since
from analysis.report.upgrade import BETTER, CHANCE, OPEN_NAMED_MAX, SIGN, WORSE, Change, Upgrade
from analysis.verdicts.order import natural_key
from harness.model.findings import Finding
from harness.model.rules import Claim, Harm, Told, Weight
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE

LINES_MAX = 50
PREPARED_MAX = 10
OTHERS_MAX = 6
WATCHED_MAX = 2

LEADS_TO = "-> "
ADVISED = "  [advised, not measured]"
_COUNT = re.compile(r"^in (none|all|\d+) (?:of )?(\d+)")
_NUMBER = re.compile(r"[\d.,]*")
_SETTING = re.compile(r"(\w+)=(\w+)(?![\w=])")
_MEASURED = re.compile(r" \(.*")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing to know: a sentence, what supports it, and what to do; each may be empty but the first."""

    weight: Weight
    says: str
    figures: str = ""
    do: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Screen:
    """The points of each heading, the heaviest first."""

    prepare: tuple[Point, ...]
    alarms: tuple[Point, ...]
    watch: tuple[Point, ...]
    gain: tuple[Point, ...]
    differ: tuple[Point, ...]
    itself: tuple[Point, ...]
    """What happens while the nodes are upgraded, the worst first, and what the record has not settled of it last."""


def screen(
    found: Upgrade, ledger: Sequence[Finding], claims: Mapping[str, Claim], bisected: Sequence[Bisected] = ()
) -> Screen:
    """Sort what differs by what it is to whoever upgrades. A part that no claim tells in these words is in ``differ``.

    ``bisected`` tell since which release a verdict is another one.
    """
    on_defaults = [line for line in ledger if line.backend == "local" and line.injection != FREEZE]
    standing = {(line.claim, line.release): line.status for line in on_defaults}
    origins = {(line.claim, line.release): line.provenance for line in on_defaults}
    by_claim: dict[str, list[Change]] = {}
    for change in found.changes:
        if change.sort != CHANCE:
            by_claim.setdefault(change.claim, []).append(change)
    prepare, alarms, watch, gain, differ = (list[Point]() for _ in range(5))
    for claim, changes in by_claim.items():
        for unaged, sort in _points(claims[claim], changes, found, standing):
            point = _with_age(unaged, since(bisected, claim, *sorted((found.before, found.after), key=natural_key)))
            cured = _with_cures(point, claims, found.after, standing, origins) if sort is WORSE else point
            if point.weight is Weight.ALARMS:
                alarms.append(cured)
            elif sort is BETTER:
                gain.append(cured)
            elif sort is WORSE and point.weight is Weight.WATCH:
                watch.append(cured)
            elif sort is WORSE:
                if not _has_cure(cured, found):
                    prepare.append(cured)
            else:
                differ.append(cured)
    itself = list(_itself(found, claims))
    return Screen(**{name: tuple(sorted(points, key=lambda one: list(Weight).index(one.weight))) for name, points in (
        ("prepare", prepare), ("alarms", alarms), ("watch", watch), ("gain", gain), ("differ", differ), ("itself", itself),
    )})  # fmt: skip


def _with_age(point: Point, release: str) -> Point:
    figures = "; ".join(filter(None, (point.figures, f"since {release}" if release else "")))
    return dataclasses.replace(point, figures=figures)


def _has_cure(point: Point, found: Upgrade) -> bool:
    """Whether the user's file has a setting that is measured, on that release or one with the same code, to help."""
    conf = found.settings.conf
    settings = [_SETTING.match(do) for do in point.do if not do.endswith(ADVISED)]
    return conf is not None and any(match and conf.in_force.get(match[1]) == match[2] for match in settings)


def _itself(found: Upgrade, claims: Mapping[str, Claim]) -> Iterator[Point]:
    for claim, status, sentence in found.rolled.findings:
        told = claims[claim].told if claim in claims else None
        says = (
            {str(VerdictKind.CONFIRMED): told.holds, str(VerdictKind.REFUTED): told.fails}.get(status) if told else None
        )
        counted = _OF_ALL.search(sentence)
        if told and says:
            yield Point(weight=told.weight, says=says, figures=counted[0].lower() if counted else "", claims=(claim,))
        else:
            yield Point(weight=Weight.OTHER, says=_MEASURED_ALL.sub("", sentence), claims=(claim,))


Standing = Mapping[tuple[str, str], str]
"""How a claim stands on a release."""


def _points(claim: Claim, changes: Sequence[Change], found: Upgrade, standing: Standing) -> Iterator[tuple[Point, str]]:
    told = claim.told or Told(weight=Weight.OTHER)
    before, after = (standing.get((claim.id, release), "") for release in (found.before, found.after))
    sentence = {str(VerdictKind.CONFIRMED): told.holds, str(VerdictKind.REFUTED): told.fails}.get(after, "")
    if before != after and sentence:
        harm = Harm.HOLDS if after == VerdictKind.CONFIRMED else Harm.FAILS
        sort = "" if told.harm is Harm.NEITHER else WORSE if told.harm is harm else BETTER
        turned = changes[0].counts_what_holds is not (after == VerdictKind.CONFIRMED)
        yield _point(told.weight, sentence, _turned(changes[0]) if turned else changes[0], found, claim), sort
        return
    alike: dict[str, list[Change]] = {}
    for change in changes:
        alike.setdefault(told.parts.get(change.part, told.parts.get("*", "")), []).append(change)
    for template, some in alike.items():
        one = some[0]
        weight = Weight.ALARMS if one.sort == SIGN else told.weight
        is_figured = "{before}" in template or "{after}" in template
        # Without figures it says what a newer release does.
        if not template or not (is_figured or natural_key(found.before) < natural_key(found.after)):
            yield _point(Weight.ALARMS if one.sort == SIGN else Weight.OTHER, one.says, one, found, claim), ""
            continue
        says = template.format(before=_short(one.figure_before), after=_short(one.figure_after), part=one.part)
        sort = one.sort if one.sort in (BETTER, WORSE) else ""
        # Whether the sentence is of what the figures count is not known.
        is_told = is_figured or weight is not Weight.ALARMS
        yield _point(weight, says, one, found, claim, is_figured=is_told), sort


def _turned(change: Change) -> Change:
    """With figures that count the other tries."""
    before, after = (_COUNT.sub(_other_tries, one) for one in (change.figure_before, change.figure_after))
    return dataclasses.replace(change, figure_before=before, figure_after=after)


def _other_tries(found: re.Match[str]) -> str:
    tries = int(found[2])
    count = tries - {"none": 0, "all": tries}.get(found[1], int(found[1]) if found[1].isdecimal() else 0)
    return f"in all {tries}" if count == tries else f"in {count or 'none'} of {tries}"


def _point(
    weight: Weight, says: str, change: Change, found: Upgrade, claim: Claim, *, is_figured: bool = False
) -> Point:
    before, after = _short(change.figure_before), _short(change.figure_after)
    # A bare number says nothing without the claim's own sentence.
    is_figured = is_figured or all(_NUMBER.fullmatch(one) for one in (before, after))
    froms = [f" ({one})" if one else "" for one in (change.before_from, change.after_from)]
    figures = f"{found.before}: {before}{froms[0]}; {found.after}: {after}{froms[1]}"
    if is_figured:
        figures = "; ".join(one.strip(" ()") for one in froms if one)
    return Point(weight=weight, says=says, figures=figures, claims=(claim.id,))


def _short(words: str) -> str:
    """A part's number without its interval, in the words of an operator."""
    return _MEASURED.sub("", words).replace("deployments", "clusters").replace("deployment", "cluster")


def _with_cures(
    point: Point, claims: Mapping[str, Claim], release: str, standing: Standing, origins: Mapping[tuple[str, str], str]
) -> Point:
    """With each cure that is measured to help on that release, else with those that are only advised."""
    (own,) = point.claims
    told, failure = claims[own].told, claims[own].cure_of or own
    cures = [claim for claim in claims.values() if claim.cure_of == failure] + [
        claims[cure] for cure in (told.cures if told else ())
    ]
    do = [
        f"{cure.told.do}  [{origins.get((cure.id, release)) or f'measured on {release}'}]"
        for cure in cures
        if cure.told and cure.told.do and standing.get((cure.id, release)) == VerdictKind.CONFIRMED
    ]
    if not do and told and told.do and not claims[own].cure_of:
        do = [f"{told.do}{ADVISED}"]
    return dataclasses.replace(point, do=tuple(do))


# --- the terminal ---------------------------------------------------------------------------------------------------------


Entry = list[str]
"""The lines of one point."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What stands under a title; ``most`` entries of it fit the screen."""

    title: str
    entries: Sequence[Entry]
    most: int
    none: str = ""
    numbered: bool = False

    def lines(self, most: int) -> list[str]:
        """The title and so many of its entries; the others are counted."""
        if not self.entries:
            return [f"{self.title}: {self.none}"] if self.none else []
        said = [self.title]
        for number, (first, *more) in enumerate(self.entries[:most], 1):
            said += [f"{number:2} {first}" if self.numbered else f"   {first}", *(f"     {line}" for line in more)]
        return said + ([f"   and {len(self.entries) - most} more: --all"] if len(self.entries) > most else [])


def headings(found: Upgrade, shown: Screen) -> list[Heading]:
    """All that there is to say, each of the screen's titles with its entries."""
    return [
        Heading(
            title=f"PREPARE BEFORE YOU START ({_tally(shown.prepare, len(list(_of_file(found))))})",
            entries=[*_of_file(found), *map(_told, shown.prepare)],
            most=PREPARED_MAX,
            none="nothing that is known gets worse",
            numbered=True,
        ),
        Heading(title="CHANGE YOUR ALARMS", entries=alarms(found, shown), most=OTHERS_MAX),
        Heading(title="CHANGE YOUR FILE", entries=_file(found), most=OTHERS_MAX),
        Heading(title="WATCH", entries=list(map(_told, shown.watch)), most=WATCHED_MAX),
        Heading(title="WHAT YOU GAIN", entries=[[point.says + _cited(point)] for point in shown.gain], most=OTHERS_MAX),
        Heading(
            title=f"THE UPGRADE ITSELF, node by node from {found.before}",
            entries=_rolled(found, shown),
            most=OTHERS_MAX,
        ),
        Heading(title="NOT KNOWN", entries=_unknown(found, shown), most=OTHERS_MAX),
    ]


def alarms(found: Upgrade, shown: Screen) -> list[Entry]:
    """Everything that an alarm or a search in logs may hang on."""
    return [*map(_told, shown.alarms), *_words(found), *_codes(found)]


def screen_lines(found: Upgrade, shown: Screen, conf_name: str = "") -> list[str]:
    """At most ``LINES_MAX`` of them; what is left out is counted."""
    return [head(found, shown, conf_name), *(line for one, most in fitting(found, shown) for line in one.lines(most))]


def fitting(found: Upgrade, shown: Screen) -> list[tuple[Heading, int]]:
    """Each heading with the number of its entries that fit one screen."""
    told = headings(found, shown)
    most = [min(one.most, len(one.entries)) for one in told]
    while True:
        lines = 1 + sum(len(one.lines(count)) for one, count in zip(told, most, strict=True))
        if lines <= LINES_MAX or max(most[1:]) == 1:
            return list(zip(told, most, strict=True))
        # What gives way last is what is to be prepared.
        most[max(range(1, len(told)), key=lambda number: most[number])] -= 1


def head(found: Upgrade, shown: Screen, conf_name: str) -> str:
    """The first line: which upgrade, with which file, and how much of it is known."""
    clients = (
        "" if (found.client_before, found.client_after) == (found.before, found.after)
        else f", clients {found.client_before} -> {found.client_after}"
    )  # fmt: skip
    differ = len({claim for points in vars(shown).values() for point in points for claim in point.claims})
    return (
        f"Upgrade {found.before} -> {found.after}{clients}{f' with {conf_name}' if conf_name else ''}: "
        f"{found.compared} findings are decided on both, {differ} differ"
    )


def _tally(points: Sequence[Point], of_file: int) -> str:
    counted: dict[str, int] = {"your file": of_file}
    counted |= {weight: sum(point.weight is weight for point in points) for weight in Weight}
    return ", ".join(f"{weight}: {count}" for weight, count in counted.items() if count) or "nothing"


def _cited(point: Point) -> str:
    return f"  [{point.figures}]" if point.figures else ""


def _told(point: Point) -> Entry:
    return [point.says + _cited(point), *(f"{LEADS_TO}{one}" for one in point.do)]


def _of_file(found: Upgrade) -> Iterator[Entry]:
    conf = found.settings.conf
    for says, advice in dict.fromkeys((*conf.urgent, *conf.comes)) if conf else ():
        yield [f"YOUR FILE  {says}", f"{LEADS_TO}{advice}"]


def _words(found: Upgrade) -> Iterator[Entry]:
    for one in found.words:
        told = (" or ".join(map(repr, words)) or "no such line" for words in (one.before, one.after))
        yield [f"log, {one.event}: {' -> '.join(told)}"]


def _codes(found: Upgrade) -> Iterator[Entry]:
    new, gone = found.settings.codes_new or {}, found.settings.codes_gone or {}
    was = {number: name for name, number in gone.items()}
    reused = [f"{number} was {was[number]}, is {name}" for name, number in new.items() if number in was]
    if reused:
        yield [f"codes with another meaning: {'; '.join(reused)}"]


def _file(found: Upgrade) -> list[Entry]:
    settings, conf = found.settings, found.settings.conf
    told = [
        [f"{key.at}: {key.says}", *(f"{LEADS_TO}{one}" for one in key.details)]
        for key in (conf.keys if conf else ())
        if not conf or not any(says.startswith(f"{key.at}: ") for says, _ in conf.urgent)
    ]
    others = [one for one in (*conf.oddities, *conf.stays) if one not in conf.urgent] if conf else []
    told += [[says, f"{LEADS_TO}{advice}"] for says, advice in others]
    changed = [f"{one.name} {one.before} -> {one.after}" for one in settings.broker if one.yours is None]
    if changed:
        told.append([f"other defaults: {', '.join(changed)}"])
    for what, keys in (
        ("not known any more", settings.broker_gone),
        ("read by nothing any more", settings.broker_dead),
    ):
        if keys:
            told.append([f"{what}: {', '.join(keys)}"])
    if conf is None:
        told.insert(0, ["your broker.conf is not looked at: --broker-conf FILE says what becomes of each of its lines"])
    return told


def _rolled(found: Upgrade, shown: Screen) -> list[Entry]:
    if not shown.itself:
        if found.after in found.rolled.to:
            return [[f"not measured: mqlab verify {found.rolled.incident} --release {found.before}"]]
        return [[f"not measured; one to {', '.join(found.rolled.to) or 'no release'} is"]]
    return list(map(_told, shown.itself))


_OF_ALL = re.compile(r"(?:none|all|\d+) of \d+ \w+|all \d+ \w+", re.IGNORECASE)
_MEASURED_ALL = re.compile(r" \((?:below|above|[\d.]+[ \u2013-])[^()]*\)")


def _unknown(found: Upgrade, shown: Screen) -> list[Entry]:
    count = sum(map(len, found.undecided.values()))
    told = []
    for one in found.known:
        donors = ", ".join(f"{findings} from {donor}" for donor, findings in one.carried.items()) or "none"
        told.append([
            f"{one.release} is not recorded: findings are carried over where the code is the same ({donors}), "
            f"{len(one.unknown)} are unknown",
            f"{LEADS_TO}{one.command}  # about {one.minutes} min",
        ])  # fmt: skip
    if count:
        told.append([
            f"{count} findings of {len(found.undecided)} incidents are not settled on one of the two: "
            f"{', '.join(list(found.undecided)[:OPEN_NAMED_MAX])}{', ...' if len(found.undecided) > OPEN_NAMED_MAX else ''}",
            f"{LEADS_TO}{found.open.command}  # about {found.open.minutes} min",
        ])  # fmt: skip
    if others := found.settings.conf.others if found.settings.conf else ():
        more = f" and {len(others) - OTHERS_MAX} more" if len(others) > OTHERS_MAX else ""
        told.append([
            f"the record was measured with defaults; your file has others: {', '.join(others[:OTHERS_MAX])}{more}",
            f"{LEADS_TO}mqlab verify INCIDENT --release {found.before},{found.after} --broker-conf FILE  # measures with yours",
        ])  # fmt: skip
    if shown.differ:
        told.append([f"{len(shown.differ)} differences that are neither better nor worse by themselves: --all"])
    return told
