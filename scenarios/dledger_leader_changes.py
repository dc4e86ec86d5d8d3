"""Users: a DLedger group elects a leader again (apache/rocketmq 5469; openmessaging/dledger 287)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="dledger-leader-changes",
    title="A DLedger group elects another leader, again and again or after a node came back",
    symptom="Sends fail for seconds at a time; the brokers' logs tell of heartbeats that were missed, of new terms, and of "
    "candidates.",
    threads=("issues/5469",),
    advice="See what the leader did at the time of the first HeartBeatTimeOut: pauses in its gc.log, its disk (`iostat -x 1`), "
    "and the network between the nodes (`ping`, and the port that dLegerPeers names). A leader that goes back to one "
    "node is what preferredLeaderIds asks for: leave it out, or let it be a node whose disk is as quick as the others'. "
    "Clients fail until the next route: `mqlab explain sends --release 5.5.0` says what helps.",
    sign=Sign(
        events=(Logged.LEADER_SILENT, Logged.LEADER_MOVED),
        because="a member of the group did not hear its leader for longer than an election waits, or one was told to lead",
        lines=(
            "2022-11-05 21:29:51 INFO StateMaintainer - [n0][HeartBeatTimeOut] lastLeaderHeartBeatTime: 2022-11-05 21:29:45.416 "
            "heartBeatTimeIntervalMs: 2000 lastLeader=n1",
            "2023-04-13 02:04:56 WARN DLedgerServer-ScheduledExecutor - preferredLeaderId = n2 is not online",
        ),
        against="a group that starts, and one whose leader is stopped for maintenance, have such lines once",
    ),
)
