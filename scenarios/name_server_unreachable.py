"""Users: a client has an address of name servers at which none answers: a wrong one, or a port that is closed."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="name-server-unreachable",
    title="Clients never reach the address of a name server",
    symptom='"connect to ADDRESS:9876 failed" from the start of a client on, and sends that find no route.',
    advice="9876 is the port of a name server (its listenPort by default), and brokerIP1 has nothing to do with it. From the "
    "host that cannot connect: `nc -vz ADDRESS 9876`. On the name server's host: does it run (`jps -l | grep NamesrvStartup`), "
    "and where does it listen (`ss -ltn`)? Compare the address with what the client was given (setNamesrvAddr, NAMESRV_ADDR or "
    "-Drocketmq.namesrv.addr), and a broker with namesrvAddr of its file: in a container 127.0.0.1 is the container itself. "
    "With a firewall between, open the port.",
    sign=Sign(
        pattern=LogPattern.NAME_SERVER_UNREACHED,
        events=(Logged.UNREACHABLE, Logged.CONNECTED),
        because="all attempts to connect to one name server failed, with none between that succeeded",
        words=r":\d*9876\b",
    ),
)
