"""What an upgrade changes, on one screen: what to prepare, what alarms and files hang on, what is gained, what is not known."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.ledger.since import Bisected, since
from analysis.report.upgrade import BETTER, CHANCE, OPEN_NAMED_MAX, SIGN, WORSE, Change, Upgrade, lines_known
from analysis.report.upgrade_settings import DefaultChanged
from analysis.verdicts.anew import anew, without
from analysis.verdicts.order import natural_key
from harness.language import Phrase, joined, phrase
from harness.model.findings import Finding
from harness.model.rules import Claim, Harm, Told, Weight
from harness.model.verdicts import VerdictKind
from harness.printable import counted
from harness.rundir.manifest import FREEZE

LINES_MAX = 50
PREPARED_MAX, PREPARED_MIN = 10, 9
OTHERS_MIN = 2
"""As many as are shown of each heading before something that is to be prepared gives way."""
OTHERS_MAX = 6
WATCHED_MAX = 2

LEADS_TO = "-> "
MORE = phrase("MORE WITH --all")
"""A page has all of it folded."""
ADVISED = phrase("advised, not measured")
_COUNT = re.compile(r"^in (none|all|\d+) (?:of )?(\d+)")
_NUMBER = re.compile(r"[\d.,]*")
_TOO_FEW = "(too few tries)"
"""What an undecided finding says whose tries all went one way."""
_PERCENT = re.compile(r"^(\d+(?:\.\d+)?)(\s?%)")
_SETTING = re.compile(r"(\w+)=(\w+)(?![\w=])")
_MEASURED = re.compile(r" \(.*")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing to know: a sentence, what supports it, and what to do; each may be empty but the first.

    ``needs`` are the settings of a broker without which it is not so. ``measured`` has a line for what each release showed.
    """

    weight: Weight
    says: str
    figures: str = ""
    do: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    measured: tuple[str, ...] = ()
    asks: str = ""
    """Of what the record has not settled, what the question is."""

    @property
    def is_settled(self) -> bool:
        """Whether the record says how it is."""
        return not self.asks


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
    chance: tuple[Point, ...] = ()
    apart: tuple[Point, ...] = ()
    """What needs a setting that the user's file does not have."""
    cured: tuple[Point, ...] = ()
    """What a setting of the user's file is measured to help against."""
    of_file: tuple[Point, ...] = ()
    """What the record has measured of what the user's file brings about, which is told of the file."""


Needs = Mapping[tuple[str, str], Mapping[str, str]]
"""By incident and arm the settings that turn on what was measured there, such as SYNC_FLUSH."""


def screen(
    found: Upgrade,
    ledger: Sequence[Finding],
    claims: Mapping[str, Claim],
    needs: Needs | None = None,
    bisected: Sequence[Bisected] = (),
) -> Screen:
    """Sort what differs by what it is to whoever upgrades. A part that no claim tells in these words is in ``differ``.

    ``bisected`` tell since which release a verdict is another one.
    """
    needs = needs or {}
    on_defaults = [line for line in ledger if line.backend == "local" and line.injection != FREEZE]
    standing = {(line.claim, line.release): line.status for line in on_defaults}
    origins = {(line.claim, line.release): line.provenance for line in on_defaults}
    figures = {(line.claim, line.release, part.name): part.words for line in on_defaults for part in line.parts}
    by_claim: dict[str, list[Change]] = {}
    for change in found.changes:
        by_claim.setdefault(change.claim, []).append(change)
    by: dict[str, list[Point]] = {one.name: [] for one in dataclasses.fields(Screen)}
    for claim, changes in by_claim.items():
        for unaged, sort in _points(claims[claim], changes, found, standing, needs):
            point = _with_age(unaged, since(bisected, claim, *sorted((found.before, found.after), key=natural_key)))
            cured = _with_cures(point, claims, found.after, standing, origins, figures) if sort is WORSE else point
            by[_heading(cured, sort, found)].append(cured)
    by["itself"] = list(_itself(found, claims))

    def place(one: Point) -> tuple[int, bool]:
        return list(Weight).index(one.weight), not _is_own(one, found)

    return Screen(**{name: tuple(sorted(points, key=place)) for name, points in by.items()})


