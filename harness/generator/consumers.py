"""The consumers of a load by itself. They outlive Locust's stop, since what was sent has to be consumed."""

from __future__ import annotations

from harness.clients.java import ConsumerSpec, JavaClient
from harness.errors import WaitTimeout
from harness.generator.load_run import DAY_S, GROUP, LoadRun
from harness.rundir.writing import TrialDirectory
from harness.wait import NotYet, wait_until

SETTLE_S_MAX = 90.0
DRAIN_S_MAX = 120.0
CONSUME_THREADS = 4


class VerifyingConsumers:
    """Consumer processes of one group, which verify every body."""

    def __init__(self, load: LoadRun, directory: TrialDirectory) -> None:
        self._load = load
        self._directory = directory
        self._clients: list[JavaClient] = []

    def start(self) -> None:
        """Start them, and wait until an ordered group holds every queue."""
        load = self._load
        release = load.record.client.split()[-1] if load.record.client.startswith("java") else load.record.release
        for index in range(load.consumers):
            name = f"consumer-{index}"
            self._clients.append(
                JavaClient.start(
                    load.leases,
                    name=name,
                    release=release,
                    java=load.java,
                    folder=self._directory.client_folder(name),
                    until_s=DAY_S,
                    allowed=load.target.allowed,
                )
            )
        for client in self._clients:
            client.wait_started()
            client.open_history(self._directory.history_path(client.name))
            client.wait_consumer_started(self._spec(client.name), load.target.namesrv_list, cancel=load.cancel)
        if load.consumers and load.ordered:
            wait_until("the consumers to hold every queue", self._settled, timeout_s=SETTLE_S_MAX, poll_s=0.5)

    def _spec(self, instance: str) -> ConsumerSpec:
        return ConsumerSpec(
            instance=instance,
            group=GROUP,
            topic=self._load.target.topic,
            ordered=self._load.ordered,
            run=self._load.options.sends.run,
            settings={"consumeThreadMin": CONSUME_THREADS, "consumeThreadMax": CONSUME_THREADS},
        )

    def _settled(self) -> bool:
        held = sum(len(queues) for client in self._clients for queues in client.assigned_queues().values())
        if held < sum(self._load.target.queues.values()):
            raise NotYet(f"they hold {held}")
        return True

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {client.name: client.pid for client in self._clients}

    def drain(self) -> int:
        """Messages that were not consumed within the time there is; -1 when a broker could not be asked."""
        if not self._clients:
            return 0
        left = -1

        def consumed() -> bool:
            nonlocal left
            left = self._load.target.unconsumed(GROUP)
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
        for client in self._clients:
            if client.is_running():
                client.close_history()
            else:
                self._load.say(f"{client.name} did not live to the end; its history is whole up to then")

    def stop(self) -> None:
        """End the processes."""
        for client in self._clients:
            client.stop()
