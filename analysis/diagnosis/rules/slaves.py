"""Masters and their slaves: what a master went on to acknowledge while its slave said nothing, and what a slave refuses."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import REJECTREQUEST

GAP_S = 300.0


def acknowledged_without(logs: Logs) -> Iterator[Found]:
    """Slaves that a synchronous master gave up. One that says that it is another kind of master promises nothing."""
    given_up = [
        one for one in logs.of(Logged.SLAVE_SILENT) if logs.setting(one.node, "brokerRole") in ("", "SYNC_MASTER")
    ]
    for group in together(given_up, GAP_S):
        from_s, to_s = span(group)
        nodes = list(dict.fromkeys(one.node for one in group))
        waits = [node for node in nodes if _copies(logs, node) > 1]
        unsaid = [node for node in nodes if not logs.setting(node, "brokerRole")]
        silent_s = max(int(one.get("ms") or 0) for one in group) / 1000
        against = [
            phrase(
                "{broker} waits for a slave, as 4.x does and inSyncReplicas above 1 has it",
                broker=logs.names.get(node, node),
            )
            for node in waits
        ]
        against += [
            phrase("no log here has the brokerRole of {broker}", broker=logs.names.get(node, node)) for node in unsaid
        ]
        yield Found(
            pattern=LogPattern.SLAVE_SILENT, from_s=from_s, to_s=to_s, lines=lines_of(group), against=tuple(against),
            sure=Sure.POSSIBLE if against else Sure.LIKELY, brokers=tuple(logs.names.get(node, node) for node in nodes),
            why=(phrase("the master gave up a slave that had said nothing for {silent_s:.0f} s", silent_s=silent_s),),
        )  # fmt: skip


def _copies(logs: Logs, node: str) -> int:
    """How many a send waits for, the master's own among them: inSyncReplicas, which 4.x does not have and waits for one slave."""
    said = logs.setting(node, "inSyncReplicas")
    return int(said) if said.isdecimal() else 1 + bool(logs.setting(node, "brokerRole"))


def reads_refused(logs: Logs) -> Iterator[Found]:
    """Pulls that were answered by [REJECTREQUEST]: only a slave of 5.x that serves no reads does so (PullMessageProcessor)."""
    rejected = (one for one in logs.of(Logged.PULL_FAILED) if one.get("keyword") == REJECTREQUEST)
    for group in together(rejected, GAP_S):
        from_s, to_s = span(group)
        yield Found(
            pattern=LogPattern.READS_REFUSED, sure=Sure.SURE, from_s=from_s, to_s=to_s, lines=lines_of(group),
            why=(phrase(
                "{pulls} refused by [{words}], as by slaves alone",
                pulls=counted_in(group, "pull", were=True), words=REJECTREQUEST,
            ),),
            brokers=distinct(one.get("broker") or one.get("address") for one in group),
            groups=distinct(one.get("group") for one in group), topics=distinct(one.get("topic") for one in group),
            queues=distinct(
                f"{one.get('topic')}@{one.get('broker')}:{one.get('queue')}" for one in group if one.get("topic")
            ),
        )  # fmt: skip