def _heading(point: Point, sort: str, found: Upgrade) -> str:
    if _is_apart(point, found):
        return "apart"
    if sort is CHANCE:
        return "chance"
    if point.weight is Weight.ALARMS:
        return "alarms"
    if sort is BETTER:
        return "gain"
    if sort is WORSE and point.weight is Weight.WATCH:
        return "watch"
    if sort is WORSE:
        return "cured" if _has_cure(point, found) else "of_file" if _is_of_file(point, found) else "prepare"
    return "differ"


def _is_of_file(point: Point, found: Upgrade) -> bool:
    """Whether the user's file brings it about, by what is told of the file before all else."""
    conf = found.settings.conf
    told = [says for says, _ in (*conf.urgent, *conf.comes)] if conf else []
    return conf is not None and any(set(point.claims) & set(conf.claims.get(says, ())) for says in told)


def _is_apart(point: Point, found: Upgrade) -> bool:
    """Whether the user's file lacks what it takes. What a file leaves open, as a slave's its master's role, is not lacking."""
    conf = found.settings.conf
    return conf is not None and any(conf.modes.get(key, value) != value for key, value in point.needs.items())


def _is_own(point: Point, found: Upgrade) -> bool:
    """Whether it takes what the user's file turns on: of things of one weight these come first."""
    conf = found.settings.conf
    return conf is not None and any(conf.modes.get(key) == value for key, value in point.needs.items())


def _with_age(point: Point, release: str) -> Point:
    figures = joined("; ", filter(None, (point.figures, phrase("since {release}", release=release) if release else "")))
    return dataclasses.replace(point, figures=figures)


def _has_cure(point: Point, found: Upgrade) -> bool:
    """Whether the user's file has a setting that is measured, on that release or one with the same code, to help."""
    conf = found.settings.conf
    settings = [_SETTING.match(do) for do in point.do if not do.endswith(f"  [{ADVISED}]")]
    return conf is not None and any(match and conf.in_force.get(match[1]) == match[2] for match in settings)


def _itself(found: Upgrade, claims: Mapping[str, Claim]) -> Iterator[Point]:
    for claim, status, sentence in found.rolled.findings:
        told = claims[claim].told if claim in claims else None
        says = (
            {str(VerdictKind.CONFIRMED): told.holds, str(VerdictKind.REFUTED): told.fails}.get(status) if told else None
        )
        in_all = _OF_ALL.search(sentence)
        measured = (phrase("{claim} {status}: {sentence}", claim=claim, status=phrase(status), sentence=sentence),)
        if told and says:
            figures = anew(in_all[0].lower()) if in_all else ""
            yield Point(weight=told.weight, says=says, figures=figures, claims=(claim,), measured=measured)
        else:
            asks = ""
            if status == VerdictKind.UNDECIDED:
                asks = told.asks if told and told.asks else claim
                if in_all and _TOO_FEW in sentence:
                    asks = phrase("{asks} ({seen})", asks=phrase(asks), seen=anew(in_all[0].lower()))
            yield Point(
                weight=Weight.OTHER,
                says=without(_MEASURED_ALL, sentence),
                claims=(claim,),
                measured=measured,
                asks=asks,
            )


Standing = Mapping[tuple[str, str], str]
"""How a claim stands on a release."""


