"""What each kind of send did when a broker failed, as tables: one of all kinds by failure, one by retries and avoidance."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping

from analysis.report.document import Distribution, Table
from analysis.verdicts.numbers import number, quantity
from analysis.verdicts.order import arm_key, natural_key
from harness.model.python_sends import CLIENT_NAMES, PYTHON_KINDS, PythonSendKind
from harness.model.send_kinds import KIND_PARAMS, KINDS, ONE, RETRIES, SWEPT, KindOfSend

Values = Mapping[tuple[str, str, str, str], list[float]]
"""Of a release: by measure, arm, kind of send and ending, which is empty for all other measures."""

ENDED = "ended_share"
MATRIX_NOTE = (
    "Of sends whose first attempt was for the broker at fault: attempts, and on how many brokers, at most; the median time until "
    "the sender knew, how they ended for it, how many of those that failed are stored all the same, further copies, and messages "
    "of all that were sent that are in no store though nobody was told. A kind that sent none there says so."
)
BRIEF_NOTE = (
    "Of sends whose first attempt was for the broker at fault: attempts, and on how many brokers, at most; the median time until "
    "the sender knew, from a second on; how they ended for it; whether those that failed are stored all the same, others twice, "
    "and some not at all though nobody was told."
)
FEW, NEARLY_ALL = 0.05, 0.95
"""Shares of sends that are not worth a word, and that need no number."""
WAITED_S = 1.0
WORDS = {"ok": "accepted", "unanswered": "no answer"}
PYTHON_NOTE = "Attempts of Python's clients are those that their library's own log names. What a broker answered they tell nobody."
RETRIES_NOTE = (
    "Share of all sends that failed for good while one of two brokers was at fault, without avoidance and with it "
    "(sendLatencyFaultEnable)."
)


def send_tables(measured: Iterable[Distribution], incident: str) -> tuple[Table, ...]:
    """Two tables for each release; none where the incident measured no kinds of send."""
    return tuple(
        table
        for release, values in _by_release(measured, incident).items()
        for table in (_matrix(release, values), _by_retries(release, values))
        if table.rows
    )


def tables_in_brief(measured: Iterable[Distribution], incident: str) -> tuple[Table, ...]:
    """All releases in one table of kinds by failure, a row for those of which the same is said; then each one's by retries."""
    found = _by_release(measured, incident)
    every = {key: value for values in found.values() for key, value in values.items()}
    arms = [arm for arm in _arms(every) if arm != "baseline"]
    rows: dict[tuple[str, ...], list[str]] = {}
    for kind in _as_by_default(every):
        for release, values in found.items():
            cells = ("; ".join(_brief(values, arm, kind.name)) for arm in arms)
            rows.setdefault((in_words(kind), *cells), []).append(release)
    brief = Table(
        title="Kinds of send",
        columns=("kind of send", "releases", *map(_failure, arms)),
        rows=tuple((kind, ", ".join(releases), *cells) for (kind, *cells), releases in rows.items()),
        note=BRIEF_NOTE,
    )
    by_retries = (_by_retries(release, values) for release, values in found.items())
    return tuple(table for table in (brief, *by_retries) if table.rows)


def _by_release(measured: Iterable[Distribution], incident: str) -> dict[str, Values]:
    found: dict[str, dict[tuple[str, str, str, str], list[float]]] = {}
    for one in measured:
        if one.incident == incident and "avoidance" in one.params:
            params = one.params
            kind = "-".join(str(params[name]) for name in KIND_PARAMS if name in params)
            values = found.setdefault(one.release, {})
            values.setdefault((one.measure, one.arm, kind, str(params.get("ended", ""))), []).extend(one.values)
    return {release: found[release] for release in sorted(found, key=natural_key)}


def _arms(values: Values) -> list[str]:
    return sorted({arm for _, arm, _, _ in values}, key=arm_key)


def _failure(arm: str) -> str:
    return (arm.partition("-")[2] or arm).replace("-", " ")


def _matrix(release: str, values: Values) -> Table:
    arms = _arms(values)
    shown = _as_by_default(values)
    rows = [(in_words(kind), *(_cell(values, arm, kind.name) for arm in arms)) for kind in shown]
    columns = ("kind of send", *map(_failure, arms))
    note = f"{MATRIX_NOTE} {PYTHON_NOTE}" if any(isinstance(kind, PythonSendKind) for kind in shown) else MATRIX_NOTE
    return Table(title=f"Kinds of send, {release}", columns=columns, rows=tuple(rows), note=note)


