"""The moments at which a retry topic may be made, and what is lost when one is deleted: each tried on a group of its own."""

import contextlib

from harness.backends.cluster import Node, ask, ask_name_server, masters, namesrv_addresses
from harness.errors import ClientError
from harness.model.faults import TopicMoments
from harness.model.rocketmq import GET_CONSUMER_LIST_BY_GROUP, RETRY_PREFIX
from harness.protocol.broker import Broker
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext

TEMPORARY_GROUPS = 20
SETTLE_S = 2.0
DUE_S = 4.0
"""A message of the first level is due after a second, and found by the level's timer a moment later."""
FIRST_LEVEL, LATER_LEVEL = 1, 2
LATER_S = 9.0
"""The second level has 5 s in the default configuration."""


def try_moments(fault: TopicMoments, trial: TrialContext, load: LoadSession) -> Injected:
    """Send the first broker requests as clients do, and look at its topics after each; every answer is a probe."""
    broker = masters(trial.cluster)[0]
    tried = _Moments(trial, broker)
    tried.creation()
    tried.temporary_groups()
    tried.deletion()
    tried.client_library()
    left = f": {', '.join(tried.not_deleted)}" if tried.not_deleted else ""
    detail = f"{len(tried.not_deleted)} of its deletions left the topic there{left}"
    return Injected(target=broker.name, detail=detail, exercised=not tried.not_deleted)


