"""A lease that this process holds."""

import dataclasses
import threading

from harness.errors import LeaseError
from harness.leases.healing import heal
from harness.leases.store import Healed, LeaseData, LeaseRecord, LeaseStore, until_mono_ns


class Lease:
    """A lease that this process holds. Whoever undoes the thing calls ``release``, or lets ``heal`` do both."""

    def __init__(self, store: LeaseStore, record: LeaseRecord) -> None:
        self._store = store
        self._record = record
        self._lock = threading.Lock()

    @property
    def record(self) -> LeaseRecord:
        """What is written down now."""
        return self._record

    @property
    def is_held(self) -> bool:
        """False once it was released or healed, by whomever."""
        return self._store.exists(self._record.id)

    def update(self, data: LeaseData) -> None:
        """Write down more of what was learned about the thing."""
        self._rewrite(dataclasses.replace(self._record, data={**self._record.data, **data}))

    def renew(self, until_s: float) -> None:
        """Move the end to ``until_s`` seconds from now."""
        self._rewrite(dataclasses.replace(self._record, until_mono_ns=until_mono_ns(until_s)))

    def keep(self) -> None:
        """Let it outlive this process from now on."""
        self._rewrite(dataclasses.replace(self._record, kept=True))

    def release(self) -> None:
        """The thing does not exist any more; the lease goes."""
        self._store.remove(self._record.id)

    def heal(self) -> Healed:
        """Undo the thing the way the healer would, now."""
        return heal(self._store, [self._record])[0]

    def end(self) -> None:
        """``heal``, and raise LeaseError when something of the thing stays."""
        healed = self.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be ended: {healed.action}")

    def _rewrite(self, record: LeaseRecord) -> None:
        with self._lock:
            if self.is_held:
                self._store.write(record)
            self._record = record
