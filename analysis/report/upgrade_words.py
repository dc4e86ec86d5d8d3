"""What an upgrade changes, in words: for the terminal, and the same sections as one page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from analysis.report.html import asset, environment
from analysis.report.upgrade import BETTER, CHANCE, OTHER, SIGN, TRADE, WORSE, Upgrade
from analysis.report.upgrade_screen import LEADS_TO, Screen, fitting, head
from analysis.report.upgrade_settings import DefaultChanged, SettingsChanged


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing that changes: what it is, and its details a line each."""

    what: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Section:
    """``none`` is what is said where there is no row."""

    title: str
    rows: tuple[Row, ...]
    none: str = "nothing that the record decides"


def sections(found: Upgrade) -> list[Section]:
    """What gets better and worse, what alerts hang on, settings, and what nobody knows yet."""
    known = Section(
        title="What is carried over and what is unknown, as neither was measured", rows=tuple(_known(found))
    )
    return [
        *([known] if known.rows else []),
        Section(title="What gets better", rows=tuple(_changes(found, BETTER))),
        Section(title="What gets worse", rows=tuple(_changes(found, WORSE))),
        Section(
            title="What gets better in one way and worse in another", rows=tuple(_changes(found, TRADE)), none="nothing"
        ),
        Section(
            title="What changes its log lines or error codes",
            rows=(*_changes(found, SIGN), *_words(found), *_codes(found.settings)),
            none="nothing",
        ),
        Section(title="What is otherwise different", rows=tuple(_changes(found, OTHER))),
        Section(
            title="What was seen on one of them, and may be chance", rows=tuple(_changes(found, CHANCE)), none="nothing"
        ),
        Section(title=f"A rolling upgrade from {found.before} to {found.after}", rows=tuple(_rolled(found))),
        Section(title="Your broker.conf", rows=tuple(_conf(found)), none="nothing in it changes its meaning"),
        Section(title="Defaults that are others", rows=tuple(_defaults(found)), none="none"),
        Section(title="What has no decided cell", rows=tuple(_undecided(found)), none="nothing"),
    ]


def title(found: Upgrade) -> str:
    """Of the page and of the terminal's first line."""
    clients = (
        "" if (found.client_before, found.client_after) == (found.before, found.after)
        else f", clients from {found.client_before} to {found.client_after}"
    )  # fmt: skip
    decided = "are decided or carried over on both" if found.known else "are decided on both"
    return f"RocketMQ from {found.before} to {found.after}{clients}: {found.compared} recorded claims {decided}"


def lines(found: Upgrade) -> list[str]:
    """For the terminal."""
    said = [title(found)]
    for section in sections(found):
        said += ["", section.title]
        said += [line for row in section.rows for line in (f"  {row.what}", *(f"      {one}" for one in row.details))]
        said += [] if section.rows else [f"  {section.none}"]
    return said


def page(found: Upgrade, shown: Screen, conf_name: str = "") -> str:
    """The screen as one HTML file, and folded below it each claim with its figures."""
    return (
        environment()
        .get_template("upgrade.html.j2")
        .render(
            title=title(found),
            head=head(found, shown, conf_name),
            headings=fitting(found, shown),
            leads_to=LEADS_TO,
            sections=sections(found),
            style=Markup(asset("style.css")),  # our own file, not data
        )
    )


# --- rows -----------------------------------------------------------------------------------------------------------------


def _known(found: Upgrade) -> Iterator[Row]:
    for one in found.known:
        by = ", ".join(f"{count} from {release}" for release, count in sorted(one.carried.items()))
        yield Row(what=f"{one.release}: carried over are {by or 'none'}; unknown are {len(one.unknown)} claims")
        if one.unknown:
            yield Row(what=f"This decides what is unknown on it, in about {one.minutes} min:", details=(one.command,))


