"""What a producer may set against a broker's failure, and which findings say whether it helps and what it costs.

Nothing here says that a setting helps: the verdicts of a release do, part by part.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.model.verdicts import VerdictKind
from scenarios.releases import RELEASES, RELEASES_5X

CONFIRMED, REFUTED = VerdictKind.CONFIRMED, VerdictKind.REFUTED


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a part of a claim shows where its verdict is ``verdict``, and ``otherwise`` where it is the opposite one.

    ``unit`` is that of the part's values, where they say more than in how many deployments it was so.
    """

    claim: str
    part: str
    verdict: VerdictKind
    says: str
    otherwise: str
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Late:
    """A producer that shares the outage of a claim: its sends that failed or took over a second compare the settings."""

    claim: str
    producer: str


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A setting. It helps where one of ``helps`` says so and none speaks against it; ``costs`` are what it costs there.

    Those for the same ``sends`` are compared by ``late`` or, where none of them has it, by the shares of sends that failed for
    good in ``helps``; the earlier one is to be preferred where they help alike. ``releases`` are those that have it.
    """

    setting: str
    releases: tuple[str, ...] = RELEASES
    sends: str = "normal"
    helps: tuple[Shown, ...]
    costs: tuple[Shown, ...] = ()
    late: Late | None = None


@dataclass(frozen=True, kw_only=True)
class Failure:
    """How a broker fails, and what was tried against it."""

    what: str
    tried: tuple[Tried, ...]


RETRIES = "retryTimesWhenSendFailed=2 (the default) or more"
AVOIDANCE = "sendLatencyFaultEnable=true"
SENT_AGAIN = "a failed selector send, sent again by the application to another broker's queue"
WORTH_IT, MENDED = "X-avoidance-in-outages", "X-avoidance-mended"


def _retries(part: str, outage: str = "") -> Tried:
    kept = Shown(
        claim="SENDS-04",
        part=part,
        verdict=REFUTED,
        says="with five retries hardly a normal synchronous send fails for good",
        otherwise="with five retries half or more of the normal synchronous sends fail for good all the same",
        unit="share",
    )
    return Tried(setting=RETRIES, helps=(kept,), late=Late(claim=outage, producer="off") if outage else None)


def _fewer(claim: str, than: str, sends: str = "sends") -> Shown:
    return Shown(
        claim=claim,
        part="fewer",
        verdict=CONFIRMED,
        says=f"at most half as many {sends} fail or take over a second as {than}",
        otherwise=f"more than half as many {sends} fail or take over a second as {than}",
    )


def _avoided(number: str, brokers: str = "two") -> Shown:
    return _fewer(f"{WORTH_IT}-{number}", "without it", f"sends to {brokers} brokers")


def _shared(
    number: str, producer: str, setting: str, than: str, releases: tuple[str, ...] = RELEASES, *costs: Shown
) -> Tried:
    claim = f"{MENDED}-{number}"
    return Tried(
        setting=setting,
        helps=(_fewer(claim, than),),
        costs=costs,
        releases=releases,
        late=Late(claim=claim, producer=producer),
    )


def _spared(part: str) -> Shown:
    return Shown(
        claim="SENDS-04",
        part=part,
        verdict=CONFIRMED,
        says="with five retries few normal synchronous sends fail for good",
        otherwise="with five retries as many normal synchronous sends fail for good as without it",
        unit="share",
    )


def _away(part: str) -> Shown:
    return Shown(
        claim=f"{WORTH_IT}-06",
        part=part,
        verdict=REFUTED,
        says="ten to twenty seconds after the broker is well it gets hardly anything yet: the others carry its load",
        otherwise="ten seconds after the broker is well it has sends again",
    )


BARE, AVOIDED = "without avoidance", "with avoidance alone"
AFTER_A_TIMEOUT = Shown(
    claim="AVOID-07",
    part="after a timeout",
    verdict=CONFIRMED,
    says="a send that timed out keeps its broker without sends for ten minutes",
    otherwise="a send that timed out does not keep its broker without sends for ten minutes",
)
NEEDLESS = Shown(
    claim=f"{WORTH_IT}-01",
    part="late",
    verdict=CONFIRMED,
    says="without it a twentieth and more of the sends fail or take over a second",
    otherwise="without it hardly a send that is retried fails or takes over a second",
)
ORDERED = Tried(
    setting=SENT_AGAIN, sends="selector",
    helps=(Shown(claim="SENDS-05", part="sent again", verdict=CONFIRMED, unit="share",
                 says="hardly one fails for good", otherwise="it fails there, too"),),
)  # fmt: skip

FAILURES: Mapping[str, Failure] = {
    "killed": Failure(
        what="a broker is dead, and still in the routes",
        tried=(
            _retries("dead", f"{WORTH_IT}-01"),
            Tried(setting=AVOIDANCE, helps=(NEEDLESS,), late=Late(claim=f"{WORTH_IT}-01", producer="on")),
            ORDERED,
        ),
    ),
    "stopped": Failure(
        what="a broker stands still: it takes connections and does not answer",
        tried=(
            _retries("still", f"{WORTH_IT}-02"),
            Tried(
                setting=AVOIDANCE,
                helps=(_spared("avoided, still"), _avoided("02")),
                costs=(_away("stopped"), AFTER_A_TIMEOUT),
                late=Late(claim=f"{WORTH_IT}-02", producer="on"),
            ),
            _shared("01", "limit", "sendMsgMaxTimeoutPerRequest=500", BARE, RELEASES_5X),
            _shared("02", "limit-on", f"{AVOIDANCE}, sendMsgMaxTimeoutPerRequest=500", AVOIDED, RELEASES_5X),
            _shared("03", "detector", f"{AVOIDANCE}, startDetectorEnable=true", AVOIDED, RELEASES_5X),
            _shared("04", "once", f"{AVOIDANCE}, retryTimesWhenSendFailed=0", BARE, RELEASES, AFTER_A_TIMEOUT),
        ),
    ),
    "slow": Failure(
        what="a broker holds up each send for 1.2 s",
        tried=(Tried(setting=AVOIDANCE, helps=(_avoided("03"), _avoided("07", "three")), costs=(_away("slow"),)),),
    ),
    "flapping": Failure(
        what="a broker stands still for 2.5 s of every ten",
        tried=(Tried(setting=AVOIDANCE, helps=(_avoided("04"), _avoided("08", "three"))),),
    ),
    "all-slow": Failure(
        what="all brokers are slow",
        tried=(
            Tried(
                setting=AVOIDANCE,
                helps=(),
                costs=(
                    Shown(
                        claim=f"{WORTH_IT}-05",
                        part="p99",
                        verdict=REFUTED,
                        says="the 99th percentile is half as long again as without it, or longer",
                        otherwise="the 99th percentile is as without it",
                    ),
                ),
            ),
        ),
    ),
    "busy": Failure(
        what="a broker refuses sends as busy",
        tried=(_retries("busy"), Tried(setting=AVOIDANCE, helps=(_spared("avoided, busy"),))),
    ),
}
"""By the names that ``mqlab explain sends --failure`` takes."""
