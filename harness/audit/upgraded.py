"""What the parts of a broker that its settings turn on meet in an upgrade, and its clients. Pure: settings in, findings out.

What classes are named for was read in the class files of the releases that are named beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.audit.disk import RESERVE_COUNTS_SINCE, disk_fills
from harness.audit.finding import AuditFinding, Severity
from harness.audit.kept import KeptBroker, KeptClients
from harness.audit.reading import BrokerReading
from harness.printable import counted
from harness.releases.central import version_key

STORE_TYPE, LMQ, DLEDGER, CONTROLLER = "storeType", "enableLmq", "enableDLegerCommitLog", "enableControllerMode"
WITHOUT_CONTROLLER = "5.1.2"
"""https://github.com/apache/rocketmq/issues/6926"""
PULLS_SINCE = "4.9.5"
BY_CLASSES, ADVISED = "by the releases' classes", "advised, not measured"


class Level(StrEnum):
    """What a finding means for the upgrade, the worst first."""

    BLOCKER = "blocker"
    WARNING = "warning"
    FINE = "fine"
    UNKNOWN = "not looked at"


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """One thing that was looked at, or could not be. ``kind`` is stable.

    ``brokers`` is empty where it is about all of them. ``line`` is where the key stands in its file, 0 of a running broker, and
    ``value`` the broker's own. ``proofs`` are commands that show it, ``cure`` is what to do, ``evidence`` how it is known.
    """

    weight: Level
    kind: str
    says: str
    brokers: tuple[str, ...] = ()
    key: str = ""
    line: int = 0
    value: str = ""
    cure: str = ""
    proofs: tuple[str, ...] = ()
    evidence: str = ""
    incident: str = ""


def modes(before: str, after: str, was: Mapping[str, str], now: Mapping[str, str]) -> Iterator[PreflightFinding]:
    """``was`` and ``now`` are what a broker goes by of its settings on the two releases."""
    store = now.get(STORE_TYPE, "default")
    if STORE_TYPE not in was and store.lower() != "default":
        yield PreflightFinding(
            weight=Level.BLOCKER, kind="store-type-switched", key=STORE_TYPE, value=store,
            says=f"{before} ignores storeType={store}, and {after} opens another kind of store in the same folder "
            "(RocksDBMessageStore for defaultRocksDB): whether it takes over what the old kind has written was not measured",
            cure="Remove storeType, or move the messages to brokers that are new.", evidence=BY_CLASSES,
        )  # fmt: skip
    if now.get(LMQ) == "true" and was.get(LMQ) != "true":
        yield PreflightFinding(
            weight=Level.BLOCKER, kind="lmq-offsets", key=LMQ, value="true",
            says=f"enableLmq comes into force with {after}, which then keeps the offsets of all groups in lmqConsumerOffset.json "
            "and does not read consumerOffset.json (LmqConsumerOffsetManager): groups lose their places",
            cure="Remove enableLmq for the upgrade.",
            evidence="by the classes of 4.9.3 to 5.5.0; reported (apache/rocketmq issue 7087)",
        )  # fmt: skip
    if now.get(DLEDGER) == "true":
        yield PreflightFinding(
            weight=Level.UNKNOWN, kind="dledger-mode", key=DLEDGER, value="true",
            says="it is a member of a DLedger group, and nothing of the record was measured with one",
            cure="Try the upgrade on a group of its own first, a member at a time, the leader last.", evidence=ADVISED,
        )  # fmt: skip
    if now.get(CONTROLLER) == "true" and after == WITHOUT_CONTROLLER:
        yield PreflightFinding(
            weight=Level.BLOCKER, kind="controller-mode-fails", key=CONTROLLER, value="true",
            says=f"a broker of {after} in controller mode ends at its start", cure="Take another release.",
            evidence="reported (apache/rocketmq issue 6926), not measured",
        )  # fmt: skip
    elif now.get(CONTROLLER) == "true":
        yield PreflightFinding(
            weight=Level.UNKNOWN, kind="controller-mode", key=CONTROLLER, value="true",
            says="a controller decides which broker is master, and no upgrade of such a cluster was measured",
            cure="Try the upgrade on a cluster of its own first, controllers before brokers.", evidence=ADVISED,
        )  # fmt: skip


def disk(broker: KeptBroker, before: str, after: str) -> Iterator[AuditFinding]:
    """What a fuller disk does, counted as the newer release counts."""
    counts_anew = version_key(before) < version_key(RESERVE_COUNTS_SINCE) <= version_key(after)
    told = BrokerReading(
        name=broker.name, broker_id=0, address=broker.address, conf=broker.settings, disk_share=broker.disk_share
    )
    for one in disk_fills(told):
        if counts_anew or one.severity is Severity.CRITICAL:
            yield one


def clients(some: Iterable[KeptClients], after: str) -> Iterator[PreflightFinding]:
    """Connections of consumer groups, by language and release."""
    for one in some:
        whose = f"{one.language or 'an unknown language'}, {one.release or 'of an unknown release'}"
        words = f"{counted(one.connections, 'connection')} of {whose}"
        old = one.pulls and bool(one.release) and version_key(one.release) < version_key(PULLS_SINCE)
        if old:
            yield PreflightFinding(
                weight=Level.WARNING, kind="old-pull-clients", value=one.release,
                says=f"{words} pull: what pull consumers older than {PULLS_SINCE} do with brokers of {after} was not measured",
                cure=f"Bring them to {PULLS_SINCE} or newer before the brokers, or try one of each first.", evidence=ADVISED,
            )  # fmt: skip
        elif one.language != "JAVA" or not one.release:
            yield PreflightFinding(
                weight=Level.UNKNOWN, kind="other-clients", value=one.language,
                says=f"{words}: the consumers of the record are Java's alone", cure="Try one of each with a new broker first.",
                evidence=ADVISED,
            )  # fmt: skip
        else:
            pulls = ", which pull" if one.pulls else ""
            yield PreflightFinding(weight=Level.FINE, kind="clients", value=one.release, says=f"{words}{pulls}")