def _changes(found: Upgrade, sort: str) -> Iterator[Row]:
    """Parts that one sentence tells of are one row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for one in found.changes:
        if one.sort == sort:
            by = f", stalled by {one.injection}" if one.injection in ("freeze", "byteman") else ""
            told = tuple(
                f"{release}: {one.counts}{words}" + (f" ({provenance})" if provenance else "")
                for release, words, provenance in (
                    (found.before, one.before, one.before_from),
                    (found.after, one.after, one.after_from),
                )
            )
            alike.setdefault((one.claim, f"{one.incident}{by}", one.says, *told), []).append(one.part)
    for (claim, where, *details), parts in alike.items():
        yield Row(what=f"{claim} {', '.join(parts)} ({where})", details=tuple(details))


def _rolled(found: Upgrade) -> Iterator[Row]:
    for claim, verdict, sentence in found.rolled.findings:
        yield Row(what=f"{claim} {verdict}", details=(sentence,))
    if not found.rolled.findings:
        run = f"mqlab verify {found.rolled.incident} --release {found.before}"
        measured = found.after in found.rolled.to
        told = (
            f"This runs one: {run}"
            if measured
            else f"Measured is one to {', '.join(found.rolled.to) or 'no release'} alone."
        )
        yield Row(what="the record has none", details=(told,))


def _words(found: Upgrade) -> Iterator[Row]:
    for one in found.words:
        told = ((found.before, one.before), (found.after, one.after))
        details = tuple(
            f"{release}: {' or '.join(map(repr, words)) if words else 'no such line'}" for release, words in told
        )
        yield Row(what=f"log: {one.event}", details=details)


def _codes(settings: SettingsChanged) -> Iterator[Row]:
    for kind, codes in (("new", settings.codes_new), ("gone", settings.codes_gone)):
        if codes:
            told = ", ".join(f"{number} {name}" for name, number in sorted(codes.items(), key=lambda one: int(one[1])))
            yield Row(what=f"codes of answers that are {kind}", details=(told,))


def _conf(found: Upgrade) -> Iterator[Row]:
    conf = found.settings.conf
    if conf is None:
        yield Row(what="not given: --broker-conf FILE says what becomes of each of its keys")
        return
    for says, advice in conf.comes:
        yield Row(what=f"with {found.after}: {says}", details=(advice,))
    for says, _ in conf.goes:
        yield Row(what=f"no more with {found.after}: {says}")
    for key in conf.keys:
        yield Row(what=f"{key.at}: {key.says}", details=key.details)
    for one in found.settings.broker:
        if one.yours is not None:
            yield Row(what=f"{one.name}={one.yours}: stays as you set it, while the default goes {_told(one)}")
    for says, advice in (*conf.oddities, *conf.stays):
        yield Row(what=f"with both: {says}", details=(advice,))


def _defaults(found: Upgrade) -> Iterator[Row]:
    for one in found.settings.broker:
        if one.yours is None:
            yield Row(what=f"broker {one.name}: {_told(one)}")
    for one in found.settings.client:
        yield Row(what=f"client {one.name}: {_told(one)}")
    if found.settings.broker_new:
        yield Row(what=f"{found.settings.broker_new} settings of brokers are new")
    if found.settings.broker_gone:
        yield Row(what="no more known to brokers", details=(", ".join(found.settings.broker_gone),))
    if found.settings.broker_dead:
        yield Row(
            what=f"known to brokers of {found.after}, and read by nothing in them any more",
            details=(", ".join(found.settings.broker_dead),),
        )


def _told(one: DefaultChanged) -> str:
    return f"from {one.before} to {one.after}"


def _undecided(found: Upgrade) -> Iterator[Row]:
    releases = ",".join(dict.fromkeys((found.before, found.after)))
    for release, client in ((found.before, found.client_before), (found.after, found.client_after)):
        if release != client:
            yield Row(what=f"clients of {client} on brokers of {release}: every recorded run has both of one release")
    for incident, claims in found.undecided.items():
        yield Row(what=f"{incident}: {', '.join(claims)}")
    if found.undecided:
        yield Row(
            what="A run of your own decides what it can, with your settings:",
            details=(f"mqlab verify INCIDENT --release {releases} --broker-conf FILE",),
        )