def _points(
    claim: Claim, found_changes: Sequence[Change], found: Upgrade, standing: Standing, needs: Needs
) -> Iterator[tuple[Point, str]]:
    """Each with its sort. Parts that one sentence tells of are one point."""
    by_chance = [change for change in found_changes if change.sort == CHANCE]
    changes = [change for change in found_changes if change.sort != CHANCE]
    for point, sort, some in _sorted(claim, changes, found, standing):
        of_all = [needs.get((one.incident, one.arm), {}) for one in some]
        shared = dict(set.intersection(*(set(one.items()) for one in of_all)))
        yield dataclasses.replace(point, needs=shared, measured=tuple(_measured(some, found))), sort
    for change in by_chance:
        point = _point(Weight.OTHER, change.says, change, found, claim)
        yield dataclasses.replace(point, measured=tuple(_measured([change], found))), CHANCE


def _measured(changes: Sequence[Change], found: Upgrade) -> Iterator[str]:
    """Which claim of which incident it is, whether that is better, and what each release showed."""
    for one in changes:
        by = phrase(", stalled by {fault}", fault=one.injection) if one.injection in ("freeze", "byteman") else ""
        yield phrase(
            "{claim} {part} ({incident}{by}; {sort}): {says}",
            claim=one.claim, part=one.part, incident=one.incident, by=by, sort=one.sort, says=phrase(one.says),
        )  # fmt: skip
        for release, words, provenance in (
            (found.before, one.before, one.before_from),
            (found.after, one.after, one.after_from),
        ):
            yield phrase(
                "  {release}: {counts}{words}{provenance}",
                release=release, counts=one.counts, words=words, provenance=_in_brackets(provenance),
            )  # fmt: skip


def _sorted(
    claim: Claim, changes: Sequence[Change], found: Upgrade, standing: Standing
) -> Iterator[tuple[Point, str, Sequence[Change]]]:
    if not changes:
        return
    told = claim.told or Told(weight=Weight.OTHER)
    before, after = (standing.get((claim.id, release), "") for release in (found.before, found.after))
    sentence = {str(VerdictKind.CONFIRMED): told.holds, str(VerdictKind.REFUTED): told.fails}.get(after, "")
    if before != after and sentence:
        harm = Harm.HOLDS if after == VerdictKind.CONFIRMED else Harm.FAILS
        sort = "" if told.harm is Harm.NEITHER else WORSE if told.harm is harm else BETTER
        turned = changes[0].counts_what_holds is not (after == VerdictKind.CONFIRMED)
        yield _point(told.weight, sentence, _turned(changes[0]) if turned else changes[0], found, claim), sort, changes
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
            yield _point(Weight.ALARMS if one.sort == SIGN else Weight.OTHER, one.says, one, found, claim), "", some
            continue
        says = phrase(template, before=_short(one.figure_before), after=_short(one.figure_after), part=one.part)
        sort = one.sort if one.sort in (BETTER, WORSE) else ""
        # Whether the sentence is of what the figures count is not known: they would say the opposite, perhaps.
        yield _point(weight, says, one, found, claim, is_figured=True), sort, some


def _turned(change: Change) -> Change:
    """With figures that count the other tries."""
    figures = [change.figure_before, change.figure_after]
    turned = [_PERCENT.sub(_other_percent, _COUNT.sub(_other_tries, one)) for one in figures]
    # What cannot be turned would say the opposite of its sentence.
    before, after = turned if all(a != b for a, b in zip(figures, turned, strict=True)) else ("", "")
    return dataclasses.replace(change, figure_before=before, figure_after=after)


def _other_percent(found: re.Match[str]) -> str:
    return f"{100 - float(found[1]):g}{found[2]}"


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
    froms = (change.before_from, change.after_from)
    figures = joined(
        "; ",
        (
            phrase("{release}: {figure}{provenance}", release=release, figure=figure, provenance=_in_brackets(one))
            for release, figure, one in zip((found.before, found.after), (before, after), froms, strict=True)
        ),
    )
    if is_figured:
        figures = joined("; ", filter(None, froms))
    return Point(weight=weight, says=says, figures=figures, claims=(claim.id,))


def _in_brackets(words: str) -> str:
    return phrase(" ({words})", words=words) if words else ""