class _Moments:
    def __init__(self, trial: TrialContext, broker: Node) -> None:
        self._trial = trial
        self._broker = broker
        self._topic = trial.record.topic
        self._prefix = f"{trial.record.groups[0]}-m"
        self.not_deleted: list[str] = []
        """Groups whose retry topic was there still when its deletion had been answered."""

    def _exists(self, topic: str) -> bool:
        with ask(self._broker) as connection:
            return any(one.name == topic for one in connection.topic_table().topics)

    def _heartbeat(self, *groups: str) -> Broker:
        """A connection with which the groups are online until it is closed."""
        connection = ask(self._broker)
        connection.heartbeat(f"127.0.0.1@{groups[0]}", groups, self._topic)
        return connection

    def creation(self) -> None:
        """One probe ``retry_topic_created`` for each moment; none of these groups existed before."""
        with ask(self._broker) as connection:
            sent = connection.send(self._topic, 0, b"to be given back")
            group = f"{self._prefix}-heartbeat"
            self._heartbeat(group).close()
            self._created("heartbeat", group)
            group = f"{self._prefix}-send-back"
            connection.send_back(group, self._topic, sent.commit_log_offset, delay_level=FIRST_LEVEL)
            self._created("send-back", group)
            group = f"{self._prefix}-direct"
            # What a release refuses makes no topic, which is looked at afterwards.
            with contextlib.suppress(ClientError):
                connection.send(RETRY_PREFIX + group, 0, b"straight to the retry topic")
            self._created("send to the retry topic", group)
            group = f"{self._prefix}-pull"
            connection.pull(group, self._topic, 0, 0)
            self._created("pull", group)
            group = f"{self._prefix}-offset"
            # 5.x refuses the offset of a group that it does not know.
            with contextlib.suppress(ClientError):
                connection.commit_offset(group, self._topic, 0, 1)
            self._created("offset", group)
            group = f"{self._prefix}-list"
            connection.ask(GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": group})
            self._created("query", group)

    def _created(self, moment: str, group: str) -> None:
        self._trial.events.probe(
            "retry_topic_created", self._exists(RETRY_PREFIX + group), of=moment, params={"moment": moment}
        )

    def temporary_groups(self) -> None:
        """Groups of a test that come, fail nothing, and go."""
        groups = [f"{self._prefix}-test-{index:02d}" for index in range(TEMPORARY_GROUPS)]
        self._heartbeat(*groups).close()
        self._trial.stay(SETTLE_S)
        for group in groups:
            self._trial.events.probe("retry_topic_stays", self._exists(RETRY_PREFIX + group), of=group)

    def deletion(self) -> None:
        """Delete the retry topics of groups that are offline, in the states that one may be in."""
        self._unused()
        self._with_a_message_due()
        self._with_a_message_not_due()
        self._with_an_offset()

    def _delete(self, group: str) -> None:
        with ask(self._broker) as connection:
            connection.delete_topic(RETRY_PREFIX + group)
        for node in self._trial.cluster.nodes:
            if node.kind == "namesrv":
                with ask_name_server(node) as server:
                    server.delete_route(RETRY_PREFIX + group)
        if self._exists(RETRY_PREFIX + group):
            self.not_deleted.append(group)

    def _unused(self) -> None:
        group = f"{self._prefix}-unused"
        self._heartbeat(group).close()
        self._delete(group)
        self._heartbeat(group).close()
        self._trial.events.probe("retry_topic_returns", self._exists(RETRY_PREFIX + group), of=group)

    def _give_back(self, group: str, *, delay_level: int) -> None:
        with ask(self._broker) as connection:
            sent = connection.send(self._topic, 0, b"to be retried")
            connection.send_back(group, self._topic, sent.commit_log_offset, delay_level=delay_level)

    def _kept(self, group: str, state: str) -> None:
        """Whether the group, back again, finds the one message that it has to retry."""
        with self._heartbeat(group) as connection:
            found = connection.pull(group, RETRY_PREFIX + group, 0, 0)
        self._trial.events.probe("pending_retry_kept", found, of=group, params={"state": state})

    def _with_a_message_due(self) -> None:
        """The retry is due and waits for its group."""
        group = f"{self._prefix}-due"
        self._heartbeat(group).close()
        self._give_back(group, delay_level=FIRST_LEVEL)
        self._trial.stay(DUE_S)
        self._delete(group)
        self._kept(group, "due")

    def _with_a_message_not_due(self) -> None:
        """The retry waits in a delay queue while its topic is deleted."""
        group = f"{self._prefix}-delayed"
        self._heartbeat(group).close()
        self._give_back(group, delay_level=LATER_LEVEL)
        self._delete(group)
        self._heartbeat(group).close()
        self._trial.stay(LATER_S)
        self._kept(group, "not due")

    def _with_an_offset(self) -> None:
        """The group has consumed a retry before; after the deletion its queue starts anew, its offset may not."""
        group = f"{self._prefix}-offset-kept"
        topic = RETRY_PREFIX + group
        self._heartbeat(group).close()
        self._give_back(group, delay_level=FIRST_LEVEL)
        self._trial.stay(DUE_S)
        with ask(self._broker) as connection:
            connection.commit_offset(group, topic, 0, connection.max_offset(topic, 0))
        self._delete(group)
        self._heartbeat(group).close()
        self._give_back(group, delay_level=FIRST_LEVEL)
        self._trial.stay(DUE_S)
        with ask(self._broker) as connection:
            goes_on_at = connection.consumer_offset(group, topic, 0) or 0
            ends_at = connection.max_offset(topic, 0)
        detail = f"the group goes on at {goes_on_at}, its queue ends at {ends_at}"
        self._trial.events.probe("next_retry_reached", goes_on_at < ends_at, of=group, detail=detail)

    def client_library(self) -> None:
        """Find and delete with the admin calls of the Java client, one group being online all the while."""
        online = f"{self._prefix}-stays-online"
        client = self._trial.client("admin")
        try:
            client.wait_started()
            with self._heartbeat(online):
                before = self._retry_topics()
                # Name servers learn of new topics of 5.x at once, of 4.x with the creation; both within this time.
                self._trial.stay(SETTLE_S)
                client.call("delete_offline_retry_topics", namesrv=namesrv_addresses(self._trial.cluster))
                after = self._retry_topics()
        finally:
            client.stop()
        keeps = {RETRY_PREFIX + online, RETRY_PREFIX + self._trial.record.groups[0]}
        offline = before - keeps
        self._trial.events.probe("offline_deleted_share", 1 - len(offline & after) / len(offline), of="client library")
        self._trial.events.probe("online_kept", RETRY_PREFIX + online in after, of="client library")

    def _retry_topics(self) -> set[str]:
        with ask(self._broker) as connection:
            names = {one.name for one in connection.topic_table().topics}
        return {name for name in names if name.startswith(RETRY_PREFIX + self._trial.record.groups[0])}


INJECTIONS: Injections = {TopicMoments: Injection(name="requests", inject=try_moments)}
