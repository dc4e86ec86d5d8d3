"""A flood of consumer groups makes a broker's registration longer than the name servers' frame, and what mends that.

The groups come with live heartbeats, each of which makes a retry topic. How many topics are too many is predicted by the
law of ``harness.protocol.registration`` and recorded before the first of them.
"""

import time
from collections.abc import Iterator, Sequence

from harness.audit.asking import read_cluster
from harness.audit.reading import TopicType, topic_type
from harness.audit.remedy import apply_remedy, plan_remedy
from harness.backends.abilities import NODES
from harness.backends.cluster import Node, ask, ask_name_server, masters
from harness.backends.nodes import CLUSTER_NAME
from harness.backends.topics_ahead import flood_group
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.faults import CrossFrameLimit
from harness.model.rocketmq import FRAME_LIMIT
from harness.protocol.broker import TopicTable
from harness.protocol.connection import split_address
from harness.protocol.registration import Registrant, frame_of_listing, topic_bytes, topics_at_limit
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext
from harness.wait import patience, wait_until

ANSWER_S_MAX = 120.0
"""A heartbeat that makes a topic of a table of 70,000 takes seconds."""
HEARTBEAT_S_MAX = 600.0
CLOSE = 12
"""Within so many topics of the predicted limit, add one topic at a time and wait for its effect."""
GROUPS_AT_ONCE = 5
EFFECT_S = 1.5
SLAVE_COPIES_S = 14.0
"""A slave copies its master's topics every 10 s (``BrokerController.handleSlaveSynchronize``). It must have the table that
was too long by one topic, as it would where groups come by the hour; some more topics and its own limit refuses the copy.
The answer with the table is 227 bytes shorter than the registration: a last name that adds more may cross both at once."""
BACK_S_MAX = 120.0
FLOODED_MAX = 3000
DELETIONS_PER_S = 20.0
LAST_BYTES = 64 * 1024 * 1024
GROWN_SHARE_MIN = 0.9
"""Of what a flood was to come to, by the broker's own table; heartbeats that make no topic leave it as it was."""


def flood(fault: CrossFrameLimit, trial: TrialContext, load: LoadSession) -> Injected:
    """Send the first broker heartbeats of new consumer groups until it is gone from a name server (or the share is
    reached), then go a little on."""
    flood = _Flood(trial, fault)
    flood.predict()
    begun_ns = mono_ns()
    crossed = flood.come_closer(fault.frame_bytes)
    stops = fault.stop_at_share < 1
    is_long = flood.frame_share >= GROWN_SHARE_MIN * fault.stop_at_share
    limit = f"the limit of {fault.frame_bytes} bytes"
    return Injected(
        target=flood.broker.name,
        detail=f"crossed {limit}" if crossed else f"stopped at {flood.frame_share:.2f} of {limit}",
        injecting_ns=begun_ns,
        exercised=is_long and not crossed if stops else crossed,
    )


def fix(fault: CrossFrameLimit, trial: TrialContext, load: LoadSession) -> Healed:
    """Carry the arm's fix out, stamping how long the broker takes to come back."""
    flood = _Flood(trial, fault)
    flood.look_at_the_broker()
    if fault.fix == "raise-limit":
        flood.raise_limit()
    elif fault.fix == "delete-offline":
        flood.delete_offline()
    return Healed(achieved=fault.fix)


