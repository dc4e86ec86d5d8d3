"""A1, A2: what a dead master takes with it when the cluster has a slave, which is the articles' advice to grow it.

The pool of ``pool-loss`` at its defaults and its kill -9 of the master under load. A slave gets what the pool has committed,
so that an asynchronous slave misses what the master loses; a synchronous master acknowledges what its slave has, and the
load then waits for the commit as well (in 4.6.0 in its one send thread, which refuses most of this rate). In 5.x it waits
for its slave only with inSyncReplicas=2, which 4.x does not know.
``lost_count`` is judged by the master's store when it is up again, and ``lost_on_slave_count`` by the slave's while the
master is down. A control: no claim is judged by it.
"""

from __future__ import annotations

import dataclasses

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import BrokerCrash, NoFault
from harness.model.scenario import Arm, Scenario, TrialBudget
from scenarios import pool_loss


def _arm(name: str, what: str, fault: NoFault | BrokerCrash, role: str, **conf: str) -> Arm:
    return Arm(
        name=name,
        what=what,
        fault=fault,
        load=pool_loss.LOAD,
        broker=BrokerSettings(conf={**pool_loss.POOL, "brokerRole": role, **conf}),
        live_conf=pool_loss.DEFAULTS,
        cells=pool_loss.CELLS,
    )


SCENARIO: Scenario = dataclasses.replace(
    pool_loss.SCENARIO,
    name="pool-loss-slave",
    title="What a dead master takes with it when it has a slave",
    summary="A master with the transient store pool is killed under load; acknowledged messages that it and its slave do not "
    "have, with asynchronous and with synchronous replication.",
    symptom="A master died, and messages that it had acknowledged are not on its slave either.",
    advice="Use SYNC_MASTER, on 5.3.3 and 5.5.0 with inSyncReplicas=2: what is acknowledged then is on the slave.",
    cures=(),
    sign=None,
    no_sign="Brokers do not say which messages a slave lacks: compare the queues' largest offsets on master and slave.",
    topology=Topology(name="with-slave", slaves_per_master=1),
    arms=(
        _arm("baseline", "No death, an asynchronous slave.", NoFault(), "ASYNC_MASTER"),
        _arm("incident-killed-pool", "Kill -9 of a master whose slave is asynchronous.", BrokerCrash(), "ASYNC_MASTER"),
        _arm("fix-sync-master", "The same with SYNC_MASTER.", BrokerCrash(), "SYNC_MASTER", inSyncReplicas="2"),
    ),
    claims=(),
    budget=TrialBudget(trials=5, deployments=1),
    quick_cells={},
    extra_measures=("lost_count", "lost_on_slave_count", "latency_p50_ms", "latency_p99_ms"),
)
