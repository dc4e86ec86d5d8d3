"""A diagnosis as one page that needs no network and no script: bands of incidents by broker, and their lines as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from analysis.diagnosis.diagnosis import Diagnosed, Diagnosis
from analysis.diagnosis.moments import Zone, in_zone, words_of
from analysis.report.html import asset, environment
from harness.language import joined, phrase, translated

MARGIN = 0.05
"""Of the time between the first and the last incident, left free on both sides."""
BAND_REM = 1.4
TICKS_REM = 0.9
ANSWERED_MAX = 3
"""Incidents that are told before the first fold."""
PLACES_MAX, WARNED_FIRST_MAX = 4, 3
NOWHERE = phrase("broker not named")
NO_TIME = phrase("at a time that no line has")
UNREPLAYED = phrase("nothing replays it")


@dataclass(frozen=True, kw_only=True)
class Band:
    """An incident in a broker's lane; ``left`` and ``width`` in percent of the axis."""

    id: str
    incident: str
    sure: str
    title: str
    left: float
    width: float
    top_rem: float


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A line that proves it."""

    id: str
    title: str
    left: float


@dataclass(frozen=True, kw_only=True)
class Lane:
    """What happened to one broker."""

    broker: str
    bands: tuple[Band, ...]
    ticks: tuple[Tick, ...]
    height_rem: float


@dataclass(frozen=True, kw_only=True)
class _Axis:
    from_s: float
    to_s: float

    def at(self, at_s: float) -> float:
        return round(100 * (at_s - self.from_s) / (self.to_s - self.from_s), 3)


def render(found: Diagnosis) -> str:
    """The page as text, with times as most of its files have them. The same diagnosis gives the same bytes."""
    offset_s = found.offset_s
    found = dataclasses.replace(found, incidents=tuple(_in_zone(one, offset_s) for one in found.incidents))
    axis = _axis(found.incidents)
    count = len(found.incidents)
    answers = _answers(found.incidents, offset_s)
    return (
        environment()
        .get_template("diagnosis.html.j2")
        .render(
            title=translated("{count} incident found" if count == 1 else "{count} incidents found", count=count),
            read=translated(
                "{lines:,} lines in {files} files, {unknown:,} of them of no known layout",
                lines=found.lines,
                files=len(found.files),
                unknown=found.unknown,
            ),
            style=Markup(asset("style.css")),  # our own file, not data
            lanes=() if axis is None else tuple(_lanes(found.incidents, axis, offset_s)),
            axis_from=_at(axis.from_s, offset_s) if axis else "",
            axis_to=_at(axis.to_s, offset_s) if axis else "",
            zone=Zone(offset_s=offset_s, known_by="").name,
            answers=answers[:ANSWERED_MAX],
            further=[answer["title"] for answer in answers[ANSWERED_MAX:]],
            warned_first=WARNED_FIRST_MAX,
            views=[_view(number, one, offset_s) for number, one in enumerate(found.incidents)],
            silent=sorted((name, translated(instead)) for name, instead in found.silent.items()),
            files=[
                {
                    **dataclasses.asdict(one),
                    "known_by": translated(one.known_by),
                    "problem": translated(one.problem),
                    "from": _at(one.from_s, offset_s),
                    "to": _at(one.to_s, offset_s),
                }
                for one in found.files
            ],
            shapes=found.shapes,
            warned=[
                {**dataclasses.asdict(one), "during": _during(one.from_s, one.to_s, offset_s)} for one in found.warned
            ],
            left_out=found.left_out,
            skews=found.skews,
        )
    )


def _in_zone(one: Diagnosed, offset_s: float) -> Diagnosed:
    """In the reader's language, with the times in its sentences as the clock of that zone shows them."""
    why, against, related = (
        tuple(in_zone(translated(sentence), offset_s) for sentence in told)
        for told in (one.found.why, one.found.against, one.found.related)
    )
    found = dataclasses.replace(one.found, why=why, against=against, related=related)
    cures = tuple(dataclasses.replace(cure, summary=translated(cure.summary)) for cure in one.cures)
    because, advice, title, symptom = map(translated, (one.because, one.advice, one.title, one.symptom))
    return dataclasses.replace(
        one, found=found, cures=cures, because=because, advice=advice, title=title, symptom=symptom
    )


def _at(at_s: float | None, offset_s: float) -> str:
    return in_zone(words_of(at_s), offset_s)


def _during(from_s: float | None, to_s: float | None, offset_s: float) -> str:
    times = [at for at in (_at(from_s, offset_s), _at(to_s, offset_s)) if at]
    return translated("{start} to {end}", start=times[0], end=times[1]) if len(times) > 1 else "".join(times)


def _id(number: int, line: int | None = None) -> str:
    return f"found-{number}" if line is None else f"found-{number}-{line}"


