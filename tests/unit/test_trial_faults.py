"""Who makes a fault, and what is stamped of it: around its injection, by its own measures, and however its trial ends."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import ClientError, Interrupted
from harness.faults.injections import INJECTIONS, USUAL_INJECTION, injection_of
from harness.host.hiccups import NoiseProbe
from harness.model.cluster import BrokerSettings
from harness.model.faults import FAULTS, AppendStall, Fault, KillOwners, NoFault
from harness.run.costs import TrialCosts
from harness.run.display import Display
from harness.run.trial_fault import TrialFault
from harness.run.trial_phases import run_phases
from harness.trial import Healed, Injected, Injection, LoadSession, TrialContext
from harness.wait import wait_until

NOBODY = cast(LoadSession, None)


def _injection(done: Injected | Exception, calls: list[str] | None = None) -> Injection[Fault]:
    """An injection that did what it is told."""
    called = calls if calls is not None else []

    def inject(fault: Fault, trial: TrialContext, load: LoadSession) -> Injected:
        called.append("inject")
        if isinstance(done, Exception):
            raise done
        return done

    def heal(fault: Fault, trial: TrialContext, load: LoadSession) -> Healed:
        called.append("heal")
        return Healed(achieved="mended", achieved_ms=7.0)

    return Injection(name="by hand", inject=inject, heal=heal)


def _prepared(calls: list[str]) -> Injection[Fault]:
    """One that has something to make ready, and to do once before."""
    return dataclasses.replace(
        _injection(Injected()),
        prepare=lambda fault, trial: calls.append("prepare"),
        rehearse=lambda fault, trial: calls.append("rehearse"),
    )


def _on(calls: list[str]) -> Callable[[], Healed]:
    """The end of something that is on."""

    def end() -> Healed:
        calls.append("off")
        return Healed(achieved="3 packets were dropped", exercised=True)

    return end


class Events:
    """The states that were stamped, and the anchors and phases that were not looked at."""

    def __init__(self) -> None:
        self.stamped: list[dict[str, Any]] = []

    def fault(self, kind: str, state: str, **values: Any) -> None:
        self.stamped.append({"kind": kind, "state": state, **values})

    def anchor(self) -> None:
        return None

    def phase(self, phase: str) -> AbstractContextManager[None]:
        return nullcontext()

    def states(self) -> list[str]:
        return [one["state"] for one in self.stamped]

    def of(self, state: str) -> dict[str, Any]:
        (found,) = [one for one in self.stamped if one["state"] == state]
        return found


def _trial(events: Events) -> TrialContext:
    record = SimpleNamespace(trial="t1")
    arm = SimpleNamespace(fault=KillOwners(), steps=())
    return cast(TrialContext, SimpleNamespace(events=events, record=record, arm=arm, cancel=threading.Event()))


def _made(done: Injected | Exception, calls: list[str] | None = None) -> tuple[TrialFault, Events]:
    events = Events()
    return TrialFault(_trial(events), KillOwners(), _injection(done, calls)), events


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.kind)
def test_every_fault_has_an_injection_and_none_of_its_names_twice(kind: type[Fault]) -> None:
    names = [injection.name for injection in INJECTIONS[kind]]
    assert names
    assert len(set(names)) == len(names)


def test_the_usual_injection_is_taken_unless_another_is_asked_for() -> None:
    assert [one.name for one in INJECTIONS[AppendStall]] == [USUAL_INJECTION, "freeze"]
    assert injection_of(AppendStall()).name == USUAL_INJECTION
    assert injection_of(AppendStall(), "freeze").name == "freeze"
    assert injection_of(NoFault(), "freeze").name == "none"


def test_an_injection_that_needs_nothing_takes_any_host_and_brokers_as_they_are() -> None:
    settings = BrokerSettings()
    assert _injection(Injected()).can(cast(Any, None)) is None
    assert _injection(Injected()).brokers(settings) is settings


def test_what_is_not_measured_inside_is_stamped_around_the_injection() -> None:
    fault, events = _made(Injected(target="broker-a", asked_ms=500.0, detail="as asked"))
    fault.inject(NOBODY)
    assert events.states() == ["asked", "injecting", "injected"]
    injecting, injected = events.of("injecting"), events.of("injected")
    assert events.of("asked")["at_ns"] == injecting["at_ns"] <= injected["at_ns"]
    assert {one["kind"] for one in events.stamped} == {"kill-owners"}
    assert (injected["target"], injected["asked_ms"], injected["detail"]) == ("broker-a", 500.0, "as asked")
    fault.heal(NOBODY)
    assert events.states()[3:] == ["healing", "healed"]
    healed = events.of("healed")
    assert (healed["target"], healed["detail"], healed["achieved_ms"]) == ("broker-a", "mended", 7.0)


def test_stamps_that_were_measured_inside_are_taken_as_they_are() -> None:
    fault, events = _made(Injected(injecting_ns=11, injected_ns=12, achieved_ms=3.0, exercised=False))
    fault.inject(NOBODY)
    assert (events.of("injecting")["at_ns"], events.of("injected")["at_ns"]) == (11, 12)
    assert events.of("injected")["exercised"] is False
    assert events.of("injecting")["exercised"] is None


def test_a_fault_that_ended_by_itself_is_stamped_to_its_end_and_healed_no_more() -> None:
    calls: list[str] = []
    fault, events = _made(Injected(injecting_ns=11, injected_ns=12, healing_ns=13, healed_ns=14), calls)
    fault.inject(NOBODY)
    fault.heal(NOBODY)
    assert [(one["state"], one["at_ns"]) for one in events.stamped[1:]] == [
        ("injecting", 11),
        ("injected", 12),
        ("healing", 13),
        ("healed", 14),
    ]
    assert calls == ["inject"]


def test_what_is_on_is_ended_once_and_says_whether_it_took_effect() -> None:
    calls: list[str] = []
    fault, events = _made(Injected(end=_on(calls)), calls)
    fault.inject(NOBODY)
    fault.heal(NOBODY)
    fault.end()
    assert calls == ["inject", "off"]
    assert (events.of("healed")["exercised"], events.of("healed")["detail"]) == (True, "3 packets were dropped")


def test_an_injection_that_fails_was_asked_for_and_nothing_else() -> None:
    fault, events = _made(ClientError("no append came"))
    with pytest.raises(ClientError):
        fault.inject(NOBODY)
    fault.end()
    assert events.states() == ["asked"]


class Load:
    """A load whose hold fails where it is told to."""

    def __init__(self, calls: list[str], fails_in: str) -> None:
        self._calls = calls
        self._fails_in = fails_in

    def __getattr__(self, phase: str) -> Callable[[], None]:
        def act() -> None:
            self._calls.append(phase)
            if phase == self._fails_in:
                raise ClientError(phase)

        return act


def _at_moment(calls: list[str], raises: Exception | None = None) -> Callable[[TrialContext, bool], None]:
    def at_moment(trial: TrialContext, is_on: bool) -> None:
        calls.append("on" if is_on else "over")
        if raises is not None:
            raise raises

    return at_moment


def _run(calls: list[str], fails_in: str = "", injection: Injection[Fault] | None = None, **further: Any) -> Events:
    events = Events()
    observer = SimpleNamespace(phase=lambda trial, phase: None)
    probe = SimpleNamespace(copy_into=lambda log, from_ns, until_ns: [])
    quiet = threading.Event()
    quiet.set()
    run_phases(
        _trial(events),
        injection or _injection(Injected(end=_on(calls)), calls),
        lambda: cast(LoadSession, Load(calls, fails_in)),
        observer=cast(Display, observer),
        probe=cast(NoiseProbe, probe),
        costs=cast(TrialCosts, SimpleNamespace(read=lambda trial: None)),
        **{"quiet": quiet, **further},
    )
    return events


def test_the_phases_of_a_trial_are_run_in_their_order() -> None:
    calls: list[str] = []
    events = _run(calls)
    assert calls == ["up", "steady", "inject", "hold", "off", "recover", "drain", "collect", "down"]
    assert events.states() == ["asked", "injecting", "injected", "healing", "healed"]


def test_what_is_up_goes_no_further_until_it_is_quiet() -> None:
    calls: list[str] = []
    quiet = threading.Event()
    trial = threading.Thread(target=_run, args=(calls,), kwargs={"quiet": quiet})
    trial.start()
    wait_until("the load to be up", lambda: "up" in calls, timeout_s=30, poll_s=0.01)
    trial.join(0.2)
    assert "steady" not in calls
    quiet.set()
    trial.join(30)
    assert calls[-2:] == ["collect", "down"]


def test_a_fault_is_made_ready_before_the_load_begins_and_rehearsed_under_it_before_anything_is_measured() -> None:
    calls: list[str] = []
    _run(calls, injection=_prepared(calls))
    assert calls[:4] == ["prepare", "up", "rehearse", "steady"]
    assert (calls.count("prepare"), calls.count("rehearse")) == (1, 1)


def test_who_wants_to_look_is_told_when_the_fault_was_made_and_may_end_the_trial_there() -> None:
    calls: list[str] = []
    _run(calls, at_moment=_at_moment(calls))
    assert calls[2:5] == ["inject", "on", "hold"]
    calls.clear()
    with pytest.raises(Interrupted):
        _run(calls, at_moment=_at_moment(calls, Interrupted("looked")))
    assert calls == ["up", "steady", "inject", "on", "off", "down"]


@pytest.mark.parametrize(("phase", "after"), [("hold", ["hold", "off", "down"]), ("drain", ["drain", "down"])])
def test_a_trial_that_fails_ends_its_fault_before_its_clients(phase: str, after: list[str]) -> None:
    calls: list[str] = []
    with pytest.raises(ClientError, match=phase):
        _run(calls, phase)
    assert calls[calls.index(phase) :] == after