def _short(words: str) -> str:
    """A part's number without its interval, in the words of an operator."""
    return anew(_MEASURED.sub("", words).replace("deployments", "clusters").replace("deployment", "cluster"))


def _with_cures(
    point: Point,
    claims: Mapping[str, Claim],
    release: str,
    standing: Standing,
    origins: Mapping[tuple[str, str], str],
    figures: Mapping[tuple[str, str, str], str],
) -> Point:
    """With each cure that is measured to help on that release, else with those that are only advised."""
    (own,) = point.claims
    told, failure = claims[own].told, claims[own].cure_of or own
    cures = [claim for claim in claims.values() if claim.cure_of == failure] + [
        claims[cure] for cure in (told.cures if told else ())
    ]
    do = [
        _cited(cure.told.do, origins.get((cure.id, release)) or phrase("measured on {release}", release=release))
        for cure in cures
        if cure.told and cure.told.do and standing.get((cure.id, release)) == VerdictKind.CONFIRMED
    ]
    if not do and told and told.do and not claims[own].cure_of:
        tried = figures.get((own, release, told.do_part))
        helps = phrase("{release}, with it: {figure}", release=release, figure=_short(tried)) if tried else ADVISED
        do = [_cited(told.do, helps)]
    return dataclasses.replace(point, do=tuple(do))


# --- the terminal ---------------------------------------------------------------------------------------------------------


Entry = Sequence[str]
"""The lines of one point."""


def behind(head: str, line: str) -> Phrase:
    """The line behind what leads to it, or its indentation."""
    return joined("", (head, line))


@dataclass(frozen=True, kw_only=True)
class Heading:
    """What stands under a title; ``most`` entries of it fit the screen, and the first ``least`` are never left out. ``rest`` says
    what those are that are."""

    title: str
    entries: Sequence[Entry]
    most: int
    none: str = ""
    numbered: bool = False
    least: int = 1
    rest: str = ""

    def lines(self, most: int) -> list[str]:
        """The title and so many of its entries; the others are counted."""
        if not self.entries:
            return [phrase("{title}: {none}", title=self.title, none=self.none)] if self.none else []
        said = [self.title]
        for number, (first, *more) in enumerate(self.entries[:most], 1):
            head = f"{number:2} " if self.numbered else "   "
            said += [behind(head, first), *(behind("     ", line) for line in more)]
        left = len(self.entries) - most
        return said + ([phrase("   and {count} more{rest}: --all", count=left, rest=self.rest)] if left > 0 else [])