def _axis(incidents: Sequence[Diagnosed]) -> _Axis | None:
    times = [at for one in incidents for at in (one.found.from_s, one.found.to_s) if at is not None]
    if not times:
        return None
    margin_s = max(1.0, (max(times) - min(times)) * MARGIN)
    return _Axis(from_s=min(times) - margin_s, to_s=max(times) + margin_s)


def _lanes(incidents: Sequence[Diagnosed], axis: _Axis, offset_s: float) -> Iterator[Lane]:
    by_broker: dict[str, list[int]] = {}
    for number, one in enumerate(incidents):
        for broker in one.found.brokers or (NOWHERE,):
            by_broker.setdefault(broker, []).append(number)
    for broker, numbers in sorted(by_broker.items()):
        bands = tuple(_bands(incidents, numbers, axis))
        rows = max((band.top_rem for band in bands), default=0.0) + BAND_REM
        ticks = tuple(
            Tick(
                id=_id(number, at), title=f"{_at(line.at_s, offset_s)} {line.file}:{line.line}", left=axis.at(line.at_s)
            )
            for number in numbers
            for at, line in enumerate(incidents[number].found.lines)
            if line.at_s is not None and axis.from_s <= line.at_s <= axis.to_s
        )
        yield Lane(broker=translated(broker), bands=bands, ticks=ticks, height_rem=round(rows + TICKS_REM, 2))


def _bands(incidents: Sequence[Diagnosed], numbers: Sequence[int], axis: _Axis) -> Iterator[Band]:
    """Those that overlap stand below each other."""
    ends: list[float] = []
    for number in numbers:
        found = incidents[number].found
        if found.from_s is None or found.to_s is None:
            continue
        row = next((at for at, end_s in enumerate(ends) if end_s < found.from_s), len(ends))
        ends[row : row + 1] = [found.to_s]
        yield Band(
            id=_id(number), incident=found.incident, sure=found.sure, title=f"{found.incident}: {translated('; ').join(found.why)}",
            left=axis.at(found.from_s), width=round(axis.at(found.to_s) - axis.at(found.from_s), 3),
            top_rem=round(0.2 + row * BAND_REM, 2),
        )  # fmt: skip


def _answers(incidents: Sequence[Diagnosed], offset_s: float) -> list[dict[str, object]]:
    """What is told first: each incident once, however often it happened, in the order of the diagnosis."""
    by: dict[str, list[tuple[int, Diagnosed]]] = {}
    for number, one in enumerate(incidents):
        by.setdefault(one.found.incident, []).append((number, one))
    return [_answer(some, offset_s) for some in by.values()]


def _more(names: Sequence[str]) -> str:
    return phrase(" and {count} more", count=len(names) - PLACES_MAX) if len(names) > PLACES_MAX else ""


def _answer(some: Sequence[tuple[int, Diagnosed]], offset_s: float) -> dict[str, object]:
    (number, first), all_found = some[0], [one.found for _, one in some]
    times = [at for found in all_found for at in (found.from_s, found.to_s) if at is not None]
    where = [
        phrase("{noun} {names}{more}", noun=noun, names=", ".join(names[:PLACES_MAX]), more=_more(names))
        for noun in (phrase("brokers"), phrase("groups"), phrase("topics"))
        if (names := list(dict.fromkeys(name for found in all_found for name in getattr(found, noun))))
    ]
    name = first.found.incident
    return {
        "id": _id(number),
        "title": first.title,
        "incident": name,
        "symptom": first.symptom,
        "times": len(some),
        "when": _during(min(times), max(times), offset_s) if times else translated(NO_TIME),
        "where": translated(joined("; ", where)),
        "why": first.found.why[:2],
        "because": first.because,
        "against": first.found.against[:1],
        "do": first.advice,
        "command": f"mqlab explain {name}",
        "sure": translated(first.found.sure),
        "measured": list(first.cures)[-1:],
        "unreplayed": "" if first.is_replayed else translated(UNREPLAYED),
    }


def _view(number: int, one: Diagnosed, offset_s: float) -> dict[str, object]:
    found = one.found
    places = (
        (phrase("brokers"), found.brokers),
        (phrase("groups"), found.groups),
        (phrase("topics"), found.topics),
        (phrase("queues"), found.queues),
    )
    return {
        "id": _id(number),
        "found": found,
        "because": one.because,
        "advice": one.advice,
        "cures": one.cures,
        "places": [(translated(noun), names) for noun, names in places if names],
        "when": _during(found.from_s, found.to_s, offset_s) or translated(NO_TIME),
        "unreplayed": "" if one.is_replayed else translated(UNREPLAYED),
        "lines": [
            {**dataclasses.asdict(line), "id": _id(number, at), "at": _at(line.at_s, offset_s)}
            for at, line in enumerate(found.lines)
        ],
    }