def _as_by_default(values: Values) -> list[KindOfSend]:
    """The kinds that were measured and whose retries and avoidance are the client's own, and all those of Python's clients."""
    measured = {name for _, _, name, _ in values}
    swept = {kind.name for kind in KINDS if kind.avoids or RETRIES[kind.retries] != "two"}
    return [kind for kind in (*KINDS, *PYTHON_KINDS) if kind.name in measured - swept]


def in_words(kind: KindOfSend) -> str:
    """As the tables name it."""
    words = {"again": "selector, sent again by the application", "fixed": "fixed queue"}.get(kind.route, kind.route)
    where = ", no other broker" if kind.topic == ONE else ""
    if not isinstance(kind, PythonSendKind):
        return f"{words}, {kind.mode}{where}"
    retries = "" if kind.retries is None else f", retry_times={kind.retries}"
    return f"{CLIENT_NAMES[kind.client]}: {words}, {kind.mode}{retries}{where}"


def _cell(values: Values, arm: str, kind: str) -> str:
    def value(measure: str, of: Callable[[list[float]], float]) -> float | None:
        found = values.get((measure, arm, kind, ""))
        return of(found) if found else None

    attempts, brokers = value("attempts_most", max), value("brokers_tried_most", max)
    if attempts is None or brokers is None:
        return "none sent there" if value("failed_for_good_share", max) is not None else ""
    took_s, stored = value("aimed_took_s", statistics.median), value("failed_stored_share", statistics.median)
    copies = value("copies_count", max)
    said = [f"{number(attempts)} on {number(brokers)}" if attempts else "no attempt"]
    if took_s is not None:
        said.append(f"{number(round(took_s, 2))} s" if took_s >= 1 else f"{number(round(took_s * 1000))} ms")
    said += [f"{quantity(share, 'share')} {ended}" for ended, share in _ended(values, arm, kind)]
    if stored is not None:
        said.append(f"{quantity(stored, 'share')} of the failed stored")
    if copies:
        said.append(f"up to {number(copies)} further {'copy' if copies == 1 else 'copies'}")
    if lost := value("untold_loss_count", max):
        said.append(f"up to {number(lost)} lost, nobody told")
    return "; ".join(said)


def _brief(values: Values, arm: str, kind: str) -> Iterator[str]:
    """The same in words that releases share: no time below a second, and no number for what is nearly all or next to none."""

    def shown(measure: str) -> list[float]:
        return values.get((measure, arm, kind, ""), [])

    attempts, brokers, took_s, stored = map(
        shown, ("attempts_most", "brokers_tried_most", "aimed_took_s", "failed_stored_share")
    )
    if not attempts or not brokers:
        yield from ["goes elsewhere"] if shown("failed_for_good_share") else []
        return
    yield f"{number(max(attempts))} on {number(max(brokers))}" if max(attempts) else "no attempt"
    if took_s and statistics.median(took_s) >= WAITED_S:
        yield f"{statistics.median(took_s):.0f} s"
    for ended, share in _ended(values, arm, kind):
        if share >= FEW:
            how_many = "" if share >= NEARLY_ALL else f" {quantity(round(share, 2), 'share')}"
            yield f"{WORDS.get(ended, ended)}{how_many}"
    if stored and statistics.median(stored) >= FEW:
        yield "stored all the same"
    if max(shown("copies_count"), default=0) > 0:
        yield "stored twice"
    if max(shown("untold_loss_count"), default=0) > 0:
        yield "lost, nobody told"


def _ended(values: Values, arm: str, kind: str) -> list[tuple[str, float]]:
    """Each ending with its mean share over all trials of the cell, the largest first; one that a trial did not have is 0 there."""
    trials = len(values.get(("attempts_most", arm, kind, ""), ())) or 1
    found = {
        ended: sum(shares) / trials
        for (measure, where, name, ended), shares in values.items()
        if (measure, where, name) == (ENDED, arm, kind)
    }
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


def _by_retries(release: str, values: Values) -> Table:
    arms = [arm for arm in _arms(values) if arm != "baseline"]
    rows = [
        (
            f"{route}, {mode}, {'no' if words == 'none' else words} retries",
            *_shares(values, arms, f"{route}-{mode}-{words}"),
        )
        for route, mode in SWEPT
        for words in RETRIES.values()
    ]
    columns = ("kind of send", *(f"{_failure(arm)}, {which}" for arm in arms for which in ("off", "on")))
    shown = tuple(row for row in rows if any(row[1:]))
    return Table(
        title=f"Failed for good by retries and avoidance, {release}", columns=columns, rows=shown, note=RETRIES_NOTE
    )


def _shares(values: Values, arms: list[str], kind: str) -> Iterator[str]:
    for arm in arms:
        for which in ("off", "on"):
            found = values.get(("failed_for_good_share", arm, f"{kind}-{which}-both", ""))
            yield quantity(statistics.median(found), "share") if found else ""