def headings(found: Upgrade, shown: Screen, *, everything: bool = False) -> list[Heading]:
    """All that there is to say, each of the screen's titles with its entries; with ``everything`` also what each claim showed, and
    what is counted otherwise."""

    def told(points: Sequence[Point]) -> list[Entry]:
        return [_told(point, everything=everything) for point in points]

    of_file = list(_of_file(found, shown, everything=everything))
    own, others = _own_lines(found), _other_settings(found)
    count = len(of_file) + len(shown.prepare)
    things = counted(count, "thing")
    worse = (
        phrase("{things} that gets worse, the worst first", things=things)
        if count == 1
        else phrase("{things} that get worse, the worst first", things=things)
    )
    said = [
        Heading(
            title=phrase(
                "PREPARE BEFORE YOU START: {worse}; behind {arrow} what helps ({tally})",
                worse=worse,
                arrow=LEADS_TO.strip(),
                tally=_tally(shown.prepare, len(of_file)),
            )
            if count
            else phrase("PREPARE BEFORE YOU START"),
            entries=[*of_file, *told(shown.prepare)],
            most=max(PREPARED_MAX, len(of_file)),
            least=max(1, len(of_file)),
            none=phrase("nothing that is known gets worse"),
            numbered=True,
        ),
        Heading(
            title=phrase("CHANGE YOUR ALARMS"), entries=alarms(found, shown, everything=everything), most=OTHERS_MAX
        ),
        Heading(
            title=phrase("CHANGE YOUR FILE"),
            entries=[*own, *others],
            most=max(OTHERS_MAX, len(own)),
            least=max(1, len(own)),
            rest=phrase(", of settings that your file does not have") if found.settings.conf else "",
        ),
        Heading(title=phrase("WATCH"), entries=told(shown.watch), most=WATCHED_MAX),
        Heading(title=phrase("WHAT YOU GAIN"), entries=told(shown.gain), most=OTHERS_MAX),
        Heading(
            title=phrase("THE UPGRADE ITSELF, node by node from {release}", release=found.before),
            entries=_rolled(found, shown, everything=everything),
            most=OTHERS_MAX,
        ),
        Heading(
            title=phrase(
                "NOT KNOWN: try these before you start; each command does so on a cluster on this machine, not on yours",
            ),
            entries=_unknown(found, everything=everything),
            most=OTHERS_MAX,
        ),
    ]
    further = _further(found, shown)
    if everything:
        return said + [
            Heading(title=phrase("ALSO: {title}", title=title), entries=told(points), most=0)
            for title, points in further.items()
        ]
    more = joined(
        "; ",
        (phrase("{count} {title}", count=len(points), title=title) for title, points in further.items() if points),
    )
    return [*said, *([Heading(title=MORE, entries=[], most=0, none=more)] if more else [])]


def _further(found: Upgrade, shown: Screen) -> Mapping[str, Sequence[Point]]:
    has = found.settings.conf.modes if found.settings.conf else {}
    needed = dict.fromkeys(
        f"{key}={value}" for point in shown.apart for key, value in point.needs.items() if has.get(key, value) != value
    )
    return {
        phrase("different, and neither better nor worse by itself"): shown.differ,
        phrase("looked at and not yours, since your file has no {needed}", needed=joined(" or ", needed)): shown.apart,
        phrase("looked at and helped by what your file sets"): shown.cured,
        phrase("seen on one of the two, which may be chance"): shown.chance,
    }


def alarms(found: Upgrade, shown: Screen, *, everything: bool = False) -> list[Entry]:
    """Everything that an alarm or a search in logs may hang on, as far as the lab knows the lines."""
    told = [_told(point, everything=everything) for point in shown.alarms]
    words = list(_words(found))
    known = [
        phrase(
            "of logs this covers the lines that the lab knows, of {known} kinds by the releases' classes: {count} kinds "
            "read differently. Other lines may, too: mqlab explain 'WORDS OF YOUR ALARM' names the releases that write them",
            known=lines_known(), count=len(words),
        )
    ]  # fmt: skip
    return [*told, *([known] if everything else []), *words, *_codes(found, everything=everything)]


def screen_lines(found: Upgrade, shown: Screen, conf_name: str = "") -> list[str]:
    """At most ``LINES_MAX`` of them, unless the user's own file has more to tell; what is left out is counted."""
    return [head(found, shown, conf_name), *(line for one, most in fitting(found, shown) for line in one.lines(most))]


def all_lines(found: Upgrade, shown: Screen, conf_name: str = "") -> list[str]:
    """The same, and nothing left out."""
    told = headings(found, shown, everything=True)
    return [head(found, shown, conf_name), *(line for one in told for line in one.lines(len(one.entries)))]


def fitting(
    found: Upgrade, shown: Screen, lines_max: int = LINES_MAX, prepared_min: int = PREPARED_MIN
) -> list[tuple[Heading, int]]:
    """Each heading with the number of its entries that fit so many lines; of what is to be prepared at least so many."""
    told = headings(found, shown)
    most = [min(one.most, len(one.entries)) for one in told]
    while True:
        lines = 1 + sum(len(one.lines(count)) for one, count in zip(told, most, strict=True))
        if lines <= lines_max:
            return list(zip(told, most, strict=True))
        # What is to be prepared gives way late, and what is said of lines of the user's own file never does.
        some, few = (
            [number for number, one in enumerate(told) if number and most[number] > max(one.least, floor)]
            for floor in (OTHERS_MIN, 1)
        )
        first = [0] if most[0] > max(prepared_min, told[0].least) else []
        if not (may_go := some or first or few):
            return list(zip(told, most, strict=True))
        most[max(may_go, key=lambda number: most[number])] -= 1