class _Flood:
    def __init__(self, trial: TrialContext, fault: CrossFrameLimit) -> None:
        self.trial = trial
        self.fault = fault
        self.broker = masters(trial.cluster)[0]
        ahead = trial.arm.broker.topics_ahead
        assert ahead is not None
        self.name_bytes = int(trial.params.get("name_bytes", ahead.name_bytes))
        self.last_name_bytes = fault.last_name_bytes or self.name_bytes
        self.servers = [node for node in trial.cluster.nodes if node.kind == "namesrv"]
        self.frame_share = 0.0
        """How long the broker's registration is with the topics that it has after the flood, of the limit."""

    def predict(self) -> None:
        """Write down at how many topics the broker will be refused."""
        table = self._table()
        predicted = self._predicted(table, self.fault.frame_bytes)
        self._probe("topics_at_limit_predicted", predicted, detail=f"{len(table.topics)} topics now")

    def come_closer(self, limit_bytes: int) -> bool:
        """One heartbeat after the other; True when the broker was refused, False when the share was reached before."""
        before = table = self._table()
        predicted, far = self._predicted(before, limit_bytes), self._far(before, limit_bytes)
        groups = self._groups(far)
        each, last_each = self._topic_bytes(before)
        created = 0
        while created < FLOODED_MAX:
            grown = min(created, far) * each + max(0, created - far) * last_each
            if self._frame(before) + grown >= self.fault.stop_at_share * limit_bytes:
                self._measured(before, self._table())
                return False
            # Far from the limit the law tells how many topics there are; a full table takes long to be listed.
            count = min(GROUPS_AT_ONCE, far - created) if created < far else 1
            self._heartbeat([next(groups) for _ in range(count)])
            created += count
            if created > far and self._is_refused(has_attributes=before.has_attributes):
                table = self._table()
                break
        else:
            raise ClientError(f"{FLOODED_MAX} groups did not make {self.broker.name}'s registration too long")
        self._measured(before, table)
        self._probe("topics_at_limit", len(table.topics), detail=f"{predicted} were predicted")
        self._probe(
            "normal_topics_grown", self._normal(table) - self._normal(before), detail=f"{created} retry topics came"
        )
        self.trial.stay(SLAVE_COPIES_S)
        self._heartbeat([next(groups) for _ in range(self.fault.beyond)])
        return True

    def _normal(self, table: TopicTable) -> int:
        conf = {"brokerClusterName": CLUSTER_NAME, "brokerName": self.broker.broker_name}
        return sum(topic_type(one.name, conf) is TopicType.NORMAL for one in table.topics)

    def _heartbeat(self, groups: Sequence[str]) -> None:
        """One heartbeat of a client that comes for it and goes. A broker that is busy with it for two minutes closes the
        connection as idle and goes on to make the topics; the same heartbeat again makes what is left of them."""

        def beat() -> bool:
            with patience(), ask(self.broker, timeout_s=ANSWER_S_MAX) as connection:
                connection.heartbeat(f"127.0.0.1@flood-{mono_ns()}", groups, self.trial.record.topic)
            return True

        wait_until("a heartbeat", beat, timeout_s=HEARTBEAT_S_MAX, poll_s=1.0, cancel=self.trial.cancel)

    def _is_refused(self, *, has_attributes: bool) -> bool:
        """Whether a name server has lost the broker a moment after the last heartbeat.

        5.x registers a new topic alone, and all of them every 30 s only; writing the broker's permission back makes it
        register at once, as it would soon.
        """
        if has_attributes:
            with ask(self.broker, timeout_s=ANSWER_S_MAX) as connection:
                connection.update_broker_config({"brokerPermission": connection.broker_config()["brokerPermission"]})
        deadline = time.monotonic() + EFFECT_S
        while time.monotonic() < deadline:
            if any(self._lists_it(server) is False for server in self.servers):
                return True
            self.trial.stay(0.1)
        return False

    def _measured(self, before: TopicTable, table: TopicTable) -> None:
        added = len(table.topics) - len(before.topics)
        self.frame_share = self._frame(table) / self.fault.frame_bytes
        self._probe("frame_share_after", self.frame_share)
        if added and self.last_name_bytes == self.name_bytes:
            self._probe("bytes_per_topic", (table.json_bytes - before.json_bytes) / added)

    def _groups(self, far: int) -> Iterator[str]:
        """Names that no earlier flood of this broker had: of so many groups that come first, and of the last ones."""
        start = len(self._table().topics) + 100_000
        for index in range(10 * FLOODED_MAX):
            yield flood_group(start + index, self.name_bytes if index < far else self.last_name_bytes)

    def _predicted(self, table: TopicTable, limit_bytes: int) -> int:
        far = self._far(table, limit_bytes)
        frame = self._frame(table) + far * self._topic_bytes(table)[0]
        return topics_at_limit(
            limit_bytes, frame, len(table.topics) + far, self.last_name_bytes, has_attributes=table.has_attributes
        )

    def _far(self, table: TopicTable, limit_bytes: int) -> int:
        """How many groups can come before the limit is close."""
        each, last_each = self._topic_bytes(table)
        return max(0, (limit_bytes - self._frame(table) - CLOSE * last_each) // each)

    def _topic_bytes(self, table: TopicTable) -> tuple[int, int]:
        """What one of the first groups adds, and one of the last."""
        return (
            topic_bytes(self.name_bytes, has_attributes=table.has_attributes),
            topic_bytes(self.last_name_bytes, has_attributes=table.has_attributes),
        )

    def _frame(self, table: TopicTable) -> int:
        host, port = split_address(self.broker.address)
        registrant = Registrant(
            broker_name=self.broker.broker_name,
            broker_id=0,
            cluster=CLUSTER_NAME,
            address=self.broker.address,
            ha_address=f"{host}:{port + 1}",
            has_attributes=table.has_attributes,
        )
        return frame_of_listing(table.json_bytes, registrant)

    def look_at_the_broker(self) -> None:
        """The process and its network: does each of its nodes answer?"""
        for node in self.trial.cluster.nodes:
            if node.broker_name == self.broker.broker_name:
                try:
                    with ask(node, timeout_s=ANSWER_S_MAX) as connection:
                        connection.runtime_info()
                        connection.topic_table()
                    answers = True
                except ClientError:
                    answers = False
                self.trial.events.probe("node_answers", answers, of=node.name)

    def raise_limit(self) -> None:
        """On one name server after the other; then the flood goes on until the raised limit is crossed, too."""
        for index, server in enumerate(self.servers, start=1):
            self._restart(server, self.fault.raised_bytes)
            self._await_back(server)
            having = sum(self._lists_it(one) is True for one in self.servers)
            self._probe("servers_listing_it", having, params={"raised_on": index})
        self._probe("crossed_again", self.come_closer(self.fault.raised_bytes))
        for server in self.servers:
            self._restart(server, LAST_BYTES)
        for server in self.servers:
            self._await_back(server)

    def delete_offline(self) -> None:
        """With the audit's own remedy: enough topics to be well below the limit."""
        known = [
            (node.broker_name, node.broker_id, node.address)
            for node in self.trial.cluster.nodes
            if node.kind == "broker"
        ]
        addresses = [server.address for server in self.servers]
        remedy = plan_remedy(read_cluster(addresses, further_brokers=known))
        enough = remedy.deletions[: max(4 * self.fault.beyond, len(remedy.deletions) // 20)][:400]
        apply_remedy(enough, addresses, per_s=DELETIONS_PER_S, journal=self.trial.directory.path / "deleted.jsonl")
        for server in self.servers:
            self._await_back(server)

    def _restart(self, server: Node, limit_bytes: int) -> None:
        self.trial.cluster.kill_node(server.name)
        self.trial.cluster.start_node(server.name, options=(f"-D{FRAME_LIMIT}={limit_bytes}",))

    def _await_back(self, server: Node) -> None:
        started = time.monotonic()
        what = f"{self.broker.name} on {server.name}"
        wait_until(what, lambda: self._lists_it(server), timeout_s=BACK_S_MAX, cancel=self.trial.cancel)
        self.trial.events.probe("broker_back_s", time.monotonic() - started, of=server.name)

    def _lists_it(self, server: Node) -> bool | None:
        """None while the name server does not answer: one that is busy with 16 MiB has not lost the broker by that."""
        try:
            with ask_name_server(server) as connection:
                return self.broker.broker_id in connection.cluster_brokers().get(self.broker.broker_name, {})
        except ClientError:
            return None

    def _table(self) -> TopicTable:
        with ask(self.broker, timeout_s=ANSWER_S_MAX) as connection:
            return connection.topic_table()

    def _probe(self, measure: str, value: float, params: dict[str, int] | None = None, detail: str = "") -> None:
        self.trial.events.probe(measure, value, of=self.broker.name, params=params, detail=detail)


INJECTIONS: Injections = {CrossFrameLimit: Injection(name="heartbeats", inject=flood, needs=NODES, heal=fix)}
