"""What each kind of send did when a broker failed, as tables: one of all kinds by failure, one by retries and avoidance."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping

from analysis.verdicts.document import ReportData, Table
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
PYTHON_NOTE = "Attempts of Python's clients are those that their library's own log names. What a broker answered they tell nobody."
RETRIES_NOTE = (
    "Share of all sends that failed for good while one of two brokers was at fault, without avoidance and with it "
    "(sendLatencyFaultEnable)."
)


def send_tables(data: ReportData, incident: str) -> tuple[Table, ...]:
    """Two tables for each release; none where the incident measured no kinds of send."""
    by_release: dict[str, dict[tuple[str, str, str, str], list[float]]] = {}
    for one in data.distributions:
        if one.incident == incident and "avoidance" in one.params:
            params = one.params
            kind = "-".join(str(params[name]) for name in KIND_PARAMS if name in params)
            values = by_release.setdefault(one.release, {})
            values.setdefault((one.measure, one.arm, kind, str(params.get("ended", ""))), []).extend(one.values)
    return tuple(
        table
        for release in sorted(by_release, key=natural_key)
        for table in (_matrix(release, by_release[release]), _by_retries(release, by_release[release]))
        if table.rows
    )


def _arms(values: Values) -> list[str]:
    return sorted({arm for _, arm, _, _ in values}, key=arm_key)


def _failure(arm: str) -> str:
    return (arm.partition("-")[2] or arm).replace("-", " ")


def _matrix(release: str, values: Values) -> Table:
    arms = _arms(values)
    swept = {kind.name for kind in KINDS if kind.avoids or RETRIES[kind.retries] != "two"}
    shown = [
        kind
        for kind in (*KINDS, *PYTHON_KINDS)
        if kind.name not in swept and any(name == kind.name for _, _, name, _ in values)
    ]
    rows = [(in_words(kind), *(_cell(values, arm, kind.name) for arm in arms)) for kind in shown]
    columns = ("kind of send", *map(_failure, arms))
    note = f"{MATRIX_NOTE} {PYTHON_NOTE}" if any(isinstance(kind, PythonSendKind) for kind in shown) else MATRIX_NOTE
    return Table(title=f"Kinds of send, {release}", columns=columns, rows=tuple(rows), note=note)


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
        said.append(f"{number(round(took_s, 2))} s")
    said += _endings(values, arm, kind)
    if stored is not None:
        said.append(f"{quantity(stored, 'share')} of the failed stored")
    if copies:
        said.append(f"up to {number(copies)} further copies")
    if lost := value("untold_loss_count", max):
        said.append(f"up to {number(lost)} lost, nobody told")
    return "; ".join(said)


def _endings(values: Values, arm: str, kind: str) -> Iterator[str]:
    """Each ending with its mean share over all trials of the cell; one that a trial did not have is 0 there."""
    trials = len(values.get(("attempts_most", arm, kind, ""), ())) or 1
    found = {
        ended: sum(shares) / trials
        for (measure, where, name, ended), shares in values.items()
        if (measure, where, name) == (ENDED, arm, kind)
    }
    for ended, share in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        yield f"{ended} {quantity(share, 'share')}"


def _by_retries(release: str, values: Values) -> Table:
    arms = [arm for arm in _arms(values) if arm != "baseline"]
    rows = [
        (f"{route}, {mode}, {words} retries", *_shares(values, arms, f"{route}-{mode}-{words}"))
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