def head(found: Upgrade, shown: Screen, conf_name: str) -> str:
    """The first line: which upgrade, with which file, and how much of it is known."""
    clients = (
        "" if (found.client_before, found.client_after) == (found.before, found.after)
        else phrase(", clients {before} -> {after}", before=found.client_before, after=found.client_after)
    )  # fmt: skip
    differ = len({claim for points in vars(shown).values() for point in points for claim in point.claims})
    return phrase(
        "Upgrade {before} -> {after}{clients}{conf}: {compared} findings are decided on both, {differ} differ",
        before=found.before,
        after=found.after,
        clients=clients,
        conf=phrase(" with {file}", file=conf_name) if conf_name else "",
        compared=found.compared,
        differ=differ,
    )


def _tally(points: Sequence[Point], of_file: int) -> str:
    counts: dict[str, int] = {phrase("your file"): of_file}
    counts |= {phrase(weight): sum(point.weight is weight for point in points) for weight in Weight}
    return joined(", ", (phrase("{what}: {count}", what=what, count=count) for what, count in counts.items() if count))


def _cited(says: str, figures: str) -> str:
    """A sentence, and what supports it."""
    return phrase("{says}  [{figures}]", says=phrase(says), figures=figures) if figures else says


def _told(point: Point, *, everything: bool = False) -> Entry:
    measured = point.measured if everything else ()
    return [
        _cited(point.says, point.figures),
        *(behind(LEADS_TO, one) for one in point.do),
        *(behind("   ", one) for one in measured),
    ]


def _of_file(found: Upgrade, shown: Screen, *, everything: bool) -> Iterator[Entry]:
    conf = found.settings.conf
    if conf is None:
        return
    if conf.in_force.get("enableDLegerCommitLog") == "true":
        yield [
            _yours(
                phrase(
                    "it is a member of a DLedger group (enableDLegerCommitLog=true), and nothing of the record was "
                    "measured with one: what stands below of masters, slaves and flushes is of plain commit logs"
                )
            ),
            behind(
                LEADS_TO,
                _cited(
                    phrase("try the upgrade on a group of its own first, a member at a time, the leader last"), ADVISED
                ),
            ),
        ]

    def told(says: str, advice: str) -> Entry:
        """With what was measured of it, rather than twice."""
        points = [one for one in shown.of_file if set(one.claims) & set(conf.claims.get(says, ()))]
        figures = joined("; ", (one.figures for one in points if one.figures))
        more = [line for one in points for line in _told(one, everything=everything)[1:]]
        return [_yours(_cited(says, figures)), behind(LEADS_TO, advice), *more]

    for says, advice in dict.fromkeys(conf.urgent):
        yield told(says, advice)
    if comes := [key.at for key in conf.keys if key.comes]:
        yield [
            _yours(
                phrase(
                    "{before} ignores what {after} goes by: {keys}",
                    before=found.before,
                    after=found.after,
                    keys=joined(", ", comes),
                )
            ),
            behind(
                LEADS_TO,
                phrase("Nobody has run with them yet: take out what you do not want before the upgrade"),
            ),
        ]
    for says, advice in dict.fromkeys(one for one in conf.comes if one not in conf.urgent):
        yield told(says, advice)


def _yours(says: str) -> Phrase:
    return phrase("YOUR FILE  {says}", says=phrase(says))


