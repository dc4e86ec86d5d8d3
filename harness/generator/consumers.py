"""The consumers of a load by itself. They outlive Locust's stop, since what was sent has to be consumed."""

from __future__ import annotations

from harness.clients.java import ConsumerSpec, JavaClient
from harness.errors import ClientError, WaitTimeout
from harness.generator import groups
from harness.generator.load_run import LoadRun
from harness.rundir.writing import TrialDirectory
from harness.wait import NotYet, patience, wait_until

SETTLE_S_MAX = 90.0
DRAIN_S_MAX = 120.0
CONSUME_THREADS = 4


class VerifyingConsumers:
    """Consumer processes of one group, which verify every body."""

    def __init__(self, load: LoadRun, directory: TrialDirectory) -> None:
        self._load = load
        self._directory = directory
        self.clients: list[JavaClient] = []
        """The processes, in the order of their names."""
        self._is_guest = False

    def start(self) -> None:
        """Start them, and wait until an ordered group holds every queue.

        On a cluster that is the user's their group begins at the topic's end.
        """
        load = self._load
        if load.group and load.record.backend == "given":
            self._is_guest = True
            groups.begin_at_end(load.target, load.group)
        for index in range(load.consumers):
            name = f"consumer-{index}"
            self.clients.append(
                JavaClient.start(
                    load.leases,
                    name=name,
                    release=load.record.java_release,
                    java=load.java,
                    folder=self._directory.client_folder(name),
                    until_s=load.until_s,
                    allowed=load.target.allowed,
                    access=load.target.access,
                    user=load.user,
                    overrides=load.overrides,
                )
            )
        for client in self.clients:
            client.wait_started()
            client.open_history(self._directory.history_path(client.name))
            client.wait_consumer_started(self._spec(client.name), load.target.namesrv_list, cancel=load.cancel)
        if load.consumers and load.ordered:
            wait_until("the consumers to hold every queue", self._settled, timeout_s=SETTLE_S_MAX, poll_s=0.5)

    def _spec(self, instance: str) -> ConsumerSpec:
        return ConsumerSpec(
            instance=instance,
            group=self._load.group,
            topic=self._load.target.topic,
            ordered=self._load.ordered,
            run=self._load.options.sends.run,
            settings={"consumeThreadMin": CONSUME_THREADS, "consumeThreadMax": CONSUME_THREADS},
        )

    def _settled(self) -> bool:
        held = sum(len(queues) for client in self.clients for queues in client.assigned_queues().values())
        if held < sum(self._load.target.queues.values()):
            raise NotYet(f"they hold {held}")
        return True

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {client.name: client.pid for client in self.clients}

    def drain(self) -> int:
        """Messages that were not consumed within the time there is; -1 when a broker could not be asked."""
        if not self.clients:
            return 0
        left = -1

        def consumed() -> bool:
            nonlocal left
            # A master that is gone, or not elected yet, has another one after it.
            with patience():
                left = self._load.target.unconsumed(self._load.group)
            if left:
                raise NotYet(f"{left} messages are left")
            return True

        try:
            wait_until("the consumers", consumed, timeout_s=DRAIN_S_MAX, poll_s=0.5, cancel=self._load.cancel)
        except WaitTimeout as error:
            self._load.say(str(error))
        return left

    def close(self) -> None:
        """Close the histories."""
        for client in self.clients:
            if client.is_running():
                client.close_history()
            else:
                self._load.say(f"{client.name} did not live to the end; its history is whole up to then")

    def stop(self) -> None:
        """End the processes, and remove what they have made on a cluster that is the user's."""
        for client in self.clients:
            client.stop()
        if not self._is_guest or self._load.keep_groups:
            return
        self._load.say(
            f"{self._load.group} is removed in {groups.HELD_S_MAX:g} s, when no broker holds a pull of it any more"
        )
        try:
            groups.remove(self._load.target, self._load.group)
        except ClientError as error:
            self._load.say(f"the group {self._load.group} and its retry topic could not be removed: {error}")