def _words(found: Upgrade) -> Iterator[Entry]:
    for one in found.words:
        stays = [words for words in one.before if words in one.after]
        gone, new = (
            joined(" or ", (repr(words) for words in some if words not in stays)) for some in (one.before, one.after)
        )
        if not stays:
            no_line = phrase("no such line")
            told = phrase("{gone} -> {new}", gone=gone or no_line, new=new or no_line)
        else:
            told = (
                phrase("{gone} -> {new}", gone=gone, new=new) if gone and new
                else phrase("also {new}", new=new) if new else phrase("no more {gone}", gone=gone)
            )  # fmt: skip
            others = counted(len(stays), "other wording")
            told = phrase(
                "{told}; its {others} stays" if len(stays) == 1 else "{told}; its {others} stay",
                told=told,
                others=others,
            )
        yield [phrase("log, {event}: {told}", event=phrase(one.event), told=told)]


def _codes(found: Upgrade, *, everything: bool) -> Iterator[Entry]:
    new, gone = found.settings.codes_new or {}, found.settings.codes_gone or {}
    was = {number: name for name, number in gone.items()}
    reused = [
        phrase("{number} was {before}, is {after}", number=number, before=was[number], after=name)
        for name, number in new.items()
        if number in was
    ]
    if reused:
        yield [phrase("codes with another meaning: {codes}", codes=joined("; ", reused))]
    for kind, codes in ((phrase("new"), new), (phrase("gone"), gone)) if everything else ():
        if codes:
            told = ", ".join(f"{number} {name}" for name, number in sorted(codes.items(), key=lambda one: int(one[1])))
            yield [phrase("codes of answers that are {kind}: {codes}", kind=kind, codes=told)]


def _own_lines(found: Upgrade) -> list[Entry]:
    """What becomes of lines of the user's own file."""
    settings, conf = found.settings, found.settings.conf
    if conf is None:
        return [[
            phrase("your broker.conf is not looked at: --broker-conf FILE says what becomes of each of its lines"),
        ]]  # fmt: skip
    told: list[Entry] = [
        [_at_key(key.at, key.says), *(behind(LEADS_TO, one) for one in key.details)]
        for key in conf.keys
        if not any(says.startswith(f"{key.at}: ") for says, _ in conf.urgent)
    ]
    others = [one for one in (*conf.oddities, *conf.stays) if one not in conf.urgent]
    told += [[says, behind(LEADS_TO, advice)] for says, advice in others]
    told += [
        [phrase("no more with {release}: {says}", release=found.after, says=phrase(says))] for says, _ in conf.goes
    ]
    told += [
        [
            phrase(
                "{name}={yours}: stays as you set it, while the default goes {moved}",
                name=one.name,
                yours=one.yours,
                moved=_moved(one),
            )
        ]
        for one in settings.broker
        if one.yours is not None
    ]
    return told


def _other_settings(found: Upgrade) -> list[Entry]:
    """What becomes of settings that the user's file does not have."""
    settings = found.settings
    given = settings.conf.given if settings.conf else ()
    told: list[Entry] = []
    for whose, defaults in (
        (phrase("other defaults: {settings}"), settings.broker),
        (phrase("other defaults of clients: {settings}"), settings.client),
    ):
        if changed := [f"{one.name} {_moved(one)}" for one in defaults if one.yours is None]:
            told.append([phrase(whose, settings=", ".join(changed))])
    if settings.broker_new:
        told.append([phrase("{count} settings of brokers are new, each with a default", count=settings.broker_new)])
    not_yours = "" if settings.conf is None else phrase(", and not in your file")
    for what, all_keys in (
        (phrase("not known any more"), settings.broker_gone),
        (phrase("read by nothing any more"), settings.broker_dead),
    ):
        if keys := [key for key in all_keys if key not in given]:
            told.append([
                phrase("{what}{not_yours}: {keys}", what=what, not_yours=not_yours, keys=", ".join(keys)),
            ])  # fmt: skip
    return told


def _at_key(at: str, says: str) -> Phrase:
    return phrase("{at}: {says}", at=phrase(at), says=phrase(says))


def _moved(one: DefaultChanged) -> str:
    return f"{one.before} -> {one.after}"


def _rolled(found: Upgrade, shown: Screen, *, everything: bool) -> list[Entry]:
    if not shown.itself:
        if found.after in found.rolled.to:
            command = f"mqlab verify {found.rolled.incident} --release {found.before}"
            return [[phrase("not measured: {command}", command=command)]]
        to = ", ".join(found.rolled.to) or phrase("no release")
        return [[phrase("not measured; one to {releases} is", releases=to)]]
    told = [_told(point, everything=everything) for point in shown.itself]
    if not found.rolled.order:
        return told
    settled = [point for point in shown.itself if point.is_settled]
    unsettled = [point.asks for point in shown.itself if not point.is_settled]
    order: list[str] = [
        phrase(
            "in the order that was measured, one node after another: {order}",
            order=joined(", ", map(phrase, found.rolled.order)),
        )
    ]
    if found.rolled.first:
        order.append(behind(LEADS_TO, found.rolled.first))
    if unsettled:
        order.append(
            phrase(
                "not settled from {release}: {questions}",
                release=found.before,
                questions=joined("; ", unsettled),
            )
        )
    return [order, *(told if everything else [_told(point) for point in settled])]


_OF_ALL = re.compile(r"(?:none|all|\d+) of \d+ \w+|all \d+ \w+", re.IGNORECASE)
_MEASURED_ALL = re.compile(r" \((?:below|above|[\d.]+[ \u2013-])[^()]*\)")


def _timed(command: str, minutes: int) -> Phrase:
    return behind(LEADS_TO, phrase("{command}  # about {minutes} min", command=command, minutes=minutes))


def _unknown(found: Upgrade, *, everything: bool) -> list[Entry]:
    count = sum(map(len, found.undecided.values()))
    told: list[Entry] = []
    for one in found.known:
        donors = joined(
            ", ",
            (phrase("{count} from {release}", count=count, release=donor) for donor, count in one.carried.items()),
        )
        told.append([
            phrase(
                "{release} is not recorded: findings are carried over where the code is the same ({donors}), "
                "{unknown} are unknown",
                release=one.release, donors=donors or phrase("none"), unknown=len(one.unknown),
            ),
            _timed(one.command, one.minutes),
        ])  # fmt: skip
    if count:
        incidents = ", ".join(list(found.undecided)[:OPEN_NAMED_MAX])
        told.append([
            phrase(
                "{count} findings of {all} incidents are not settled on one of the two: {incidents}",
                count=count, all=len(found.undecided),
                incidents=incidents + (", ..." if len(found.undecided) > OPEN_NAMED_MAX else ""),
            ),
            _timed(found.open.command, found.open.minutes),
        ])  # fmt: skip
    if others := found.settings.conf.others if found.settings.conf else ():
        more = phrase(" and {count} more", count=len(others) - OTHERS_MAX) if len(others) > OTHERS_MAX else ""
        command = f"mqlab verify INCIDENT --release {found.before},{found.after} --broker-conf FILE"
        told.append([
            phrase(
                "the record was measured with defaults; your file has others: {keys}{more}",
                keys=", ".join(others[:OTHERS_MAX]), more=more,
            ),
            behind(LEADS_TO, phrase("{command}  # measures with yours", command=command)),
        ])  # fmt: skip
    for release, client in ((found.before, found.client_before), (found.after, found.client_after)):
        if release != client:
            told.append([
                phrase(
                    "clients of {client} on brokers of {broker}: every recorded run has both of one release",
                    client=client, broker=release,
                ),
            ])  # fmt: skip
    if everything:
        told += [[f"{incident}: {', '.join(claims)}"] for incident, claims in found.undecided.items()]
    return told
